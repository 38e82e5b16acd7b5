//! The audit log's integrity: the result of verifying its chains and its signed digests.

use super::{Evidence, each, not_observed};
use crate::assessment::{Reason, shown_name};
use serde::{Deserialize, Serialize};

/// A verification of the audit log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuditLog {
    /// The number of records read.
    pub records: Option<u64>,
    /// The first day (UTC) that was read; `None` for the whole log.
    pub since: Option<String>,
    /// The first bad record of each damaged stream, with its fault.
    pub damage: Option<Vec<String>>,
    /// Damage that operators have already investigated.
    pub known: Vec<String>,
    /// The number of signed digests that list the log's objects.
    pub digests: Option<u64>,
}

impl Evidence for AuditLog {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = vec![match self.records {
            None | Some(0) => not_observed("records of the audit log"),
            Some(records) => Reason::note(format!("{records} records were read.")),
        }];
        let sound = |_| "Every chain is whole, and no other damage was found.".to_owned();
        let damaged = |damage: &String| Some(Reason::fault(format!("The audit log: {}.", shown_name(damage))));
        reasons.extend(each(self.damage.as_ref(), "the chains of the audit log", sound, damaged));
        reasons.extend(self.known.iter().map(|known| {
            Reason::caution(format!("Known damage, behind which a stream proves nothing: {}.", shown_name(known)))
        }));
        reasons.push(match self.digests {
            None | Some(0) => not_observed("signed digests of the audit log"),
            Some(digests) => Reason::sound(format!("{digests} signed digests were checked.")),
        });
        if let Some(since) = &self.since {
            reasons.push(Reason::caution(format!("Nothing before {} was read.", shown_name(since))));
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assessment::Verdict, evidence::verdict_of as verdict};

    #[test]
    fn a_log_is_sound_only_whole_undamaged_and_signed() {
        let whole = r#"{"records":7,"damage":[],"digests":3,"known":[],"since":null}"#;
        assert_eq!(verdict::<AuditLog>(whole).0, Verdict::Green);
        for (was, is, expected) in [
            ("\"records\":7", "\"records\":0", Verdict::Null),
            ("\"records\":7,", "", Verdict::Null),
            ("\"damage\":[],", "", Verdict::Null),
            ("\"damage\":[]", "\"damage\":[\"2026-04-16/x was edited\"]", Verdict::Red),
            ("\"digests\":3", "\"digests\":null", Verdict::Null),
            ("\"digests\":3", "\"digests\":0", Verdict::Null),
            ("\"known\":[]", "\"known\":[\"2026-04-16/x was edited\"]", Verdict::Amber),
            ("\"since\":null", "\"since\":\"2026-11-01\"", Verdict::Amber),
        ] {
            assert_eq!(verdict::<AuditLog>(&whole.replace(was, is)).0, expected, "{is}");
        }
    }
}
