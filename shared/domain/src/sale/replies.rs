//! Customers' replies to mails, and the reports of mails that came back.

use super::{Event, Fulfilment, Part, Refused, Sale};
use crate::{
    Timestamp,
    inbox::{MAX_REPLIES, Reply},
    operator::Operator,
};

impl Sale {
    /// Adds a reply, once. The oldest settled reply makes room for it; if none is settled, the sale does not store it.
    ///
    /// # Errors
    /// [`Refused`] when the reply is stored already, or the sale is erased.
    pub fn replied(&mut self, reply: Reply) -> Result<Event, Refused> {
        if matches!(self.fulfilment, Fulfilment::Erased { .. }) {
            return Err(self.refuse("replied to"));
        }
        if self.replies.iter().any(|known| known.message == reply.message) {
            return Err(Refused { part: Part::Reply, from: "stored", to: "replied to by it" });
        }
        let settled = self.replies.iter().position(|reply| reply.settled_at.is_some());
        let kept = self.replies.len() < MAX_REPLIES || settled.is_some();
        if kept {
            if let Some(settled) = settled.filter(|_| self.replies.len() >= MAX_REPLIES) {
                self.replies.remove(settled);
            }
            self.replies.push(reply.clone());
        }
        Ok(Event::Replied { reply, kept })
    }

    /// The replies that wait for an operator, oldest first.
    pub fn waiting_replies(&self) -> impl Iterator<Item = &Reply> {
        self.replies.iter().filter(|reply| reply.settled_at.is_none())
    }

    /// Whether a mail came back and the customer never replied: they may have got no mail. Settled reports count, because
    /// settling one does not reach the customer.
    #[must_use]
    pub fn may_be_unreached(&self) -> bool {
        !self.replies.is_empty() && self.replies.iter().all(|reply| reply.is_report)
    }

    /// Records that an operator has settled all waiting replies.
    ///
    /// # Errors
    /// [`Refused`] when none waits.
    pub fn settle_replies(&mut self, operator: &Operator, now: Timestamp) -> Result<Event, Refused> {
        match self.mark_replies_settled(now) {
            0 => {
                let from = if self.replies.is_empty() { "missing" } else { "settled" };
                Err(Refused { part: Part::Reply, from, to: "settled" })
            }
            count => Ok(Event::RepliesSettled(operator.clone(), count)),
        }
    }

    pub(super) fn mark_replies_settled(&mut self, now: Timestamp) -> usize {
        let waiting = self.replies.iter_mut().filter(|reply| reply.settled_at.is_none());
        waiting.map(|reply| reply.settled_at = Some(now)).count()
    }
}
