//! Evaluates a text to a state: words, concepts, mappings, and the decisions of the domains.

pub(crate) mod decide;
pub(crate) mod disguise;
pub(crate) mod fitted;
pub(crate) mod hits;
pub(crate) mod lexicon;
pub(crate) mod matching;
pub(crate) mod quantity;
pub(crate) mod stated;
pub(crate) mod trust;

/// The tables that the build script generates from `data/`.
#[allow(clippy::unreadable_literal, clippy::type_complexity, reason = "generated")]
pub(crate) mod data {
    use crate::state::State;
    use crate::tables::{
        Axis, ConceptId, Conditional, Domain, Element, Fitted, Guidance, HighStakes, Mapping, Name, Operator, Oracle,
        Part, Pattern, Places, Resource, Rows, SetId, Treatment,
    };
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}
