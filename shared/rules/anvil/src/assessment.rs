//! The verdict and its reasons. Every output has exactly one verdict, and the reasons come before it.

use serde::{Deserialize, Serialize};

/// What the gate says (Brain ANVIL, INV-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Sound, operational, within thresholds. Ship it.
    Green,
    /// Functional but degraded or approaching a threshold. Ship with caution. Monitor.
    Amber,
    /// Problem detected. Do not ship. Identify and fix.
    Red,
    /// Insufficient data to render verdict. Provide more information.
    Null,
    /// Verdict blocked: a prerequisite check is unavailable or a dependency is down. Retry after it resolves.
    Hold,
}

impl Verdict {
    /// All five.
    pub const ALL: [Self; 5] = [Self::Green, Self::Amber, Self::Red, Self::Null, Self::Hold];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Green => "GREEN",
            Self::Amber => "AMBER",
            Self::Red => "RED",
            Self::Null => "NULL",
            Self::Hold => "HOLD",
        }
    }

    /// Whether what was assessed may ship.
    #[must_use]
    pub const fn may_ship(self) -> bool {
        matches!(self, Self::Green | Self::Amber)
    }

    /// Whether this word, in any case, is a verdict. Names that are get no place in a text that has exactly one.
    #[must_use]
    pub fn is_verdict_word(word: &str) -> bool {
        Self::ALL.iter().any(|verdict| verdict.as_str().eq_ignore_ascii_case(word))
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How an answer is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One word, for a simple status check.
    Quick,
    /// Every kernel and reason, then the verdict.
    Analysis,
}

/// What a reason means for the verdict, in the order in which one outweighs the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Says something that decides nothing.
    Note,
    /// Observed and in order.
    Sound,
    /// In order, but not for long.
    Caution,
    /// Needed and not given.
    Missing,
    /// Needed, and at present not to be had.
    Blocked,
    /// Observed and wrong.
    Fault,
}

/// One reason of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    effect: Effect,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wanted: Option<String>,
}

impl Reason {
    /// Observed and in order.
    #[must_use]
    pub fn sound(text: impl Into<String>) -> Self {
        Self::of(Effect::Sound, text)
    }

    /// In order, but not for long.
    #[must_use]
    pub fn caution(text: impl Into<String>) -> Self {
        Self::of(Effect::Caution, text)
    }

    /// Observed and wrong.
    #[must_use]
    pub fn fault(text: impl Into<String>) -> Self {
        Self::of(Effect::Fault, text)
    }

    /// A prerequisite that is not to be had.
    #[must_use]
    pub fn blocked(text: impl Into<String>) -> Self {
        Self::of(Effect::Blocked, text)
    }

    /// Something to know that decides nothing.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self::of(Effect::Note, text)
    }

    /// Something that was not given, and how to ask for it.
    #[must_use]
    pub fn missing(text: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self { wanted: Some(wanted.into()), ..Self::of(Effect::Missing, text) }
    }

    fn of(effect: Effect, text: impl Into<String>) -> Self {
        Self { effect, text: text.into(), wanted: None }
    }

    /// What it means for the verdict.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// The sentence.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A verdict with its reasons. Only its reasons make its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assessment {
    mode: Mode,
    verdict: Verdict,
    reasons: Vec<Reason>,
}

impl Assessment {
    /// Assesses the reasons. Without one that was observed there is nothing to go by.
    #[must_use]
    pub fn of(mode: Mode, mut reasons: Vec<Reason>) -> Self {
        let heaviest = reasons.iter().map(Reason::effect).max().unwrap_or(Effect::Note);
        if heaviest == Effect::Note {
            reasons.push(Reason::missing("Nothing was given that can be assessed.", NOTHING_GIVEN));
        }
        let verdict = match heaviest {
            Effect::Fault => Verdict::Red,
            Effect::Blocked => Verdict::Hold,
            Effect::Missing | Effect::Note => Verdict::Null,
            Effect::Caution => Verdict::Amber,
            Effect::Sound => Verdict::Green,
        };
        Self { mode, verdict, reasons }
    }

    /// The verdict.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// How it is worded.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Why.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The answer: one word, or every reason and then the verdict.
    #[must_use]
    pub fn text(&self) -> String {
        let verdict = self.verdict.as_str();
        if self.mode == Mode::Quick {
            return verdict.to_owned();
        }
        let mut text = String::with_capacity(256);
        for reason in &self.reasons {
            text.push_str(&reason.text);
            text.push(' ');
        }
        text.push_str("Verdict: ");
        text.push_str(verdict);
        if self.verdict == Verdict::Null {
            let mut wanted: Vec<&str> = Vec::new();
            for name in self.reasons.iter().filter_map(|reason| reason.wanted.as_deref()) {
                if !wanted.contains(&name) {
                    wanted.push(name);
                }
            }
            text.push_str(" — insufficient data. Provide ");
            text.push_str(&wanted.join(", "));
        }
        text.push('.');
        text
    }
}

/// What is asked for where nothing is given, in the specification's words.
pub(crate) const NOTHING_GIVEN: &str = "kernel values, service status, or specific component to assess";

/// A name as an answer shows it: short, and never a word that could be taken for a verdict.
pub(crate) fn shown_name(name: &str) -> String {
    let words: Vec<&str> = name.split(|of: char| !of.is_alphanumeric()).collect();
    if words.iter().any(|word| Verdict::is_verdict_word(word)) || name.trim().is_empty() {
        return "the named one".to_owned();
    }
    name.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|of| !of.is_control()).take(60).collect()
}
