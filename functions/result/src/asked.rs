//! Remembers Stripe's recent answers. A client can make up session ids, or poll one that is not paid, and each such
//! question would use a call that paying customers may need.

use domain::{Guessing, Recent};
use std::time::Duration;

/// How long a session stays known as unpaid: briefly, because it may be paid at any moment.
const UNPAID_WINDOW: Duration = Duration::from_secs(5);

/// Stripe's recent answers.
#[derive(Debug)]
pub struct Asked {
    /// Limits questions about ids that may be made up. Sales in our store are not affected, because the store is read
    /// first.
    pub(crate) sessions: Guessing,
    /// Sessions that were not paid a moment ago, with the address at which each can still be paid.
    pub(crate) unpaid: Recent<Option<String>>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { sessions: Guessing::new("session"), unpaid: Recent::new(UNPAID_WINDOW) }
    }
}
