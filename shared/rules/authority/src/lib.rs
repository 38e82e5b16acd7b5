//! The authority gate: decides whether and how a question may be answered, before money is taken.
//!
//! The gate evaluates a question against the ontologies of `data/`: one readable file per domain with its state axes,
//! requests, high-stakes rules, oracles and human lock. Every evaluation ends in exactly one of seven [`State`]s and
//! names the deciding rules. The same text always gives the same result: the gate uses no clock, no network and no
//! model.
//!
//! ```
//! use authority::{State, evaluate};
//!
//! let blocked = evaluate("Can I give my son two of my warfarin tablets?", None);
//! assert_eq!(blocked.state(), State::Blocked);
//! assert_eq!(evaluate("Should we open a second bakery in Halifax?", None).state(), State::Authorized);
//! ```
//!
//! The gate matches words. It does not recognise a paraphrase that shares no word with its lexicon, so the model's
//! reply is checked again ([`Evaluation::check_reply`]).

mod approval;
#[cfg(test)]
#[allow(dead_code, reason = "the tests use a part of what the build script uses")]
mod compile;
#[cfg(test)]
mod compile_tests;
mod engine;
mod envelope;
mod evaluation;
mod evidence;
mod grammar;
mod guidance;
mod ontology;
mod quote;
mod refusal;
mod response;
mod state;
mod tables;
mod text;

pub use envelope::{AuthorizationEnvelope, EvaluationEnvelope};
pub use evaluation::{Contact, DecidingRule, Evaluation, evaluate, evaluate_followup, evaluate_turns};
pub use evidence::{
    BindingError, Bound, Category, Evidence, EvidenceBinding, ForbiddenPattern, Item, Operation as EvidenceOperation,
    ReasonCode, Unbound, type_of,
};
pub use grammar::ReplyProblem;
pub use ontology::{Axis, Ontology, Oracle, ontologies};
pub use quote::{AxisValue, MappingSource, Quote, QuoteError, fingerprint};
pub use refusal::Refusal;
pub use response::Response;
pub use state::{Locked, Operation, Outcome, State};
