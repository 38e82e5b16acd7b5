//! The audit records and alerts of a saved sale. Only the journal writes them.

use super::Sale;
use crate::{
    SessionId, Timestamp,
    audit_trail::{AuditTrail, Audited},
};

impl Audited for Sale {
    type Id = SessionId;

    fn unstored(_: &SessionId) -> Option<Self> {
        None
    }

    fn id(&self) -> &SessionId {
        &self.session_id
    }

    fn stream(&self) -> String {
        self.session_id.as_str().to_owned()
    }

    fn trail(&self) -> &AuditTrail {
        &self.trail
    }

    fn trail_mut(&mut self) -> &mut AuditTrail {
        &mut self.trail
    }
}

impl Sale {
    /// Records the time at which the sale is saved.
    pub const fn saved(&mut self, now: Timestamp) {
        self.changed_at = now;
    }
}
