//! The progress of the comparison, which the function's note keeps: a run that is cut off has not worked for nothing.

use domain::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A comparison that was cut off is continued for this long. Stripe may no longer know the position of an older one, as
/// after a change from test to live mode.
const CONTINUED_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// One reading of Stripe's list of sessions, by one run or by several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pass {
    /// When it began. Sessions that are completed later are left to the next one.
    pub(crate) began: Timestamp,
    /// Sessions that were created before are not compared.
    pub(crate) since: Timestamp,
    /// The position of the next page in the list; `None` at its start. The list has the newest sessions first.
    pub(crate) from: Option<String>,
}

/// The function's note. The first form is that of earlier versions, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Progress {
    /// When the last comparison of every sale began; `None` before the first one.
    Complete(Option<Timestamp>),
    /// The same, and the comparison that is in work or was cut off.
    Begun { complete: Option<Timestamp>, pass: Pass },
}

impl Default for Progress {
    fn default() -> Self {
        Self::Complete(None)
    }
}

impl Progress {
    /// When the last comparison of every sale began.
    pub(crate) const fn complete(&self) -> Option<Timestamp> {
        match self {
            Self::Complete(complete) | Self::Begun { complete, .. } => *complete,
        }
    }

    /// The comparison that is to be continued.
    pub(crate) fn begun(&self, now: Timestamp) -> Option<&Pass> {
        match self {
            Self::Begun { pass, .. } => Some(pass).filter(|pass| now.since(pass.began) < CONTINUED_FOR),
            Self::Complete(_) => None,
        }
    }

    /// Notes how far a comparison is.
    pub(crate) fn advance(&mut self, pass: &Pass) {
        *self = Self::Begun { complete: self.complete(), pass: pass.clone() };
    }

    /// Ends a comparison that compared every sale since it began; `None` if it did not.
    pub(crate) fn end(&mut self, began: Option<Timestamp>) {
        *self = Self::Complete(self.complete().max(began));
    }
}
