//! Limits the questions to a vendor about ids that strangers can make up: each costs a call that customers may need.
//!
//! An unknown id is remembered for a minute. Unknown ids are counted per minute over all processes, per network and in
//! total (infra/decisions/front-door.md). An id that the vendor knows does not count after the answer, unless strangers can
//! have such ids at no cost.

mod question;

use crate::{
    Recent, Timestamp,
    ports::{StorageError, UnknownIdCounter},
};
use question::WINDOW;
pub use question::{CountedQuestion, Limits};
use std::time::Duration;

/// How long a process asks no more for a group that was refused. It is short, because questions that are not yet answered
/// can cause a refusal too.
const PAUSE: Duration = Duration::from_secs(5);

/// Limits the questions about ids of one kind, with what this process knows about such ids.
#[derive(Debug)]
pub struct UnknownIdLimiter {
    kind: &'static str,
    limits: Limits,
    unknown: Recent,
    /// Groups that reached a limit a moment ago, so that further questions cost no write.
    refused: Recent,
}

/// The answer to a question about an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The vendor knows it.
    Known(T),
    /// The vendor does not know it, now or within the last minute.
    Unknown,
    /// Too many unknown ids: the vendor was not asked.
    TooMany,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NotAnswered<E> {
    /// The vendor failed.
    Vendor(E),
    /// Questions cannot be counted, so the vendor was not asked.
    Storage(StorageError),
}

impl UnknownIdLimiter {
    /// Limits for ids of this kind.
    #[must_use]
    pub fn new(kind: &'static str, limits: Limits) -> Self {
        Self { kind, limits, unknown: Recent::new(WINDOW), refused: Recent::new(PAUSE) }
    }

    /// Asks the vendor about an id for a client of this network, if the limits allow it. `is_free` tells of a known id whether
    /// strangers can have one at no cost: the question then counts too.
    ///
    /// # Errors
    /// The vendor failed, or the question cannot be counted.
    pub async fn ask<T: Send, E: Send>(
        &self,
        unknown_ids: &dyn UnknownIdCounter,
        (id, network, now): (&str, Option<&str>, Timestamp),
        question: impl Future<Output = Result<Option<T>, E>> + Send,
        is_free: impl Fn(&T) -> bool + Send,
    ) -> Result<Answer<T>, NotAnswered<E>> {
        if self.unknown.recall(id, now).is_some() {
            return Ok(Answer::Unknown);
        }
        let counted = CountedQuestion::new(self.kind, self.limits, network, now);
        let group = format!("{}/{}", counted.window, counted.group);
        if self.refused.recall(&group, now).is_some() {
            return Ok(Answer::TooMany);
        }
        if !unknown_ids.take(&counted).await.map_err(NotAnswered::Storage)? {
            self.refused.keep(&group, (), now);
            return Ok(Answer::TooMany);
        }
        let answer = question.await.map_err(NotAnswered::Vendor)?;
        let count = match &answer {
            None => CountedQuestion::UNKNOWN,
            Some(known) if is_free(known) => self.limits.free,
            Some(_) => 0,
        };
        // If this fails, the question stays counted as an open one until the window ends.
        if count != CountedQuestion::OPEN {
            drop(unknown_ids.settle(&counted, count).await);
        }
        if let Some(known) = answer {
            return Ok(Answer::Known(known));
        }
        self.unknown.keep(id, (), now);
        Ok(Answer::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_changes_with_the_minute_and_names_no_network() {
        let at = Timestamp::from_seconds;
        let counted =
            |seconds| CountedQuestion::new("session", Limits::of_unknown_ids(3), Some("203.0.113.7"), at(seconds));
        assert_eq!(counted(0), CountedQuestion { until: at(120), ..counted(59) });
        assert_eq!(counted(61).window, "session/1");
        let group = |host, seconds| {
            CountedQuestion::new("session", Limits::of_unknown_ids(3), Some(&format!("203.0.113.{host}")), at(seconds))
                .group
        };
        let groups = |seconds| (0..200).map(|host| group(host, seconds)).collect::<Vec<_>>();
        assert_ne!(groups(0), groups(60));
        assert!(groups(0).iter().collect::<std::collections::BTreeSet<_>>().len() > 100);
    }
}
