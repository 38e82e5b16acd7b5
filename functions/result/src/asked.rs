//! What Stripe is not asked again: anybody can make up session ids or keep asking about one that is not paid, and each
//! question is a call that paying customers may need.

use domain::{Recall, Recent, SessionId, Timestamp};
use std::time::Duration;

/// Ids that Stripe does not know. With ten of them within a minute, somebody guesses, and nothing is asked about further
/// unknown ids until the first of them is forgotten. A sale of ours is never in question: it is read before.
const UNKNOWN_WINDOW: Duration = Duration::from_secs(60);
const MOST_UNKNOWN: usize = 10;

/// Sessions that are not paid: short, because the next moment may pay them.
const UNPAID_WINDOW: Duration = Duration::from_secs(5);

/// What Stripe answered lately.
#[derive(Debug)]
pub struct Asked {
    unknown: Recent,
    unpaid: Recent<Option<String>>,
}

/// What is known without asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing.
    Nothing,
    /// There is no such session.
    NoSuchSession,
    /// The session was not paid a moment ago, and can be paid here.
    Unpaid(Option<String>),
    /// Nothing; and too many unknown ids were asked about.
    TooMany,
}

impl Default for Asked {
    fn default() -> Self {
        Self { unknown: Recent::new(UNKNOWN_WINDOW, MOST_UNKNOWN), unpaid: Recent::new(UNPAID_WINDOW, usize::MAX) }
    }
}

impl Asked {
    pub(crate) fn known(&self, id: &SessionId, now: Timestamp) -> Known {
        if let Recall::Known(address) = self.unpaid.recall(id.as_str(), now) {
            return Known::Unpaid(address);
        }
        match self.unknown.recall(id.as_str(), now) {
            Recall::Nothing => Known::Nothing,
            Recall::Known(()) => Known::NoSuchSession,
            Recall::Full => Known::TooMany,
        }
    }

    pub(crate) fn is_unknown(&self, id: &SessionId, now: Timestamp) {
        self.unknown.keep(id.as_str(), (), now);
    }

    /// `address` is where it can still be paid.
    pub(crate) fn is_unpaid(&self, id: &SessionId, address: Option<String>, now: Timestamp) {
        self.unpaid.keep(id.as_str(), address, now);
    }
}
