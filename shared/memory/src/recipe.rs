//! The inputs and policy of a compaction (Memory Contract, section 4.3).

use crate::handle::Handle;
use lens::{Digest, Domain, canonical::Value};
use serde::Serialize;

/// The inputs and policy of a compaction. The log records these, never the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recipe {
    /// The policy, which gives method and purpose: `recap/1` or `synopsis/1`.
    pub policy_id: Handle,
    /// The facts, in the order of the summary.
    pub input_handles: Vec<Digest>,
    /// The event that requested it; 0 before that event exists.
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

/// The purpose of a compaction policy; `None` for an unknown one.
#[must_use]
pub fn purpose_of(policy_id: &str) -> Option<&'static str> {
    match policy_id {
        "recap/1" => Some("recap"),
        "synopsis/1" => Some("synopsis"),
        _ => None,
    }
}
