//! Outcomes: a terminal state with its lock, and the operations that may change it later.

pub use domain::authority_state::State;

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
