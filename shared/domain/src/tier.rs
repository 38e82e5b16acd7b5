//! The three paid tiers and their prices (Product Tiers, invariant 1: hard-coded, CAD, no dynamic pricing).

use serde::{Deserialize, Serialize};

/// Currency of every price, as Stripe writes it.
pub const CURRENCY: &str = "cad";

/// A paid verdict tier. Its key is used in Stripe's metadata and in the HTTP API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// One verdict and one sentence.
    Quick,
    /// The verdict with its five dimensions.
    Full,
    /// The full breakdown with a strategy block and one follow-up.
    Strategy,
}

/// The text is not the key of a tier.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("tier must be one of quick, full, strategy")]
pub struct UnknownTier;

impl Tier {
    /// Every tier, cheapest first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Full, Self::Strategy];

    /// Parses a tier key exactly as written: no trimming, no other case (Product Tiers FM-1).
    ///
    /// # Errors
    /// [`UnknownTier`] for anything but `quick`, `full` or `strategy`.
    pub fn parse(key: &str) -> Result<Self, UnknownTier> {
        Self::ALL.into_iter().find(|tier| tier.key() == key).ok_or(UnknownTier)
    }

    /// The key: `quick`, `full` or `strategy`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
            Self::Strategy => "strategy",
        }
    }

    /// The name customers see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "Quick Take",
            Self::Full => "Full Breakdown",
            Self::Strategy => "Strategy Session",
        }
    }

    /// The price in Canadian cents.
    #[must_use]
    pub const fn price_cents(self) -> u32 {
        match self {
            Self::Quick => 100,
            Self::Full => 500,
            Self::Strategy => 2500,
        }
    }

    /// Whether the verdict has the five dimensions.
    #[must_use]
    pub const fn has_breakdown(self) -> bool {
        matches!(self, Self::Full | Self::Strategy)
    }

    /// Whether the verdict has a strategy block.
    #[must_use]
    pub const fn has_strategy(self) -> bool {
        matches!(self, Self::Strategy)
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_those_of_the_contract() {
        assert_eq!(
            Tier::ALL.map(|t| (t.key(), t.name(), t.price_cents())),
            [("quick", "Quick Take", 100), ("full", "Full Breakdown", 500), ("strategy", "Strategy Session", 2500),]
        );
    }

    #[test]
    fn only_the_exact_keys_are_tiers() {
        for key in ["", "Quick", "quick ", " full", "STRATEGY", "premium", "basic", "quick\0"] {
            assert_eq!(Tier::parse(key), Err(UnknownTier), "{key:?}");
        }
        for tier in Tier::ALL {
            assert_eq!(Tier::parse(tier.key()), Ok(tier));
        }
    }
}
