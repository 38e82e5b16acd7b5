//! Numbers words, phrases and concepts, and builds the tree of phrases.

use std::collections::{BTreeMap, BTreeSet};

use crate::tables::{ConceptId, builtin};
use crate::text::token::tokens;

/// The minimum number of letters of a stem: shorter stems match too many words.
const SHORTEST_STEM: usize = 5;

/// All words and phrases.
pub(crate) struct Lexicon {
    /// Numbers by concept name. A literal of a pattern is a concept with the literal as its name.
    pub(crate) concepts: BTreeMap<String, ConceptId>,
    /// The quantities that a list of words names as entries, by the list's concept. Patterns and conditions search them
    /// beside it.
    pub(crate) quantities: BTreeMap<ConceptId, BTreeSet<ConceptId>>,
    pub(crate) words: Vec<String>,
    numbers: BTreeMap<String, u16>,
    pub(crate) nodes: Vec<Node>,
    /// Word stems, each with the concept of every word that begins with it.
    pub(crate) stems: BTreeSet<(String, ConceptId)>,
}

#[derive(Default)]
pub(crate) struct Node {
    pub(crate) concepts: BTreeSet<ConceptId>,
    pub(crate) children: BTreeMap<u16, u16>,
}

impl Lexicon {
    pub(crate) fn new() -> Self {
        let names = builtin::NAMES.iter().enumerate();
        let concepts = names.map(|(number, name)| (format!("#{name}"), number as ConceptId)).collect();
        let nodes = vec![Node::default()];
        let (quantities, words, numbers, stems) = Default::default();
        Self { concepts, quantities, words, numbers, nodes, stems }
    }

    /// The number of a concept. Assigns one to a new concept.
    pub(crate) fn concept(&mut self, name: &str) -> ConceptId {
        let next = self.concepts.len() as ConceptId;
        *self.concepts.entry(name.to_owned()).or_insert(next)
    }

    /// The concept of a literal of a pattern: a word or, with underscores, a phrase.
    pub(crate) fn literal(&mut self, literal: &str) -> Result<ConceptId, String> {
        let concept = self.concept(literal);
        self.add(concept, &literal.replace('_', " "))?;
        Ok(concept)
    }

    /// Adds an entry to a concept.
    pub(crate) fn add(&mut self, concept: ConceptId, entry: &str) -> Result<(), String> {
        if let Some(stem) = entry.strip_suffix('*') {
            if stem.len() < SHORTEST_STEM || !stem.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return Err(format!(
                    "{entry:?} is not the beginning of a word, of {SHORTEST_STEM} small letters or more"
                ));
            }
            self.stems.insert((stem.to_owned(), concept));
            return Ok(());
        }
        for phrase in inflected(entry) {
            let split = tokens(&phrase);
            if split.is_empty() || phrase.chars().any(char::is_uppercase) {
                return Err(format!("{entry:?} is not a phrase in small letters"));
            }
            let mut node = 0;
            for token in &split {
                let word = self.word(token.word(&phrase));
                let next = self.nodes.len() as u16;
                let child = *self.nodes[node].children.entry(word).or_insert(next);
                if child == next {
                    self.nodes.push(Node::default());
                }
                node = usize::from(child);
            }
            self.nodes[node].concepts.insert(concept);
        }
        Ok(())
    }

    /// Assigns the concepts of the stems to the lexicon's words; the engine does the same for unknown words.
    pub(crate) fn apply_stems(&mut self) {
        for (stem, concept) in self.stems.clone() {
            let words: Vec<u16> = self
                .numbers
                .range(stem.clone()..)
                .take_while(|(word, _)| word.starts_with(&stem))
                .map(|(_, n)| *n)
                .collect();
            for word in words {
                let next = self.nodes.len() as u16;
                let child = *self.nodes[0].children.entry(word).or_insert(next);
                if child == next {
                    self.nodes.push(Node::default());
                }
                self.nodes[usize::from(child)].concepts.insert(concept);
            }
        }
    }

    /// The number of a word, if a phrase contains it.
    pub(crate) fn number(&self, word: &str) -> Option<u16> {
        self.numbers.get(word).copied()
    }

    fn word(&mut self, word: &str) -> u16 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.words.len() as u16;
        self.words.push(word.to_owned());
        self.numbers.insert(word.to_owned(), number);
        number
    }
}

/// The forms of an entry: "~" after a word means its regular inflections. A form that does not exist is harmless.
fn inflected(entry: &str) -> Vec<String> {
    let Some(mark) = entry.find('~') else { return vec![entry.to_owned()] };
    let start = entry[..mark].rfind([' ', '-']).map_or(0, |space| space + 1);
    let (before, word, after) = (&entry[..start], &entry[start..mark], &entry[mark + 1..]);
    let mut forms = vec![word.to_owned(), format!("{word}s"), format!("{word}es")];
    let stem = word.strip_suffix('e').unwrap_or(word);
    forms.extend([format!("{stem}ed"), format!("{stem}ing"), format!("{stem}er")]);
    if let Some(stem) = word.strip_suffix('y') {
        forms.extend([format!("{stem}ies"), format!("{stem}ied")]);
    }
    if let Some(last) = word.chars().last().filter(|c| "bdglmnprt".contains(*c)) {
        forms.extend([format!("{word}{last}ed"), format!("{word}{last}ing")]);
    }
    forms.iter().flat_map(|form| inflected(&format!("{before}{form}{after}"))).collect()
}

/// The typing errors of a word: one letter missing, two letters exchanged, or one letter doubled.
pub(crate) fn slips(word: &str) -> BTreeSet<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut slips = BTreeSet::new();
    for at in 0..letters.len() {
        let mut one = letters.clone();
        one.remove(at);
        slips.insert(one.iter().collect());
        let mut twice = letters.clone();
        twice.insert(at, letters[at]);
        slips.insert(twice.iter().collect());
        if at + 1 < letters.len() {
            let mut turned = letters.clone();
            turned.swap(at, at + 1);
            slips.insert(turned.iter().collect());
        }
    }
    slips.remove(word);
    slips
}
