//! The canonical mapping of a verdict's structure to V_t, V_r and E_D ("Variable Mapping" of the spec).

use domain::{Colour, Tier, verdict::DIMENSIONS};
use serde_json::{Map, Value};

/// The flag of a verdict whose five dimensions all have the opposite colour: GREEN over five RED, or RED over five
/// GREEN.
pub(crate) const OPPOSED: &str = "opposed_by_every_dimension";

/// The flag of a reply that is not a JSON object.
pub(crate) const MALFORMED: &str = "malformed_json";

/// The findings of one reply.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// V_t, weighted evidence units; at least 1.0.
    pub(crate) evidence: f64,
    /// V_r, weighted inconsistencies.
    pub(crate) inconsistency: f64,
    /// E_D, parsing and structural entropy.
    pub(crate) decoherence: f64,
    /// The verdict field is missing or invalid.
    pub(crate) verdict_missing: bool,
    /// Another required field is missing or of the wrong type.
    pub(crate) field_missing: bool,
    /// The top-level verdict contradicts the majority.
    pub(crate) conflict: bool,
    /// The top-level colour.
    pub(crate) label: Option<Colour>,
    /// One flag for each finding.
    pub(crate) flags: Vec<String>,
}

impl Measured {
    fn missing(&mut self, field: &str) {
        self.field_missing = true;
        self.flags.push(format!("field_missing:{field}"));
    }

    fn inconsistent(&mut self, weight: f64, flag: impl Into<String>) {
        self.inconsistency += weight;
        self.flags.push(flag.into());
    }

    /// Adds evidence of this weight for a text that is present and not empty.
    fn text(&mut self, parent: &Map<String, Value>, name: &str, path: &str, weight: f64) -> Option<bool> {
        match parent.get(name).and_then(Value::as_str) {
            Some(text) => {
                let filled = !text.trim().is_empty();
                self.evidence += if filled { weight } else { 0.0 };
                Some(filled)
            }
            None => {
                self.missing(path);
                None
            }
        }
    }
}

/// The reply is not a JSON object: E_D = 2.0, V_t forced to 1.0.
pub(crate) fn malformed() -> Measured {
    Measured { evidence: 1.0, decoherence: 2.0, flags: vec![MALFORMED.to_owned()], ..Measured::default() }
}

/// Measures a reply for the paid tier. Blocks that the tier does not include are ignored.
pub(crate) fn measure(reply: &Map<String, Value>, tier: Tier) -> Measured {
    let mut found =
        Measured { label: reply.get("verdict").and_then(Value::as_str).and_then(Colour::parse), ..Measured::default() };
    if found.label.is_some() {
        found.evidence += 1.0;
    } else {
        found.verdict_missing = true;
        found.flags.push("verdict_missing_or_invalid".to_owned());
    }
    measure_summary(&mut found, reply);
    if tier.has_breakdown() {
        measure_breakdown(&mut found, reply);
    }
    if tier.has_strategy() {
        measure_strategy(&mut found, reply);
    }
    found.decoherence = match (found.verdict_missing, found.field_missing) {
        (true, _) => 1.0,
        (false, true) => 0.5,
        (false, false) => 0.0,
    };
    found.evidence = found.evidence.max(1.0);
    found
}

fn measure_summary(found: &mut Measured, reply: &Map<String, Value>) {
    found.text(reply, "summary", "summary", 1.0);
    if let Some(summary) = reply.get("summary").and_then(Value::as_str)
        && summary.trim().chars().count() < 10
    {
        found.inconsistent(1.0, "summary_too_short");
    }
}

fn measure_breakdown(found: &mut Measured, reply: &Map<String, Value>) {
    let Some(breakdown) = reply.get("breakdown").and_then(Value::as_object) else {
        found.missing("breakdown");
        return;
    };
    let colours: Vec<Colour> = DIMENSIONS.iter().filter_map(|name| measure_dimension(found, breakdown, name)).collect();
    let Some(top) = found.label else { return };
    // A conflict exists when more than half of the five dimensions share a colour that differs from the top-level
    // verdict. A top-level NULL is never in conflict; it can only be contradictory.
    let majority =
        Colour::ALL.into_iter().find(|colour| colours.iter().filter(|c| *c == colour).count() * 2 > DIMENSIONS.len());
    if top != Colour::Null && majority.is_some_and(|colour| colour != top) {
        found.conflict = true;
        found.inconsistent(2.0, "dimension_conflict");
    }
    // The formula tolerates this case (0.988). The flag has no weight; the metric VerdictOpposed counts it.
    let opposite = match top {
        Colour::Green => Some(Colour::Red),
        Colour::Red => Some(Colour::Green),
        Colour::Amber | Colour::Null => None,
    };
    if colours.len() == DIMENSIONS.len() && opposite.is_some_and(|opposite| colours.iter().all(|c| *c == opposite)) {
        found.flags.push(OPPOSED.to_owned());
    }
    let positive = |colour: &Colour| matches!(colour, Colour::Green | Colour::Amber);
    if top == Colour::Null && colours.len() == DIMENSIONS.len() && colours.iter().all(positive) {
        found.inconsistent(1.5, "contradictory_null");
    }
}

fn measure_dimension(found: &mut Measured, breakdown: &Map<String, Value>, name: &str) -> Option<Colour> {
    let Some(dimension) = breakdown.get(name).and_then(Value::as_object) else {
        found.missing(&format!("breakdown.{name}"));
        return None;
    };
    let colour = dimension.get("verdict").and_then(Value::as_str).and_then(Colour::parse);
    if colour.is_none() {
        found.missing(&format!("breakdown.{name}.verdict"));
    }
    // A dimension counts as one unit only if it has both its verdict and its analysis.
    let weight = if colour.is_some() { 1.0 } else { 0.0 };
    let filled = found.text(dimension, "analysis", &format!("breakdown.{name}.analysis"), weight);
    if colour.is_some() && filled == Some(false) {
        found.inconsistent(0.5, format!("empty_analysis:{name}"));
    }
    colour
}

fn measure_strategy(found: &mut Measured, reply: &Map<String, Value>) {
    let Some(strategy) = reply.get("strategy").and_then(Value::as_object) else {
        found.missing("strategy");
        found.inconsistent(2.0, "strategy_missing");
        return;
    };
    found.text(strategy, "next_step", "strategy.next_step", 1.0);
    found.text(strategy, "alternative", "strategy.alternative", 1.0);
    let Some(tests) = strategy.get("tests").and_then(Value::as_array) else {
        found.missing("strategy.tests");
        found.inconsistent(1.0, "strategy_tests_fewer_than_two");
        return;
    };
    let filled = tests.iter().filter_map(Value::as_str).filter(|test| !test.trim().is_empty());
    for _ in filled.take(3) {
        found.evidence += 0.5;
    }
    if tests.len() < 2 {
        found.inconsistent(1.0, "strategy_tests_fewer_than_two");
    }
}
