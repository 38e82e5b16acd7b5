//! Checks a compiled filter against its own list: no substitute may contain a blocked term (content filter, invariant
//! 6, GAP-E), and the filter must find every term that occurs alone (content filter, GAP-F).

use crate::compile::list::{BlockList, ListError};
use crate::engine::check::check;
use crate::engine::tables::Tables;
use crate::outcome::Outcome;

/// Refuses a list with a substitute that is itself blocked, or with a term that the filter does not find.
pub(crate) fn validate(list: &BlockList, tables: &Tables) -> Result<(), ListError> {
    for listed in &list.terms {
        let id = &listed.term.id;
        for wording in listed.term.substitute.iter().flat_map(|s| [&s.full, &s.noun, &s.after_a]) {
            // Checks the wording alone, and where no ordinary sense can excuse it.
            for text in [wording.clone(), wording.to_uppercase(), format!("{wording} ({wording})")] {
                if let Some(hit) = check(tables, &text).hits.first() {
                    let (id, substitute) = (id.clone(), wording.clone());
                    return Err(ListError::BlockedSubstitute { id, substitute, hit: hit.term.clone() });
                }
            }
        }
        for spelling in &listed.spellings {
            if check(tables, spelling).outcome == Outcome::Pass {
                return Err(ListError::Term { id: id.clone(), problem: format!("{spelling:?} alone is not found") });
            }
        }
    }
    Ok(())
}
