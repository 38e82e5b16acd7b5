//! Sales without progress, which are restarted or shown to a human again; and retrievals by customers.

use super::{Event, MAX_RECORDED_RETRIEVALS, Part, Refused, Sale};
use crate::{
    Timestamp,
    open_work::{OpenWork, Work},
};

impl Sale {
    /// The open work that is due, if any.
    #[must_use]
    pub fn due_work(&self, now: Timestamp) -> Option<OpenWork> {
        self.open_work().filter(|open| open.due <= now)
    }

    /// Counts that messages were sent again because the sale made no progress. Returns the number of times by now.
    ///
    /// # Errors
    /// [`Refused`] when no automatic work is due.
    pub fn chase(&mut self, now: Timestamp) -> Result<u32, Refused> {
        if self.due_work(now).is_none_or(|open| open.work != Work::InFlight) {
            return Err(self.refuse_work("restarted", now));
        }
        self.chased += 1;
        self.reminded_at = Some(now);
        Ok(self.chased)
    }

    /// Records that operators were alerted to a message that a queue refuses. Counts as the first restart, once.
    ///
    /// # Errors
    /// [`Refused`] when no automatic work is due, or operators were alerted already.
    pub fn chase_refused(&mut self, now: Timestamp) -> Result<(), Refused> {
        if self.due_work(now).is_none_or(|open| open.work != Work::InFlight) {
            return Err(self.refuse_work("restarted", now));
        }
        if self.chased > 0 {
            return Err(Refused { part: Part::Work, from: "restarted", to: "restarted" });
        }
        self.chased = 1;
        Ok(())
    }

    /// Records that operators were reminded of work that waits for a human. If the approvals of a question without a
    /// verdict have lapsed, it counts as declined again ([`Self::has_lapsed_approvals`]).
    ///
    /// # Errors
    /// [`Refused`] when no work of a human is due.
    pub fn remind(&mut self, now: Timestamp) -> Result<(), Refused> {
        if self.due_work(now).is_none_or(|open| !Work::FOR_HUMANS.contains(&open.work)) {
            return Err(self.refuse_work("shown to a human again", now));
        }
        self.chased = 0;
        let has_lapsed = self.has_lapsed_approvals(now);
        if let Some(declined) = self.declined.as_mut().filter(|_| has_lapsed) {
            declined.approved_at = None;
        }
        // The policy's refund does not wait for another day.
        if !has_lapsed || !self.may_be_refunded_by_policy() {
            self.reminded_at = Some(now);
        }
        Ok(())
    }

    /// Counts a retrieval of the verdict. It is allowed in every state, because the page was shown before it is
    /// counted, and the sale may have changed since. `filtered_by` is the version of the block list, if the list found
    /// terms in the verdict.
    ///
    /// # Errors
    /// [`Refused`] after [`MAX_RECORDED_RETRIEVALS`], except for the first retrieval that a version of the list
    /// filtered.
    pub fn serve(&mut self, filtered_by: Option<&str>) -> Result<Event, Refused> {
        let is_full = self.retrievals >= MAX_RECORDED_RETRIEVALS;
        if is_full && !filtered_by.is_some_and(|list| self.filtered_by.insert(list.to_owned())) {
            return Err(Refused { part: Part::Retrievals, from: "full", to: "recorded as retrieved" });
        }
        self.retrievals += 1;
        Ok(Event::Served)
    }
}
