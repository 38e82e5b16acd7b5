//! Judges the figures of a forge: loss, smoke score and corpus size.

use crate::{assessment::Reason, measure::Measure};

/// Limits of a forge's figures.
#[derive(Clone, Copy, Debug)]
pub struct ForgeLimits {
    /// Up to this final loss a forge is sound.
    pub sound_loss: Measure,
    /// Up to this final loss it is degraded; above, it must not ship.
    pub highest_loss: Measure,
    /// A corpus with fewer pairs is a risk.
    pub smallest_corpus: u64,
}

impl ForgeLimits {
    /// The promoted forge had a final loss of 0.378 with 141 pairs. The failed ones had a loss of 0.529 with a smoke
    /// score of 3/5, and 77 pairs with 2/5.
    pub const CURRENT: Self =
        Self { sound_loss: Measure::thousandths(500), highest_loss: Measure::thousandths(600), smallest_corpus: 120 };
}

/// The number of passed smoke tests, and of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmokeScore {
    passed: u64,
    of: u64,
}

impl SmokeScore {
    /// `None` if more passed than exist, or if none exist.
    #[must_use]
    pub const fn new(passed: u64, of: u64) -> Option<Self> {
        if of == 0 || passed > of { None } else { Some(Self { passed, of }) }
    }

    /// Whether every test passed.
    pub(crate) const fn is_full(self) -> bool {
        self.passed == self.of
    }
}

impl std::fmt::Display for SmokeScore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.passed, self.of)
    }
}

/// The figures of a forge. A figure that is given twice is kept twice, so that contradictions are detected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgeFigures {
    /// Final loss.
    pub loss: Vec<Measure>,
    /// Smoke score.
    pub smoke: Vec<SmokeScore>,
    /// Question and answer pairs of the corpus.
    pub pairs: Vec<u64>,
}

impl ForgeFigures {
    /// Whether no figure was given.
    #[must_use]
    pub const fn are_empty(&self) -> bool {
        self.loss.is_empty() && self.smoke.is_empty() && self.pairs.is_empty()
    }

    /// Returns one reason for each figure. A forge (`is_forge`) needs a loss and a smoke score; a deployment with only
    /// a smoke test has no loss.
    #[must_use]
    pub fn judge(&self, is_forge: bool) -> Vec<Reason> {
        let mut reasons = Vec::with_capacity(3);
        if is_forge || !self.loss.is_empty() {
            reasons.push(agreed("loss", &self.loss, judge_loss));
        }
        reasons.push(agreed("smoke score", &self.smoke, judge_smoke));
        if !self.pairs.is_empty() {
            reasons.push(agreed("corpus size", &self.pairs, judge_pairs));
        }
        reasons
    }
}

/// Judges a figure that may be given several times: values with different judgements contradict each other.
fn agreed<T: Copy + PartialEq + std::fmt::Display>(name: &str, values: &[T], judge: impl Fn(T) -> Reason) -> Reason {
    let Some(first) = values.first() else {
        return Reason::missing(format!("The {name} is not given."), format!("the {name}"));
    };
    let reason = judge(*first);
    match values.iter().find(|value| judge(**value).effect() != reason.effect()) {
        Some(other) => {
            Reason::blocked(format!("The {name} is given as {first} and {other}: they contradict each other."))
        }
        None => reason,
    }
}

fn judge_loss(loss: Measure) -> Reason {
    let limits = ForgeLimits::CURRENT;
    if loss < Measure::ZERO {
        return Reason::missing(format!("A loss of {loss} cannot have been measured."), "the loss");
    }
    if loss > limits.highest_loss {
        return Reason::fault(format!("Loss {loss} exceeds the {} limit.", limits.highest_loss));
    }
    if loss > limits.sound_loss {
        return Reason::caution(format!("Loss {loss} is above {} and close to the limit.", limits.sound_loss));
    }
    Reason::sound(format!("Loss {loss} is within {}.", limits.sound_loss))
}

fn judge_smoke(score: SmokeScore) -> Reason {
    if score.is_full() {
        return Reason::sound(format!("Smoke test {score}: every test passed."));
    }
    Reason::fault(format!("Smoke test {score}: {} failed, and every one must pass.", score.of - score.passed))
}

fn judge_pairs(pairs: u64) -> Reason {
    let smallest = ForgeLimits::CURRENT.smallest_corpus;
    if pairs < smallest {
        return Reason::caution(format!("A corpus of {pairs} pairs is below the {smallest} that generalise."));
    }
    Reason::sound(format!("Corpus of {pairs} pairs."))
}
