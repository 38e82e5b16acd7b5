//! Judges kernel readings: each against its threshold, and their combination.

use crate::{
    assessment::Reason,
    kernel::{Bound, Kernel},
    measure::Measure,
};
use std::fmt::Write;

/// The limits for five kernels that are each within their thresholds but too high in combination. A load is the used
/// part of the way from the best value to the threshold.
#[derive(Clone, Copy, Debug)]
pub struct CombinedLimits {
    /// From this load, a kernel counts as strained.
    pub strained: f64,
    /// From this number of strained kernels, the combination is degraded.
    pub strained_kernels: usize,
    /// From this mean load, the combination is degraded even if no kernel is strained.
    pub mean: f64,
}

/// The combined-load rule. A single kernel may be exactly at its threshold: the specification's T3 has one there, at a
/// mean load of 0.69, and is sound.
pub const COMBINED: CombinedLimits = CombinedLimits { strained: 0.9, strained_kernels: 3, mean: 0.8 };

/// The known values of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Missing,
    /// The text gives something that is no value.
    Unusable,
    /// All given values; more than one if they differ.
    Values(Vec<Measure>),
}

/// The known values of the five kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    of: [Reading; 5],
    /// Kernels with an additional statement that has no usable value.
    doubtful: [bool; 5],
}

impl Readings {
    /// Five measured values, in the order of [`Kernel::ALL`].
    #[must_use]
    pub fn of(values: [Measure; 5]) -> Self {
        Self { of: values.map(|value| Reading::Values(vec![value])), doubtful: [false; 5] }
    }

    /// Adds a value. A second, different value does not replace the first.
    pub fn add(&mut self, kernel: Kernel, value: Measure) {
        match &mut self.of[kernel as usize] {
            Reading::Values(values) if values.contains(&value) => {}
            Reading::Values(values) => values.push(value),
            reading => *reading = Reading::Values(vec![value]),
        }
    }

    /// Records that a kernel was given without a usable value.
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

    /// Whether no kernel has a value.
    #[must_use]
    pub fn are_empty(&self) -> bool {
        !self.of.iter().any(|reading| matches!(reading, Reading::Values(_)))
    }
}

/// Judges the five kernels: at least one reason for each, then one for their combination.
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

/// Judges all given values of one kernel. Adds the worst load if every value is within the threshold.
fn judge_values(kernel: Kernel, values: &[Measure], loads: &mut Vec<f64>) -> Reason {
    let (symbol, bound) = (kernel.symbol(), kernel.bound());
    let shown = Shown(values);
    let beyond = values.iter().filter(|value| !bound.admits(**value)).count();
    let (limit, name) = (bound.limit(), kernel.threshold_name());
    if beyond == values.len() {
        let how = if matches!(bound, Bound::AtLeast(_)) { "is below" } else { "exceeds" };
        return Reason::fault(format!("{symbol} {shown} {how} the {limit} {name}."));
    }
    if beyond > 0 {
        let text = format!("{symbol} is given as {shown}: the values contradict each other.");
        return Reason::blocked(text);
    }
    // A share below 0 or above 1 cannot have been measured, on either side of the threshold.
    if let Some(impossible) = values.iter().find(|value| **value < Measure::ZERO || **value > Measure::UNIT) {
        return not_given(kernel, &format!("is given as {impossible}, outside 0 to 1"));
    }
    loads.push(values.iter().map(|value| bound.load(*value)).fold(0.0, f64::max));
    let how = match bound {
        _ if values.contains(&limit) => "meets",
        Bound::AtLeast(_) => "exceeds",
        Bound::AtMost(_) => "is within",
    };
    let mut text = String::with_capacity(64);
    // Writing to a String cannot fail.
    let _ = write!(text, "{symbol} {shown} {how} the {limit} {name}.");
    Reason::sound(text)
}

/// The values of one kernel, as text: "0.97 and 0.98".
struct Shown<'a>(&'a [Measure]);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            formatter.write_str(if index > 0 { " and " } else { "" })?;
            value.fmt(formatter)?;
        }
        Ok(())
    }
}

fn judge_together(loads: &[f64]) -> Reason {
    // Loads are floating-point numbers: a rounding error in the sum must not decide.
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
