//! The offers, as data.

use crate::Tier;
use serde::{Deserialize, Serialize};

/// One endpoint that answers for a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// A verdict in one sentence.
    Query,
    /// A verdict with its dimensions.
    QueryFull,
    /// A verdict with its dimensions and a strategy.
    QueryPremium,
    /// A verdict with its dimensions on a longer text.
    Analyze,
}

struct Row {
    path: &'static str,
    /// In millionths of a dollar.
    price: u64,
    tier: Tier,
    /// The longest question, in characters.
    longest: usize,
    description: &'static str,
}

const QUERY: Row = Row {
    path: "/query",
    price: 50_000,
    tier: Tier::Quick,
    longest: 4_000,
    description: "A verdict (GREEN, AMBER, RED or NULL) on a question, with one sentence and the number of its coherence check.",
};
const QUERY_FULL: Row = Row {
    path: "/query/full",
    price: 250_000,
    tier: Tier::Full,
    longest: 4_000,
    description: "A verdict on a question with five analysed dimensions and every number of its coherence check.",
};
const QUERY_PREMIUM: Row = Row {
    path: "/query/premium",
    price: 1_000_000,
    tier: Tier::Strategy,
    longest: 4_000,
    description: "A verdict on a question with five analysed dimensions, a next step, an alternative and three tests, and its narrative as one text.",
};
const ANALYZE: Row = Row {
    path: "/analyze",
    price: 250_000,
    tier: Tier::Full,
    longest: 20_000,
    description: "A verdict on a text of up to 20,000 characters with five analysed dimensions.",
};

/// Millionths of a dollar in dollars. A payer may transfer any amount, and operators send this figure back.
#[allow(clippy::cast_precision_loss, reason = "exact below 2^53 millionths, nine thousand million dollars")]
pub(crate) fn dollars(millionths: u64) -> f64 {
    millionths as f64 / 1_000_000.0
}

impl Offer {
    /// Every offer.
    pub const ALL: [Self; 4] = [Self::Query, Self::QueryFull, Self::QueryPremium, Self::Analyze];

    const fn row(self) -> Row {
        match self {
            Self::Query => QUERY,
            Self::QueryFull => QUERY_FULL,
            Self::QueryPremium => QUERY_PREMIUM,
            Self::Analyze => ANALYZE,
        }
    }

    /// The offer at this path.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|offer| offer.path() == path)
    }

    /// The path of its endpoint.
    #[must_use]
    pub const fn path(self) -> &'static str {
        self.row().path
    }

    /// The price in millionths of a dollar, the smallest unit of USDC.
    #[must_use]
    pub const fn price(self) -> u64 {
        self.row().price
    }

    /// The price in dollars, in the form of the audit log.
    #[must_use]
    pub fn dollars(self) -> f64 {
        dollars(self.price())
    }

    /// The tier of the answer.
    #[must_use]
    pub const fn tier(self) -> Tier {
        self.row().tier
    }

    /// The longest question, in characters.
    #[must_use]
    pub const fn longest(self) -> usize {
        self.row().longest
    }

    /// Its description, for people and catalogues.
    #[must_use]
    pub const fn description(self) -> &'static str {
        self.row().description
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prices_are_those_of_the_specification() {
        let prices: Vec<_> = Offer::ALL.into_iter().map(|offer| (offer.path(), offer.dollars())).collect();
        let expected = [("/query", 0.05), ("/query/full", 0.25), ("/query/premium", 1.0), ("/analyze", 0.25)];
        assert_eq!(prices, expected);
        for offer in Offer::ALL {
            assert_eq!(Offer::at(offer.path()), Some(offer));
        }
        assert_eq!(Offer::at("/query/"), None);
        // The least amount that is given back (functions/toll).
        assert_eq!(Offer::ALL.map(Offer::price).into_iter().min(), Some(Offer::Query.price()));
    }
}
