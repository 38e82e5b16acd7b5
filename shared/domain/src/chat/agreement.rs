//! The non-disclosure agreement of the Bridge: all versions, and the one that is offered now.
//!
//! A version's text never changes: acceptances name it by its SHA-256. A new text is a new file and a new entry.

/// One version of the agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Its number.
    pub version: u32,
    /// The exact text that customers read and accept.
    pub text: &'static str,
    /// The SHA-256 of the text in hexadecimal digits.
    pub sha256: &'static str,
}

/// Every version, oldest first.
pub const AGREEMENTS: [Agreement; 2] = [
    Agreement {
        version: 1,
        text: include_str!("../../texts/bridge-agreement-1.txt"),
        sha256: "c13b055d53d23f1ead26358826a3d1287b89a954807474f9062745ae129c3fb3",
    },
    Agreement {
        version: 2,
        text: include_str!("../../texts/bridge-agreement-2.txt"),
        sha256: "404d01a45464b243d7cf1d7580154561b3cfc935720e09a03be6a73144692671",
    },
];

/// The version that is offered now.
pub const CURRENT_AGREEMENT: Agreement = AGREEMENTS[AGREEMENTS.len() - 1];

impl Agreement {
    /// Whether a customer who names this version and hash has read exactly this text.
    #[must_use]
    pub fn is(&self, version: u32, sha256: &str) -> bool {
        self.version == version && self.sha256 == sha256
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn every_version_has_the_hash_that_acceptances_name() {
        for (index, agreement) in AGREEMENTS.iter().enumerate() {
            assert_eq!(agreement.version as usize, index + 1);
            assert_eq!(hex::encode(Sha256::digest(agreement.text)), agreement.sha256, "version {}", agreement.version);
            assert!(agreement.text.contains(&format!("version {}\n", agreement.version)));
        }
        assert_eq!(CURRENT_AGREEMENT.version as usize, AGREEMENTS.len());
    }

    #[test]
    fn version_and_hash_both_have_to_match() {
        let Agreement { version, sha256, .. } = CURRENT_AGREEMENT;
        assert!(CURRENT_AGREEMENT.is(version, sha256));
        assert!(!CURRENT_AGREEMENT.is(version + 1, sha256));
        assert!(!CURRENT_AGREEMENT.is(version, &sha256.to_uppercase()));
        assert!(!CURRENT_AGREEMENT.is(version, ""));
    }
}
