//! Writes the tables as Rust source. The file exceeds 300 lines because every table is validated where it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use toml::Spanned;

use super::lexicon::{Lexicon, slips};
use super::ontology::{Files, Ontology, Text};
use super::resolve::{Pattern, alternatives, define, pattern};
use super::{DataError, Source};
use crate::tables::{ConceptId, hash};

/// The range of the idioms' patterns, by domain and value.
type IdiomRanges<'f> = BTreeMap<(usize, &'f str), (u16, u16)>;

const STATES: [&str; 7] = [
    "AUTHORIZED",
    "NARRATIVE_ONLY",
    "REQUIRES_SPECIFICATION",
    "AMBIGUOUS_MAPPING",
    "REQUIRES_ORACLE_VERIFICATION",
    "UNRESOLVABLE",
    "BLOCKED",
];
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
const TIMEOUTS: [&str; 3] = ["FAIL_CLOSED_BLOCK", "ASSUME_HIGHEST_RISK", "NARRATIVE_ONLY"];

/// Axis numbers by domain and key.
type Axes = BTreeMap<(usize, String), u16>;

struct Generator {
    lexicon: Lexicon,
    axes: Axes,
    groups: Vec<String>,
    patterns: Vec<(u16, bool, Pattern)>,
    out: String,
}

/// Parses the files and generates the tables.
pub(crate) fn generate(sources: Vec<Source>) -> Result<String, DataError> {
    let all = Files::parse(sources)?;
    let mut lexicon = Lexicon::new();
    define(&mut lexicon, &all)?;
    let files = &all.domains;
    let groups = files.iter().flat_map(|(_, file)| &file.resource).map(|resource| resource.group.clone()).collect();
    let mut generator = Generator { lexicon, axes: Axes::new(), groups, patterns: Vec::new(), out: String::new() };
    generator.axes(files)?;
    generator.domains(files)?;
    generator.mappings(&all)?;
    generator.treatments(files)?;
    generator.high_stakes(files)?;
    generator.suffixes(files)?;
    generator.negative_constraints(&all)?;
    generator.patterns();
    generator.lexicon.apply_stems();
    generator.spellings(files)?;
    generator.stems();
    generator.words();
    Ok(generator.out)
}

fn state(source: &Source, offset: usize, rule: &str, state: &str) -> Result<(), DataError> {
    if STATES.contains(&state) {
        return Ok(());
    }
    Err(source.error(offset, rule, format!("{state:?} is not a state; there are {}", STATES.join(", "))))
}

impl Generator {
    fn line(&mut self, line: String) {
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
                    "    Axis {{ domain: {domain}, key: {key:?}, kind: {:?}, unit: {:?}, values: &{:?}, prompt: {:?}, oracle_only: {} }},",
                    axis.kind, axis.unit, axis.values, axis.prompt, axis.oracle_only
                );
            }
        }
        self.line(format!("pub(crate) static AXES: &[Axis] = &[\n{lines}];"));
        Ok(())
    }

    fn domains(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let (mut lines, mut resources) = (String::new(), String::new());
        for (source, ontology) in files {
            if !TIMEOUTS.contains(&ontology.on_timeout.as_str()) {
                return Err(source.error(0, "on_timeout", format!("{:?} is not a policy", ontology.on_timeout)));
            }
            let mut oracles = String::new();
            for oracle in &ontology.oracle {
                if !["primary", "secondary", "cross_domain", "unverified"].contains(&oracle.tier.as_str()) {
                    return Err(source.error(0, &oracle.name, format!("{:?} is not a trust tier", oracle.tier)));
                }
                let _ = write!(
                    oracles,
                    "Oracle {{ name: {:?}, tier: {:?}, recency_seconds: {} }}, ",
                    oracle.name, oracle.tier, oracle.recency_seconds
                );
            }
            let roles: Vec<String> = ontology
                .human_lock
                .approval_matrix
                .iter()
                .map(|(request, roles)| format!("{request}: {}", roles.join(", ")))
                .collect();
            let lock = match (ontology.human_lock.never, roles.is_empty()) {
                (true, _) => "never".to_owned(),
                (false, true) => "none registered".to_owned(),
                (false, false) => {
                    let sources = ontology.human_lock.verification_sources.join(", ");
                    format!("{}; credentials in {sources}", roles.join("; "))
                }
            };
            let row = |(request, roles): (&String, &Vec<String>)| format!("({request:?}, &{roles:?}), ");
            let matrix: String = ontology.human_lock.approval_matrix.iter().map(row).collect();
            let _ = writeln!(
                lines,
                "    Domain {{ name: {:?}, file: {:?}, evaluator: {:?}, notice: {:?}, forbidden: &{:?}, required: &{:?}, actions: &{:?}, reformulation: {:?}, on_timeout: {:?}, human_lock: {lock:?}, never: {}, two_persons: {}, approval_matrix: &[{matrix}], verification_sources: &{:?}, oracles: &[{oracles}] }},",
                ontology.domain,
                source.name,
                ontology.evaluator,
                ontology.notice,
                ontology.forbidden,
                ontology.required,
                ontology.suggested_actions,
                ontology.reformulation,
                ontology.on_timeout,
                ontology.human_lock.never,
                ontology.human_lock.two_persons,
                ontology.human_lock.verification_sources,
            );
            for resource in &ontology.resource {
                let _ = writeln!(
                    resources,
                    "    Resource {{ group: {:?}, country: {:?}, name: {:?}, contact: {:?} }},",
                    resource.group, resource.country, resource.name, resource.contact
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
        let (mut lines, mut count) = (String::new(), 0_u16);
        let mut ids = BTreeMap::new();
        let idioms = self.idioms(files)?;
        for (domain, source, ontology, mapping) in files.mappings() {
            let (id, offset) = (mapping.id.get_ref(), mapping.id.span().start);
            if ids.insert((domain, id.clone()), ()).is_some() {
                return Err(source.error(offset, id, "the mapping is defined twice"));
            }
            let Some((key, value)) = mapping.sets.split_once('=') else {
                return Err(source.error(offset, id, "sets must be axis=value"));
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
            self.add_patterns(source, id, count, false, &mapping.any)?;
            let exceptions = self.add_patterns(source, id, count, true, &mapping.except)?;
            let idioms = idioms.get(&(domain, mapping.sets.as_str())).copied().unwrap_or_default();
            let mut with = Vec::new();
            for group in &mapping.with {
                with.push(self.condition(source, id, group)?);
            }
            let without = self.conditions(source, id, &mapping.without)?;
            let apart_from = self.conditions(source, id, &mapping.apart_from)?;
            let with: Vec<String> = with.iter().map(|group| format!("&{group:?}")).collect();
            let _ = writeln!(
                lines,
                "    Mapping {{ id: {id:?}, file: {:?}, line: {}, axis: {axis}, value: {value:?}, exceptions: {exceptions:?}, idioms: {idioms:?}, with: &[{}], without: &{without:?}, apart_from: &{apart_from:?}, negatable: {} }},",
                source.name,
                source.line(offset),
                with.join(", "),
                mapping.negatable
            );
            count += 1;
        }
        self.line(format!("pub(crate) static MAPPINGS: &[Mapping] = &[\n{lines}];"));
        Ok(())
    }

    /// Adds the patterns of the idioms and returns their ranges by domain and value.
    fn idioms<'f>(&mut self, files: &'f Files) -> Result<IdiomRanges<'f>, DataError> {
        let values: BTreeSet<(usize, &str)> =
            files.mappings().map(|(domain, _, _, mapping)| (domain, mapping.sets.as_str())).collect();
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

    /// The alternatives of several conditions as one sorted list.
    fn conditions(&mut self, source: &Source, id: &str, groups: &[Text]) -> Result<Vec<ConceptId>, DataError> {
        let mut all = Vec::new();
        for group in groups {
            all.extend(self.condition(source, id, group)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
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
                state(source, offset, request, &treatment.state)?;
                state(source, offset, request, &treatment.missing_state)?;
                self.check_resources(source, offset, request, &treatment.resources)?;
                let known = ontology.axis.iter().find(|axis| axis.key.get_ref() == "request");
                if !known.is_some_and(|axis| axis.values.contains(request)) {
                    return Err(source.error(offset, request, "the axis request has no such value"));
                }
                let mut requires = Vec::new();
                for key in &treatment.requires {
                    requires.push(self.axis_named(source, domain, offset, request, key)?);
                }
                let mut conditional = String::new();
                for rule in &treatment.conditional {
                    let Some((key, value)) = rule.condition.split_once('=') else {
                        return Err(source.error(offset, request, "a condition must be axis=value"));
                    };
                    let axis = self.axis_named(source, domain, offset, request, key)?;
                    let mut then = Vec::new();
                    for key in &rule.then {
                        then.push(self.axis_named(source, domain, offset, request, key)?);
                    }
                    let _ =
                        write!(conditional, "Conditional {{ axis: {axis}, value: {value:?}, requires: &{then:?} }}, ");
                }
                let _ = writeln!(
                    lines,
                    "    Treatment {{ domain: {domain}, line: {}, request: {request:?}, state: {:?}, requires: &{requires:?}, missing_state: {:?}, reason: {:?}, education: {}, locked: {}, resources: &{:?}, conditional: &[{conditional}] }},",
                    source.line(offset),
                    treatment.state,
                    treatment.missing_state,
                    treatment.reason,
                    treatment.education,
                    treatment.locked,
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
                state(source, offset, key, outcome)?;
                self.check_resources(source, offset, key, &rule.resources)?;
                let _ = writeln!(
                    lines,
                    "    HighStakes {{ domain: {domain}, line: {}, axis: {axis}, operator: Operator::{operator}, values: &{:?}, number: {:?}, action: {:?}, state: {outcome:?}, rationale: {:?}, reason: {:?}, requests: &{:?}, locked: {}, resources: &{:?} }},",
                    source.line(offset),
                    rule.value,
                    rule.number,
                    rule.action,
                    rule.rationale,
                    rule.reason,
                    rule.requests,
                    rule.locked,
                    rule.resources
                );
            }
        }
        self.line(format!("pub(crate) static HIGH_STAKES: &[HighStakes] = &[\n{lines}];"));
        Ok(())
    }

    fn suffixes(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let mut lines = String::new();
        for (source, ontology) in files {
            for (name, endings) in &ontology.suffixes {
                let offset = endings.first().map_or(0, |ending| ending.span().start);
                let Some(concept) = self.lexicon.concepts.get(&format!("@{name}")) else {
                    return Err(source.error(offset, name, format!("there is no concept @{name}")));
                };
                for ending in endings.iter().map(Spanned::get_ref) {
                    let _ = writeln!(lines, "    ({ending:?}, {concept}),");
                }
            }
        }
        self.line(format!("pub(crate) static SUFFIXES: &[(&str, u16)] = &[\n{lines}];"));
        Ok(())
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

    fn patterns(&mut self) {
        let mut lines = String::new();
        let mut anchors: Vec<Vec<usize>> = vec![Vec::new(); self.lexicon.concepts.len()];
        for (index, (mapping, excepts, pattern)) in self.patterns.iter().enumerate() {
            let elements: Vec<String> = pattern
                .elements
                .iter()
                .map(|(gap, concepts)| format!("Element {{ gap: {gap}, concepts: &{concepts:?} }}"))
                .collect();
            let _ = writeln!(
                lines,
                "    Pattern {{ mapping: {mapping}, anchor: {}, window: {}, elements: &[{}] }},",
                pattern.anchor,
                pattern.window,
                elements.join(", ")
            );
            if !excepts {
                for concept in &pattern.elements[pattern.anchor].1 {
                    anchors[usize::from(*concept)].push(index);
                }
            }
        }
        self.line(format!("pub(crate) static PATTERNS: &[Pattern] = &[\n{lines}];"));
        let mut anchored = Vec::new();
        let anchors: Vec<String> = anchors.into_iter().map(|patterns| part(&mut anchored, patterns)).collect();
        self.line(format!("pub(crate) static ANCHORS: &[Part] = &[{}];", anchors.join(", ")));
        self.line(format!("pub(crate) static ANCHORED: &[u16] = &{anchored:?};"));
    }

    /// Misspelt words that are not themselves in the lexicon, sorted, with the numbers of the intended words.
    fn spellings(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        let mut known: BTreeMap<String, u16> = BTreeMap::new();
        for (source, spellings) in files.iter().map(|(source, file)| (source, &file.spellings)) {
            let also = spellings.also.iter().map(|text| {
                let (misspelt, word) = text.get_ref().split_once('=').unwrap_or_default();
                (text, vec![misspelt.to_owned()], word)
            });
            let slipped = spellings.slips.iter().map(|text| {
                let word = text.get_ref().as_str();
                (text, slips(word).into_iter().collect(), word)
            });
            for (text, spelt, word) in also.chain(slipped) {
                let Some(number) = self.lexicon.number(word) else {
                    let problem = format!("{word:?} is not a word of any concept or pattern");
                    return Err(source.error(text.span().start, text.get_ref(), problem));
                };
                let strange = spelt.into_iter().filter(|spelling| self.lexicon.number(spelling).is_none());
                known.extend(strange.map(|spelling| (spelling, number)));
            }
        }
        let lines: String = known.iter().map(|(spelling, number)| format!("    ({spelling:?}, {number}),\n")).collect();
        self.line(format!("pub(crate) static SPELLINGS: &[(&str, u16)] = &[\n{lines}];"));
        Ok(())
    }

    fn stems(&mut self) {
        let stems = self.lexicon.stems.iter();
        let lines: String = stems.map(|(stem, concept)| format!("    ({stem:?}, {concept}),\n")).collect();
        self.line(format!("pub(crate) static STEMS: &[(&str, u16)] = &[\n{lines}];"));
    }

    fn words(&mut self) {
        let size = (self.lexicon.words.len() * 3).next_power_of_two();
        let mut slots = vec![0_u16; size];
        for (number, word) in self.lexicon.words.iter().enumerate() {
            let mut slot = hash(word.as_bytes()) & (size - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = number as u16 + 1;
        }
        let words = std::mem::take(&mut self.lexicon.words);
        self.line(format!("pub(crate) static WORDS: &[&str] = &{words:?};"));
        self.line(format!("pub(crate) static SLOTS: &[u16; {size}] = &{slots:?};"));
        let mut roots = vec![0_u16; words.len()];
        for (word, node) in &self.lexicon.nodes[0].children {
            roots[usize::from(*word)] = *node;
        }
        self.line(format!("pub(crate) static ROOTS: &[u16] = &{roots:?};"));
        let (mut lines, mut all_concepts, mut all_children) = (String::new(), Vec::new(), Vec::new());
        for node in std::mem::take(&mut self.lexicon.nodes) {
            let children: Vec<(u16, u16)> = node.children.into_iter().collect();
            // The root is looked up by word in ROOTS.
            let children = if lines.is_empty() { Vec::new() } else { children };
            let concepts: Vec<ConceptId> = node.concepts.into_iter().collect();
            let (concepts, children) = (part(&mut all_concepts, concepts), part(&mut all_children, children));
            let _ = writeln!(lines, "    Node {{ concepts: {concepts}, children: {children} }},");
        }
        self.line(format!("pub(crate) static NODES: &[Node] = &[\n{lines}];"));
        self.line(format!("pub(crate) static NODE_CONCEPTS: &[ConceptId] = &{all_concepts:?};"));
        self.line(format!("pub(crate) static NODE_CHILDREN: &[(u16, u16)] = &{all_children:?};"));
        let names: BTreeMap<u16, &String> =
            self.lexicon.concepts.iter().map(|(name, number)| (*number, name)).collect();
        let names: Vec<&String> = names.into_values().collect();
        let names = format!("pub(crate) static CONCEPTS: &[&str] = &{names:?};");
        self.line(names);
    }
}

/// Appends items to a table, and writes which part of it they are.
fn part<T>(table: &mut Vec<T>, items: Vec<T>) -> String {
    let (start, length) = (table.len(), items.len());
    table.extend(items);
    format!("Part {{ start: {start}, length: {length} }}")
}
