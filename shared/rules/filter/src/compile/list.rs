//! Reads the block list's TOML and refuses an inconsistent list.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::BitOr;

use serde::Deserialize;

use crate::engine::lists::{Matching, Substitute, Term};
use crate::engine::senses::{
    Case, Collocation, Collocations, Condition, WordPattern, WordPrefilter, bit_of, pair_of, prefilter_bit,
};

/// The reason why a block list is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error("the block list is not TOML of the expected form")]
    Toml(#[from] toml::de::Error),
    #[error("the version {0:?} is not a date, a dot and a number")]
    Version(String),
    #[error("term {0:?}: the list has this id twice")]
    DuplicateId(String),
    #[error("term {0:?}: the list has this text twice")]
    DuplicateText(String),
    #[error("term {id:?}: {problem}")]
    Term { id: String, problem: String },
    #[error("term {id:?}: the substitute {substitute:?} is itself blocked ({hit:?})")]
    BlockedSubstitute { id: String, substitute: String, hit: String },
    #[error("the list needs {what}, more than the limit of {limit}")]
    TooLarge { what: String, limit: usize },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCondition {
    #[serde(default)]
    case: Vec<Case>,
    #[serde(default)]
    left: Vec<String>,
    #[serde(default)]
    right: Vec<String>,
    #[serde(default)]
    near: Vec<String>,
    #[serde(default)]
    starts: bool,
    #[serde(default)]
    ends: bool,
    #[serde(default)]
    determined: bool,
    #[serde(default)]
    own_line: bool,
    #[serde(default)]
    code: bool,
    #[serde(default)]
    identifier: bool,
    #[serde(default)]
    hex: bool,
    #[serde(default)]
    split: bool,
    #[serde(default)]
    spaced: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTerm {
    id: String,
    text: String,
    #[serde(default)]
    aliases: Vec<String>,
    category: u8,
    reason: String,
    matching: Matching,
    #[serde(default)]
    name: bool,
    #[serde(default)]
    plural: bool,
    substitute: Option<Substitute>,
    #[serde(default)]
    innocent: Vec<String>,
    #[serde(default)]
    allow: Vec<RawCondition>,
    #[serde(default)]
    deny: Vec<RawCondition>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawList {
    version: String,
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    term: Vec<RawTerm>,
}

/// A term with the spellings that the automaton matches.
#[derive(Clone, Debug)]
pub(crate) struct ListedTerm {
    pub(crate) term: Term,
    pub(crate) spellings: Vec<String>,
    pub(crate) plural: bool,
}

/// A consistent block list.
#[derive(Clone, Debug)]
pub(crate) struct BlockList {
    pub(crate) version: String,
    pub(crate) terms: Vec<ListedTerm>,
}

impl BlockList {
    /// Parses and validates the text of `blocklist.toml`. Does not check whether a substitute is itself blocked: that
    /// needs the compiled filter.
    pub(crate) fn parse(text: &str) -> Result<Self, ListError> {
        let raw: RawList = toml::from_str(text)?;
        check_version(&raw.version)?;
        let (mut ids, mut texts) = (BTreeSet::new(), BTreeSet::new());
        let mut terms = Vec::new();
        for term in raw.term {
            if !ids.insert(term.id.clone()) {
                return Err(ListError::DuplicateId(term.id));
            }
            for text in std::iter::once(&term.text).chain(&term.aliases) {
                if !texts.insert(text.to_lowercase()) {
                    return Err(ListError::DuplicateText(text.clone()));
                }
            }
            terms.push(listed(term, &raw.groups)?);
        }
        Ok(BlockList { version: raw.version, terms })
    }
}

fn check_version(version: &str) -> Result<(), ListError> {
    let well_formed = version.split_once('.').is_some_and(|(date, number)| {
        date.len() == 10
            && date.char_indices().all(|(i, c)| if i == 4 || i == 7 { c == '-' } else { c.is_ascii_digit() })
            && number.parse::<u32>().is_ok()
    });
    if well_formed { Ok(()) } else { Err(ListError::Version(version.to_owned())) }
}

fn listed(raw: RawTerm, groups: &BTreeMap<String, Vec<String>>) -> Result<ListedTerm, ListError> {
    let problem = |problem: &str| ListError::Term { id: raw.id.clone(), problem: problem.to_owned() };
    if !(1..=4).contains(&raw.category) {
        return Err(problem("the category is not 1 to 4"));
    }
    if raw.text.trim().is_empty() || raw.reason.trim().is_empty() {
        return Err(problem("the text or the reason is empty"));
    }
    if raw.plural && raw.matching != Matching::Word {
        return Err(problem("only a word has a plural"));
    }
    let is_letter = |text: &str| !text.is_ascii() && text.chars().count() == 1;
    if raw.matching == Matching::Letter && !(is_letter(&raw.text) && raw.aliases.iter().all(|text| is_letter(text))) {
        return Err(problem("a letter is one character, and none of ASCII"));
    }
    if let Some(substitute) = &raw.substitute {
        for wording in [&substitute.full, &substitute.noun, &substitute.after_a] {
            if wording.trim() != wording || wording.is_empty() {
                return Err(problem("a substitute is empty or has space around it"));
            }
        }
        if !substitute.full.ends_with(&substitute.noun) {
            return Err(problem("the substitute's full wording does not end with its noun"));
        }
        if substitute.after_a.starts_with(['a', 'e', 'i', 'o', 'u']) {
            return Err(problem("the substitute after \"a\" begins with a vowel"));
        }
    }
    let conditions = |list: &[RawCondition]| -> Result<Vec<Condition>, ListError> {
        list.iter()
            .map(|c| condition(c, groups).map_err(|p| ListError::Term { id: raw.id.clone(), problem: p }))
            .collect()
    };
    let term = Term {
        allow: conditions(&raw.allow)?,
        deny: conditions(&raw.deny)?,
        id: raw.id.clone(),
        text: raw.text.clone(),
        category: raw.category,
        reason: raw.reason.clone(),
        matching: raw.matching,
        name: raw.name,
        substitute: raw.substitute.clone(),
        innocent: raw.innocent.clone(),
    };
    let spellings = std::iter::once(raw.text.clone()).chain(raw.aliases.iter().cloned()).collect();
    Ok(ListedTerm { term, spellings, plural: raw.plural })
}

fn condition(raw: &RawCondition, groups: &BTreeMap<String, Vec<String>>) -> Result<Condition, String> {
    let collocations = |texts: &[String]| -> Result<Vec<Collocation>, String> {
        texts.iter().map(|t| t.split_whitespace().map(|word| pattern(word, groups)).collect()).collect()
    };
    let mut near: Vec<WordPattern> = raw.near.iter().map(|word| pattern(word, groups)).collect::<Result<_, _>>()?;
    if near.iter().any(|word| word.initial() == 0) {
        return Err("\"near\" takes neither a group nor an ending".to_owned());
    }
    near.sort_by_key(WordPattern::initial);
    let condition = Condition {
        case: raw.case.clone(),
        left: indexed(collocations(&raw.left)?, <[_]>::last),
        right: indexed(collocations(&raw.right)?, <[_]>::first),
        near_initials: near.iter().fold(0, |sum, word| sum | initials(word)),
        near_prefilter: prefilter(&near),
        near,
        starts: raw.starts,
        ends: raw.ends,
        determined: raw.determined,
        own_line: raw.own_line,
        code: raw.code,
        identifier: raw.identifier,
        hex: raw.hex,
        split: raw.split,
        spaced: raw.spaced,
    };
    if condition == Condition::default() {
        return Err("a condition says nothing".to_owned());
    }
    Ok(condition)
}

/// Indexes collocations. `nearest` returns the word of a sequence that is nearest to the occurrence.
fn indexed(all: Vec<Collocation>, nearest: fn(&[WordPattern]) -> Option<&WordPattern>) -> Collocations {
    let initial = all.iter().map(|words| nearest(words).map_or(0, WordPattern::initial)).collect();
    let bits = all.iter().map(|words| nearest(words).map_or(u128::MAX, initials)).fold(0, |sum, bits| sum | bits);
    Collocations { all, initial, initials: bits }
}

/// The ASCII characters that a word can begin with, one bit each; all bits if any character is possible.
fn initials(word: &WordPattern) -> u128 {
    match word {
        WordPattern::OneOf(words) => {
            words.iter().filter_map(|word| word.bytes().next()).map(bit_of).fold(0, BitOr::bitor)
        }
        _ if word.initial() == 0 => u128::MAX,
        _ => bit_of(word.initial()),
    }
}

/// The prefilter of the words that are neither groups nor endings.
fn prefilter(words: &[WordPattern]) -> WordPrefilter {
    let empty = || vec![0; if words.is_empty() { 0 } else { 32 }];
    let mut prefilter = WordPrefilter { words: empty(), stems: empty() };
    let set = |rows: &mut [u32], bit: u16| rows[bit as usize >> 5] |= 1 << (bit & 31);
    for word in words {
        match word {
            WordPattern::Exact(text) => set(&mut prefilter.words, prefilter_bit(pair_of(text.as_bytes()), text.len())),
            // The second letter can be any letter.
            WordPattern::Prefix(stem) if stem.len() < 2 => {
                prefilter.stems[pair_of(stem.as_bytes()) as usize >> 5] = u32::MAX
            }
            WordPattern::Prefix(stem) => set(&mut prefilter.stems, pair_of(stem.as_bytes())),
            WordPattern::Suffix(_) | WordPattern::OneOf(_) => {}
        }
    }
    prefilter
}

fn pattern(word: &str, groups: &BTreeMap<String, Vec<String>>) -> Result<WordPattern, String> {
    if let Some(name) = word.strip_prefix('@') {
        let words = groups.get(name).ok_or_else(|| format!("there is no word group {name:?}"))?;
        return Ok(WordPattern::OneOf(words.clone()));
    }
    if word.chars().any(char::is_uppercase) {
        return Err(format!("the collocation {word:?} is not in small letters"));
    }
    Ok(match (word.strip_prefix('*'), word.strip_suffix('*')) {
        (_, Some(stem)) => WordPattern::Prefix(stem.to_owned()),
        (Some(ending), None) => WordPattern::Suffix(ending.to_owned()),
        (None, None) => WordPattern::Exact(word.to_owned()),
    })
}
