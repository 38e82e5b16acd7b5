//! The steps of a purchase, and when the next one is due.

use super::{Answered, Claimed, List, Paid, Problem, Purchase, Refused, Stage};
use crate::Timestamp;
use std::time::Duration;

/// The most that the chain's clock may be behind ours when a payment expires.
const GRACE: Duration = Duration::from_secs(60);

/// The time between two checks of a settlement whose outcome is unknown.
const SETTLE_AGAIN: Duration = Duration::from_secs(60);

/// After this time the chain is checked for a settlement.
const CONFIRM_AFTER: Duration = Duration::from_secs(120);

/// If the chain does not have the settlement after this time, a human checks it.
const DOUBTFUL_AFTER: Duration = Duration::from_secs(3600);

/// How long a transfer that was made beforehand can buy an answer; after that its money goes back.
const TRANSFER_HOLDS: Duration = Duration::from_secs(3600);

impl Purchase {
    /// Claims the answer, for the duration of the lease.
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
    /// [`Refused`] when another invocation holds the claim by now.
    pub fn give_up(&mut self, owner: &str) -> Result<(), Refused> {
        if !self.is_held_by(owner) {
            return Err(Refused);
        }
        self.stage = Stage::Unanswered;
        Ok(())
    }

    /// Stores the answer. A signed payment is settled next; this already counts as the first attempt, so that the
    /// attempt is known even if the process crashes during it.
    ///
    /// # Errors
    /// [`Refused`] when another invocation holds the claim by now.
    pub fn answer(&mut self, owner: &str, answer: Answered, now: Timestamp) -> Result<(), Refused> {
        if !self.is_held_by(owner) {
            return Err(Refused);
        }
        let answer = Box::new(answer);
        self.stage = match &self.paid {
            Paid::Signed(_) => {
                Stage::Settling { answer, attempts: 1, refused: 0, problem: None, next: now.plus(SETTLE_AGAIN) }
            }
            Paid::Transferred { transaction, .. } => {
                Stage::Settled { answer, transaction: transaction.clone(), at: now, confirmed: true, doubtful: false }
            }
        };
        Ok(())
    }

    /// Counts a further attempt at the settlement, before it is made.
    ///
    /// # Errors
    /// [`Refused`] when nothing is to be settled.
    pub fn settle_again(&mut self, now: Timestamp) -> Result<(), Refused> {
        let Stage::Settling { attempts, next, .. } = &mut self.stage else { return Err(Refused) };
        *attempts += 1;
        *next = now.plus(SETTLE_AGAIN);
        Ok(())
    }

    /// Stores the reason why an attempt failed. A facilitator's refusal does not prove that the payment was not
    /// settled: it also refuses what another attempt has settled. So it counts as a refusal only if every attempt that was
    /// begun was refused: of an attempt that nobody has finished, nothing else is stored. Otherwise the payer would be
    /// asked for a second payment while the first may be made.
    ///
    /// # Errors
    /// [`Refused`] when nothing is to be settled.
    pub fn not_settled(&mut self, why: Problem) -> Result<(), Refused> {
        let Stage::Settling { problem, attempts, refused, .. } = &mut self.stage else { return Err(Refused) };
        if why.is_refusal {
            *refused += 1;
        }
        *problem = Some(Problem { is_refusal: why.is_refusal && refused == attempts, ..why });
        Ok(())
    }

    /// Records that the transfer to us is made. Without an answer for it, we owe the money. Returns whether we do.
    ///
    /// # Errors
    /// [`Refused`] when it is recorded already.
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

    /// Records that the payment has expired, and the chain does not have the transfer.
    ///
    /// # Errors
    /// [`Refused`] when it was settled.
    pub fn lapse(&mut self, at: Timestamp) -> Result<(), Refused> {
        match self.stage {
            Stage::Unanswered | Stage::Working { .. } | Stage::Settling { .. } => {
                self.stage = Stage::Lapsed { at };
                Ok(())
            }
            Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => Err(Refused),
        }
    }

    /// Records that the chain has the transfer that the facilitator reported.
    ///
    /// # Errors
    /// [`Refused`] when no settlement waits for a confirmation.
    pub fn confirm(&mut self, on_chain: &str) -> Result<(), Refused> {
        let Stage::Settled { transaction, confirmed, doubtful, .. } = &mut self.stage else { return Err(Refused) };
        on_chain.clone_into(transaction);
        (*confirmed, *doubtful) = (true, false);
        Ok(())
    }

    /// Records that the chain does not have the transfer that the facilitator reported. Returns whether a human has to
    /// check it now.
    ///
    /// # Errors
    /// [`Refused`] when no settlement waits for a confirmation, or a human checks it already.
    pub fn doubt(&mut self, now: Timestamp) -> Result<bool, Refused> {
        match &mut self.stage {
            Stage::Settled { at, confirmed: false, doubtful: doubtful @ false, .. } => {
                *doubtful = now >= at.plus(DOUBTFUL_AFTER);
                Ok(*doubtful)
            }
            _ => Err(Refused),
        }
    }

    /// Records that a human has resolved it.
    ///
    /// # Errors
    /// [`Refused`] when it does not wait for a human.
    pub fn resolve(&mut self) -> Result<(), Refused> {
        match &mut self.stage {
            Stage::Owed { resolved: resolved @ false, .. } => *resolved = true,
            Stage::Settled { confirmed, doubtful: doubtful @ true, .. } => (*confirmed, *doubtful) = (true, false),
            _ => return Err(Refused),
        }
        Ok(())
    }

    /// The time from which the payment cannot be settled, by the chain's clock too.
    #[must_use]
    pub fn lapses_at(&self) -> Timestamp {
        match &self.paid {
            Paid::Signed(signed) => signed.valid_before.plus(GRACE),
            Paid::Transferred { .. } => self.received_at.plus(TRANSFER_HOLDS),
        }
    }

    /// The list of open work that it is on next, and when.
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
