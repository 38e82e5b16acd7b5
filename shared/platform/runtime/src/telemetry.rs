//! Structured logs: one JSON line per step on standard output, where Lambda collects them.

use crate::{ConfigurationError, Environment};
use std::error::Error;
use tracing::Level;

/// Starts logging. `LOG_LEVEL` is trace, debug, info, warn or error; info when unset.
///
/// # Errors
/// [`ConfigurationError`]: it is something else. Then the level is info, so that this error can be logged.
pub fn start(environment: &Environment) -> Result<(), ConfigurationError> {
    let read = level(environment);
    let level = *read.as_ref().unwrap_or(&Level::INFO);
    // A second start (in tests) keeps the first one.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false)
        .with_max_level(level)
        .try_init();
    read.map(drop)
}

fn level(environment: &Environment) -> Result<Level, ConfigurationError> {
    const NAMES: [&str; 5] = ["trace", "debug", "info", "warn", "error"];
    let name = "LOG_LEVEL";
    let Some(text) = environment.optional(name) else { return Ok(Level::INFO) };
    let text = text.trim().to_ascii_lowercase();
    let level = text.parse::<Level>().ok().filter(|_| NAMES.contains(&text.as_str()));
    level
        .ok_or_else(|| ConfigurationError::Malformed { name, expected: "trace, debug, info, warn or error".to_owned() })
}

/// An error with all its causes, for operators: `outer: middle: inner`.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let next = cause.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn a_wrong_level_is_an_error_that_names_the_variable() {
        assert_eq!(level(&Environment::of(&[])), Ok(Level::INFO));
        assert_eq!(level(&Environment::of(&[("LOG_LEVEL", "ERROR")])), Ok(Level::ERROR));
        let wrong = level(&Environment::of(&[("LOG_LEVEL", "loud")])).unwrap_err().to_string();
        assert_eq!(wrong, "environment variable LOG_LEVEL is not trace, debug, info, warn or error");
    }

    #[test]
    fn the_whole_chain_is_printed() {
        let error = Outer("x".parse::<i32>().unwrap_err());
        assert_eq!(chain(&error), "outer: invalid digit found in string");
    }
}
