//! The kinds of damage to a record, and which of several findings is reported.

use serde::{Deserialize, Serialize};

domain::enum_with_words! {
    /// The damage to a record.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Damage {
        /// It is not a line of the log's format.
        Unreadable = "is no line of the log's format",
        /// The log does not make such a key, or the sale's stream was opened on another day.
        Foreign = "is no file of this stream",
        /// Its content names another stream.
        Moved = "belongs to another stream",
        /// Its number differs from that in its key.
        Reordered = "has the number of another record",
        /// It is missing, and later records exist.
        Deleted = "is gone, later ones are there",
        /// It and all later ones are missing, though the sale counts it.
        Truncated = "is gone with all after it",
        /// It does not match the hash in the next record or in the sale.
        Edited = "was edited",
        /// It and the record before it do not match, and nothing shows which of them was changed.
        Unlinked = "or the one before it was edited",
        /// It has the place of another record: its number comes twice, the sale holds another one for this place, or
        /// counts none.
        Forked = "has the place of another record",
        /// The table has neither a sale nor a function's note for its stream.
        Orphaned = "begins a stream that the table knows nothing of",
        /// It is in no digest, though it is old enough to be.
        Undigested = "is in no signed digest",
        /// It is a digest without a signature.
        Unsigned = "is not signed",
        /// It is a signed digest that the head, which is stored elsewhere, does not count: the head was reset.
        Unnoted = "is signed, and the head kept elsewhere is older",
        /// A digest that is overdue.
        Overdue = "ought to have been made by now",
    }
    /// The damage in words.
    pub const fn words;
}

/// The first bad record of a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The record's key; for a missing record, the key that it would have.
    pub key: String,
    /// The damage.
    pub damage: Damage,
}

/// The finding that is reported for a stream: damage comes before an orphaned stream, and that before an undigested
/// object, because neither may hide damage. Then the earliest record comes first, and for one record the first finding.
#[must_use]
pub fn worst(findings: impl IntoIterator<Item = Finding>) -> Option<Finding> {
    let weight = |finding: &Finding| match finding.damage {
        Damage::Undigested => 2,
        Damage::Orphaned => 1,
        _ => 0,
    };
    findings.into_iter().min_by(|one, other| (weight(one), &one.key).cmp(&(weight(other), &other.key)))
}
