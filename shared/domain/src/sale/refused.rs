//! A transition that the state does not allow.

use super::Sale;
use crate::{mail::Letter, money::Money};

/// The sale is in a state from which the transition does not lead. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sale that is {from} cannot become {to}")]
pub struct Refused {
    /// The state that the sale is in.
    pub from: &'static str,
    /// The state that was asked for.
    pub to: &'static str,
}

impl Sale {
    /// Refuses because of how far the verdict is.
    pub(super) const fn refuse(&self, to: &'static str) -> Refused {
        Refused { from: self.fulfilment.as_str(), to }
    }

    /// Refuses because of how far a mail is.
    pub(super) const fn refuse_mail(&self, letter: Letter, to: &'static str) -> Refused {
        Refused { from: self.letter(letter).as_str(), to }
    }

    /// Refuses because of where the money is.
    pub(super) const fn refuse_money(&self, to: &'static str) -> Refused {
        Refused { from: self.money.as_str(), to }
    }

    /// Whether the customer's money is here. Nothing is made or sent for money that went back or is about to.
    #[must_use]
    pub const fn is_money_kept(&self) -> bool {
        matches!(self.money, Money::Kept)
    }
}
