//! Why an event may not follow.

use crate::handle::Handle;
use lens::{Digest, canonical::CanonicalError};

/// The reason why an event may not follow.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The log ends with an erasure.
    #[error("the subject was erased: nothing may follow")]
    Erased,
    /// EV-021 without the revision that adds it.
    #[error("{0} needs a recorded revision that adds it (EV-ORC-001)")]
    NeedsRevision(&'static str),
    /// This build does not know the revision, or the log has it already.
    #[error("the revision {0} is refused: {1}")]
    Revision(Handle, &'static str),
    /// The events of a recall are out of order.
    #[error("recall of {handle}: {problem}")]
    Recall {
        /// The detail.
        handle: Handle,
        /// The problem.
        problem: &'static str,
    },
    /// The events of a consent chain are out of order.
    #[error("notebook request {request}: {problem}")]
    Consent {
        /// The request.
        request: Handle,
        /// The problem.
        problem: &'static str,
    },
    /// A recall or a rule opening in a scene that is not open.
    #[error("the scene {0} is not open")]
    SceneNotOpen(Handle),
    /// A rule opening whose unlock would never end.
    #[error("a rule opening lasts for a scene or a session; only the notebook unlocks permanently")]
    RuleScope,
    /// A rule opening for a session when no session is open.
    #[error("a rule is opened for the session, and no session is open")]
    NoSession,
    /// A second world.
    #[error("a world is committed already")]
    SecondWorld,
    /// Pins without a world or a revision.
    #[error("pins are revised by a recorded revision of a committed world; {0} is missing")]
    Pins(&'static str),
    /// A fact that contradicts itself or the ledger.
    #[error("the fact is refused: {0}")]
    Fact(&'static str),
    /// A fact whose visible part contains its locked detail.
    #[error("the fact is refused: its {0} contains a locked precision token, as written or disguised")]
    Leak(&'static str),
    /// A fact that does not exist or was withdrawn.
    #[error("there is no fact {0}, or it was withdrawn")]
    NoFact(Digest),
    /// A compaction that cannot be made, or does not exist.
    #[error("the compaction is refused: {0}")]
    Compaction(&'static str),
    /// A picture that contradicts the ledger.
    #[error("the picture is refused: {0}")]
    Image(&'static str),
    /// A value that the profile refuses.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}
