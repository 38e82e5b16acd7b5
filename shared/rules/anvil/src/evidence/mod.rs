//! Machine observations of a forge, a deployment, a configuration, the audit log, the specification's rules and a
//! running stack. A value that was not observed is missing, never sound.

mod audit_log;
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
pub use audit_log::AuditLog;
pub use compliance::{Compliance, Rule, RuleTests};
pub use configuration::{Configuration, Exposure, Permission, Port, SecretAge};
pub use deployment::{Canary, Deployment};
pub use forge::Forge;
use serde::{Deserialize, Serialize};
pub use stack::{Check, CheckState, Stack};
use std::collections::BTreeMap;

/// A score: passed of tried.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The number that passed.
    pub passed: u64,
    /// The number that ran.
    pub of: u64,
}

/// The measured kernel values.
pub type KernelValues = BTreeMap<Kernel, f64>;

/// Evidence that the gate can assess.
pub trait Evidence: Serialize {
    /// One reason for each value that it observes or should observe.
    fn reasons(&self) -> Vec<Reason>;

    /// The measured kernels.
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

/// Returns a reason for each faulty entry, or `sound` for a list without any.
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

/// The verdict and the text of a document's assessment, for tests.
#[cfg(test)]
fn verdict_of<T: Evidence + for<'a> Deserialize<'a>>(document: &str) -> (crate::assessment::Verdict, String) {
    let assessment = serde_json::from_str::<T>(document).unwrap().assess();
    (assessment.verdict(), assessment.text())
}
