//! A transition that the state does not allow.

use super::Sale;
use crate::{Timestamp, mail::Letter, money::Money};
use std::fmt;

/// A part of the sale does not allow the transition. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sale cannot become {to} while its {part} is {from}")]
pub struct Refused {
    /// The part that does not allow it.
    pub part: Part,
    /// The state of that part.
    pub from: &'static str,
    /// The requested state.
    pub to: &'static str,
}

/// A part of a sale that has a state of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The verdict.
    Verdict,
    /// A mail.
    Mail(Letter),
    /// The money.
    Money,
    /// The work that is open (see [`crate::open_work`]).
    Work,
    /// The last regeneration.
    Regeneration,
    /// The finding of a newer block list.
    Finding,
    /// The silent drop.
    Drop,
    /// A reply of the customer.
    Reply,
    /// A report of Stripe about the payment.
    Report,
    /// The note that another amount than the price was paid.
    AmountNote,
    /// The records of retrievals.
    Retrievals,
    /// The records of declined follow-ups.
    Declines,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verdict => "verdict",
            Self::Mail(Letter::Verdict) => "verdict mail",
            Self::Mail(Letter::SilentDrop) => "silent-drop mail",
            Self::Mail(Letter::Divergence) => "divergence mail",
            Self::Mail(Letter::Refund) => "refund mail",
            Self::Money => "money",
            Self::Work => "open work",
            Self::Regeneration => "regeneration",
            Self::Finding => "finding",
            Self::Drop => "silent drop",
            Self::Reply => "reply",
            Self::Report => "payment report",
            Self::AmountNote => "note about the amount",
            Self::Retrievals => "list of retrievals",
            Self::Declines => "list of declined follow-ups",
        })
    }
}

impl Sale {
    /// A refusal because of the verdict's state.
    pub(super) const fn refuse(&self, to: &'static str) -> Refused {
        Refused { part: Part::Verdict, from: self.fulfilment.as_str(), to }
    }

    /// A refusal because of a mail's state.
    pub(super) const fn refuse_mail(&self, letter: Letter, to: &'static str) -> Refused {
        Refused { part: Part::Mail(letter), from: self.letter(letter).as_str(), to }
    }

    /// A refusal because of the money's state.
    pub(super) const fn refuse_money(&self, to: &'static str) -> Refused {
        Refused { part: Part::Money, from: self.money.as_str(), to }
    }

    /// A refusal to send a mail, because of the state of the money or, if that is right, of the verdict.
    pub(super) const fn refuse_sending(&self, letter: Letter, to: &'static str) -> Refused {
        if self.may_write(letter) { self.refuse(to) } else { self.refuse_money(to) }
    }

    /// A refusal because of the open work: there is none, or it is another kind, or it is not due.
    pub(super) fn refuse_work(&self, to: &'static str, now: Timestamp) -> Refused {
        let from = match self.open_work() {
            None => "done",
            Some(open) if open.due > now => "not due",
            Some(open) => open.work.as_str(),
        };
        Refused { part: Part::Work, from, to }
    }

    /// A refusal because of the silent drop's state.
    pub(super) fn refuse_drop(&self, to: &'static str) -> Refused {
        let from = match (self.is_drop_open(), self.drop_recorded, self.drop_alerted) {
            (false, ..) => "not open",
            (true, true, _) => "recorded",
            (true, false, true) => "alerted",
            (true, false, false) => "open",
        };
        Refused { part: Part::Drop, from, to }
    }

    /// Whether we have the customer's money. Nothing is made or sent if it went back or is about to.
    #[must_use]
    pub const fn is_money_kept(&self) -> bool {
        matches!(self.money, Money::Kept)
    }
}
