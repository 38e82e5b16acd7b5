//! The steps of a purchase, and when the next one is due.

use super::{Answered, Claimed, List, Paid, Problem, Purchase, Refused, Stage};
use crate::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// The most that the chain's clock may be behind ours when a payment expires.
const GRACE: Duration = Duration::from_secs(60);

/// The time between two checks of a settlement whose outcome is unknown.
const SETTLE_AGAIN: Duration = Duration::from_secs(60);

/// After this time the chain is checked for a settlement.
const CONFIRM_AFTER: Duration = Duration::from_secs(120);

/// If the chain does not show the settlement after this time, a human checks it.
const DOUBTFUL_AFTER: Duration = Duration::from_secs(3600);

/// The time between two looks that change nothing. It is not shorter than a run of the schedule, so a purchase that was
/// looked at makes room for the others.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The schedule publishes the records that an invocation has left after this time.
const PUBLISH_AFTER: Duration = Duration::from_secs(60);

/// How long a transfer that was made beforehand can buy an answer; after that its money goes back.
const TRANSFER_HOLDS: Duration = Duration::from_secs(3600);

impl Purchase {
    /// Claims the answer, for the duration of the lease. The claim has the authority gate's evaluation of the question, in the
    /// form of its record.
    pub fn claim(&mut self, owner: &str, now: Timestamp, lease: Duration, evaluation: Value) -> Claimed {
        match &self.stage {
            Stage::Working { owner: other, until, .. } if *until > now && other != owner => Claimed::Busy,
            Stage::Unanswered if self.is_exhausted() => Claimed::Ended,
            Stage::Unanswered | Stage::Working { .. } => {
                let (owner, until) = (owner.to_owned(), now.plus(lease));
                self.stage = Stage::Working { owner, until, evaluation: Some(evaluation) };
                Claimed::Granted
            }
            Stage::Settling { .. } | Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => {
                Claimed::Ended
            }
        }
    }

    /// Whether an invocation makes the answer now.
    #[must_use]
    pub fn is_held(&self, now: Timestamp) -> bool {
        matches!(&self.stage, Stage::Working { until, .. } if *until > now)
    }

    fn is_held_by(&self, holder: &str) -> bool {
        matches!(&self.stage, Stage::Working { owner, .. } if owner == holder)
    }

    /// Ends a claim without an answer. `is_counted` says whether a model delivered a reply.
    ///
    /// # Errors
    /// [`Refused`] when another invocation holds the claim by now.
    pub fn give_up(&mut self, owner: &str, is_counted: bool) -> Result<(), Refused> {
        if !self.is_held_by(owner) {
            return Err(Refused);
        }
        self.unanswered = self.unanswered.saturating_add(u32::from(is_counted));
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
            Paid::Transferred { transaction, .. } => sold(answer, transaction.clone(), now, true),
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
                self.stage = sold(answer, transaction, at, is_confirmed);
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

    /// Records that the payment has expired, and the chain does not have the transfer; or that the chain does not show
    /// where the payment went (`untraced`).
    ///
    /// # Errors
    /// [`Refused`] when it was settled.
    pub fn lapse(&mut self, at: Timestamp, untraced: bool) -> Result<(), Refused> {
        match self.stage {
            Stage::Unanswered | Stage::Working { .. } | Stage::Settling { .. } => {
                self.stage = Stage::Lapsed { at, untraced, resolved: false };
                Ok(())
            }
            Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => Err(Refused),
        }
    }

    /// Records that the chain has the transfer that the facilitator reported. Returns the reported transaction if the
    /// chain has another one in its place.
    ///
    /// # Errors
    /// [`Refused`] when no settlement waits for a confirmation.
    pub fn confirm(&mut self, on_chain: &str) -> Result<Option<String>, Refused> {
        let Stage::Settled { transaction, confirmed, doubtful, .. } = &mut self.stage else { return Err(Refused) };
        (*confirmed, *doubtful) = (true, false);
        let reported = std::mem::replace(transaction, on_chain.to_owned());
        Ok((reported != on_chain).then_some(reported))
    }

    /// Records that the chain does not show the transfer that the facilitator reported. Returns whether a human has to
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
            Stage::Settled { doubtful: true, resolved: resolved @ false, .. }
            | Stage::Lapsed { untraced: true, resolved: resolved @ false, .. } => *resolved = true,
            _ => return Err(Refused),
        }
        Ok(())
    }

    /// Records that the schedule has looked at it and could change nothing, so that it looks at others first.
    pub const fn looked(&mut self, now: Timestamp) {
        self.looked_at = Some(now);
    }

    /// The time from which the payment cannot be settled, by the chain's clock too.
    #[must_use]
    pub fn lapses_at(&self) -> Timestamp {
        match &self.paid {
            Paid::Signed(signed) => signed.valid_before.plus(GRACE),
            Paid::Transferred { .. } => self.received_at.plus(TRANSFER_HOLDS),
        }
    }

    /// The list of open work that it is on next, and when. While records or alerts wait, it is on the schedule's list:
    /// nobody else publishes them if the payer does not ask again.
    #[must_use]
    pub fn next(&self) -> Option<(List, Timestamp)> {
        let due = self.due();
        if self.trail.is_published() {
            return due;
        }
        let publish = self.after_last_look(self.received_at.plus(PUBLISH_AFTER));
        match due {
            Some((List::Machines, due)) => Some((List::Machines, due.min(publish))),
            _ => Some((List::Machines, publish)),
        }
    }

    /// The work that its stage leaves, whether or not its records are published.
    #[must_use]
    pub fn due(&self) -> Option<(List, Timestamp)> {
        let machines = |due| Some((List::Machines, self.after_last_look(due)));
        match &self.stage {
            Stage::Unanswered => machines(self.lapses_at()),
            Stage::Working { until, .. } => machines(self.lapses_at().max(*until)),
            Stage::Settling { next, .. } => machines(*next),
            Stage::Settled { at, confirmed: false, doubtful: false, .. } => machines(at.plus(CONFIRM_AFTER)),
            Stage::Settled { at, doubtful: true, resolved: false, .. }
            | Stage::Lapsed { at, untraced: true, resolved: false }
            | Stage::Owed { at, resolved: false, .. } => Some((List::Humans, *at)),
            Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => None,
        }
    }

    fn after_last_look(&self, due: Timestamp) -> Timestamp {
        self.looked_at.map_or(due, |looked| due.max(looked.plus(LOOK_AGAIN)))
    }
}

/// A stage in which the answer may leave.
const fn sold(answer: Box<Answered>, transaction: String, at: Timestamp, confirmed: bool) -> Stage {
    Stage::Settled { answer, transaction, at, confirmed, doubtful: false, resolved: false }
}
