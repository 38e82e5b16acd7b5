//! The names of artifacts and people.

use serde::{Deserialize, Serialize};
use std::{borrow::Borrow, fmt};

/// A name of 1 to 200 visible ASCII characters without quotation marks and backslashes: of a campaign, a scene, an
/// actor, a detail, a rule reference or a policy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Handle(String);

/// The reason why a text is not a handle.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a handle has 1 to 200 visible ASCII characters, no quotation mark and no backslash")]
pub struct InvalidHandle;

impl Handle {
    /// The greatest length of a handle, in bytes.
    pub const LONGEST: usize = 200;

    /// Parses a handle.
    ///
    /// # Errors
    /// [`InvalidHandle`]
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidHandle> {
        let text = text.into();
        let is_valid = (1..=Self::LONGEST).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        if is_valid { Ok(Self(text)) } else { Err(InvalidHandle) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Handle {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl TryFrom<String> for Handle {
    type Error = InvalidHandle;

    fn try_from(text: String) -> Result<Self, InvalidHandle> {
        Self::parse(text)
    }
}
