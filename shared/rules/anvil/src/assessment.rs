//! The verdict and its reasons. Every output has exactly one verdict, and the reasons come before it.

use serde::{Deserialize, Serialize};

/// The gate's verdict (Brain ANVIL, INV-02).
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
    /// All five verdicts.
    pub const ALL: [Self; 5] = [Self::Green, Self::Amber, Self::Red, Self::Null, Self::Hold];

    /// The verdict as one upper-case word.
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

    /// Whether the assessed subject may ship.
    #[must_use]
    pub const fn may_ship(self) -> bool {
        matches!(self, Self::Green | Self::Amber)
    }

    /// Whether this word, in any case, is a verdict. An answer has exactly one verdict, so it never shows a name that
    /// is also a verdict word.
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

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One word, for a simple status check.
    Quick,
    /// Every kernel and every reason, then the verdict.
    Analysis,
}

/// The effect of a reason on the verdict, in ascending order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Information without effect on the verdict.
    Note,
    /// Observed and sound.
    Sound,
    /// Sound, but near its limit.
    Caution,
    /// Required but not given.
    Missing,
    /// Required but currently unavailable.
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
    /// Observed and sound.
    #[must_use]
    pub fn sound(text: impl Into<String>) -> Self {
        Self::of(Effect::Sound, text)
    }

    /// Sound, but near its limit.
    #[must_use]
    pub fn caution(text: impl Into<String>) -> Self {
        Self::of(Effect::Caution, text)
    }

    /// Observed and wrong.
    #[must_use]
    pub fn fault(text: impl Into<String>) -> Self {
        Self::of(Effect::Fault, text)
    }

    /// An unavailable prerequisite.
    #[must_use]
    pub fn blocked(text: impl Into<String>) -> Self {
        Self::of(Effect::Blocked, text)
    }

    /// Information without effect on the verdict.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self::of(Effect::Note, text)
    }

    /// A missing value, and the text that asks for it.
    #[must_use]
    pub fn missing(text: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self { wanted: Some(wanted.into()), ..Self::of(Effect::Missing, text) }
    }

    fn of(effect: Effect, text: impl Into<String>) -> Self {
        Self { effect, text: text.into(), wanted: None }
    }

    /// The effect on the verdict.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// The reason as a sentence.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A verdict with its reasons. The verdict follows from the reasons alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assessment {
    mode: Mode,
    verdict: Verdict,
    reasons: Vec<Reason>,
}

impl Assessment {
    /// Derives the verdict from the reasons. Without any observation the verdict is NULL.
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

    /// The form of the answer.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The reasons.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The answer: one word, or all reasons followed by the verdict.
    #[must_use]
    pub fn text(&self) -> String {
        let verdict = self.verdict.as_str();
        if self.mode == Mode::Quick {
            return verdict.to_owned();
        }
        let length: usize = self.reasons.iter().map(|reason| reason.text.len() + 1).sum();
        let mut text = String::with_capacity(length + "Verdict: GREEN.".len());
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

/// The request for data when the request contains none, in the specification's words.
pub(crate) const NOTHING_GIVEN: &str = "kernel values, service status, or specific component to assess";

/// Formats a name for an answer: shortened, and replaced if it contains a verdict word.
pub(crate) fn shown_name(name: &str) -> String {
    let words: Vec<&str> = name.split(|of: char| !of.is_alphanumeric()).collect();
    if words.iter().any(|word| Verdict::is_verdict_word(word)) || name.trim().is_empty() {
        return "the named one".to_owned();
    }
    name.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|of| !of.is_control()).take(60).collect()
}
