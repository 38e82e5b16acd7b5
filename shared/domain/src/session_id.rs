//! The key of a sale: the Stripe Checkout Session id, which entitles its holder to read the verdict, or the id of the
//! follow-up that such a session includes.

use serde::{Deserialize, Serialize};

/// The suffix of a follow-up's id. Stripe's ids have no hyphen.
pub(crate) const FOLLOWUP: &str = "-followup";

/// The prefix of the names of sign-in mails.
const SIGN_IN_MAILS: &str = "cs_link_";

/// The number of last characters that name a sale.
const REFERENCE: usize = 8;

/// A session id: `cs_` and then letters, digits, `-` and `_`, at most 255 characters in all. A follow-up's id is the id
/// of the session that paid for it plus `-followup`.
///
/// Debug prints only the first 12 characters (Cache Alert, invariant 4); the whole id needs an explicit call.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SessionId(String);

crate::text_newtype::text_newtype!(SessionId, InvalidSessionId);

/// The text is not a Checkout Session id.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a Checkout Session id")]
pub struct InvalidSessionId;

impl SessionId {
    /// Accepts a session id.
    ///
    /// # Errors
    /// [`InvalidSessionId`] when the prefix, the alphabet or the length is wrong.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidSessionId> {
        let text = text.into();
        let alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let paid = text.strip_suffix(FOLLOWUP).unwrap_or(&text);
        let valid = paid.len() > 3 && paid.len() <= 255 && paid.starts_with("cs_") && paid.bytes().all(alphabet);
        if valid { Ok(Self(text)) } else { Err(InvalidSessionId) }
    }

    /// The name of sign-in mails, which are about no sale. It has the form of a session id, and Stripe issues none of
    /// this form.
    pub(crate) fn of_sign_in_mails(number: i64) -> Self {
        Self(format!("{SIGN_IN_MAILS}{number}"))
    }

    /// Whether it is the name of sign-in mails.
    #[must_use]
    pub fn is_of_sign_in_mails(&self) -> bool {
        self.0.starts_with(SIGN_IN_MAILS)
    }

    /// The id of this session's follow-up; for a follow-up, its own id.
    #[must_use]
    pub fn followup(&self) -> Self {
        if self.is_followup() { self.clone() } else { Self(format!("{}{FOLLOWUP}", self.0)) }
    }

    /// Whether it is the id of a follow-up, which has no payment of its own.
    #[must_use]
    pub fn is_followup(&self) -> bool {
        self.0.ends_with(FOLLOWUP)
    }

    /// The paid session: for a follow-up, the one that includes it. Stripe and the result page only have this one.
    #[must_use]
    pub fn paid_session(&self) -> Self {
        Self(self.0.strip_suffix(FOLLOWUP).unwrap_or(&self.0).to_owned())
    }

    /// Whether it has the form of Stripe's ids (`cs_live_…` or `cs_test_…`, at least 20 characters). Any other id is
    /// not a session, so nothing needs to be read for it.
    #[must_use]
    pub fn looks_issued(&self) -> bool {
        self.0.len() >= 20 && (self.0.starts_with("cs_live_") || self.0.starts_with("cs_test_"))
    }

    /// Whether it is an id of Stripe's test mode.
    #[must_use]
    pub fn is_test_mode(&self) -> bool {
        self.0.strip_prefix("cs_test_").is_some_and(|rest| !rest.is_empty())
    }

    /// The last 8 characters; for a follow-up, the last 8 of its session plus `-followup`. Customers, operators and
    /// alerts name a sale in this way. The whole id opens the verdict's page.
    #[must_use]
    pub fn reference(&self) -> &str {
        let kept = if self.is_followup() { REFERENCE + FOLLOWUP.len() } else { REFERENCE };
        self.0.get(self.0.len().saturating_sub(kept)..).unwrap_or(&self.0)
    }

    /// The first 12 characters, for logs.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl std::fmt::Debug for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_stripes_ids_only() {
        for id in ["cs_live_abc123", "cs_test_a1B2c3", "cs_x"] {
            assert_eq!(SessionId::parse(id).unwrap().as_str(), id);
        }
        for (id, issued) in [
            ("cs_live_a1b2c3d4e5f6", true),
            ("cs_test_a1b2c3d4e5f6", true),
            ("cs_test_a1b2c3d4e5f", false),
            ("cs_a1b2c3d4e5f6g7h8i9", false),
            ("cs_prod_a1b2c3d4e5f6", false),
        ] {
            assert_eq!(SessionId::parse(id).unwrap().looks_issued(), issued, "{id}");
        }
        let long = format!("cs_{}", "a".repeat(253));
        for id in ["", "cs_", "pi_123", "cs_a b", "cs_../x", "cs_é", "cs_a\0", "cs_a/b", "CS_a", long.as_str()] {
            assert_eq!(SessionId::parse(id), Err(InvalidSessionId), "{id:?}");
        }
    }

    #[test]
    fn a_followup_is_named_after_the_session_that_paid_for_it() {
        let id = SessionId::parse("cs_live_a1B2c3D4e5F6").unwrap();
        let followup = id.followup();
        assert_eq!(followup.as_str(), "cs_live_a1B2c3D4e5F6-followup");
        assert_eq!((id.is_followup(), followup.is_followup()), (false, true));
        assert_eq!(
            (followup.followup(), followup.paid_session(), id.paid_session()),
            (followup.clone(), id.clone(), id)
        );
        assert_eq!(followup.reference(), "c3D4e5F6-followup");
        let longest = SessionId::parse(format!("cs_{}", "a".repeat(252))).unwrap().followup();
        assert_eq!(SessionId::parse(longest.as_str()), Ok(longest), "what is stored is read again");
        assert_eq!(SessionId::parse("cs_-followup"), Err(InvalidSessionId));
    }

    #[test]
    fn debug_shows_twelve_characters() {
        let id = SessionId::parse("cs_live_abcdefghijklmnop").unwrap();
        assert_eq!(format!("{id:?}"), "cs_live_abcd");
    }
}
