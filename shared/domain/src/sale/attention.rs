//! What nobody works on: sent on its way again, or brought to a human's mind. And what customers read.

use super::{Event, MAX_RECORDED_RETRIEVALS, Refused, Sale};
use crate::{
    Timestamp,
    open_work::{OpenWork, Work},
};

impl Sale {
    /// What is due, if anything is.
    #[must_use]
    pub fn due_work(&self, now: Timestamp) -> Option<OpenWork> {
        self.open_work().filter(|open| open.due <= now)
    }

    /// Notes that messages were sent again because nothing had happened.
    ///
    /// # Errors
    /// [`Refused`] when nothing that machines do is due.
    pub fn chase(&mut self, now: Timestamp) -> Result<Event, Refused> {
        if self.due_work(now).is_none_or(|open| open.work != Work::InFlight) {
            return Err(self.refuse("sent on its way again"));
        }
        self.chased += 1;
        self.reminded_at = Some(now);
        Ok(Event::Chased(self.chased))
    }

    /// Notes that operators know of what no queue takes a message for. Counted as the first time it was sent, once.
    ///
    /// # Errors
    /// [`Refused`] when nothing that machines do is due, or operators know of it.
    pub fn chase_refused(&mut self, now: Timestamp) -> Result<Event, Refused> {
        if self.chased > 0 || self.due_work(now).is_none_or(|open| open.work != Work::InFlight) {
            return Err(self.refuse("sent on its way again"));
        }
        self.chased = 1;
        Ok(Event::Chased(self.chased))
    }

    /// Notes that operators were reminded of what waits for a human.
    ///
    /// # Errors
    /// [`Refused`] when nothing that a human does is due.
    pub fn remind(&mut self, now: Timestamp) -> Result<Event, Refused> {
        if self.due_work(now).is_none_or(|open| !Work::FOR_HUMANS.contains(&open.work)) {
            return Err(self.refuse("a human's to decide"));
        }
        self.chased = 0;
        self.reminded_at = Some(now);
        Ok(Event::Reminded)
    }

    /// Counts a retrieval of the verdict.
    ///
    /// # Errors
    /// [`Refused`] after [`MAX_RECORDED_RETRIEVALS`]: later ones are not recorded.
    pub fn serve(&mut self) -> Result<Event, Refused> {
        if self.retrievals >= MAX_RECORDED_RETRIEVALS {
            return Err(Refused { from: "read as often as the log records", to: "read once more" });
        }
        self.retrievals += 1;
        Ok(Event::Served)
    }
}
