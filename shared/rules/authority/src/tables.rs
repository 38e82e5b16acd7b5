//! The static tables that the build script generates from `data/` and the engine reads without parsing at start.
//!
//! A concept is a set of words and phrases. A mapping sets one axis to one value if one of its patterns matches.
//!
//! The file has more than 300 lines because it has the row type of every table, with its fields documented.

use crate::state::State;

/// The number of a concept. The first ones come from numbers and units, see [`builtin`].
pub(crate) type ConceptId = u16;

/// Concepts that come from numbers with units, not from words.
pub(crate) mod builtin {
    /// Their names in the data, in the order of their numbers; patterns write `#name`.
    pub(crate) const NAMES: [&str; 24] = [
        "number",
        "age",
        "age_minor",
        "age_under_13",
        "age_adult",
        "dose",
        "weight",
        "temperature",
        "money",
        "money_over_10000",
        "duration",
        "length",
        "percent",
        "i_am_minor",
        "i_am_under_13",
        "i_am_adult",
        "small_count",
        "power",
        "pressure",
        "timestamp",
        "identifier",
        "age_minor_other",
        "many_count",
        "large_amount",
    ];
}

/// A state axis: one dimension of the required information.
#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) domain: u8,
    pub(crate) key: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) values: &'static [&'static str],
    /// The question in plain words with which a page asks for it.
    pub(crate) prompt: &'static str,
    /// Only a registered oracle may set it; a text never does.
    pub(crate) oracle_only: bool,
    /// No approval replaces it where it is required and missing.
    pub(crate) unwaivable: bool,
}

/// The number of a set of concepts of which one must occur: the alternatives of an element or of a condition.
pub(crate) type SetId = u16;

/// No set: a condition that is not stated.
pub(crate) const NO_SET: SetId = SetId::MAX;

/// One element of a pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    /// The maximum number of words between this element and the one before.
    pub(crate) gap: u8,
    /// The concepts of which one must occur here.
    pub(crate) set: SetId,
}

/// A sequence of elements, or several elements near each other.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) mapping: u16,
    /// The element that indexes the pattern: its most specific one.
    pub(crate) anchor: u8,
    /// The window in words within which the elements may occur in any order; 0 if their order matters.
    pub(crate) window: u8,
    /// Its elements, in `ELEMENTS`.
    pub(crate) elements: Part,
}

/// Sets an axis to a value.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) id: Name,
    /// The file that defines it: its domain's file or a part of it.
    pub(crate) file: Name,
    pub(crate) line: u32,
    pub(crate) axis: u16,
    pub(crate) value: Name,
    /// The treatment in `TREATMENTS` of the request that it sets; [`NO_TREATMENT`] if it sets state.
    pub(crate) treatment: u8,
    /// The range of its exceptions in `PATTERNS`: a match that overlaps one of them does not count.
    pub(crate) exceptions: (u16, u16),
    /// The same for the idioms that all mappings of its value share.
    pub(crate) idioms: (u16, u16),
    /// The text must contain one concept of each of these sets, in `CONDITIONS`.
    pub(crate) with: Part,
    /// The text may contain none of these.
    pub(crate) without: SetId,
    /// None of these may be near a match. Other sentences of the text do not count.
    pub(crate) apart_from: SetId,
    /// A preceding negation cancels the match.
    pub(crate) negatable: bool,
    /// The text implies the value and does not state it.
    pub(crate) inferred: bool,
    /// A match counts only if the fitted weights around it confirm it.
    pub(crate) needs_weights: bool,
}

/// The columns of the fitted weights. The first [`FITTED_DETECTS`] tell crises and governed questions from
/// harmless texts, the others tell the kinds of crises and of governed questions from each other.
#[allow(dead_code, reason = "only the build script reads the names")]
pub(crate) const FITTED_COLUMNS: [&str; 11] = [
    "crisis",
    "governed",
    "self_harm",
    "child_safety",
    "emergency",
    "medicine",
    "law",
    "finance",
    "benefits",
    "engineering",
    "telemetry",
];

/// The number of columns that detect.
pub(crate) const FITTED_DETECTS: usize = 2;

/// Sets a request if the fitted weights of some sentences reach a total. Of all that detect the same, only the one of the
/// most probable kind does.
#[derive(Debug)]
pub(crate) struct Fitted {
    /// The mapping that names the rule and its request.
    pub(crate) mapping: u16,
    /// The column in [`FITTED_COLUMNS`] that must reach the total.
    pub(crate) detects: u8,
    /// The column of its kind.
    pub(crate) kind: u8,
    /// The minimum sum of weights, in sixteenths of a weight of the fit.
    pub(crate) total: u16,
}

/// No treatment: a mapping that sets state, not a request.
pub(crate) const NO_TREATMENT: u8 = u8::MAX;

/// The treatment of a request of a domain.
#[derive(Debug)]
pub(crate) struct Treatment {
    pub(crate) domain: u8,
    pub(crate) line: u32,
    pub(crate) request: &'static str,
    pub(crate) state: State,
    /// Required axes: without them the state is `missing_state`.
    pub(crate) requires: &'static [u16],
    pub(crate) missing_state: State,
    pub(crate) reason: &'static str,
    /// General education: high-stakes rules do not apply.
    pub(crate) education: bool,
    /// No later operation may lower the outcome.
    pub(crate) locked: bool,
    /// People may approve it although the approval matrix does not name it. An emergency cannot wait for them.
    pub(crate) approvable: bool,
    pub(crate) resources: &'static [&'static str],
    /// Additional axes that are required if another axis has a value.
    pub(crate) conditional: &'static [Conditional],
}

/// If an axis has this value, these axes are also required.
#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) axis: u16,
    pub(crate) value: Name,
    pub(crate) requires: &'static [u16],
}

/// The comparison of a high-stakes rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Eq,
    In,
    Gt,
    NotProvided,
    Matches,
    OlderThan,
    Approaching,
}

/// A high-stakes rule of a domain.
#[derive(Debug)]
pub(crate) struct HighStakes {
    pub(crate) domain: u8,
    pub(crate) line: u32,
    pub(crate) axis: u16,
    /// The value of another axis that the text must state.
    pub(crate) condition: Option<(u16, Name)>,
    pub(crate) operator: Operator,
    pub(crate) values: &'static [Name],
    pub(crate) number: f64,
    pub(crate) action: &'static str,
    /// The state for the action in this domain.
    pub(crate) state: State,
    pub(crate) rationale: &'static str,
    pub(crate) reason: &'static str,
    /// The roles that may approve what it blocks; empty if it names none.
    pub(crate) approval: &'static [&'static str],
    /// The treatments in `TREATMENTS` that it applies to, of any domain; empty for all of its own except education.
    pub(crate) requests: &'static [u8],
    pub(crate) locked: bool,
    pub(crate) resources: &'static [&'static str],
}

/// A domain's fixed texts.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) name: &'static str,
    /// Its place in the order of precedence among equally severe states.
    pub(crate) rank: u8,
    pub(crate) file: &'static str,
    pub(crate) evaluator: &'static str,
    /// The notice beside a narrative answer.
    pub(crate) notice: &'static str,
    pub(crate) forbidden: &'static [&'static str],
    pub(crate) required: &'static [&'static str],
    /// The quantities that a narrative answer may not state, except those of its question.
    pub(crate) unstated: &'static [ConceptId],
    pub(crate) actions: &'static [&'static str],
    pub(crate) reformulation: &'static str,
    pub(crate) on_timeout: &'static str,
    pub(crate) human_lock: &'static str,
    /// No human may override this domain's locked outcomes.
    pub(crate) never: bool,
    pub(crate) two_persons: bool,
    /// The roles that may approve, by request.
    pub(crate) approval_matrix: &'static [(&'static str, &'static [&'static str])],
    /// The registers of credentials.
    pub(crate) verification_sources: &'static [&'static str],
    pub(crate) oracles: &'static [Oracle],
}

/// A registered source of ground truth.
#[derive(Debug)]
pub(crate) struct Oracle {
    pub(crate) name: &'static str,
    pub(crate) tier: &'static str,
    pub(crate) recency_seconds: u64,
}

/// A source of help, by country.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: &'static str,
    pub(crate) country: &'static str,
    pub(crate) name: &'static str,
    /// The name with the country, for a list with contacts of two countries.
    pub(crate) named: &'static str,
    pub(crate) contact: &'static str,
}

/// The texts for one reason of a domain. They may contain placeholders.
#[derive(Debug)]
pub(crate) struct Guidance {
    pub(crate) domain: u8,
    pub(crate) reason: &'static str,
    /// The axis and the value that the text must state; empty if any text with the reason has this guidance.
    pub(crate) with: (&'static str, &'static str),
    /// The words for the value; empty for any.
    pub(crate) quotes: &'static [&'static str],
    /// The axes that the user prompt asks for.
    pub(crate) missing: &'static [&'static str],
    /// What the customer of every text with the reason reads, also if another rule decides; may be empty.
    pub(crate) advice: &'static str,
    pub(crate) content: &'static str,
    pub(crate) user_prompt: &'static str,
    /// The immediate response, by country.
    pub(crate) display: &'static [(&'static str, &'static str)],
    pub(crate) forbidden: &'static [&'static str],
    pub(crate) required: &'static [&'static str],
    pub(crate) immediate_actions: &'static [&'static str],
    pub(crate) follow_up_actions: &'static [&'static str],
    pub(crate) suggested_actions: &'static [&'static str],
    pub(crate) reformulation: &'static str,
    pub(crate) escalation_contacts: &'static [&'static str],
    pub(crate) escalation_targets: &'static [&'static str],
    pub(crate) triggered_by: &'static str,
    pub(crate) block_reason: &'static str,
    pub(crate) rationale: &'static str,
}

/// A part of a table. The large tables hold places instead of slices: the loader rewrites every pointer of a table when
/// a process starts, and copies the pages that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: u16,
    pub(crate) length: u16,
}

impl Part {
    /// The part of this table.
    pub(crate) fn of<T>(self, table: &'static [T]) -> &'static [T] {
        let start = usize::from(self.start);
        table.get(start..start + usize::from(self.length)).unwrap_or_default()
    }
}

/// A name in `NAMES`. Equal names have the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) Part);

impl Name {
    /// The letters.
    pub(crate) fn of(self, names: &'static str) -> &'static str {
        let start = usize::from(self.0.start);
        names.get(start..start + usize::from(self.0.length)).unwrap_or_default()
    }
}

/// Lists of items, one after the other.
#[derive(Debug)]
pub(crate) struct Rows<T: 'static> {
    /// The first item of each list, and the end of the last one.
    pub(crate) starts: &'static [u16],
    pub(crate) items: &'static [T],
}

impl<T> Rows<T> {
    /// One list.
    pub(crate) fn of(&self, index: usize) -> &'static [T] {
        let Some([start, end]) = self.starts.get(index..index + 2) else { return &[] };
        self.items.get(usize::from(*start)..usize::from(*end)).unwrap_or_default()
    }
}

/// The places of the items of a table by their hashes. The items of a group share a shift, and the build script finds shifts
/// with which each item has a place of its own. So a lookup reads one place, and finds there the item or another one.
#[derive(Debug)]
pub(crate) struct Places {
    /// The shift of each group.
    pub(crate) shifts: &'static [u16],
    /// The number of places.
    pub(crate) count: usize,
}

impl Places {
    /// The place of the item with this hash, if the table has it.
    pub(crate) fn of(&self, hash: u32) -> usize {
        Self::shifted(hash, self.shifts[Self::group(hash, self.shifts.len())], self.count)
    }

    /// The group of a hash.
    pub(crate) fn group(hash: u32, groups: usize) -> usize {
        scaled(hash, groups)
    }

    /// The place of a hash with a shift.
    pub(crate) fn shifted(hash: u32, shift: u16, count: usize) -> usize {
        scaled((hash ^ u32::from(shift).wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca6b), count)
    }
}

/// The byte by which a row of fitted weights recognises the hash of its feature. One in 256 of the features without weights
/// finds another's row and gets its weights, -3 on average for crises: whole hashes would make the tables twice as large.
pub(crate) fn recognised_by(hash: u32) -> u8 {
    hash.to_le_bytes()[0]
}

/// A number below `count` from a hash.
fn scaled(hash: u32, count: usize) -> usize {
    ((u64::from(hash) * count as u64) >> u32::BITS) as usize
}

/// The hash of a phrase, by its node in the tree of phrases, that a word continues.
pub(crate) fn continuation_hash(node: u16, word: u16) -> u32 {
    (u32::from(node) << 16 | u32::from(word)).wrapping_mul(0x9e37_79b1)
}

/// The number of letters that an ending or a stem may begin or end with.
pub(crate) const LETTERS: usize = 26;

/// The place of a small letter in the alphabet.
pub(crate) fn letter(byte: u8) -> Option<usize> {
    byte.is_ascii_lowercase().then(|| usize::from(byte - b'a'))
}

/// The hash of no bytes.
pub(crate) const FNV_BASIS: u32 = 0x811c_9dc5;

/// FNV-1a of some bytes after others, whose hash is given.
pub(crate) const fn fnv_1a(before: u32, bytes: &[u8]) -> u32 {
    let (mut hash, mut at) = (before, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// FNV-1a of a word.
pub(crate) const fn hash(word: &str) -> u32 {
    fnv_1a(FNV_BASIS, word.as_bytes())
}

/// Mixes the upper bits into the lower ones, which select a slot.
pub(crate) fn folded(hash: u32) -> u32 {
    hash ^ (hash >> 15)
}
