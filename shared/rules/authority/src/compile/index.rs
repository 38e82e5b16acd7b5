//! Writes the tables with which the engine finds words, phrases and patterns. They contain no pointers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};

use super::generate::{Code, Generator};
use super::lexicon::slips;
use super::ontology::Ontology;
use super::{DataError, Source};
use crate::tables::{ConceptId, LETTERS, NO_SET, SetId, continuation_hash, hash, letter};

impl Generator {
    pub(super) fn index(&mut self, files: &[(Source, Ontology)]) -> Result<(), DataError> {
        self.patterns()?;
        self.lexicon.apply_stems();
        let words = self.words(files)?;
        let used: BTreeSet<ConceptId> = self.sets.keys().flatten().copied().collect();
        self.stems(&used)?;
        self.phrases(words, &used)?;
        let names = self.names.text().to_owned();
        self.line(format!("pub(crate) static NAMES: &str = {names:?};"));
        Ok(())
    }

    /// The patterns, and per set of concepts that is a pattern's most specific element (its anchor) those patterns, each
    /// with the set of its second element: most texts have no concept of it.
    fn patterns(&mut self) -> Result<(), DataError> {
        let (mut lines, mut elements, mut count) = (String::new(), String::new(), 0);
        let mut anchors: Vec<(SetId, (usize, SetId))> = Vec::new();
        for (index, (mapping, excepts, pattern)) in std::mem::take(&mut self.patterns).into_iter().enumerate() {
            let _ = writeln!(
                lines,
                "    Pattern {{ mapping: {mapping}, anchor: {}, window: {}, elements: Part {{ start: {count}, length: {} }} }},",
                pattern.anchor,
                pattern.window,
                pattern.elements.len()
            );
            let mut sets = Vec::new();
            for (gap, concepts) in pattern.elements {
                let set = self.set(concepts);
                sets.push(set);
                let _ = writeln!(elements, "    Element {{ gap: {gap}, set: {set} }},");
            }
            count += sets.len();
            if !excepts {
                anchors.push((sets[pattern.anchor], (index, sets[pattern.second])));
            }
        }
        self.line(format!("pub(crate) static PATTERNS: &[Pattern] = &[\n{lines}];"));
        self.line(format!("pub(crate) static ELEMENTS: &[Element] = &[\n{elements}];"));
        let negation = self.lexicon.concepts.get("@negation").copied();
        let negation = negation.map_or(NO_SET, |concept| self.set(vec![concept]));
        self.line(format!("pub(crate) const NEGATION: SetId = {negation};"));
        self.line(format!("pub(crate) const CONCEPT_COUNT: usize = {};", self.lexicon.concepts.len()));
        // Per set that indexes patterns: its patterns.
        let mut anchored: Vec<Vec<(usize, SetId)>> = Vec::new();
        let mut numbers: BTreeMap<SetId, usize> = BTreeMap::new();
        for (set, pattern) in anchors {
            let number = *numbers.entry(set).or_insert(anchored.len());
            if number == anchored.len() {
                anchored.push(Vec::new());
            }
            anchored[number].push(pattern);
        }
        self.line(format!("pub(crate) const ANCHOR_COUNT: usize = {};", anchored.len()));
        let mut concepts: Vec<Vec<ConceptId>> = vec![Vec::new(); self.sets.len()];
        let mut anchors_of: Vec<Vec<usize>> = vec![Vec::new(); self.lexicon.concepts.len()];
        for (members, set) in &self.sets {
            concepts[usize::from(*set)].clone_from(members);
            for concept in members {
                anchors_of[usize::from(*concept)].extend(numbers.get(set));
            }
        }
        // One bit per concept: whether an anchor has it.
        let mut anchoring = vec![0_u64; self.lexicon.concepts.len() / 64 + 1];
        for (concept, _) in anchors_of.iter().enumerate().filter(|(_, anchors)| !anchors.is_empty()) {
            anchoring[concept / 64] |= 1 << (concept % 64);
        }
        self.line(format!("pub(crate) static ANCHORING: [u64; {}] = {anchoring:?};", anchoring.len()));
        self.rows("ANCHORED", "(u16, SetId)", anchored)?;
        self.rows("SETS", "ConceptId", concepts)?;
        self.rows("ANCHORS_OF", "u16", anchors_of)
    }

    /// The words of the lexicon and after them the misspelt words, which are not in it, with the words they stand for.
    /// Returns how many words the lexicon has.
    fn words(&mut self, files: &[(Source, Ontology)]) -> Result<usize, DataError> {
        let spellings = self.spellings(files)?;
        let words = std::mem::take(&mut self.lexicon.words);
        let all: Vec<&String> = words.iter().chain(spellings.keys()).collect();
        let (mut text, mut rows) = (String::new(), Vec::new());
        for (number, word) in all.iter().enumerate() {
            rows.push((text.len(), word.len(), number));
            text.push_str(word);
            text.push('\n');
        }
        self.line(format!("pub(crate) static WORDS: &str = {text:?};"));
        self.line(format!("pub(crate) const WORD_COUNT: usize = {};", words.len()));
        let meant: Vec<u16> = spellings.values().copied().collect();
        self.line(format!("pub(crate) static SPELLINGS: &[u16] = &{meant:?};"));
        let hashes: Vec<u32> = all.iter().map(|word| hash(word)).collect();
        let order = self.places("WORD_PLACES", &hashes)?;
        let rows: Vec<(usize, usize, usize)> = order.into_iter().map(|number| rows[number]).collect();
        self.line(format!("pub(crate) static WORD_ROWS: &[(u32, u16, u16)] = &{rows:?};"));
        Ok(words.len())
    }

    /// The misspelt words, with the numbers of the words they stand for.
    fn spellings(&self, files: &[(Source, Ontology)]) -> Result<BTreeMap<String, u16>, DataError> {
        let mut known: BTreeMap<String, u16> = BTreeMap::new();
        for (source, spellings) in files.iter().map(|(source, file)| (source, &file.spellings)) {
            let also = spellings.also.iter().map(|text| {
                let (misspelt, word) = text.get_ref().split_once('=').unwrap_or_default();
                (text, vec![misspelt.to_owned()], word)
            });
            let slipped = spellings.slips.iter().map(|text| {
                let word = text.get_ref().as_str();
                (text, slips(word).into_iter().collect(), word)
            });
            for (text, spelt, word) in also.chain(slipped) {
                let Some(number) = self.lexicon.number(word) else {
                    let problem = format!("{word:?} is not a word of any concept or pattern");
                    return Err(source.error(text.span().start, text.get_ref(), problem));
                };
                let strange = spelt.into_iter().filter(|spelling| self.lexicon.number(spelling).is_none());
                known.extend(strange.map(|spelling| (spelling, number)));
            }
        }
        Ok(known)
    }

    /// The stems of unknown words, by their first two letters.
    fn stems(&mut self, used: &BTreeSet<ConceptId>) -> Result<(), DataError> {
        let mut rows: Vec<Vec<Code>> = vec![Vec::new(); LETTERS * LETTERS];
        for (stem, concept) in std::mem::take(&mut self.lexicon.stems) {
            if !used.contains(&concept) {
                continue;
            }
            // The lexicon accepts only stems of small letters.
            let mut letters = stem.bytes().filter_map(letter);
            if let (Some(first), Some(second)) = (letters.next(), letters.next()) {
                rows[first * LETTERS + second].push(Code(format!("({}, {concept})", self.names.add(&stem))));
            }
        }
        self.rows("STEMS", "(Name, ConceptId)", rows)
    }

    /// The trees of phrases: per node, the concepts of the phrase that ends there, and the nodes with the words that continue
    /// it. First come the nodes of all words as first words, by their numbers.
    fn phrases(&mut self, words: usize, used: &BTreeSet<ConceptId>) -> Result<(), DataError> {
        let mut nodes = std::mem::take(&mut self.lexicon.nodes);
        let roots = std::mem::take(&mut nodes[0].children);
        let firsts: BTreeSet<u16> = roots.values().copied().collect();
        let others = (1..nodes.len() as u16).filter(|node| !firsts.contains(node)).map(Some);
        let order: Vec<Option<u16>> = (0..words as u16).map(|word| roots.get(&word).copied()).chain(others).collect();
        let mut places = vec![0; nodes.len()];
        for (place, node) in order.iter().enumerate().filter_map(|(place, node)| Some((place, (*node)?))) {
            places[usize::from(node)] = counted("PHRASES", place)?;
        }
        let (mut concepts, mut continuations) = (Vec::new(), Vec::new());
        for node in order {
            let node = node.map(|node| (places[usize::from(node)], &nodes[usize::from(node)]));
            let ended = node.iter().flat_map(|(_, node)| &node.concepts).copied();
            concepts.push(ended.filter(|concept| used.contains(concept)).collect());
            for (place, (word, child)) in
                node.iter().flat_map(|(place, node)| node.children.iter().map(|it| (*place, it)))
            {
                continuations.push((place, *word, places[usize::from(*child)]));
            }
        }
        self.rows("PHRASES", "ConceptId", concepts)?;
        let hashes: Vec<u32> = continuations.iter().map(|(node, word, _)| continuation_hash(*node, *word)).collect();
        let order = self.places("CONTINUATION_PLACES", &hashes)?;
        let rows: Vec<(u16, u16, u16)> = order.into_iter().map(|number| continuations[number]).collect();
        self.line(format!("pub(crate) static CONTINUATIONS: &[(u16, u16, u16)] = &{rows:?};"));
        Ok(())
    }

    pub(super) fn rows<T: Debug>(&mut self, name: &str, kind: &str, rows: Vec<Vec<T>>) -> Result<(), DataError> {
        let mut starts = vec![0];
        for row in &rows {
            starts.push(starts.last().copied().unwrap_or_default() + row.len());
        }
        let items: Vec<T> = rows.into_iter().flatten().collect();
        counted(name, items.len())?;
        self.line(format!(
            "pub(crate) static {name}: Rows<{kind}> = Rows {{ starts: &{starts:?}, items: &{items:?} }};"
        ));
        Ok(())
    }
}

/// The place of an item of a table, or an error if the table has more items than its numbers can count.
fn counted(table: &str, place: usize) -> Result<u16, DataError> {
    u16::try_from(place).map_err(|_| DataError {
        file: "all files".to_owned(),
        line: 1,
        rule: table.to_owned(),
        problem: format!("{place} items are more than its numbers can count"),
    })
}
