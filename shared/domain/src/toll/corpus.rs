//! Versions of the corpus that answers draw on.

use serde::{Deserialize, Serialize};

/// The version of a corpus: the SHA-256 of its index, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CorpusVersion(String);

crate::text_newtype::text_newtype!(CorpusVersion, InvalidCorpusVersion);

/// A text that is no version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a corpus version is 64 hexadecimal digits in lower case")]
pub struct InvalidCorpusVersion;

impl CorpusVersion {
    /// Reads a version.
    ///
    /// # Errors
    /// [`InvalidCorpusVersion`].
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidCorpusVersion> {
        let text = text.into();
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 64 && text.bytes().all(is_digit) { Ok(Self(text)) } else { Err(InvalidCorpusVersion) }
    }

    /// The version with this digest.
    #[must_use]
    pub fn of_digest(digest: [u8; 32]) -> Self {
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// As much of it as people need to tell versions apart.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_whole_digest() {
        let digest = "0a".repeat(32);
        let version = CorpusVersion::parse(digest.as_str()).unwrap();
        assert_eq!((version.as_str(), version.prefix()), (digest.as_str(), "0a0a0a0a0a0a"));
        assert_eq!(serde_json::to_value(&version).unwrap(), digest);
        assert_eq!(CorpusVersion::of_digest([10; 32]), version);
        for text in ["", "0a", &"0A".repeat(32), &"../".repeat(22)[..64], &"0a".repeat(33)] {
            assert_eq!(CorpusVersion::parse(text), Err(InvalidCorpusVersion), "{text}");
        }
    }
}
