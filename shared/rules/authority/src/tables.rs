//! What the build script makes of `data/` and the engine reads: static tables without any parsing at start.
//!
//! A concept is a set of words and phrases. A mapping sets one axis to one value where one of its patterns is found.

/// Number of a concept. The first ones are what numbers and units give, see [`builtin`].
pub(crate) type ConceptId = u16;

/// Concepts that come from numbers with units, not from words.
pub(crate) mod builtin {
    /// Their names in the data, in the order of their numbers; written `#name` in a pattern.
    pub(crate) const NAMES: [&str; 23] = [
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
    ];
}

/// A state axis: one dimension of what must be known.
#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) domain: u8,
    pub(crate) key: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) values: &'static [&'static str],
    /// The question in plain words that a page asks for it.
    pub(crate) prompt: &'static str,
    /// Only a registered oracle may set it; text never does.
    pub(crate) oracle_only: bool,
}

/// One place in a pattern.
#[derive(Debug)]
pub(crate) struct Element {
    /// Words that may stand between this element and the one before.
    pub(crate) gap: u8,
    /// Concepts of which one must stand here.
    pub(crate) concepts: &'static [ConceptId],
}

/// A sequence of elements, or several that stand near each other.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) mapping: u16,
    /// The element by which it is looked up: its most telling one.
    pub(crate) anchor: u8,
    /// Words within which the elements stand in any order; 0 where their order matters.
    pub(crate) window: u8,
    pub(crate) elements: &'static [Element],
}

/// Sets an axis to a value.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) id: &'static str,
    /// The file that has it: its domain's or a part of it.
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) axis: u16,
    pub(crate) value: &'static str,
    /// Range of `PATTERNS` of its exceptions: a match that overlaps one of them does not count.
    pub(crate) exceptions: (u16, u16),
    /// Of each group, one concept must be in the text.
    pub(crate) with: &'static [&'static [ConceptId]],
    /// None of these may be in the text.
    pub(crate) without: &'static [ConceptId],
    /// None of these may be near a match: another sentence of the text takes nothing away.
    pub(crate) apart_from: &'static [ConceptId],
    /// A negation before it takes it away.
    pub(crate) negatable: bool,
}

/// What a request of a domain gets.
#[derive(Debug)]
pub(crate) struct Treatment {
    pub(crate) domain: u8,
    pub(crate) line: u32,
    pub(crate) request: &'static str,
    pub(crate) state: &'static str,
    /// Axes without which it is `missing_state`.
    pub(crate) requires: &'static [u16],
    pub(crate) missing_state: &'static str,
    pub(crate) reason: &'static str,
    /// General education: high-stakes rules do not apply.
    pub(crate) education: bool,
    /// No later operation lowers the outcome.
    pub(crate) locked: bool,
    pub(crate) resources: &'static [&'static str],
    /// Axes required besides when another axis has a value.
    pub(crate) conditional: &'static [Conditional],
}

/// If an axis has this value, these axes are required too.
#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) axis: u16,
    pub(crate) value: &'static str,
    pub(crate) requires: &'static [u16],
}

/// How a high-stakes rule compares.
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
    pub(crate) operator: Operator,
    pub(crate) values: &'static [&'static str],
    pub(crate) number: f64,
    pub(crate) action: &'static str,
    /// What the action comes to in this domain.
    pub(crate) state: &'static str,
    pub(crate) rationale: &'static str,
    pub(crate) reason: &'static str,
    /// Requests it applies to; empty for all but education.
    pub(crate) requests: &'static [&'static str],
    pub(crate) locked: bool,
    pub(crate) resources: &'static [&'static str],
}

/// A domain's fixed texts.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    pub(crate) evaluator: &'static str,
    /// The sentence beside a narrative answer.
    pub(crate) notice: &'static str,
    pub(crate) forbidden: &'static [&'static str],
    pub(crate) required: &'static [&'static str],
    pub(crate) actions: &'static [&'static str],
    pub(crate) reformulation: &'static str,
    pub(crate) on_timeout: &'static str,
    pub(crate) human_lock: &'static str,
    /// No human may override what this domain locks.
    pub(crate) never: bool,
    pub(crate) two_persons: bool,
    /// Roles that may approve, by request.
    pub(crate) approval_matrix: &'static [(&'static str, &'static [&'static str])],
    /// Registers of credentials.
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

/// Who helps, by country.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: &'static str,
    pub(crate) country: &'static str,
    pub(crate) name: &'static str,
    pub(crate) contact: &'static str,
}

/// Where a word of the lexicon leads in the tree of phrases.
#[derive(Debug)]
pub(crate) struct Node {
    /// Concepts of the phrase that ends here.
    pub(crate) concepts: &'static [ConceptId],
    /// Words that go on from here, sorted.
    pub(crate) children: &'static [(u16, u16)],
}

/// FNV-1a, folded: what `SLOTS` is indexed by.
pub(crate) fn hash(word: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in word {
        hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    }
    (hash ^ (hash >> 15)) as usize
}
