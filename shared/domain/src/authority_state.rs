//! The seven terminal states of the authority gate, in order of severity. The gate's build script and the example
//! `fit_weights` compile this file too, so it imports nothing of this crate.

use serde::{Deserialize, Serialize};

/// The result of an evaluation. Every evaluation ends in exactly one state. Declared in order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// An answer may claim authority.
    Authorized,
    /// Text under grammar constraints, without authoritative claims.
    NarrativeOnly,
    /// Required axes are missing; the customer can supply them.
    RequiresSpecification,
    /// An axis maps to more than one value.
    AmbiguousMapping,
    /// A value must come from a registered oracle.
    RequiresOracleVerification,
    /// No addition by the customer would make it answerable.
    Unresolvable,
    /// A hard safety boundary.
    Blocked,
}

impl State {
    /// All states, in order of severity.
    pub const ALL: [State; 7] = [
        State::Authorized,
        State::NarrativeOnly,
        State::RequiresSpecification,
        State::AmbiguousMapping,
        State::RequiresOracleVerification,
        State::Unresolvable,
        State::Blocked,
    ];

    /// The name in records and replies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Authorized => "AUTHORIZED",
            State::NarrativeOnly => "NARRATIVE_ONLY",
            State::RequiresSpecification => "REQUIRES_SPECIFICATION",
            State::AmbiguousMapping => "AMBIGUOUS_MAPPING",
            State::RequiresOracleVerification => "REQUIRES_ORACLE_VERIFICATION",
            State::Unresolvable => "UNRESOLVABLE",
            State::Blocked => "BLOCKED",
        }
    }

    /// Finds the state by its name.
    #[must_use]
    pub fn parse(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Whether a verdict may be sold.
    #[must_use]
    pub const fn is_sold(self) -> bool {
        matches!(self, State::Authorized | State::NarrativeOnly)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
