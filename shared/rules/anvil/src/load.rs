//! Judges kernel readings: each against its threshold, and all of them together.

use crate::{
    assessment::Reason,
    kernel::{Bound, Kernel},
    measure::Measure,
};

/// When five kernels that are each within their thresholds are too much together. Loads are shares of the way from the
/// best value to the threshold.
#[derive(Clone, Copy, Debug)]
pub struct CombinedLimits {
    /// From this load on a kernel counts as strained.
    pub strained: f64,
    /// From so many strained kernels on the combination is degraded.
    pub strained_kernels: usize,
    /// From this mean load on it is degraded even if no kernel is strained.
    pub mean: f64,
}

/// The combined-load rule. Single kernels may stand at their very thresholds: the specification's T3 has one there, at a
/// mean load of 0.69, and is sound.
pub const COMBINED: CombinedLimits = CombinedLimits { strained: 0.9, strained_kernels: 3, mean: 0.8 };

/// What is known of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Missing,
    /// Something was given that is no value.
    Unusable,
    /// All values that were given; more than one if they differ.
    Values(Vec<Measure>),
}

/// The values of the five kernels, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    of: [Reading; 5],
    /// Kernels that were given once more, without a usable value.
    doubtful: [bool; 5],
}

impl Readings {
    /// Five measured values, in the order of [`Kernel::ALL`].
    #[must_use]
    pub fn of(values: [Measure; 5]) -> Self {
        Self { of: values.map(|value| Reading::Values(vec![value])), doubtful: [false; 5] }
    }

    /// Adds a value. A second one that differs does not replace the first.
    pub fn add(&mut self, kernel: Kernel, value: Measure) {
        match &mut self.of[kernel as usize] {
            Reading::Values(values) if values.contains(&value) => {}
            Reading::Values(values) => values.push(value),
            reading => *reading = Reading::Values(vec![value]),
        }
    }

    /// Remembers that something was given that is no value.
    pub(crate) fn add_unusable(&mut self, kernel: Kernel) {
        self.doubtful[kernel as usize] = true;
        let reading = &mut self.of[kernel as usize];
        if *reading == Reading::Missing {
            *reading = Reading::Unusable;
        }
    }

    /// Whether this value was given for this kernel.
    pub(crate) fn has(&self, kernel: Kernel, value: Measure) -> bool {
        matches!(&self.of[kernel as usize], Reading::Values(values) if values.contains(&value))
    }

    /// Whether not one kernel has a value.
    #[must_use]
    pub fn are_empty(&self) -> bool {
        !self.of.iter().any(|reading| matches!(reading, Reading::Values(_)))
    }
}

/// Judges the five kernels: at least one reason for each, before what holds for all of them.
#[must_use]
pub fn judge_readings(readings: &Readings) -> Vec<Reason> {
    let mut reasons = Vec::with_capacity(7);
    let mut loads = Vec::with_capacity(5);
    for kernel in Kernel::ALL {
        let reason = match &readings.of[kernel as usize] {
            Reading::Missing => not_given(kernel, "is not given"),
            Reading::Unusable => not_given(kernel, "is given without a usable value"),
            Reading::Values(values) => {
                let reason = judge_values(kernel, values, &mut loads);
                let is_doubtful = readings.doubtful[kernel as usize] && reason.effect() == crate::Effect::Sound;
                if is_doubtful { not_given(kernel, "is also given without a usable value") } else { reason }
            }
        };
        reasons.push(reason);
    }
    if loads.len() == Kernel::ALL.len() {
        reasons.push(judge_together(&loads));
        if reasons.last().is_some_and(|reason| reason.effect() == crate::Effect::Sound) {
            reasons.insert(0, Reason::note("All five kernels within operational thresholds."));
        }
    }
    reasons
}

fn not_given(kernel: Kernel, how: &str) -> Reason {
    Reason::missing(format!("{} {how}.", kernel.symbol()), kernel.symbol())
}

/// Judges all values that were given for one kernel. Adds the worst load if every one is within.
fn judge_values(kernel: Kernel, values: &[Measure], loads: &mut Vec<f64>) -> Reason {
    let (symbol, bound) = (kernel.symbol(), kernel.bound());
    let shown = |values: &[Measure]| values.iter().map(Measure::to_string).collect::<Vec<_>>().join(" and ");
    let beyond = values.iter().filter(|value| !bound.admits(**value)).count();
    let (limit, name) = (bound.limit(), kernel.threshold_name());
    if beyond == values.len() {
        let how = if matches!(bound, Bound::AtLeast(_)) { "is below" } else { "exceeds" };
        return Reason::fault(format!("{symbol} {} {how} the {limit} {name}.", shown(values)));
    }
    if beyond > 0 {
        let text = format!("{symbol} is given as {}: the values contradict each other.", shown(values));
        return Reason::blocked(text);
    }
    // A share below 0 or above 1 cannot have been measured, on whichever side of the threshold it lies.
    if let Some(impossible) = values.iter().find(|value| **value < Measure::ZERO || **value > Measure::UNIT) {
        return not_given(kernel, &format!("is given as {impossible}, outside 0 to 1"));
    }
    loads.push(values.iter().map(|value| bound.load(*value)).fold(0.0, f64::max));
    let how = match bound {
        _ if values.contains(&limit) => "meets",
        Bound::AtLeast(_) => "exceeds",
        Bound::AtMost(_) => "is within",
    };
    Reason::sound(format!("{symbol} {} {how} the {limit} {name}.", shown(values)))
}

fn judge_together(loads: &[f64]) -> Reason {
    // Loads come from decimals: a sum may miss its limit by a rounding error, which must not decide.
    const ROUNDING: f64 = 1e-9;
    let mean = loads.iter().sum::<f64>() / loads.len() as f64;
    let strained = loads.iter().filter(|load| **load >= COMBINED.strained - ROUNDING).count();
    if strained >= COMBINED.strained_kernels || mean >= COMBINED.mean - ROUNDING {
        return Reason::caution(format!(
            "Each kernel is within its threshold, the combination is not: {strained} of 5 use at least {:.0} % of their \
             allowance, the mean load is {:.0} %.",
            COMBINED.strained * 100.0,
            mean * 100.0
        ));
    }
    Reason::sound("No anomalies detected.")
}
