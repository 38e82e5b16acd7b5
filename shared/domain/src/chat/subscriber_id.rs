//! A subscriber is identified by a keyed digest of the mailbox to which an address leads. No store holds an address,
//! and another spelling of the same address gives no further free exchanges.

use crate::{EmailAddress, Secret, audit_trail::StateId};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Hosts whose mailboxes ignore dots, each with its canonical host.
const WITHOUT_DOTS: [&str; 2] = ["gmail.com", "googlemail.com"];

/// The shortest accepted key, in characters. A shorter one could be guessed.
const SHORTEST_KEY: usize = 32;

/// The key of the digests. It is never replaced, because under another key no subscriber would be recognised.
#[derive(Clone, Debug)]
pub struct SubscriberKey(Secret);

/// The key document holds no usable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the subscriber key must be JSON with a subscriber_key of at least {SHORTEST_KEY} characters")]
pub struct InvalidSubscriberKey;

impl SubscriberKey {
    /// Reads the stored form: `{"subscriber_key": "…"}`.
    ///
    /// # Errors
    /// [`InvalidSubscriberKey`]
    pub fn parse(document: &Secret) -> Result<Self, InvalidSubscriberKey> {
        #[derive(Deserialize)]
        struct Document {
            subscriber_key: Secret,
        }
        let document: Document = serde_json::from_str(document.expose()).map_err(|_| InvalidSubscriberKey)?;
        let key = document.subscriber_key;
        if key.expose().len() < SHORTEST_KEY { Err(InvalidSubscriberKey) } else { Ok(Self(key)) }
    }

    /// A keyed digest of another value that must not be stored in the clear, such as a network's address. `purpose`
    /// separates the digests of different kinds.
    #[must_use]
    pub fn digest(&self, purpose: &str, text: &str) -> String {
        // HMAC accepts a key of any length, so this cannot fail. An empty digest would identify no subscriber.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.0.expose().as_bytes()) else { return String::new() };
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(text.as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }
}

/// A subscriber: 64 hexadecimal digits. Debug prints the first 12.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SubscriberId(String);

crate::text_newtype::text_newtype!(SubscriberId, InvalidSubscriberId);

/// The text is not a subscriber's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a subscriber is named by 64 hexadecimal digits in lower case")]
pub struct InvalidSubscriberId;

impl SubscriberId {
    /// The subscriber who owns the mailbox of this address.
    #[must_use]
    pub fn of(key: &SubscriberKey, address: &EmailAddress) -> Self {
        Self(key.digest("oracle.chat.subscriber.v1", &mailbox(address)))
    }

    /// Reads an id.
    ///
    /// # Errors
    /// [`InvalidSubscriberId`]
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidSubscriberId> {
        let text = text.into();
        let is_digest = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_digest { Ok(Self(text)) } else { Err(InvalidSubscriberId) }
    }

    /// The first 12 digits, for logs and alerts.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl StateId for SubscriberId {
    fn read(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    fn text(&self) -> &str {
        self.as_str()
    }

    fn reference(&self) -> &str {
        self.prefix()
    }
}

impl std::fmt::Debug for SubscriberId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.prefix())
    }
}

/// The mailbox of an address: in lower case, without a tag (`name+tag`), and without dots where the host ignores them.
/// Two people whose addresses fold to the same mailbox share the three free exchanges and one account.
fn mailbox(address: &EmailAddress) -> String {
    let folded = address.expose().to_lowercase();
    let Some((name, host)) = folded.split_once('@') else { return folded };
    let host = host.trim_end_matches('.');
    let untagged = match name.split_once('+') {
        Some((before, _)) if !before.is_empty() => before,
        _ => name,
    };
    if !WITHOUT_DOTS.contains(&host) {
        return format!("{untagged}@{host}");
    }
    format!("{}@{}", untagged.replace('.', ""), WITHOUT_DOTS[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> SubscriberKey {
        SubscriberKey::parse(&Secret::new(format!("{{\"subscriber_key\":\"{text}\"}}"))).unwrap()
    }

    fn id(address: &str) -> SubscriberId {
        SubscriberId::of(&key(&"k".repeat(32)), &EmailAddress::parse(address).unwrap())
    }

    #[test]
    fn every_spelling_of_a_mailbox_is_one_subscriber() {
        for (address, same) in [
            ("Some.One@Example.com", "some.one@example.com"),
            ("someone+oracle@example.com", "someone@example.com"),
            ("someone+a+b@example.com.", "someone@example.com"),
            ("s.o.m.e+x@gmail.com", "some@googlemail.com"),
            ("Some@GoogleMail.com", "so.me@gmail.com"),
        ] {
            assert_eq!(id(address), id(same), "{address}");
        }
        for (address, other) in [
            ("some.one@example.com", "someone@example.com"),
            ("someone@example.com", "someone@example.org"),
            ("+one@example.com", "+two@example.com"),
        ] {
            assert_ne!(id(address), id(other), "{address}");
        }
    }

    #[test]
    fn an_id_shows_neither_address_nor_itself_and_depends_on_the_key() {
        let some = id("someone@example.com");
        assert!(!some.as_str().contains("someone") && format!("{some:?}").len() == 12);
        let other = SubscriberId::of(&key(&"l".repeat(32)), &EmailAddress::parse("someone@example.com").unwrap());
        assert_ne!(some, other);
        assert_eq!(SubscriberId::parse(some.as_str()), Ok(some));
        for text in ["", "a", &"A".repeat(64), &"g".repeat(64), &"a".repeat(65)] {
            assert_eq!(SubscriberId::parse(text), Err(InvalidSubscriberId));
        }
        for document in ["", "{}", "{\"subscriber_key\":\"short\"}"] {
            assert!(SubscriberKey::parse(&Secret::new(document)).is_err(), "{document}");
        }
    }

    proptest! {
        #[test]
        fn no_tag_and_no_case_makes_another_subscriber(name in "[a-z]{1,8}", tag in "[a-zA-Z0-9+.]{0,8}") {
            let tagged = format!("{}+{tag}@Example.COM", name.to_uppercase());
            prop_assert_eq!(id(&tagged), id(&format!("{name}@example.com")));
        }
    }
}
