//! Derives a state from the values of the axes: treatments of requests, required state, high-stakes rules.
//! The file has more than 300 lines because treatments and high-stakes rules read the same facts and raise the same
//! decision.

use std::cell::LazyCell;

use super::data::{AXES, DOMAINS, FITTED, HIGH_STAKES, MAPPINGS, NAMES, TREATMENTS};
use super::fitted::{Features, confirm, fitted};
use super::hits::Hits;
use super::matching::{Fired, fired};
use super::quantity::in_unit;
use super::trust::marker;
use crate::state::{Outcome, State};
use crate::tables::{HighStakes, NO_TREATMENT, Name, Operator, Treatment};

/// The reason of a danger to a person's life or health at this moment.
const MEDICAL_EMERGENCY: &str = "emergency_symptoms";

/// The reasons of a text that describes an emergency.
const EMERGENCIES: [&str; 4] =
    [MEDICAL_EMERGENCY, "toxic_chemical_mixing", "imminent_harm_to_minor", "unattended_child"];

/// A value of an axis and its position in the reading.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) mapping: u16,
    /// Byte offsets in the reading.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A rule, by its number in its table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Mapping(u16),
    Treatment(u8),
    HighStakes(u8),
}

/// A rule that contributed to the decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deciding {
    pub(crate) domain: u8,
    pub(crate) state: State,
    pub(crate) rule: Rule,
}

impl Deciding {
    /// The rule's name.
    pub(crate) fn name(&self) -> String {
        match self.rule {
            Rule::Mapping(number) => MAPPINGS[usize::from(number)].id.of(NAMES).to_owned(),
            Rule::Treatment(number) => format!("request={}", TREATMENTS[usize::from(number)].request),
            Rule::HighStakes(number) => {
                let rule = &HIGH_STAKES[usize::from(number)];
                format!("{}={}", AXES[usize::from(rule.axis)].key, rule.action)
            }
        }
    }

    /// The file and the line that define it.
    pub(crate) fn place(&self) -> (&'static str, u32) {
        let file = DOMAINS[usize::from(self.domain)].file;
        match self.rule {
            Rule::Mapping(number) => {
                let mapping = &MAPPINGS[usize::from(number)];
                (mapping.file.of(NAMES), mapping.line)
            }
            Rule::Treatment(number) => (file, TREATMENTS[usize::from(number)].line),
            Rule::HighStakes(number) => (file, HIGH_STAKES[usize::from(number)].line),
        }
    }

    /// Whether the rule locks the outcome, and its reason; `None` for a mapping.
    fn lock_and_reason(&self) -> Option<(bool, &'static str)> {
        match self.rule {
            Rule::Mapping(_) => None,
            Rule::Treatment(number) => {
                let treatment = &TREATMENTS[usize::from(number)];
                Some((treatment.locked, treatment.reason))
            }
            Rule::HighStakes(number) => {
                let rule = &HIGH_STAKES[usize::from(number)];
                Some((rule.locked, rule.reason))
            }
        }
    }

    /// The reason; `None` for a mapping.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.lock_and_reason().map(|(_, reason)| reason)
    }

    /// The reason, if the rule locks the outcome.
    pub(crate) fn locks_for(&self) -> Option<&'static str> {
        self.lock_and_reason().filter(|(locked, _)| *locked).map(|(_, reason)| reason)
    }

    /// The rationale.
    pub(crate) fn why(&self) -> &'static str {
        match self.rule {
            Rule::Mapping(number) if FITTED.iter().any(|fitted| fitted.mapping == number) => {
                "the weights of these words together, fitted to labelled texts"
            }
            Rule::Mapping(_) => "found in the text",
            Rule::Treatment(number) => TREATMENTS[usize::from(number)].reason,
            Rule::HighStakes(number) => HIGH_STAKES[usize::from(number)].rationale,
        }
    }
}

/// The decision about one reading of a text.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) outcome: Outcome,
    pub(crate) domain: Option<u8>,
    pub(crate) reason: &'static str,
    /// Whether a high-stakes rule gave the reason: it is more specific than the treatment of the request.
    by_high_stakes: bool,
    pub(crate) missing: Vec<u16>,
    pub(crate) resources: Vec<&'static str>,
    /// Whether a rule about a disclosure of self-harm applies, even if another rule gives the reason.
    pub(crate) is_crisis: bool,
    /// Whether a rule about a danger at this moment applies, even if another rule gives the reason.
    pub(crate) is_emergency: bool,
    pub(crate) rules: Vec<Deciding>,
    pub(crate) values: Vec<Value>,
    /// Domains whose grammar a narrative answer must follow.
    pub(crate) engaged: Vec<u8>,
}

impl Decision {
    /// How severe it is: a locked outcome is more severe than every other.
    pub(crate) fn rank(&self) -> (bool, State) {
        (self.outcome.is_locked(), self.outcome.state())
    }

    /// The more severe of two decisions about one text; this one if they are equal. A danger that either names stays
    /// named, with its sources of help.
    fn or_more_severe(self, other: Self) -> Self {
        let (mut worst, lesser) = if other.rank() > self.rank() { (other, self) } else { (self, other) };
        worst.is_crisis |= lesser.is_crisis;
        worst.is_emergency |= lesser.is_emergency;
        add(&mut worst.resources, &lesser.resources);
        worst
    }

    fn nothing() -> Self {
        Self {
            outcome: Outcome::AUTHORIZED,
            domain: None,
            reason: "not_applicable",
            by_high_stakes: false,
            missing: Vec::new(),
            resources: Vec::new(),
            is_crisis: false,
            is_emergency: false,
            rules: Vec::new(),
            values: Vec::new(),
            engaged: Vec::new(),
        }
    }
}

struct Facts<'h> {
    hits: &'h Hits,
    fired: &'h [Fired],
    /// Per treatment, whether the text asks for it.
    asked: [bool; TREATMENTS.len()],
    /// Per domain, whether the text asks for more than education.
    governed: [bool; DOMAINS.len()],
}

impl<'h> Facts<'h> {
    fn of(hits: &'h Hits, fired: &'h [Fired]) -> Self {
        let (mut asked, mut governed) = ([false; TREATMENTS.len()], [false; DOMAINS.len()]);
        for one in fired {
            let number = usize::from(MAPPINGS[usize::from(one.mapping)].treatment);
            if let Some(treatment) = TREATMENTS.get(number) {
                asked[number] = true;
                governed[usize::from(treatment.domain)] |= !treatment.education;
            }
        }
        Self { hits, fired, asked, governed }
    }

    fn of_axis(&self, axis: u16) -> impl Iterator<Item = &Fired> {
        self.fired.iter().filter(move |one| MAPPINGS[usize::from(one.mapping)].axis == axis)
    }

    fn has(&self, axis: u16) -> bool {
        self.of_axis(axis).next().is_some()
    }

    fn has_value(&self, axis: u16, value: Name) -> bool {
        self.of_axis(axis).any(|one| MAPPINGS[usize::from(one.mapping)].value == value)
    }

    /// The numbers in the quotes of an axis, in its unit.
    fn numbers<'s>(&'s self, axis: u16, reading: &'s str) -> impl Iterator<Item = f64> + 's {
        let unit = AXES[usize::from(axis)].unit;
        let tokens = &self.hits.tokens;
        self.of_axis(axis)
            .flat_map(|one| one.start..one.end)
            .filter_map(move |index| in_unit(reading, tokens, index, unit))
    }
}

/// Decides about one reading. Of one with a marker of a pasted trace, the most severe of three decisions counts: without
/// the state behind the marker, with it, and, if it blocks, about the part behind the marker alone. So a marker takes no
/// state from a rule that it makes more severe, and no words before it make the part behind it harmless.
pub(crate) fn decide(reading: &str) -> Decision {
    // Without a letter or a number of any script there is no question: a text of emoji alone is charged for nothing.
    if !reading.chars().any(char::is_alphanumeric) {
        return Decision { outcome: Outcome::open(State::Unresolvable), reason: "no_question", ..Decision::nothing() };
    }
    let Some((from, behind)) = marker(reading) else { return decide_trusting(reading, reading.len()) };
    let worst = decide_trusting(reading, from).or_more_severe(decide_trusting(reading, reading.len()));
    let mut alone = decide_trusting(&reading[behind..], reading.len() - behind);
    if alone.outcome.state() != State::Blocked {
        return worst;
    }
    for value in &mut alone.values {
        value.start += behind;
        value.end += behind;
    }
    worst.or_more_severe(alone)
}

/// Decides about one reading whose part from `untrusted_from` supplies no state.
fn decide_trusting(reading: &str, untrusted_from: usize) -> Decision {
    let hits = Hits::of(reading, untrusted_from);
    let mut fired = fired(&hits, untrusted_from);
    let features = LazyCell::new(|| Features::of(&hits.tokens));
    confirm(&features, &mut fired);
    let by_rules = combine(reading, &hits, &fired);
    // What a rule found is more specific than a sum, and its approvers remain. A disclosure of self-harm and an emergency
    // are looked for beside every other danger, because their sources of help come first.
    let before = Some(by_rules.rank());
    let names_help = by_rules.is_crisis || by_rules.resources.contains(&"emergency");
    let is_new_danger = |it: &Treatment| {
        (!by_rules.is_crisis && is_crisis(it.locked, it.reason)) || (!names_help && it.reason == MEDICAL_EMERGENCY)
    };
    let matters = |mapping| {
        severity(mapping) > before || (severity(mapping) == before && treatment(mapping).is_some_and(is_new_danger))
    };
    let mut by_weights = fitted(&hits.tokens, &features, matters);
    let state = |one: &Fired| severity(one.mapping).map(|(_, state)| state);
    let worst = by_weights.iter().map(state).max().flatten();
    by_weights.retain(|one| state(one) == worst);
    if by_weights.is_empty() {
        return by_rules;
    }
    fired.extend(by_weights);
    fired.sort_by_key(|one| (one.mapping, one.start, one.end));
    combine(reading, &hits, &fired)
}

/// How severe the request is that a mapping sets; `None` if it sets state.
fn severity(mapping: u16) -> Option<(bool, State)> {
    treatment(mapping).map(|treatment| (treatment.locked, treatment.state))
}

/// The treatment of the request that a mapping sets; `None` if it sets state.
fn treatment(mapping: u16) -> Option<&'static Treatment> {
    TREATMENTS.get(usize::from(MAPPINGS[usize::from(mapping)].treatment))
}

/// Whether a rule is about a disclosure of self-harm.
fn is_crisis(locked: bool, reason: &str) -> bool {
    locked && matches!(reason, "suicidal_ideation" | "imminent_harm_signal_minor")
}

/// The decision that the mappings that apply come to.
fn combine(reading: &str, hits: &Hits, fired: &[Fired]) -> Decision {
    let facts = Facts::of(hits, fired);
    let mut decision = Decision::nothing();
    // Every rule is about a request: state alone decides nothing.
    if !facts.asked.contains(&true) {
        return decision;
    }
    for one in fired {
        let mapping = &MAPPINGS[usize::from(one.mapping)];
        if mapping.treatment != NO_TREATMENT {
            let domain = AXES[usize::from(mapping.axis)].domain;
            decision.rules.push(Deciding { domain, state: State::Authorized, rule: Rule::Mapping(one.mapping) });
        }
    }
    for (number, treatment) in TREATMENTS.iter().enumerate().filter(|(number, _)| facts.asked[*number]) {
        treat(&facts, (number as u8, treatment), &mut decision);
        if !decision.engaged.contains(&treatment.domain) {
            decision.engaged.push(treatment.domain);
        }
    }
    for (number, rule) in HIGH_STAKES.iter().enumerate().filter(|(_, rule)| applies(&facts, rule)) {
        if holds(&facts, rule, reading) {
            let word = Word {
                domain: rule.domain,
                state: rule.state,
                locked: rule.locked,
                reason: rule.reason,
                rule: Rule::HighStakes(number as u8),
                resources: rule.resources,
            };
            raise(&mut decision, &word);
            // The rule may be about a request of another domain.
            add(&mut decision.engaged, &[rule.domain]);
            // A value that the rule does not accept ("we don't know when it was calibrated") is asked for again.
            if rule.state == State::RequiresSpecification {
                add(&mut decision.missing, &[rule.axis]);
            }
        }
    }
    // Drops the rules and values of domains without an applicable request: they do not affect the decision.
    let engaged = decision.engaged.clone();
    decision.rules.retain(|rule| engaged.contains(&rule.domain));
    decision.values = fired
        .iter()
        .filter(|one| engaged.contains(&AXES[usize::from(MAPPINGS[usize::from(one.mapping)].axis)].domain))
        .map(|one| Value {
            mapping: one.mapping,
            start: hits.tokens[one.start].start,
            end: hits.tokens[one.end - 1].end,
        })
        .collect();
    decision
}

fn treat(facts: &Facts<'_>, (number, treatment): (u8, &Treatment), decision: &mut Decision) {
    let mut required: Vec<u16> = treatment.requires.to_vec();
    for conditional in treatment.conditional {
        if facts.has_value(conditional.axis, conditional.value) {
            required.extend(conditional.requires);
        }
    }
    let missing: Vec<u16> = required.iter().copied().filter(|axis| !facts.has(*axis)).collect();
    let ambiguous = required.iter().copied().find(|axis| {
        let mut values = facts.of_axis(*axis).map(|one| MAPPINGS[usize::from(one.mapping)].value);
        let first = values.next();
        AXES[usize::from(*axis)].kind == "enum" && values.any(|value| Some(value) != first)
    });
    let mut state = treatment.state;
    let mut reason = treatment.reason;
    if !missing.is_empty() {
        // What only an oracle can supply is no question to the customer.
        let only_oracles = missing.iter().all(|axis| AXES[usize::from(*axis)].oracle_only);
        let missing_state = if only_oracles { State::RequiresOracleVerification } else { treatment.missing_state };
        state = state.max(missing_state);
    }
    if let (Some(axis), true) = (ambiguous, state < State::AmbiguousMapping) {
        state = State::AmbiguousMapping;
        reason = "axis_has_several_values";
        add(&mut decision.missing, &[axis]);
    }
    add(&mut decision.missing, &missing);
    let word = Word {
        domain: treatment.domain,
        state,
        locked: treatment.locked,
        reason,
        rule: Rule::Treatment(number),
        resources: treatment.resources,
    };
    raise(decision, &word);
}

fn add<T: PartialEq + Copy>(list: &mut Vec<T>, more: &[T]) {
    for one in more {
        if !list.contains(one) {
            list.push(*one);
        }
    }
}

/// The outcome that one rule requires.
struct Word {
    domain: u8,
    state: State,
    locked: bool,
    reason: &'static str,
    rule: Rule,
    resources: &'static [&'static str],
}

/// Raises the outcome to the state that a rule requires; never lowers it. The most severe rule determines domain and
/// reason. Among equally severe rules, the domain with precedence does, and within a domain its high-stakes rules.
fn raise(decision: &mut Decision, word: &Word) {
    let rank = |domain: u8| DOMAINS[usize::from(domain)].rank;
    let is_high_stakes = matches!(word.rule, Rule::HighStakes(_));
    let Word { domain, state, locked, .. } = *word;
    let outcome = if locked { Outcome::locked() } else { Outcome::open(state) };
    let before = decision.rank();
    let comes_first = match decision.domain {
        None => true,
        // Help comes first, then what a high-stakes rule says.
        Some(known) if known == domain && decision.reason == MEDICAL_EMERGENCY => false,
        Some(known) if known == domain => {
            word.reason == MEDICAL_EMERGENCY || (is_high_stakes && !decision.by_high_stakes)
        }
        Some(known) => rank(domain) < rank(known),
    };
    if (locked, state) > before || ((locked, state) == before && comes_first) {
        decision.domain = Some(domain);
        decision.reason = word.reason;
        decision.by_high_stakes = is_high_stakes;
    }
    decision.outcome = decision.outcome.combine(outcome);
    decision.is_crisis |= is_crisis(locked, word.reason);
    decision.is_emergency |= EMERGENCIES.contains(&word.reason);
    add(&mut decision.resources, word.resources);
    decision.rules.push(Deciding { domain, state, rule: word.rule });
}

/// High-stakes rules take precedence over the requests of their domain, unless the request is only for education.
fn applies(facts: &Facts<'_>, rule: &HighStakes) -> bool {
    match rule.requests {
        [] => facts.governed[usize::from(rule.domain)],
        requests => requests.iter().any(|number| facts.asked[usize::from(*number)]),
    }
}

fn holds(facts: &Facts<'_>, rule: &HighStakes, reading: &str) -> bool {
    if rule.condition.is_some_and(|(axis, value)| !facts.has_value(axis, value)) {
        return false;
    }
    let one_of = || rule.values.iter().any(|value| facts.has_value(rule.axis, *value));
    let mut numbers = facts.numbers(rule.axis, reading);
    match rule.operator {
        Operator::Eq | Operator::In | Operator::Matches => one_of(),
        Operator::NotProvided => !facts.has(rule.axis),
        Operator::Gt | Operator::OlderThan => one_of() || numbers.any(|number| number > rule.number),
        Operator::Approaching => one_of() || numbers.any(|number| number <= rule.number),
    }
}
