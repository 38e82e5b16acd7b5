//! Signing in by a mailed link: single use, ten minutes, and only in the browser that asked for it. Whoever reads a mail
//! on another machine, or a link on the way, is not signed in by it.

use super::SubscriberId;
use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a link works.
pub const LINK_HOLDS: Duration = Duration::from_secs(600);

/// How long a session lasts.
pub const SESSION_HOLDS: Duration = Duration::from_secs(30 * 24 * 3600);

/// A link that was mailed. It is kept by the digest of its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    subscriber: SubscriberId,
    /// Digest of what the asking browser holds in a cookie.
    browser: String,
    until: Timestamp,
    used: bool,
}

/// Why a link signs nobody in. The browser is told one thing only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRedeemed {
    /// It was used before.
    #[error("the link was used before")]
    Used,
    /// Its time is over.
    #[error("the link is too old")]
    TooOld,
    /// Another browser asked for it.
    #[error("the link was asked for in another browser")]
    OtherBrowser,
}

impl Login {
    /// A link that is mailed now.
    #[must_use]
    pub fn new(subscriber: SubscriberId, browser: String, now: Timestamp) -> Self {
        Self { subscriber, browser, until: now.plus(LINK_HOLDS), used: false }
    }

    /// When it may be forgotten.
    #[must_use]
    pub const fn until(&self) -> Timestamp {
        self.until
    }

    /// Uses it up. Another browser does not: the one that asked still can.
    ///
    /// # Errors
    /// [`NotRedeemed`]
    pub fn redeem(&mut self, browser: &str, now: Timestamp) -> Result<SubscriberId, NotRedeemed> {
        if self.browser != browser {
            return Err(NotRedeemed::OtherBrowser);
        }
        if self.used {
            return Err(NotRedeemed::Used);
        }
        if now >= self.until {
            return Err(NotRedeemed::TooOld);
        }
        self.used = true;
        Ok(self.subscriber.clone())
    }
}

/// Somebody who is signed in. It is kept by the digest of what the browser holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatSession {
    subscriber: SubscriberId,
    until: Timestamp,
}

impl ChatSession {
    /// A session that begins now.
    #[must_use]
    pub fn new(subscriber: SubscriberId, now: Timestamp) -> Self {
        Self { subscriber, until: now.plus(SESSION_HOLDS) }
    }

    /// When it ends.
    #[must_use]
    pub const fn until(&self) -> Timestamp {
        self.until
    }

    /// Whose it is, while it lasts. The store removes it some time after.
    #[must_use]
    pub fn subscriber(&self, now: Timestamp) -> Option<&SubscriberId> {
        (now < self.until).then_some(&self.subscriber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_790_000_000 + seconds)
    }

    fn somebody() -> SubscriberId {
        SubscriberId::parse("b".repeat(64)).unwrap()
    }

    #[test]
    fn a_link_works_once_for_ten_minutes_in_the_browser_that_asked() {
        let mut login = Login::new(somebody(), "browser".to_owned(), at(0));
        assert_eq!(login.redeem("another", at(1)), Err(NotRedeemed::OtherBrowser));
        assert_eq!(login.clone().redeem("browser", at(599)), Ok(somebody()));
        assert_eq!(login.clone().redeem("browser", at(600)), Err(NotRedeemed::TooOld));
        assert_eq!(login.redeem("browser", at(2)), Ok(somebody()));
        assert_eq!(login.redeem("browser", at(3)), Err(NotRedeemed::Used));
    }

    #[test]
    fn a_session_ends() {
        let session = ChatSession::new(somebody(), at(0));
        let last = i64::try_from(SESSION_HOLDS.as_secs()).unwrap();
        assert_eq!(session.subscriber(at(last - 1)), Some(&somebody()));
        assert_eq!(session.subscriber(at(last)), None);
    }
}
