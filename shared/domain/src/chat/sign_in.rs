//! Signing in by a mailed link. A link works once, for ten minutes, and only in the browser that requested it, so that
//! reading the mail elsewhere or intercepting the link signs no other browser in.

use super::SubscriberId;
use crate::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a link works.
pub const LINK_HOLDS: Duration = Duration::from_secs(600);

/// How many links one network can have mailed to one mailbox within an hour. The chat's page says the number, because a
/// request above it looks as if a link were mailed.
pub const LINKS_AN_HOUR: u32 = 5;

/// How long a session lasts.
pub const SESSION_HOLDS: Duration = Duration::from_secs(30 * 24 * 3600);

/// An hour, after which sign-in mails get another name.
const HOUR: Duration = Duration::from_secs(3600);

/// The number of names of sign-in mails. Then they begin again.
const MAIL_NAMES: i64 = 4;

/// The name that the mailbox stores with the sign-in mails of an hour.
#[must_use]
pub fn sign_in_mails(at: Timestamp) -> SessionId {
    SessionId::of_sign_in_mails(at.as_seconds().div_euclid(HOUR.as_secs() as i64).rem_euclid(MAIL_NAMES))
}

/// The name of the sign-in mails whose links have expired: those of the hour before the last one, and what was left of
/// earlier ones with the same name. No mail gets this name in the next hour, so a slow removal meets no new mail.
#[must_use]
pub fn expired_sign_in_mails(now: Timestamp) -> SessionId {
    sign_in_mails(now.plus(2 * HOUR))
}

/// A mailed link, stored under the digest of its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    subscriber: SubscriberId,
    /// The digest of the cookie of the browser that requested it.
    browser: String,
    until: Timestamp,
    used: bool,
}

/// The reason why a link does not work. The reply to the browser is the same for all reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRedeemed {
    /// The link was used before.
    #[error("the link was used before")]
    Used,
    /// The link has expired.
    #[error("the link is too old")]
    TooOld,
    /// Another browser requested the link.
    #[error("the link was asked for in another browser")]
    OtherBrowser,
}

impl Login {
    /// A link that is valid from now.
    #[must_use]
    pub fn new(subscriber: SubscriberId, browser: String, now: Timestamp) -> Self {
        Self { subscriber, browser, until: now.plus(LINK_HOLDS), used: false }
    }

    /// The time from which the store may delete it.
    #[must_use]
    pub const fn until(&self) -> Timestamp {
        self.until
    }

    /// Redeems the link. An attempt by another browser leaves it valid for the browser that requested it.
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

/// A session of a signed-in subscriber, stored under the digest of the browser's cookie.
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

    /// Whose session it is, also after its end.
    #[must_use]
    pub const fn owner(&self) -> &SubscriberId {
        &self.subscriber
    }

    /// The subscriber, until the session ends. The store deletes the session some time later.
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
    fn every_sign_in_mail_is_removed_after_its_link_has_expired_and_none_before() {
        let minutes = |number: i64| Timestamp::from_seconds(number * 60);
        for sent in 0..240 {
            let name = sign_in_mails(minutes(sent));
            let first = (sent..).find(|now| expired_sign_in_mails(minutes(*now)) == name).unwrap();
            let age = minutes(first).since(minutes(sent));
            assert!(LINK_HOLDS < age && age <= 2 * HOUR, "{name:?} after {age:?}");
        }
    }

    #[test]
    fn a_session_ends() {
        let session = ChatSession::new(somebody(), at(0));
        let last = i64::try_from(SESSION_HOLDS.as_secs()).unwrap();
        assert_eq!(session.subscriber(at(last - 1)), Some(&somebody()));
        assert_eq!(session.subscriber(at(last)), None);
    }
}
