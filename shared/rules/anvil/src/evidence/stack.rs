//! A running stack: each check of `oracle status`.

use super::Evidence;
use crate::assessment::{Reason, shown_name};
use serde::{Deserialize, Serialize};

/// The state of one check of a running stack, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Sound.
    Ok,
    /// There is no measurement: the stack is new, or its CloudWatch, as the local one, does not measure functions.
    Unmeasured,
    /// Waits for a human; not urgent.
    Waiting,
    /// The check got no answer.
    Unknown,
    /// Needs immediate attention.
    Wrong,
}

impl CheckState {
    /// Its word, as in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unmeasured => "unmeasured",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
            Self::Wrong => "wrong",
        }
    }
}

/// One check of a running stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Check {
    pub what: String,
    pub state: CheckState,
}

/// A running stack.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stack {
    /// All checks.
    pub checks: Vec<Check>,
}

impl Evidence for Stack {
    fn reasons(&self) -> Vec<Reason> {
        let reason = |check: &Check| {
            let what = shown_name(&check.what);
            match check.state {
                CheckState::Ok => Reason::sound(format!("{what}: in order.")),
                CheckState::Waiting => Reason::caution(format!("{what}: waits for a human.")),
                CheckState::Unmeasured => Reason::missing(format!("{what}: not measured."), what),
                CheckState::Unknown => Reason::blocked(format!("{what}: could not be asked.")),
                CheckState::Wrong => Reason::fault(format!("{what}: wrong.")),
            }
        };
        self.checks.iter().map(reason).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assessment::Verdict, evidence::verdict_of as verdict};

    #[test]
    fn a_stack_stands_as_its_worst_check_does() {
        for (state, expected) in [
            ("ok", Verdict::Green),
            ("waiting", Verdict::Amber),
            ("unmeasured", Verdict::Null),
            ("unknown", Verdict::Hold),
            ("wrong", Verdict::Red),
        ] {
            let document =
                format!(r#"{{"checks":[{{"what":"alarms","state":"ok"}},{{"what":"RED queue","state":"{state}"}}]}}"#);
            assert_eq!(verdict::<Stack>(&document).0, expected);
        }
        assert_eq!(verdict::<Stack>(r#"{"checks":[]}"#).0, Verdict::Null);
    }
}
