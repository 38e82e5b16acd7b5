//! What a compaction is made of (spec 002, section 4.3).

use crate::handle::Handle;
use lens::{Digest, Domain, canonical::Value};
use serde::Serialize;

/// What a compaction is made of. The log has this, never the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recipe {
    /// How it is made and what for: `recap/1` or `synopsis/1`.
    pub policy_id: Handle,
    /// The facts, in the order in which they are summarised.
    pub input_handles: Vec<Digest>,
    /// The event that asked for it; 0 before there is one.
    pub event: u64,
}

impl Recipe {
    pub(crate) const fn new(policy_id: Handle, input_handles: Vec<Digest>) -> Self {
        Self { policy_id, input_handles, event: 0 }
    }

    /// The hash of inputs and policy.
    #[must_use]
    pub fn id(&self) -> Digest {
        let inputs = self.input_handles.iter().map(|fact| Value::Text(fact.to_string())).collect();
        let members = [
            ("compaction_policy_id".to_owned(), Value::Text(self.policy_id.to_string())),
            ("input_handles".to_owned(), Value::List(inputs)),
        ];
        Digest::of(Domain::Compaction, &Value::Object(members.into()).to_bytes())
    }
}

/// What a compaction policy is for; `None` for an unknown one.
#[must_use]
pub fn purpose_of(policy_id: &str) -> Option<&'static str> {
    match policy_id {
        "recap/1" => Some("recap"),
        "synopsis/1" => Some("synopsis"),
        _ => None,
    }
}
