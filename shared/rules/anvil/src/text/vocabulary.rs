//! The vocabulary of `data/vocabulary.txt`, indexed.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

const SOURCE: &str = include_str!("../../data/vocabulary.txt");

/// What a phrase says. The file describes each.
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

/// What a list of words is for. The file describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    Connector,
    Limit,
    Negation,
    NoName,
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

/// Everything, by the first word of a phrase: its other words, and what it says.
#[derive(Default)]
struct Vocabulary {
    phrases: HashMap<&'static str, Vec<(Vec<&'static str>, Term)>>,
    unspaced: Vec<(Term, &'static str)>,
    words: HashSet<(List, &'static str)>,
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let mut vocabulary = Vocabulary::default();
    for (section, entry) in entries(SOURCE).filter_map(|(title, entry)| Some((Section::of(title)?, entry))) {
        match section {
            Section::Phrases(term) => {
                let mut words = entry.split([' ', '\'']);
                if let Some(first) = words.next() {
                    vocabulary.phrases.entry(first).or_default().push((words.collect(), term));
                }
            }
            Section::Unspaced(term) => vocabulary.unspaced.push((term, entry)),
            Section::Words(list) => {
                vocabulary.words.insert((list, entry));
            }
        }
    }
    vocabulary
});

/// Every entry with the title of its section.
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

/// The phrases that begin with a word: their other words, and what they say.
pub(super) fn phrases(first: &str) -> &'static [(Vec<&'static str>, Term)] {
    VOCABULARY.phrases.get(first).map_or(&[], Vec::as_slice)
}

/// Phrases of scripts without spaces.
pub(super) fn unspaced() -> &'static [(Term, &'static str)] {
    &VOCABULARY.unspaced
}

/// Whether a word is in a list.
pub(super) fn is_word(list: List, word: &str) -> bool {
    !word.is_empty() && VOCABULARY.words.contains(&(list, word))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(phrases("quick").iter().any(|(rest, term)| rest == &["check"] && *term == Term::QuickCheck));
    }
}
