//! The policies that build working sets, by id. A changed policy gets a new id, and a log that pinned the old id
//! refuses to be rebuilt under the new one (Memory Contract, G6).

use crate::{
    handle::Handle,
    pins::{PinKind, Pins},
};
use lens::{Directives, PolicyIds};
use std::collections::BTreeMap;

/// A fact is visible only in the modes that its visibility_mask lists.
pub const MASK: &str = "mask-by-mode/1";
/// The groups come in this order: facts named in the query, pointers, facts that share words with the query, other
/// facts, compactions. Within a group, more shared words come first, then newer items, then the order of ids.
pub const ORDER: &str = "named-shared-newest-id/1";
/// Keeps the longest prefix of the order that fits.
pub const TRUNCATION: &str = "longest-prefix/1";
/// Counts the bytes of the whole working set, including its fixed part.
pub const BUDGET: &str = "whole-bytes/1";
/// One line per fact; the gist if the fact can be locked.
pub const COMPACTION: &str = "line-per-fact/1";

/// The policies' names among the pins, with their ids.
const NAMED: [(&str, &str); 5] = [
    ("budget_policy_id", BUDGET),
    ("compaction_policy_id", COMPACTION),
    ("mask_matrix_id", MASK),
    ("ordering_policy_id", ORDER),
    ("truncation_policy_id", TRUNCATION),
];

/// The policies' ids in the form of a working set.
#[must_use]
pub fn ids(with_compactions: bool) -> PolicyIds {
    PolicyIds {
        mask_matrix_id: MASK.to_owned(),
        ordering_policy_id: ORDER.to_owned(),
        truncation_policy_id: TRUNCATION.to_owned(),
        budget_policy_id: BUDGET.to_owned(),
        compaction_policy_id: with_compactions.then(|| COMPACTION.to_owned()),
    }
}

/// The pins of this build, before the system adds its models and templates.
#[must_use]
pub fn pins() -> Pins {
    let handle = |text: &str| Handle::parse(text).ok();
    let ids: BTreeMap<Handle, Handle> =
        NAMED.iter().filter_map(|(name, id)| Some((handle(name)?, handle(id)?))).collect();
    Pins([(PinKind::PolicyIds, ids)].into())
}

/// The renderer's constraints (Memory Contract, sections 2, 3 and 9).
#[must_use]
pub fn directives() -> Directives {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    Directives {
        output_class: list(&["render_only", "no_rolls", "no_canon"]),
        channel_separation: list(&["deny_line_only", "no_rule_text"]),
        why: "rule_ref_open_only".to_owned(),
    }
}
