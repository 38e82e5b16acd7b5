//! The result of a check: the outcome of a payload, and every hit with its place and its reason.

use serde::{Deserialize, Serialize};

/// The decision about a payload (content filter, invariants 1 and 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// No blocked term: the text goes out unmodified.
    Pass,
    /// Every blocked term had a safe substitute; the text with the substitutes in place goes out.
    Replace,
    /// Delivery is held until a human decides. The text is the unchanged input.
    Quarantine,
}

impl Outcome {
    /// `"PASS"`, `"REPLACE"` or `"QUARANTINE"`, as written to logs and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Replace => "REPLACE",
            Outcome::Quarantine => "QUARANTINE",
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The action that a single hit requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The term has a safe substitute that fits this place.
    Replace,
    /// The term has no fitting substitute, or only a human can resolve its disguise.
    Quarantine,
}

/// The reading of the text in which a term was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// As written.
    Word,
    /// After look-alike characters were folded and invisible ones dropped.
    Folded,
    /// After separators between letters were removed.
    Squashed,
    /// With digits or signs read as letters, or repeated letters as one. Never replaced.
    Leet,
    /// After escapes, entities or markup were decoded.
    Decoded,
    /// Across two adjacent fields of one payload. Never replaced.
    Joined,
}

/// One blocked term, found at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The term's stable id in the list, for example `nous`.
    pub id: String,
    /// The term as the list writes it, for example `NOUS`.
    pub term: String,
    /// Byte offset of the first byte in the given text (in its field, for a payload).
    pub start: usize,
    /// Byte offset after the last byte.
    pub end: usize,
    /// The rule that applies: `category-1` to `category-4`.
    pub rule: String,
    /// The list's category, 1 to 4.
    pub category: u8,
    /// The reading of the text in which the term was found.
    pub view: View,
    /// The action that this hit requires.
    pub action: Action,
}

/// The result for one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The decision about the text.
    pub outcome: Outcome,
    /// The text to deliver. The input itself unless the outcome is [`Outcome::Replace`].
    pub text: String,
    /// Every hit, sorted by place.
    pub hits: Vec<Hit>,
}

/// One field of a checked payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedField {
    /// The field's text to deliver. The input itself unless the payload's outcome is [`Outcome::Replace`].
    pub text: String,
    /// The hits in this field. A term that starts here and ends in a later field is listed here up to the end of this
    /// field.
    pub hits: Vec<Hit>,
}

/// The result for several fields that are one payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedPayload {
    /// The decision about the payload as a whole.
    pub outcome: Outcome,
    /// The fields, in the order given.
    pub fields: Vec<CheckedField>,
}

impl CheckedPayload {
    /// Every hit of the payload with the index of its field.
    pub fn hits(&self) -> impl Iterator<Item = (usize, &Hit)> {
        self.fields.iter().enumerate().flat_map(|(index, field)| field.hits.iter().map(move |hit| (index, hit)))
    }
}

/// The sightings in a text, view by view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The text as it is, then after each round of decoding that changed it.
    pub views: Vec<ViewExplanation>,
    /// The result of the check.
    pub checked: Checked,
    /// The reason for that result.
    pub why: String,
}

/// The sightings in one view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViewExplanation {
    /// The number of decoding rounds before it; 0 is the text as it is.
    pub round: usize,
    /// Whether it is the text as control characters show it, with parts reversed.
    pub turned: bool,
    /// The text of the view, without invisible characters.
    pub reading: String,
    /// Every place with the letters of a term.
    pub sightings: Vec<Sighting>,
}

/// A place with the letters of a term, blocked or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sighting {
    /// The term's stable id.
    pub id: String,
    /// The term as the list writes it.
    pub term: String,
    /// Byte offset of the first byte in the text.
    pub start: usize,
    /// Byte offset after the last byte.
    pub end: usize,
    /// Those bytes.
    pub spelling: String,
    /// Whether it counts as a hit.
    pub blocked: bool,
    /// The reason why it does or does not count.
    pub why: String,
}
