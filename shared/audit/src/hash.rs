//! Hashes that replace values which must not be in the log.

use domain::{EmailAddress, ErrorCode, Query, Secret, StepError, Verdict, ports::SecretSource};
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// `sha256:` and the first 16 hexadecimal digits (Audit Trail, required fields).
fn truncated(bytes: &[u8]) -> String {
    let full = hex::encode(Sha256::digest(bytes));
    format!("sha256:{}", full.get(..16).unwrap_or(&full))
}

/// The hash of a question.
#[must_use]
pub fn query_hash(query: &Query) -> String {
    truncated(query.as_str().as_bytes())
}

/// The hash of a verdict: of the normalised object, not of the model's bytes (Audit Trail GAP-08), so that two
/// replies that differ only in white space or key order have one hash.
#[must_use]
pub fn verdict_hash(verdict: &Verdict) -> String {
    truncated(&serde_json::to_vec(verdict).unwrap_or_default())
}

/// The whole SHA-256 of `bytes`, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(sha256_raw(bytes))
}

/// The whole SHA-256 of `bytes`.
#[must_use]
pub fn sha256_raw(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// One key for the hashes of addresses and of questions that were not sold.
#[derive(Clone, Debug)]
pub struct AuditKey {
    version: String,
    key: Secret,
}

/// The stored form: all keys that were ever used, and the current version (Audit Trail GAP-02).
#[derive(Clone, Debug, Deserialize)]
pub struct AuditKeys {
    /// The current version.
    pub current: String,
    /// Version → key. Old ones are kept, so that old records can still be matched to an address in a dispute.
    pub keys: BTreeMap<String, Secret>,
}

/// The key document has no usable key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidAuditKeys {
    /// Not a key document.
    #[error("the audit key document is not the expected JSON")]
    Malformed,
    /// `current` names a version that `keys` does not hold.
    #[error("the audit key document has no key for its current version")]
    NoCurrentKey,
    /// The key is too short to resist guessing.
    #[error("the current audit key is shorter than 32 characters")]
    Short,
}

impl AuditKeys {
    /// Parses the stored form.
    ///
    /// # Errors
    /// [`InvalidAuditKeys::Malformed`] when it is not the expected JSON.
    pub fn parse(document: &Secret) -> Result<Self, InvalidAuditKeys> {
        serde_json::from_str(document.expose()).map_err(|_| InvalidAuditKeys::Malformed)
    }

    /// The current key.
    ///
    /// # Errors
    /// [`InvalidAuditKeys`] when there is no current key or it is shorter than 32 characters.
    pub fn current(&self) -> Result<AuditKey, InvalidAuditKeys> {
        let key = self.keys.get(&self.current).ok_or(InvalidAuditKeys::NoCurrentKey)?;
        if key.expose().len() < 32 {
            return Err(InvalidAuditKeys::Short);
        }
        Ok(AuditKey { version: self.current.clone(), key: key.clone() })
    }

    /// The current key of a secret.
    ///
    /// # Errors
    /// [`StepError`] when the secret cannot be read, or has no usable current key.
    pub async fn current_of(source: &dyn SecretSource) -> Result<AuditKey, StepError> {
        let document = source.document().await?;
        Self::parse(&document).and_then(|keys| keys.current()).map_err(|error| ErrorCode::Malformed.of(error))
    }

    /// Whether a tag ([`AuditKey::email_tag`]) belongs to this address. The comparison uses the key that the tag was
    /// made with, because the current key may be a newer one. `None` if that key is not stored or the tag is malformed.
    #[must_use]
    pub fn is_tag_of(&self, tag: &str, address: &EmailAddress) -> Option<bool> {
        let version = tag.strip_prefix("hmac-sha256:")?.rsplit_once(':')?.0;
        let key = AuditKey { version: version.to_owned(), key: self.keys.get(version)?.clone() };
        Some(key.email_tag(address) == tag)
    }

    /// The tags ([`AuditKey::email_tag`]) of an address under all keys but the current one.
    #[must_use]
    pub fn other_email_tags(&self, address: &EmailAddress) -> Vec<String> {
        let others = self.keys.iter().filter(|(version, _)| **version != self.current);
        others.map(|(version, key)| AuditKey::new(version, key.clone()).email_tag(address)).collect()
    }
}

impl AuditKey {
    /// A key with its version.
    #[must_use]
    pub fn new(version: impl Into<String>, key: Secret) -> Self {
        Self { version: version.into(), key }
    }

    /// `hmac-sha256:{version}:{32 hexadecimal digits}` of the address in lower case: equal for equal addresses, and
    ///   useless without the key.
    #[must_use]
    pub fn email_tag(&self, address: &EmailAddress) -> String {
        self.tag(&[address.expose().to_lowercase().as_bytes()])
    }

    /// The same tag for a question, exactly as it was asked: equal for equal questions. Without the key, guessed
    /// questions cannot be tested against it. It never equals the tag of an address.
    #[must_use]
    pub fn question_tag(&self, query: &Query) -> String {
        self.tag(&[b"question\0", query.as_str().as_bytes()])
    }

    fn tag(&self, parts: &[&[u8]]) -> String {
        // HMAC accepts a key of any length, so this cannot fail; an empty tag would still not reveal the address.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.key.expose().as_bytes()) else {
            return String::new();
        };
        parts.iter().for_each(|part| mac.update(part));
        let tag = hex::encode(mac.finalize().into_bytes());
        format!("hmac-sha256:{}:{}", self.version, tag.get(..32).unwrap_or(&tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Colour;

    fn key(text: &str) -> AuditKey {
        AuditKey::new("v1", Secret::new(text))
    }

    #[test]
    fn hashes_have_the_form_of_the_spec() {
        let hash = query_hash(&Query::parse("abc").unwrap());
        assert_eq!(hash, "sha256:ba7816bf8f01cfea");
    }

    #[test]
    fn the_same_address_has_the_same_tag_only_under_the_same_key() {
        let address = EmailAddress::parse("Someone@Example.com").unwrap();
        let again = EmailAddress::parse("someone@example.com").unwrap();
        assert_eq!(key("k").email_tag(&address), key("k").email_tag(&again));
        assert_ne!(key("k").email_tag(&address), key("other").email_tag(&address));
        assert!(key("k").email_tag(&address).starts_with("hmac-sha256:v1:"));
        assert_eq!(key("k").email_tag(&address).len(), "hmac-sha256:v1:".len() + 32);
    }

    #[test]
    fn a_tag_is_matched_with_the_key_that_it_names() {
        let (one, two) = ("0".repeat(64), "1".repeat(64));
        let document = format!(r#"{{"current":"v2","keys":{{"v1":"{one}","v2":"{two}"}}}}"#);
        let keys: AuditKeys = serde_json::from_str(&document).unwrap();
        let address = EmailAddress::parse("someone@example.com").unwrap();
        let other = EmailAddress::parse("other@example.com").unwrap();
        let old = AuditKey::new("v1", Secret::new(one)).email_tag(&address);
        for tag in [old.clone(), keys.current().unwrap().email_tag(&address)] {
            assert_eq!(
                (keys.is_tag_of(&tag, &address), keys.is_tag_of(&tag, &other)),
                (Some(true), Some(false)),
                "{tag}"
            );
        }
        assert_eq!(keys.other_email_tags(&address), [old.as_str()]);
        for none in ["", "someone@example.com", "hmac-sha256:v1", &old.replace(":v1:", ":v0:")] {
            assert_eq!(keys.is_tag_of(none, &address), None, "{none}");
        }
    }

    #[test]
    fn a_key_document_without_a_usable_key_is_refused() {
        let parse = |json: &str| serde_json::from_str::<AuditKeys>(json).unwrap().current().map(|_| ());
        assert_eq!(parse(r#"{"current":"v2","keys":{"v1":"x"}}"#), Err(InvalidAuditKeys::NoCurrentKey));
        assert_eq!(parse(r#"{"current":"v1","keys":{"v1":"short"}}"#), Err(InvalidAuditKeys::Short));
        let long = "0".repeat(64);
        assert_eq!(parse(&format!(r#"{{"current":"v1","keys":{{"v1":"{long}"}}}}"#)), Ok(()));
    }

    #[test]
    fn equal_verdicts_have_equal_hashes_whatever_the_model_wrote() {
        let parse = |json: &str| verdict_hash(&serde_json::from_str::<Verdict>(json).unwrap());
        let one = parse(r#"{"verdict":"RED","summary":"No."}"#);
        assert_eq!(one, parse("{ \"summary\" : \"No.\",\n\"verdict\":\"RED\" }"));
        let other = Verdict { verdict: Colour::Red, summary: "No!".into(), breakdown: None, strategy: None };
        assert_ne!(one, verdict_hash(&other));
    }
}
