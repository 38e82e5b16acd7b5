//! The seven terminal states, their order of severity, and the operations that may change an outcome later.

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

/// A state, and whether it is locked: child safety and self-harm lock their outcomes ("Child safety escalations are not
/// subject to human lock override").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    state: State,
    locked: bool,
}

/// An operation on an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Another evaluation of the same question: of another reading, turn or domain.
    Combine(Outcome),
    /// People with the roles of the domain's human lock approve: they allow a narrative answer but do not guarantee the
    /// model's text.
    Approve,
    /// Sets the state manually.
    Override(State),
}

/// An operation would have lowered a locked outcome. The outcome is unchanged; the attempt must be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a locked outcome cannot be lowered: child safety and self-harm are not subject to human lock")]
pub struct Locked;

impl Outcome {
    /// No domain governs the text.
    pub const AUTHORIZED: Outcome = Outcome { state: State::Authorized, locked: false };

    /// An outcome that people may override.
    #[must_use]
    pub const fn open(state: State) -> Self {
        Self { state, locked: false }
    }

    /// BLOCKED permanently.
    #[must_use]
    pub const fn locked() -> Self {
        Self { state: State::Blocked, locked: true }
    }

    /// The state.
    #[must_use]
    pub const fn state(self) -> State {
        self.state
    }

    /// Whether no operation may lower it.
    #[must_use]
    pub const fn is_locked(self) -> bool {
        self.locked
    }

    /// The more severe of two outcomes; locked if one of them is.
    #[must_use]
    pub fn combine(self, other: Outcome) -> Outcome {
        if self.locked || other.locked {
            return Outcome::locked();
        }
        Outcome::open(self.state.max(other.state))
    }

    /// Applies an operation.
    ///
    /// # Errors
    /// [`Locked`] for any approval or override of a locked outcome.
    pub fn apply(self, operation: Operation) -> Result<Outcome, Locked> {
        match operation {
            Operation::Combine(other) => Ok(self.combine(other)),
            Operation::Approve | Operation::Override(_) if self.locked => Err(Locked),
            Operation::Approve => Ok(Outcome::open(self.state.min(State::NarrativeOnly))),
            Operation::Override(state) => Ok(Outcome::open(state)),
        }
    }
}
