//! Judges the figures of a forge: loss, smoke score, size of the corpus.

use crate::{assessment::Reason, measure::Measure};

/// Limits of a forge's figures.
#[derive(Clone, Copy, Debug)]
pub struct ForgeLimits {
    /// Up to this final loss a forge is sound.
    pub sound_loss: Measure,
    /// Up to this one it is degraded; above, it is not shipped.
    pub highest_loss: Measure,
    /// Smaller corpora are a risk.
    pub smallest_corpus: u64,
}

impl ForgeLimits {
    /// The forge that was promoted ended at a loss of 0.378 with 141 pairs; the ones that failed at 0.529 with a smoke
    /// score of 3/5, and with 77 pairs at 2/5.
    pub const CURRENT: Self =
        Self { sound_loss: Measure::thousandths(500), highest_loss: Measure::thousandths(600), smallest_corpus: 120 };
}

/// How many smoke tests passed, of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmokeScore {
    passed: u64,
    of: u64,
}

impl SmokeScore {
    /// `None` where more passed than there are, or there are none.
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

/// The figures of a forge. A figure that is given twice is kept twice.
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
    /// Whether none was given.
    #[must_use]
    pub const fn are_empty(&self) -> bool {
        self.loss.is_empty() && self.smoke.is_empty() && self.pairs.is_empty()
    }

    /// One reason for each figure. A forge needs a loss and a smoke score; a deployment that was only smoke-tested has
    /// no loss (`is_forge`).
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

/// Judges a figure that may be given several times: values that lead to different judgements contradict each other.
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
