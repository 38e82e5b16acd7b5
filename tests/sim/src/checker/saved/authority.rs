//! Checks the authority gate's decisions about paid questions.

use super::Step;
use crate::{checker::Checked, rules::Rule};
use domain::Timestamp;

impl Step<'_> {
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
