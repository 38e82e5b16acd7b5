//! An index of the vocabulary in `data/vocabulary.txt`.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::LazyLock,
};

const SOURCE: &str = include_str!("../../data/vocabulary.txt");

/// The meaning of a phrase. The file describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    QuickCheck,
    Assess,
    Status,
    Up,
    Down,
    Identity,
    Knowledge,
    Approve,
    Leave,
    Check,
    Gate,
    NotRun,
    Deferred,
    Instrument,
    Blocked,
    Fault,
    Caution,
    Forge,
    Pressure,
}

/// The purpose of a word list. The file describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    Connector,
    Limit,
    Negation,
    NoName,
    Plain,
    DataNoun,
    Unit,
    Doubt,
    Unreal,
    Calculation,
    Thing,
    Defect,
    Secret,
    Exposed,
    Request,
    Condition,
    People,
    Attitude,
    Observation,
    Sound,
    Neutral,
    Work,
    Trouble,
    Mended,
    Auxiliary,
    Filler,
}

impl List {
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A section of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Phrases(Term),
    Unspaced(Term),
    Words(List),
}

impl Section {
    fn of(title: &str) -> Option<Self> {
        Some(match title.split_once(' ') {
            Some(("words", "connector")) => Self::Words(List::Connector),
            Some(("words", "limit")) => Self::Words(List::Limit),
            Some(("words", "negation")) => Self::Words(List::Negation),
            Some(("words", "no_name")) => Self::Words(List::NoName),
            Some(("words", "plain")) => Self::Words(List::Plain),
            Some(("words", "data_noun")) => Self::Words(List::DataNoun),
            Some(("words", "unit")) => Self::Words(List::Unit),
            Some(("words", "doubt")) => Self::Words(List::Doubt),
            Some(("words", "unreal")) => Self::Words(List::Unreal),
            Some(("words", "calculation")) => Self::Words(List::Calculation),
            Some(("words", "thing")) => Self::Words(List::Thing),
            Some(("words", "defect")) => Self::Words(List::Defect),
            Some(("words", "secret")) => Self::Words(List::Secret),
            Some(("words", "exposed")) => Self::Words(List::Exposed),
            Some(("words", "request")) => Self::Words(List::Request),
            Some(("words", "condition")) => Self::Words(List::Condition),
            Some(("words", "people")) => Self::Words(List::People),
            Some(("words", "attitude")) => Self::Words(List::Attitude),
            Some(("words", "observation")) => Self::Words(List::Observation),
            Some(("words", "sound")) => Self::Words(List::Sound),
            Some(("words", "neutral")) => Self::Words(List::Neutral),
            Some(("words", "work")) => Self::Words(List::Work),
            Some(("words", "trouble")) => Self::Words(List::Trouble),
            Some(("words", "mended")) => Self::Words(List::Mended),
            Some(("words", "auxiliary")) => Self::Words(List::Auxiliary),
            Some(("words", "filler")) => Self::Words(List::Filler),
            Some(("unspaced", term)) => Self::Unspaced(term_of(term)?),
            Some(_) => return None,
            None => Self::Phrases(term_of(title)?),
        })
    }
}

fn term_of(name: &str) -> Option<Term> {
    Some(match name {
        "quick_check" => Term::QuickCheck,
        "assess" => Term::Assess,
        "status" => Term::Status,
        "up" => Term::Up,
        "down" => Term::Down,
        "identity" => Term::Identity,
        "knowledge" => Term::Knowledge,
        "approve" => Term::Approve,
        "leave" => Term::Leave,
        "check" => Term::Check,
        "gate" => Term::Gate,
        "not_run" => Term::NotRun,
        "deferred" => Term::Deferred,
        "instrument" => Term::Instrument,
        "blocked" => Term::Blocked,
        "fault" => Term::Fault,
        "caution" => Term::Caution,
        "forge" => Term::Forge,
        "pressure" => Term::Pressure,
        _ => return None,
    })
}

/// The vocabulary's entry for a word: its lists, and the phrases that begin with it, each with its other words.
#[derive(Default)]
pub(super) struct Known {
    pub(super) lists: Lists,
    pub(super) phrases: Vec<(Vec<&'static str>, Term)>,
}

static UNKNOWN: Known = Known { lists: Lists(0), phrases: Vec::new() };

#[derive(Default)]
struct Vocabulary {
    words: HashMap<&'static str, Known, BuildHasherDefault<Fnv>>,
    unspaced: Vec<(Term, &'static str)>,
}

/// FNV-1a, a fast hash. It does not resist chosen collisions, but the keys of this table are fixed.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let mut vocabulary = Vocabulary::default();
    for (section, entry) in entries(SOURCE).filter_map(|(title, entry)| Some((Section::of(title)?, entry))) {
        match section {
            Section::Phrases(term) => {
                let mut words = entry.split([' ', '\'']);
                if let Some(first) = words.next() {
                    vocabulary.words.entry(first).or_default().phrases.push((words.collect(), term));
                }
            }
            Section::Unspaced(term) => vocabulary.unspaced.push((term, entry)),
            Section::Words(list) => {
                vocabulary.words.entry(entry).or_default().lists.0 |= list.bit();
            }
        }
    }
    vocabulary
});

/// All entries with the titles of their sections.
fn entries(source: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut title = "";
    source.lines().filter(|line| !line.starts_with('#')).flat_map(move |line| {
        if let Some(of) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            title = of;
            return Vec::new();
        }
        let title = title;
        line.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| (title, entry)).collect()
    })
}

/// The vocabulary's entry for a word; an empty one for a word that it does not have.
pub(super) fn known(word: &str) -> &'static Known {
    if word.is_empty() { &UNKNOWN } else { VOCABULARY.words.get(word).unwrap_or(&UNKNOWN) }
}

/// Phrases of scripts without spaces.
pub(super) fn unspaced() -> &'static [(Term, &'static str)] {
    &VOCABULARY.unspaced
}

/// Whether a word is in a list.
pub(super) fn is_word(list: List, word: &str) -> bool {
    lists(word).has(list)
}

/// The lists that contain a word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lists(u32);

impl Lists {
    pub(super) const fn has(self, list: List) -> bool {
        self.0 & list.bit() != 0
    }

    /// The lists of the word's stem if no list has the word itself: "insists", "insisted", "insisting".
    pub(super) fn or_stem(self, word: &str) -> Self {
        const SHORTEST: usize = 3;
        if self.0 != 0 {
            return self;
        }
        let stems = ["s", "es", "d", "ed", "ing"].iter().filter_map(|ending| word.strip_suffix(ending));
        stems.filter(|stem| stem.len() >= SHORTEST).map(lists).find(|found| found.0 != 0).unwrap_or_default()
    }
}

/// All lists that contain a word, in one lookup.
pub(super) fn lists(word: &str) -> Lists {
    known(word).lists
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_section_is_known_and_every_phrase_is_as_texts_are_read() {
        let lines: Vec<&str> = SOURCE.lines().collect();
        for pair in lines.windows(2).filter(|pair| !pair[0].is_empty() && !pair[0].starts_with(['#', '['])) {
            assert!(
                pair[0].ends_with(',') || pair[1].is_empty(),
                "a phrase does not go on in the next line: {}",
                pair[0]
            );
        }
        let mut sections = HashSet::new();
        for (title, entry) in entries(SOURCE) {
            assert!(Section::of(title).is_some(), "[{title}] is no section");
            assert_eq!(super::super::fold::Folded::of(entry).text, entry, "[{title}]");
            sections.insert(title);
        }
        assert_eq!(sections.iter().filter(|title| !title.contains(' ')).count(), 19, "every term has phrases");
        assert!(is_word(List::Connector, "is") && !is_word(List::Connector, "") && !is_word(List::Limit, "is"));
        assert!(known("quick").phrases.iter().any(|(rest, term)| rest == &["check"] && *term == Term::QuickCheck));
    }
}
