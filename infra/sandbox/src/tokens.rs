//! The access and refresh tokens that the token endpoint issued.

use std::collections::HashMap;

use jiff::Timestamp;

/// The tokens issued so far.
#[derive(Default)]
pub(crate) struct Tokens {
    pub(crate) access: HashMap<String, Access>,
    /// When each refresh token was issued. The configured one is valid at any age.
    pub(crate) refresh: HashMap<String, Timestamp>,
}

#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) expires_at: Timestamp,
    pub(crate) scopes: Vec<String>,
}

/// Why a bearer token is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenError {
    Unknown,
    Expired,
}

impl Tokens {
    pub(crate) fn check(&self, token: &str, now: Timestamp) -> Result<&Access, TokenError> {
        let access = self.access.get(token).ok_or(TokenError::Unknown)?;
        if access.expires_at <= now {
            return Err(TokenError::Expired);
        }
        Ok(access)
    }
}
