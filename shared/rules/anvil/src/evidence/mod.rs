//! What machines observe of a forge, a deployment, a configuration, the specification's rules and a running stack. What
//! was not observed is missing, never sound.

mod compliance;
mod configuration;
mod deployment;
mod forge;
mod stack;

use crate::{
    assessment::{Assessment, Mode, Reason},
    kernel::Kernel,
    load::{Readings, judge_readings},
    measure::Measure,
};
pub use compliance::{Compliance, Rule};
pub use configuration::{Configuration, Exposure, Permission, Port, SecretAge};
pub use deployment::{Canary, Deployment};
pub use forge::Forge;
use serde::{Deserialize, Serialize};
pub use stack::{Check, Stack, Standing};
use std::collections::BTreeMap;

/// How many passed, of how many.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Passed.
    pub passed: u64,
    /// Tried.
    pub of: u64,
}

/// Values of the kernels, as far as they were measured.
pub type KernelValues = BTreeMap<Kernel, f64>;

/// Something that can be assessed.
pub trait Evidence: Serialize {
    /// One reason for everything that it observes, or should have.
    fn reasons(&self) -> Vec<Reason>;

    /// Kernels that were measured.
    fn kernels(&self) -> KernelValues {
        KernelValues::new()
    }

    /// The assessment.
    fn assess(&self) -> Assessment {
        let measured = self.kernels();
        let mut reasons = if measured.is_empty() {
            vec![Reason::note(format!("No values are given for {}.", Kernel::symbols()))]
        } else {
            judge_readings(&readings(&measured))
        };
        reasons.extend(self.reasons());
        Assessment::of(Mode::Analysis, reasons)
    }
}

fn readings(values: &KernelValues) -> Readings {
    let mut readings = Readings::default();
    for (kernel, value) in values {
        match Measure::from_f64(*value) {
            Some(value) => readings.add(*kernel, value),
            None => readings.add_unusable(*kernel),
        }
    }
    readings
}

fn not_observed(what: &str) -> Reason {
    Reason::missing(format!("Not observed: {what}."), what)
}

/// A fault for each entry that is one, or `sound` for a list without any.
fn each<T>(
    list: Option<&Vec<T>>,
    what: &str,
    sound: impl Fn(usize) -> String,
    fault: impl Fn(&T) -> Option<Reason>,
) -> Vec<Reason> {
    let Some(list) = list else { return vec![not_observed(what)] };
    let faults: Vec<Reason> = list.iter().filter_map(fault).collect();
    if faults.is_empty() { vec![Reason::sound(sound(list.len()))] } else { faults }
}

/// The verdict and the text on a document, for tests.
#[cfg(test)]
fn verdict_of<T: Evidence + for<'a> Deserialize<'a>>(document: &str) -> (crate::assessment::Verdict, String) {
    let assessment = serde_json::from_str::<T>(document).unwrap().assess();
    (assessment.verdict(), assessment.text())
}
