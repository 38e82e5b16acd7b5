//! Configuration: read from the environment once, in one place, and validated before the first event.

use domain::EmailAddress;
use std::{fmt::Display, str::FromStr};

/// A variable is missing or malformed. The message names it and never shows its value.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigurationError {
    /// The variable is not set, or empty.
    #[error("environment variable {0} is not set")]
    Missing(&'static str),
    /// The variable has an invalid value.
    #[error("environment variable {name} is not {expected}")]
    Malformed {
        /// The variable.
        name: &'static str,
        /// The expected form.
        expected: String,
    },
}

/// The source of variables: the process's environment, or a table in a test.
pub struct Environment {
    lookup: Lookup,
}

type Lookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl Environment {
    /// The environment of the process.
    #[must_use]
    #[allow(clippy::disallowed_methods)] // The one place that reads it.
    pub fn of_process() -> Self {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Another source of variables.
    #[must_use]
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { lookup: Box::new(lookup) }
    }

    /// A fixed table of variables.
    #[must_use]
    pub fn of(table: &'static [(&'static str, &'static str)]) -> Self {
        Self::from_lookup(|name| table.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    /// A variable that may be missing; an empty one counts as missing.
    #[must_use]
    pub fn optional(&self, name: &str) -> Option<String> {
        (self.lookup)(name).filter(|value| !value.trim().is_empty())
    }

    /// A required variable.
    ///
    /// # Errors
    /// [`ConfigurationError::Missing`].
    pub fn required(&self, name: &'static str) -> Result<String, ConfigurationError> {
        self.optional(name).ok_or(ConfigurationError::Missing(name))
    }

    /// A variable of some type within limits, or its default.
    ///
    /// # Errors
    /// [`ConfigurationError::Malformed`] when it is set to an invalid value.
    pub fn bounded<T: FromStr + PartialOrd + Display>(
        &self,
        name: &'static str,
        default: T,
        least: T,
        most: T,
    ) -> Result<T, ConfigurationError> {
        let Some(text) = self.optional(name) else { return Ok(default) };
        match text.trim().parse::<T>() {
            Ok(value) if value >= least && value <= most => Ok(value),
            _ => Err(ConfigurationError::Malformed { name, expected: format!("a number from {least} to {most}") }),
        }
    }

    /// A base URL without a trailing slash, or its default; an empty default means that it is required.
    ///
    /// # Errors
    /// [`ConfigurationError`]: it is missing and has no default, or it is no [`domain::web_address`].
    pub fn base_url(&self, name: &'static str, default: &str) -> Result<String, ConfigurationError> {
        let default = || (!default.is_empty()).then(|| default.to_owned());
        let url = self.optional(name).or_else(default).ok_or(ConfigurationError::Missing(name))?;
        let expected = || "an http or https URL with a host, without a query or a fragment".to_owned();
        domain::web_address(&url).ok_or_else(|| ConfigurationError::Malformed { name, expected: expected() })
    }

    /// A required e-mail address.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn address(&self, name: &'static str) -> Result<EmailAddress, ConfigurationError> {
        let malformed = |_| ConfigurationError::Malformed { name, expected: "an e-mail address".to_owned() };
        EmailAddress::parse(&self.required(name)?).map_err(malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_its_value_is_not_shown() {
        let environment = Environment::of(&[("EMPTY", " "), ("NUMBER", "secret"), ("URL", "secret"), ("BIG", "11")]);
        let missing = environment.required("EMPTY").unwrap_err().to_string();
        assert_eq!(missing, "environment variable EMPTY is not set");
        let number = environment.bounded("NUMBER", 1, 1, 10).unwrap_err().to_string();
        assert_eq!(number, "environment variable NUMBER is not a number from 1 to 10");
        assert!(environment.bounded("BIG", 1, 1, 10).is_err());
        assert_eq!(environment.bounded("UNSET", 7, 1, 10), Ok(7));
        assert!(!environment.base_url("URL", "").unwrap_err().to_string().contains("secret"));
        assert_eq!(
            environment.address("URL").unwrap_err().to_string(),
            "environment variable URL is not an e-mail address"
        );
        assert_eq!(environment.base_url("UNSET", "https://a.example/").as_deref(), Ok("https://a.example"));
        let refused = Environment::of(&[("KEYED", "https://a.example/?key=secret")]).base_url("KEYED", "");
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("KEYED") && refused.contains("without a query") && !refused.contains("secret"));
        assert_eq!(environment.base_url("UNSET", ""), Err(ConfigurationError::Missing("UNSET")));
    }
}
