//! Checks the authority gate's decisions about paid questions.

use super::Step;
use crate::{
    checker::{Checked, Seen},
    rules::Rule,
};
use domain::{
    Timestamp,
    sale::{AuditEntry, Fulfilment, HumanLock},
};
use serde_json::Value;

/// The part of a record that names it an approval.
const APPROVAL: &str = "\"action\":\"authority approve";

/// The person whose approval a record is.
fn approver(entry: &AuditEntry) -> Option<String> {
    if !entry.line.contains(APPROVAL) {
        return None;
    }
    let record: Value = serde_json::from_str(&entry.line).ok()?;
    record["by"].as_str().map(str::to_owned)
}

impl Step<'_> {
    /// An approval orders the verdict only if as many people have approved as the gate's decision asks for. Counts them
    /// by their records, because the gate itself asks the sale.
    pub(super) fn approved(&self, seen: &mut Seen, added: &[AuditEntry]) -> Checked {
        if self.new.declined().is_some() && self.old.declined().is_none() {
            seen.approvers.clear();
        }
        let approvers: Vec<String> = added.iter().filter_map(approver).collect();
        if approvers.is_empty() {
            return Ok(());
        }
        seen.approvers.extend(approvers);
        if let (Some(declined), Fulfilment::Ordered { .. }) = (self.old.declined(), self.new.fulfilment()) {
            let approvers = &seen.approvers;
            let are_enough = match declined.lock {
                HumanLock::People { persons, .. } => approvers.len() >= usize::from(persons),
                HumanLock::Never | HumanLock::Nobody => false,
            };
            Rule::Authority.require(are_enough, || format!("{approvers:?} allow what asks for {:?}", declined.lock))?;
            seen.allowed_since = Some(self.state.now);
        }
        Ok(())
    }

    /// The gate declines neither what is sold nor what people have allowed.
    pub(super) fn declined(&self) -> Checked {
        let Some(declined) = self.new.declined() else { return Ok(()) };
        Rule::Authority.require(!self.customer.is_sold, || "declined what is sold".to_owned())?;
        let now = Timestamp::from_millis(self.state.now);
        let is_allowed = self.new.query_hash().is_some_and(|hash| self.old.is_approved(hash, &declined.reason, now));
        Rule::Authority
            .require(!is_allowed || !self.clocks_are_right, || "declined what people have allowed".to_owned())
    }
}
