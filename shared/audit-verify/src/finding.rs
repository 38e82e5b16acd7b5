//! What can be wrong with a record, and which of several findings is reported.

use serde::{Deserialize, Serialize};

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// It is no line of the log's format.
    Unreadable,
    /// Its key is not one that the log makes, or the sale's stream was opened on another day.
    Foreign,
    /// It says that it belongs to another stream.
    Moved,
    /// It has another number than its key.
    Reordered,
    /// It is not there, though later ones are.
    Deleted,
    /// It is not there, nor is any after it, though the sale counts it.
    Truncated,
    /// It is not what the next record, or the sale, says that it was.
    Edited,
    /// It and the record before it do not fit, and nothing is left to tell which of them was changed.
    Unlinked,
    /// It has the place of another record: its number comes twice, the sale holds another one for this place, or
    /// counts none.
    Forked,
    /// Its stream is one that the table knows nothing of: neither a sale nor a function's note names it.
    Orphaned,
    /// It is in no digest, though it is old enough to be in one.
    Undigested,
    /// It is a digest without a signature.
    Unsigned,
    /// It is a digest that was signed and that the head, which is kept elsewhere, does not know: that was set back.
    Unnoted,
    /// It is a digest that ought to have been made by now.
    Overdue,
}

impl Damage {
    /// What is wrong, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unreadable => "is no line of the log's format",
            Self::Foreign => "is no file of this stream",
            Self::Moved => "belongs to another stream",
            Self::Reordered => "has the number of another record",
            Self::Deleted => "is gone, later ones are there",
            Self::Truncated => "is gone with all after it",
            Self::Edited => "was edited",
            Self::Unlinked => "or the one before it was edited",
            Self::Forked => "stands in another record's place",
            Self::Orphaned => "begins a stream that the table knows nothing of",
            Self::Undigested => "is in no signed digest",
            Self::Unsigned => "is not signed",
            Self::Unnoted => "is signed, and the head kept elsewhere is older",
            Self::Overdue => "ought to have been made by now",
        }
    }
}

/// The first bad record of a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The record's key; of a missing one, the key that it would have.
    pub key: String,
    /// What is wrong.
    pub damage: Damage,
}

/// Which of one stream's findings is reported: damage before a stream that nobody owns, and that before what is in no
/// digest, for neither may hide damage; then what comes first, and of one record what was found first.
#[must_use]
pub fn worst(findings: impl IntoIterator<Item = Finding>) -> Option<Finding> {
    let weight = |finding: &Finding| match finding.damage {
        Damage::Undigested => 2,
        Damage::Orphaned => 1,
        _ => 0,
    };
    findings.into_iter().min_by(|one, other| (weight(one), &one.key).cmp(&(weight(other), &other.key)))
}
