//! Structured logs: one JSON line per step on standard output, where Lambda collects them.

use std::error::Error;
use tracing::Level;

/// Starts logging. `LOG_LEVEL` is trace, debug, info, warn or error; info when unset.
#[allow(clippy::disallowed_methods)] // Logging comes before configuration, so that its errors can be logged.
pub fn start() {
    let level = std::env::var("LOG_LEVEL").ok().and_then(|text| text.parse().ok()).unwrap_or(Level::INFO);
    // A second start (in tests) keeps the first one.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false)
        .with_max_level(level)
        .try_init();
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
    fn the_whole_chain_is_printed() {
        let error = Outer("x".parse::<i32>().unwrap_err());
        assert_eq!(chain(&error), "outer: invalid digit found in string");
    }
}
