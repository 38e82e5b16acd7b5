//! Writes the tables as Rust source.
//! The file has more than 300 lines because every table is validated where it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use toml::Spanned;

use super::checks::{check_approvals, check_countries, check_values, named};
use super::lexicon::Lexicon;
use super::ontology::{Files, Ontology, Text};
use super::resolve::{Pattern, alternatives, define, pattern};
use super::{DataError, Source};
use crate::state::State;
use crate::tables::{ConceptId, LETTERS, NO_SET, NO_TREATMENT, SetId, builtin, letter};

/// The range of the idioms' patterns, by domain and value.
type IdiomRanges<'f> = BTreeMap<(usize, &'f str), (u16, u16)>;

const OPERATORS: [(&str, &str); 7] = [
    ("eq", "Eq"),
    ("in", "In"),
    ("gt", "Gt"),
    ("not_provided", "NotProvided"),
    ("matches", "Matches"),
    ("older_than", "OlderThan"),
    ("approaching", "Approaching"),
];
const AXIS_TYPES: [&str; 7] = ["enum", "range", "boolean", "identifier", "timestamp", "quantity", "text"];
/// The domains in order of precedence among equally severe states.
const PRECEDENCE: [&str; 8] =
    ["child_safety", "medicine", "engineering", "general", "finance", "law", "benefits", "telemetry"];
const FAIL_CLOSED: &str = "FAIL_CLOSED_BLOCK";
const TIMEOUTS: [&str; 3] = [FAIL_CLOSED, "ASSUME_HIGHEST_RISK", "NARRATIVE_ONLY"];

/// Axis numbers by domain and key.
type Axes = BTreeMap<(usize, String), u16>;

pub(super) struct Generator {
    pub(super) lexicon: Lexicon,
    axes: Axes,
    groups: Vec<String>,
    pub(super) patterns: Vec<(u16, bool, Pattern)>,
    /// The distinct sets of concepts of elements and conditions.
    pub(super) sets: BTreeMap<Vec<ConceptId>, SetId>,
    /// The sets of the mappings' `with` conditions.
    conditions: Vec<SetId>,
    pub(super) names: Names,
    pub(super) out: String,
}

/// The mappings as Rust source.
#[derive(Default)]
pub(super) struct MappingRows {
    lines: String,
    pub(super) count: u16,
}

impl MappingRows {
    pub(super) fn add(&mut self, row: &str) {
        let _ = writeln!(self.lines, "    {row},");
        self.count += 1;
    }
}

/// Rust source.
#[derive(Clone)]
pub(super) struct Code(pub(super) String);

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names, one after the other; each is there once.
#[derive(Default)]
pub(super) struct Names {
    text: String,
    places: BTreeMap<String, (usize, usize)>,
}

impl Names {
    /// The name as Rust source.
    pub(super) fn add(&mut self, name: &str) -> String {
        let place = (self.text.len(), name.len());
        let (start, length) = *self.places.entry(name.to_owned()).or_insert(place);
        if start == self.text.len() {
            self.text.push_str(name);
        }
        format!("Name(Part {{ start: {start}, length: {length} }})")
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn list(&mut self, names: &[String]) -> String {
        names.iter().map(|name| self.add(name) + ", ").collect()
    }
}

/// Parses the files and generates the tables.
pub(crate) fn generate(sources: Vec<Source>) -> Result<String, DataError> {
    let all = Files::parse(sources)?;
    let mut lexicon = Lexicon::new();
    define(&mut lexicon, &all)?;
    let files = &all.domains;
    let groups = files.iter().flat_map(|(_, file)| &file.resource).map(|it| it.group.get_ref().clone()).collect();
    check_countries(files)?;
    let mut generator = Generator {
        lexicon,
        axes: Axes::new(),
        groups,
        patterns: Vec::new(),
        sets: BTreeMap::new(),
        conditions: Vec::new(),
        names: Names::default(),
        out: String::new(),
    };
    generator.axes(files)?;
    generator.domains(files)?;
    generator.mappings(&all)?;
    generator.treatments(files)?;
    generator.high_stakes(files)?;
    generator.suffixes(files)?;
    generator.negative_constraints(&all)?;
    generator.index(files)?;
    generator.line(super::guidance::generate(&all)?);
    check_values(&all)?;
    Ok(generator.out)
}

fn state(source: &Source, offset: usize, rule: &str, state: &str) -> Result<State, DataError> {
    let problem = || format!("{state:?} is not a state; there are {}", State::ALL.map(State::as_str).join(", "));
    State::parse(state).ok_or_else(|| source.error(offset, rule, problem()))
}

/// The number of a request's treatment in `TREATMENTS`.
fn treatment(files: &[(Source, Ontology)], domain: usize, request: &str) -> Option<u8> {
    let all = files.iter().enumerate().flat_map(|(of, (_, file))| file.treatment.iter().map(move |one| (of, one)));
    let mut all = all.map(|(of, one)| (of, one.request.get_ref().as_str()));
    all.position(|one| one == (domain, request)).and_then(|number| u8::try_from(number).ok())
}

impl Generator {
    pub(super) fn line(&mut self, line: String) {
        self.out.push_str(&line);
        self.out.push('\n');
    }

    fn axes(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let mut lines = String::new();
        for (domain, (source, ontology)) in files.iter().enumerate() {
            for axis in &ontology.axis {
                let key = axis.key.get_ref();
                let fail = |problem: String| source.error(axis.key.span().start, key, problem);
                if !AXIS_TYPES.contains(&axis.kind.as_str()) {
                    return Err(fail(format!("{:?} is not a type of axis", axis.kind)));
                }
                if axis.kind == "enum" && axis.values.is_empty() {
                    return Err(fail("an enum axis needs values".to_owned()));
                }
                let number = self.axes.len() as u16;
                if self.axes.insert((domain, key.clone()), number).is_some() {
                    return Err(fail("the axis is defined twice".to_owned()));
                }
                let _ = writeln!(
                    lines,
                    "    Axis {{ domain: {domain}, key: {key:?}, kind: {:?}, unit: {:?}, values: &{:?}, prompt: {:?}, oracle_only: {}, unwaivable: {} }},",
                    axis.kind, axis.unit, axis.values, axis.prompt, axis.oracle_only, axis.unwaivable
                );
            }
        }
        self.line(format!("pub(crate) static AXES: &[Axis] = &[\n{lines}];"));
        Ok(())
    }

    fn domains(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let (mut lines, mut resources) = (String::new(), String::new());
        for (source, ontology) in files {
            let on_timeout = ontology.on_timeout.as_ref();
            let (timeout, offset) =
                on_timeout.map_or((FAIL_CLOSED, 0), |policy| (policy.get_ref().as_str(), policy.span().start));
            if !TIMEOUTS.contains(&timeout) {
                return Err(source.error(offset, "on_timeout", format!("{timeout:?} is not a policy")));
            }
            let mut unstated = Vec::new();
            for name in &ontology.unstated {
                let (offset, name) = (name.span().start, name.get_ref().as_str());
                let Some(number) = builtin::NAMES.iter().position(|known| *known == name) else {
                    return Err(source.error(offset, name, format!("there is no quantity #{name}")));
                };
                unstated.push(number);
            }
            let mut oracles = String::new();
            for oracle in &ontology.oracle {
                let tier = oracle.tier.get_ref();
                if !["primary", "secondary", "cross_domain", "unverified"].contains(&tier.as_str()) {
                    let offset = oracle.tier.span().start;
                    return Err(source.error(offset, &oracle.name, format!("{tier:?} is not a trust tier")));
                }
                let _ = write!(
                    oracles,
                    "Oracle {{ name: {:?}, tier: {tier:?}, recency_seconds: {} }}, ",
                    oracle.name, oracle.recency_seconds
                );
            }
            check_approvals(source, ontology)?;
            let rows = ontology.human_lock.approval_matrix.iter();
            let rows: Vec<(&String, Vec<&str>)> = rows
                .map(|(request, roles)| (request, roles.iter().map(|role| role.get_ref().as_str()).collect()))
                .collect();
            let roles: Vec<String> =
                rows.iter().map(|(request, roles)| format!("{request}: {}", roles.join(", "))).collect();
            let lock = match (ontology.human_lock.never, roles.is_empty()) {
                (true, _) => "never".to_owned(),
                (false, true) => "none registered".to_owned(),
                (false, false) => {
                    let sources = ontology.human_lock.verification_sources.join(", ");
                    format!("{}; credentials in {sources}", roles.join("; "))
                }
            };
            let rank = PRECEDENCE.iter().position(|domain| *domain == ontology.domain).unwrap_or(PRECEDENCE.len());
            let matrix: String = rows.iter().map(|(request, roles)| format!("({request:?}, &{roles:?}), ")).collect();
            let _ = writeln!(
                lines,
                "    Domain {{ name: {:?}, rank: {rank}, file: {:?}, evaluator: {:?}, notice: {:?}, forbidden: &{:?}, required: &{:?}, unstated: &{unstated:?}, actions: &{:?}, reformulation: {:?}, on_timeout: {timeout:?}, human_lock: {lock:?}, never: {}, two_persons: {}, approval_matrix: &[{matrix}], verification_sources: &{:?}, oracles: &[{oracles}] }},",
                ontology.domain,
                source.name,
                ontology.evaluator,
                ontology.notice,
                ontology.forbidden,
                ontology.required,
                ontology.suggested_actions,
                ontology.reformulation,
                ontology.human_lock.never,
                ontology.human_lock.two_persons,
                ontology.human_lock.verification_sources,
            );
            for resource in &ontology.resource {
                let _ = writeln!(
                    resources,
                    "    Resource {{ group: {:?}, country: {:?}, name: {:?}, named: {:?}, contact: {:?} }},",
                    resource.group.get_ref(),
                    resource.country,
                    resource.name,
                    named(source, resource)?,
                    resource.contact
                );
            }
        }
        self.line(format!("pub(crate) static DOMAINS: &[Domain] = &[\n{lines}];"));
        self.line(format!("pub(crate) static RESOURCES: &[Resource] = &[\n{resources}];"));
        Ok(())
    }

    fn axis(&self, source: &Source, domain: usize, key: &Text) -> Result<u16, DataError> {
        self.axis_named(source, domain, key.span().start, key.get_ref(), key.get_ref())
    }

    fn axis_named(
        &self,
        source: &Source,
        domain: usize,
        offset: usize,
        rule: &str,
        key: &str,
    ) -> Result<u16, DataError> {
        let found = self.axes.get(&(domain, key.to_owned()));
        found.copied().ok_or_else(|| source.error(offset, rule, format!("there is no axis {key:?} in this file")))
    }

    fn mappings(&mut self, files: &Files) -> Result<(), DataError> {
        let mut rows = MappingRows::default();
        let mut ids = BTreeMap::new();
        let idioms = self.idioms(files)?;
        for (domain, source, ontology, mapping) in files.mappings() {
            let (id, offset) = (mapping.id.get_ref(), mapping.id.span().start);
            if ids.insert((domain, id.clone()), ()).is_some() {
                return Err(source.error(offset, id, "the mapping is defined twice"));
            }
            let (axis, key, value) = self.sets(source, domain, ontology, &mapping.id, &mapping.sets)?;
            self.add_patterns(source, id, rows.count, false, &mapping.any)?;
            let exceptions = self.add_patterns(source, id, rows.count, true, &mapping.except)?;
            let idioms = idioms.get(&(domain, mapping.sets.as_str())).copied().unwrap_or_default();
            let mut with = Vec::new();
            for group in &mapping.with {
                with.push(self.condition(source, id, group)?);
            }
            let without = self.conditions(source, id, &mapping.without)?;
            let apart_from = self.conditions(source, id, &mapping.apart_from)?;
            let first = self.conditions.len();
            let with: Vec<SetId> = with.into_iter().map(|group| self.set(group)).collect();
            self.conditions.extend(with);
            let treatment = Self::treatment(files, domain, key, value);
            if mapping.needs_weights && treatment == NO_TREATMENT {
                return Err(source.error(offset, id, "weights are asked about requests, and this sets state"));
            }
            let row = format!(
                "Mapping {{ id: {}, file: {}, line: {}, axis: {axis}, value: {}, treatment: {treatment}, exceptions: {exceptions:?}, idioms: {idioms:?}, with: Part {{ start: {first}, length: {} }}, without: {without}, apart_from: {apart_from}, negatable: {}, inferred: {}, needs_weights: {} }}",
                self.names.add(id),
                self.names.add(&source.name),
                source.line(offset),
                self.names.add(value),
                self.conditions.len() - first,
                mapping.negatable,
                mapping.inferred,
                mapping.needs_weights
            );
            rows.add(&row);
        }
        self.fitted(files, &mut rows)?;
        self.line(format!("pub(crate) static MAPPINGS: &[Mapping] = &[\n{}];", rows.lines));
        let conditions = std::mem::take(&mut self.conditions);
        self.line(format!("pub(crate) static CONDITIONS: &[SetId] = &{conditions:?};"));
        Ok(())
    }

    /// The axis, its key and the value that a rule sets or has as its condition.
    pub(super) fn sets<'s>(
        &self,
        source: &Source,
        domain: usize,
        ontology: &Ontology,
        id: &Text,
        sets: &'s str,
    ) -> Result<(u16, &'s str, &'s str), DataError> {
        let (id, offset) = (id.get_ref(), id.span().start);
        let Some((key, value)) = sets.split_once('=') else {
            return Err(source.error(offset, id, format!("{sets:?} is not axis=value")));
        };
        let axis = self.axis_named(source, domain, offset, id, key)?;
        let definition = &ontology.axis.iter().find(|axis| axis.key.get_ref() == key);
        if let Some(axis) = definition {
            if axis.oracle_only {
                return Err(source.error(offset, id, format!("only an oracle may set {key}")));
            }
            let known = axis.values.is_empty() || axis.values.iter().any(|known| known == value);
            if value != "#" && !known {
                return Err(source.error(offset, id, format!("{key} has no value {value:?}")));
            }
        }
        Ok((axis, key, value))
    }

    /// The number of the treatment of the request that a rule sets.
    pub(super) fn treatment(files: &Files, domain: usize, key: &str, value: &str) -> u8 {
        match key {
            "request" => treatment(&files.domains, domain, value).unwrap_or(NO_TREATMENT),
            _ => NO_TREATMENT,
        }
    }

    /// The number of a set of concepts. Assigns one to a new set.
    pub(super) fn set(&mut self, concepts: Vec<ConceptId>) -> SetId {
        let next = self.sets.len() as SetId;
        *self.sets.entry(concepts).or_insert(next)
    }

    /// Adds the patterns of the idioms and returns their ranges by domain and value.
    fn idioms<'f>(&mut self, files: &'f Files) -> Result<IdiomRanges<'f>, DataError> {
        let mappings = files.mappings().map(|(domain, _, _, mapping)| (domain, mapping.sets.as_str()));
        let values: BTreeSet<_> = mappings.collect();
        for (domain, source, idiom) in files.idioms() {
            for value in &idiom.of {
                if !values.contains(&(domain, value.get_ref().as_str())) {
                    let problem = format!("no mapping sets {:?}", value.get_ref());
                    return Err(source.error(value.span().start, idiom.id.get_ref(), problem));
                }
            }
        }
        let mut ranges = BTreeMap::new();
        for (domain, value) in values {
            let first = self.patterns.len() as u16;
            for (_, source, idiom) in files.idioms().filter(|(of, _, _)| *of == domain) {
                if idiom.of.iter().any(|of| of.get_ref() == value) {
                    self.add_patterns(source, idiom.id.get_ref(), 0, true, &idiom.any)?;
                }
            }
            ranges.insert((domain, value), (first, self.patterns.len() as u16));
        }
        Ok(ranges)
    }

    /// The alternatives of several conditions as one set.
    fn conditions(&mut self, source: &Source, id: &str, groups: &[Text]) -> Result<SetId, DataError> {
        let mut all = Vec::new();
        for group in groups {
            all.extend(self.condition(source, id, group)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(if all.is_empty() { NO_SET } else { self.set(all) })
    }

    fn condition(&mut self, source: &Source, id: &str, group: &Text) -> Result<Vec<ConceptId>, DataError> {
        alternatives(&mut self.lexicon, group.get_ref())
            .map_err(|problem| source.error(group.span().start, id, problem))
    }

    fn add_patterns(
        &mut self,
        source: &Source,
        id: &str,
        mapping: u16,
        excepts: bool,
        texts: &[Text],
    ) -> Result<(u16, u16), DataError> {
        let first = self.patterns.len() as u16;
        for text in texts {
            let resolved = pattern(&mut self.lexicon, text.get_ref())
                .map_err(|problem| source.error(text.span().start, id, problem))?;
            self.patterns.push((mapping, excepts, resolved));
        }
        Ok((first, self.patterns.len() as u16))
    }

    fn check_resources(&self, source: &Source, offset: usize, rule: &str, groups: &[String]) -> Result<(), DataError> {
        match groups.iter().find(|group| !self.groups.contains(group)) {
            Some(group) => Err(source.error(offset, rule, format!("there is no resource {group:?}"))),
            None => Ok(()),
        }
    }

    fn treatments(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let mut lines = String::new();
        for (domain, (source, ontology)) in files.iter().enumerate() {
            for treatment in &ontology.treatment {
                let (request, offset) = (treatment.request.get_ref(), treatment.request.span().start);
                let outcome = state(source, offset, request, &treatment.state)?;
                let missing = state(source, offset, request, &treatment.missing_state)?;
                let same = ontology.treatment.iter().filter(|other| other.request.get_ref() == request);
                if same.count() > 1 {
                    return Err(source.error(offset, request, "the request has several treatments"));
                }
                self.check_resources(source, offset, request, &treatment.resources)?;
                let known = ontology.axis.iter().find(|axis| axis.key.get_ref() == "request");
                if !known.is_some_and(|axis| axis.values.contains(request)) {
                    return Err(source.error(offset, request, "the axis request has no such value"));
                }
                if !treatment.approvable && ontology.human_lock.approval_matrix.contains_key(request) {
                    return Err(source.error(offset, request, "the approval matrix names who may approve it"));
                }
                let mut requires = Vec::new();
                for key in &treatment.requires {
                    requires.push(self.axis_named(source, domain, offset, request, key)?);
                }
                let mut conditional = String::new();
                for rule in &treatment.conditional {
                    let (axis, _, value) = self.sets(source, domain, ontology, &treatment.request, &rule.condition)?;
                    let mut then = Vec::new();
                    for key in &rule.then {
                        then.push(self.axis_named(source, domain, offset, request, key)?);
                    }
                    let value = self.names.add(value);
                    let _ =
                        write!(conditional, "Conditional {{ axis: {axis}, value: {value}, requires: &{then:?} }}, ");
                }
                let _ = writeln!(
                    lines,
                    "    Treatment {{ domain: {domain}, line: {}, request: {request:?}, state: State::{outcome:?}, requires: &{requires:?}, missing_state: State::{missing:?}, reason: {:?}, education: {}, locked: {}, approvable: {}, resources: &{:?}, conditional: &[{conditional}] }},",
                    source.line(offset),
                    treatment.reason,
                    treatment.education,
                    treatment.locked,
                    treatment.approvable,
                    treatment.resources
                );
            }
            // A request without a treatment would be let through.
            let requests = ontology.axis.iter().filter(|axis| axis.key.get_ref() == "request");
            for (axis, value) in requests.flat_map(|axis| axis.values.iter().map(move |value| (axis, value))) {
                if !ontology.treatment.iter().any(|treatment| treatment.request.get_ref() == value) {
                    return Err(source.error(axis.key.span().start, value, "no treatment answers this request"));
                }
            }
        }
        self.line(format!("pub(crate) static TREATMENTS: &[Treatment] = &[\n{lines}];"));
        Ok(())
    }

    fn high_stakes(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let mut lines = String::new();
        for (domain, (source, ontology)) in files.iter().enumerate() {
            for rule in &ontology.high_stakes {
                let (key, offset) = (rule.axis.get_ref(), rule.axis.span().start);
                let axis = self.axis(source, domain, &rule.axis)?;
                let Some((_, operator)) = OPERATORS.iter().find(|(name, _)| *name == rule.operator) else {
                    return Err(source.error(offset, key, format!("{:?} is not an operator", rule.operator)));
                };
                let Some(outcome) = ontology.action_states.get(&rule.action) else {
                    return Err(source.error(offset, key, format!("action_states has no {:?}", rule.action)));
                };
                let outcome = state(source, offset, key, outcome)?;
                let mut requests: Vec<u8> = Vec::new();
                for request in &rule.requests {
                    let number = match request.split_once('.') {
                        Some((other, request)) => {
                            let other = files.iter().position(|(_, file)| file.domain == other);
                            other.and_then(|other| treatment(files, other, request))
                        }
                        None => treatment(files, domain, request),
                    };
                    let Some(number) = number else {
                        return Err(source.error(offset, key, format!("no treatment answers the request {request:?}")));
                    };
                    requests.push(number);
                }
                self.check_resources(source, offset, key, &rule.resources)?;
                let condition = match &rule.condition {
                    Some(condition) => {
                        let (axis, _, value) = self.sets(source, domain, ontology, &rule.axis, condition)?;
                        format!("Some(({axis}, {}))", self.names.add(value))
                    }
                    None => "None".to_owned(),
                };
                let _ = writeln!(
                    lines,
                    "    HighStakes {{ domain: {domain}, line: {}, axis: {axis}, condition: {condition}, operator: Operator::{operator}, values: &[{}], number: {:?}, action: {:?}, state: State::{outcome:?}, rationale: {:?}, reason: {:?}, approval: &{:?}, requests: &{requests:?}, locked: {}, resources: &{:?} }},",
                    source.line(offset),
                    self.names.list(&rule.value),
                    rule.number,
                    rule.action,
                    rule.rationale,
                    rule.reason,
                    rule.approval.iter().map(Spanned::get_ref).collect::<Vec<_>>(),
                    rule.locked,
                    rule.resources
                );
            }
        }
        self.line(format!("pub(crate) static HIGH_STAKES: &[HighStakes] = &[\n{lines}];"));
        Ok(())
    }

    /// The endings of unknown words, by their last letter.
    fn suffixes(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let mut rows: Vec<Vec<Code>> = vec![Vec::new(); LETTERS];
        for (source, ontology) in files {
            for (name, endings) in &ontology.suffixes {
                let offset = endings.first().map_or(0, |ending| ending.span().start);
                let Some(concept) = self.lexicon.concepts.get(&format!("@{name}")).copied() else {
                    return Err(source.error(offset, name, format!("there is no concept @{name}")));
                };
                for ending in endings.iter().map(Spanned::get_ref) {
                    let Some(last) = ending.bytes().last().and_then(letter) else {
                        return Err(source.error(offset, name, format!("{ending:?} does not end with a small letter")));
                    };
                    rows[last].push(Code(format!("({}, {concept})", self.names.add(ending))));
                }
            }
        }
        self.rows("SUFFIXES", "(Name, ConceptId)", rows)
    }

    fn negative_constraints(&mut self, files: &Files) -> Result<(), DataError> {
        let words: Vec<&String> = files.domains.iter().flat_map(|(_, file)| &file.negative_constraints).collect();
        // In a pattern that sets an axis, such a word would satisfy the axis.
        for (_, source, _, mapping) in files.mappings().filter(|(.., mapping)| !mapping.sets.starts_with("request=")) {
            let parts = mapping.any.iter().flat_map(|text| text.get_ref().split([' ', '|']));
            if let Some(part) = parts.into_iter().find(|part| words.iter().any(|word| word == part)) {
                let offset = mapping.id.span().start;
                return Err(source.error(offset, mapping.id.get_ref(), format!("{part:?} may satisfy no axis")));
            }
        }
        self.line(format!("pub(crate) static NEGATIVE_CONSTRAINTS: &[&str] = &{words:?};"));
        Ok(())
    }
}
