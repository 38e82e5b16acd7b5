//! The steps of a purchase, and when the next one is due.

use super::{Answered, Claimed, List, Paid, Problem, Purchase, Refused, Stage};
use crate::Timestamp;
use std::time::Duration;

/// After a payment's time is over, the chain's own clock may still be behind by this much.
const GRACE: Duration = Duration::from_secs(60);

/// The time between two looks at a settlement whose outcome is unknown.
const SETTLE_AGAIN: Duration = Duration::from_secs(60);

/// A settlement is looked for on the chain after this time,
const CONFIRM_AFTER: Duration = Duration::from_secs(120);

/// and a human looks if the chain does not have it after this one.
const DOUBTFUL_AFTER: Duration = Duration::from_secs(3600);

/// A transfer that was made before it was shown to us buys an answer for this long; then its money goes back.
const TRANSFER_HOLDS: Duration = Duration::from_secs(3600);

impl Purchase {
    /// Takes the making of the answer, for as long as the lease lasts.
    pub fn claim(&mut self, owner: &str, now: Timestamp, lease: Duration) -> Claimed {
        match &self.stage {
            Stage::Working { owner: other, until } if *until > now && other != owner => Claimed::Busy,
            Stage::Unanswered | Stage::Working { .. } => {
                self.stage = Stage::Working { owner: owner.to_owned(), until: now.plus(lease) };
                Claimed::Granted
            }
            Stage::Settling { .. } | Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => {
                Claimed::Ended
            }
        }
    }

    fn is_held_by(&self, holder: &str) -> bool {
        matches!(&self.stage, Stage::Working { owner, .. } if owner == holder)
    }

    /// Ends a claim without an answer.
    ///
    /// # Errors
    /// [`Refused`] where the claim is another's by now.
    pub fn give_up(&mut self, owner: &str) -> Result<(), Refused> {
        if !self.is_held_by(owner) {
            return Err(Refused);
        }
        self.stage = Stage::Unanswered;
        Ok(())
    }

    /// Keeps the answer. A signed payment is to be settled at once: this counts as the first attempt, so that one whose
    /// process dies in the middle is known to have been made.
    ///
    /// # Errors
    /// [`Refused`] where the claim is another's by now.
    pub fn answer(&mut self, owner: &str, answer: Answered, now: Timestamp) -> Result<(), Refused> {
        if !self.is_held_by(owner) {
            return Err(Refused);
        }
        let answer = Box::new(answer);
        self.stage = match &self.paid {
            Paid::Signed(_) => Stage::Settling { answer, attempts: 1, problem: None, next: now.plus(SETTLE_AGAIN) },
            Paid::Transferred { transaction, .. } => {
                Stage::Settled { answer, transaction: transaction.clone(), at: now, confirmed: true, doubtful: false }
            }
        };
        Ok(())
    }

    /// Counts a further attempt at the settlement, before it is made.
    ///
    /// # Errors
    /// [`Refused`] where nothing is to be settled.
    pub fn settle_again(&mut self, now: Timestamp) -> Result<(), Refused> {
        let Stage::Settling { attempts, next, .. } = &mut self.stage else { return Err(Refused) };
        *attempts += 1;
        *next = now.plus(SETTLE_AGAIN);
        Ok(())
    }

    /// Keeps why an attempt did not settle it. That a facilitator refuses does not say that nobody settled it.
    ///
    /// # Errors
    /// [`Refused`] where nothing is to be settled.
    pub fn not_settled(&mut self, why: Problem) -> Result<(), Refused> {
        let Stage::Settling { problem, .. } = &mut self.stage else { return Err(Refused) };
        *problem = Some(why);
        Ok(())
    }

    /// The transfer to us is made. Without an answer to give for it, we owe the money. Returns whether we do.
    ///
    /// # Errors
    /// [`Refused`] where that is known already.
    pub fn settled(&mut self, transaction: &str, is_confirmed: bool, at: Timestamp) -> Result<bool, Refused> {
        let transaction = transaction.to_owned();
        match std::mem::replace(&mut self.stage, Stage::Unanswered) {
            Stage::Settling { answer, .. } => {
                self.stage = Stage::Settled { answer, transaction, at, confirmed: is_confirmed, doubtful: false };
                Ok(false)
            }
            Stage::Unanswered | Stage::Working { .. } | Stage::Lapsed { .. } => {
                self.stage = Stage::Owed { transaction, at, resolved: false };
                Ok(true)
            }
            known @ (Stage::Settled { .. } | Stage::Owed { .. }) => {
                self.stage = known;
                Err(Refused)
            }
        }
    }

    /// The payment's time is over, and the chain does not have the transfer.
    ///
    /// # Errors
    /// [`Refused`] where it was settled.
    pub fn lapse(&mut self, at: Timestamp) -> Result<(), Refused> {
        match self.stage {
            Stage::Unanswered | Stage::Working { .. } | Stage::Settling { .. } => {
                self.stage = Stage::Lapsed { at };
                Ok(())
            }
            Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => Err(Refused),
        }
    }

    /// The chain has the transfer that the facilitator told of.
    ///
    /// # Errors
    /// [`Refused`] where that is no question.
    pub fn confirm(&mut self, on_chain: &str) -> Result<(), Refused> {
        let Stage::Settled { transaction, confirmed, doubtful, .. } = &mut self.stage else { return Err(Refused) };
        on_chain.clone_into(transaction);
        (*confirmed, *doubtful) = (true, false);
        Ok(())
    }

    /// The chain does not have the transfer that the facilitator told of. Returns whether it is time for a human.
    ///
    /// # Errors
    /// [`Refused`] where that is no question, or a human looks already.
    pub fn doubt(&mut self, now: Timestamp) -> Result<bool, Refused> {
        match &mut self.stage {
            Stage::Settled { at, confirmed: false, doubtful: doubtful @ false, .. } => {
                *doubtful = now >= at.plus(DOUBTFUL_AFTER);
                Ok(*doubtful)
            }
            _ => Err(Refused),
        }
    }

    /// A human has dealt with it.
    ///
    /// # Errors
    /// [`Refused`] where it waits for none.
    pub fn resolve(&mut self) -> Result<(), Refused> {
        match &mut self.stage {
            Stage::Owed { resolved: resolved @ false, .. } => *resolved = true,
            Stage::Settled { confirmed, doubtful: doubtful @ true, .. } => (*confirmed, *doubtful) = (true, false),
            _ => return Err(Refused),
        }
        Ok(())
    }

    /// When the payment cannot be settled any more, by the chain's clock too.
    #[must_use]
    pub fn lapses_at(&self) -> Timestamp {
        match &self.paid {
            Paid::Signed(signed) => signed.valid_before.plus(GRACE),
            Paid::Transferred { .. } => self.received_at.plus(TRANSFER_HOLDS),
        }
    }

    /// Who has to look at it next, and when.
    #[must_use]
    pub fn next(&self) -> Option<(List, Timestamp)> {
        match &self.stage {
            Stage::Unanswered | Stage::Working { .. } => Some((List::Machines, self.lapses_at())),
            Stage::Settling { next, .. } => Some((List::Machines, *next)),
            Stage::Settled { at, confirmed: false, doubtful: false, .. } => {
                Some((List::Machines, at.plus(CONFIRM_AFTER)))
            }
            Stage::Settled { at, doubtful: true, .. } | Stage::Owed { at, resolved: false, .. } => {
                Some((List::Humans, *at))
            }
            Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => None,
        }
    }
}
