//! The verdict that a customer buys (Verdict Pipeline, outputs 1).

use crate::{Query, Tier, Timestamp, texts};
use serde::{Deserialize, Serialize};

crate::enum_with_words! {
    /// The colour of a verdict. NULL (insufficient signal) is a verdict like any other (Product Tiers, invariant 6).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Colour {
        /// Positive signal; proceed.
        Green = "GREEN",
        /// Conditional; proceed with caution.
        Amber = "AMBER",
        /// Negative signal; do not proceed.
        Red = "RED",
        /// Insufficient signal; a verdict cannot be rendered.
        Null = "NULL",
    }
    /// The word, as the model writes it and customers read it.
    pub const fn word;
    /// Every colour.
    pub const ALL;
}

impl Colour {
    /// Parses the exact word; any other text is not a colour.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|colour| colour.word() == word)
    }
}

/// The difference between a regenerated verdict and the first one (Regen Consistency, invariant 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Divergence {
    /// The same colour.
    None,
    /// Neighbours: GREEN and AMBER, or AMBER and RED.
    Minor,
    /// GREEN and RED, or any colour and NULL.
    Significant,
}

impl Divergence {
    /// Compares two top-level colours.
    #[must_use]
    pub fn between(first: Colour, second: Colour) -> Self {
        match (first, second) {
            (a, b) if a == b => Self::None,
            (Colour::Null, _) | (_, Colour::Null) => Self::Significant,
            (Colour::Green, Colour::Red) | (Colour::Red, Colour::Green) => Self::Significant,
            _ => Self::Minor,
        }
    }
}

/// The names of the five dimensions, in the order in which they are shown.
pub const DIMENSIONS: [&str; 5] = ["Stability", "Turbulence", "Change Rate", "Completion", "Curvature"];

/// One dimension of the breakdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dimension {
    /// Its colour.
    pub verdict: Colour,
    /// Its analysis; may be empty (the crosscheck counts it).
    pub analysis: String,
}

/// The five dimensions of a Full Breakdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Breakdown {
    #[serde(rename = "Stability")]
    pub stability: Dimension,
    #[serde(rename = "Turbulence")]
    pub turbulence: Dimension,
    #[serde(rename = "Change Rate")]
    pub change_rate: Dimension,
    #[serde(rename = "Completion")]
    pub completion: Dimension,
    #[serde(rename = "Curvature")]
    pub curvature: Dimension,
}

impl Breakdown {
    /// The dimensions with their names, in the order of [`DIMENSIONS`].
    #[must_use]
    pub const fn named(&self) -> [(&'static str, &Dimension); 5] {
        [
            (DIMENSIONS[0], &self.stability),
            (DIMENSIONS[1], &self.turbulence),
            (DIMENSIONS[2], &self.change_rate),
            (DIMENSIONS[3], &self.completion),
            (DIMENSIONS[4], &self.curvature),
        ]
    }

    const fn dimensions_mut(&mut self) -> [&mut Dimension; 5] {
        [&mut self.stability, &mut self.turbulence, &mut self.change_rate, &mut self.completion, &mut self.curvature]
    }
}

/// The strategy block of a Strategy Session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strategy {
    /// The highest-leverage action.
    pub next_step: String,
    /// A fundamentally different path.
    pub alternative: String,
    /// Tests to run, normally three.
    pub tests: Vec<String>,
}

/// A verdict of any tier, parsed. The serialised form is the one customers' pages receive and the one hashed
/// for the audit log (Audit Trail GAP-08: the normalised object, not the model's bytes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The colour.
    pub verdict: Colour,
    /// One direct sentence.
    pub summary: String,
    /// The five dimensions (Full Breakdown and Strategy Session).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<Breakdown>,
    /// The strategy block (Strategy Session).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
}

impl Verdict {
    /// Removes the blocks that the tier does not include, so that a customer does not get what only another tier sells.
    #[must_use]
    pub fn for_tier(mut self, tier: Tier) -> Self {
        if !tier.has_breakdown() {
            self.breakdown = None;
        }
        if !tier.has_strategy() {
            self.strategy = None;
        }
        self
    }

    /// Whether it has all blocks of the tier.
    #[must_use]
    pub const fn is_complete_for(&self, tier: Tier) -> bool {
        self.breakdown.is_some() >= tier.has_breakdown() && self.strategy.is_some() >= tier.has_strategy()
    }

    /// Every text that customers read, in the order in which it is shown (content filter, primary input).
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        let mut texts = vec![self.summary.as_str()];
        if let Some(breakdown) = &self.breakdown {
            texts.extend(breakdown.named().map(|(_, dimension)| dimension.analysis.as_str()));
        }
        if let Some(strategy) = &self.strategy {
            texts.extend([strategy.next_step.as_str(), strategy.alternative.as_str()]);
            texts.extend(strategy.tests.iter().map(String::as_str));
        }
        texts
    }

    /// Replaces the texts that [`Self::texts`] returns, in the same order; surplus texts are ignored.
    #[must_use]
    pub fn with_texts(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        let mut slots = vec![&mut self.summary];
        if let Some(breakdown) = &mut self.breakdown {
            slots.extend(breakdown.dimensions_mut().map(|dimension| &mut dimension.analysis));
        }
        if let Some(strategy) = &mut self.strategy {
            slots.extend([&mut strategy.next_step, &mut strategy.alternative]);
            slots.extend(strategy.tests.iter_mut());
        }
        for (slot, text) in slots.into_iter().zip(texts) {
            *slot = text;
        }
        self
    }
}

/// A regenerated verdict compared with the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The colour of the first verdict, if it is known.
    pub first: Option<Colour>,
    /// The colour of the new one.
    pub second: Colour,
    /// Whether the customer has the first one by mail, or may get it.
    pub is_mailed: bool,
}

impl Comparison {
    /// Their divergence; `None` when the first is unknown.
    #[must_use]
    pub fn divergence(&self) -> Option<Divergence> {
        self.first.map(|first| Divergence::between(first, self.second))
    }

    /// Whether the page says that it may differ from the mail (Regen Consistency, invariant 4: the mailed verdict stays
    /// authoritative, and is not replaced silently). A minor divergence is announced here and causes no mail (Regen
    /// Consistency, invariant 5).
    #[must_use]
    pub fn is_announced(&self) -> bool {
        self.is_mailed && self.divergence() != Some(Divergence::None)
    }
}

/// A verdict in the form in which it is cached and archived (Verdict Pipeline, outputs 1; Regen Consistency, primary
/// output). It contains the question and the verdict, never an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedVerdict {
    /// The tier that was paid for.
    pub tier: Tier,
    /// The question, verbatim.
    pub query: String,
    /// The verdict after gate 1.
    pub verdict: Verdict,
    /// When it was written, ISO 8601 UTC.
    pub cached_at: String,
    /// Whether it replaces a lost original.
    #[serde(default)]
    pub regen: bool,
    /// Whether it is a smoke test's (Smoke Test, invariant 2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoke: bool,
    /// The reason for the regeneration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regen_reason: Option<String>,
    /// A sentence shown above the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// For a follow-up: the first question and its verdict, as the model received them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Box<FirstVerdict>>,
}

/// The question and the verdict that a follow-up follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstVerdict {
    /// The question, verbatim.
    pub query: String,
    /// The verdict.
    pub verdict: Verdict,
    /// When it was written, ISO 8601 UTC.
    pub cached_at: String,
}

impl From<CachedVerdict> for FirstVerdict {
    fn from(CachedVerdict { query, verdict, cached_at, .. }: CachedVerdict) -> Self {
        Self { query, verdict, cached_at }
    }
}

impl CachedVerdict {
    /// The first verdict of a sale.
    #[must_use]
    pub fn first(tier: Tier, query: &Query, verdict: Verdict, now: Timestamp) -> Self {
        Self {
            tier,
            query: query.as_str().to_owned(),
            verdict,
            cached_at: now.to_iso(),
            regen: false,
            smoke: false,
            regen_reason: None,
            notice: None,
            first: None,
        }
    }

    /// Marks a regenerated verdict. A mailed one stays authoritative (Regen Consistency, invariant 4): if this one may
    /// differ from it, the page says so.
    pub fn mark_regenerated(&mut self, compared: &Comparison) {
        self.regen = true;
        self.regen_reason = Some("cache_miss".to_owned());
        if compared.is_announced() {
            let notices = [Some(texts::REGENERATED_NOTICE), self.notice.as_deref()];
            self.notice = Some(notices.into_iter().flatten().collect::<Vec<_>>().join(" "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy_verdict() -> Verdict {
        let dimension = |n: usize| Dimension { verdict: Colour::Green, analysis: format!("analysis {n}") };
        Verdict {
            verdict: Colour::Green,
            summary: "summary".into(),
            breakdown: Some(Breakdown {
                stability: dimension(1),
                turbulence: dimension(2),
                change_rate: dimension(3),
                completion: dimension(4),
                curvature: dimension(5),
            }),
            strategy: Some(Strategy {
                next_step: "next".into(),
                alternative: "other".into(),
                tests: vec!["t1".into(), "t2".into(), "t3".into()],
            }),
        }
    }

    #[test]
    fn divergence_is_that_of_the_spec_both_ways() {
        use Divergence::{Minor, None, Significant};
        let expected = [
            [None, Minor, Significant, Significant],
            [Minor, None, Minor, Significant],
            [Significant, Minor, None, Significant],
            [Significant, Significant, Significant, None],
        ];
        for (row, first) in Colour::ALL.into_iter().enumerate() {
            for (column, second) in Colour::ALL.into_iter().enumerate() {
                assert_eq!(Divergence::between(first, second), expected[row][column], "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn texts_and_with_texts_are_inverse() {
        let verdict = strategy_verdict();
        assert_eq!(verdict.texts().len(), 11);
        let changed: Vec<String> = verdict.texts().iter().map(|text| format!("<{text}>")).collect();
        let back = verdict.with_texts(changed.clone());
        assert_eq!(back.texts(), changed);
    }

    #[test]
    fn a_cheaper_tier_never_carries_the_dearer_blocks() {
        let quick = strategy_verdict().for_tier(Tier::Quick);
        assert_eq!(serde_json::to_string(&quick).unwrap(), r#"{"verdict":"GREEN","summary":"summary"}"#);
        assert!(!quick.is_complete_for(Tier::Full));
        assert!(strategy_verdict().for_tier(Tier::Full).strategy.is_none());
        assert!(strategy_verdict().is_complete_for(Tier::Strategy));
    }
}
