//! The plans of the chat: what each gives access to, and its price.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long access lasts beyond the paid period while a subscription continues, so that one failed card payment or one
/// late event locks no customer out. Stripe retries the payment meanwhile.
pub const RENEWAL_GRACE: Duration = Duration::from_secs(7 * 24 * 3600);

/// A level of access, lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// Three exchanges in all.
    #[default]
    Free,
    /// One voice.
    Chat,
    /// Two voices side by side.
    Pro,
    /// A thread with the operators, by their grant.
    Bridge,
}

/// A plan that is sold by subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaidPlan {
    /// One voice.
    Chat,
    /// Two voices side by side.
    Pro,
}

/// The text is not the key of a paid plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plan must be one of chat, pro")]
pub struct UnknownPlan;

impl PaidPlan {
    /// All plans, cheapest first.
    pub const ALL: [Self; 2] = [Self::Chat, Self::Pro];

    /// Reads a key exactly as written.
    ///
    /// # Errors
    /// [`UnknownPlan`] for anything but `chat` or `pro`.
    pub fn parse(key: &str) -> Result<Self, UnknownPlan> {
        Self::ALL.into_iter().find(|plan| plan.key() == key).ok_or(UnknownPlan)
    }

    /// The key, used in Stripe's metadata and in the HTTP API.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Pro => "pro",
        }
    }

    /// The name customers see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "Sisters Chat",
            Self::Pro => "Sisters Chat Pro",
        }
    }

    /// The price of a month in Canadian cents. The specification prices the chat (Product Tiers, subscription tiers) and
    /// gives none for Pro, which asks the model twice: see infra/decisions/subscriptions.md.
    #[must_use]
    pub const fn price_cents_a_month(self) -> u32 {
        match self {
            Self::Chat => 500,
            Self::Pro => 1000,
        }
    }
}

impl From<PaidPlan> for Plan {
    fn from(plan: PaidPlan) -> Self {
        match plan {
            PaidPlan::Chat => Self::Chat,
            PaidPlan::Pro => Self::Pro,
        }
    }
}

impl Plan {
    /// The key, as the HTTP API writes it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Chat => PaidPlan::Chat.key(),
            Self::Pro => PaidPlan::Pro.key(),
            Self::Bridge => "bridge",
        }
    }
}

/// A subscriber's access at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The level of access.
    pub plan: Plan,
    /// The end of the paid period. Access may last longer, by [`RENEWAL_GRACE`].
    pub paid_until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_and_keys_are_those_of_the_contract() {
        let sold = PaidPlan::ALL.map(|plan| (plan.key(), plan.name(), plan.price_cents_a_month()));
        assert_eq!(sold, [("chat", "Sisters Chat", 500), ("pro", "Sisters Chat Pro", 1000)]);
        for plan in PaidPlan::ALL {
            assert_eq!((PaidPlan::parse(plan.key()), Plan::from(plan).key()), (Ok(plan), plan.key()));
        }
        for key in ["", "free", "bridge", "Chat", "pro "] {
            assert_eq!(PaidPlan::parse(key), Err(UnknownPlan), "{key:?}");
        }
        assert!(Plan::Free < Plan::Chat && Plan::Chat < Plan::Pro && Plan::Pro < Plan::Bridge);
    }
}
