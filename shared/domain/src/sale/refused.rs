//! A transition that the state does not allow.

use super::Sale;
use crate::{mail::Letter, money::Money};

/// The sale is in a state that does not allow the transition. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sale that is {from} cannot become {to}")]
pub struct Refused {
    /// The sale's state.
    pub from: &'static str,
    /// The requested state.
    pub to: &'static str,
}

impl Sale {
    /// A refusal because of the verdict's state.
    pub(super) const fn refuse(&self, to: &'static str) -> Refused {
        Refused { from: self.fulfilment.as_str(), to }
    }

    /// A refusal because of a mail's state.
    pub(super) const fn refuse_mail(&self, letter: Letter, to: &'static str) -> Refused {
        Refused { from: self.letter(letter).as_str(), to }
    }

    /// A refusal because of the money's state.
    pub(super) const fn refuse_money(&self, to: &'static str) -> Refused {
        Refused { from: self.money.as_str(), to }
    }

    /// Whether we have the customer's money. Nothing is made or sent if it went back or is about to.
    #[must_use]
    pub const fn is_money_kept(&self) -> bool {
        matches!(self.money, Money::Kept)
    }
}
