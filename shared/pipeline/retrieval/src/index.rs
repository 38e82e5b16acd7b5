//! An index: passages, and for each term the passages that contain it. Searches rank passages by BM25.

use crate::{
    passages::{self, Text},
    terms::terms,
};
use audit::hash::sha256;
use domain::toll::CorpusVersion;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The largest stored size of an index in bytes. In memory it takes up to three times as much.
pub const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The version of the stored format. An index with another number belongs to another release.
const FORMAT: u32 = 1;

/// BM25's usual parameters: the saturation of repeated terms, and the weight of a passage's length.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// The name of its text.
    pub source: String,
    /// The words of the passage.
    pub text: String,
}

/// A passage's number, and how often the passage contains the term.
type Posting = (u32, u32);

/// The passages of a corpus and the postings of their terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    format: u32,
    passages: Vec<Passage>,
    /// The number of terms of each passage.
    lengths: Vec<u32>,
    /// The postings of each term, in the order of the passages' numbers.
    terms: BTreeMap<String, Vec<Posting>>,
}

/// The reason why no index is built.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No text contains a word.
    #[error("the texts contain no words")]
    Empty,
    /// The index is larger than `MOST_BYTES`, a limit that keeps it within the functions' memory.
    #[error("the index has {0} bytes, more than the limit of {MOST_BYTES}")]
    TooLarge(usize),
}

/// The reason why stored bytes are not the index of their version.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableIndex {
    /// They are more than `MOST_BYTES`.
    #[error("the index takes {0} bytes, and {MOST_BYTES} are the most")]
    TooLarge(usize),
    /// Their hash differs: they were changed or truncated.
    #[error("the bytes of the index have another hash than its version")]
    Hash,
    /// They do not parse in this release's format.
    #[error("the index has another form than this release reads")]
    Form(#[source] serde_json::Error),
    /// Their parts contradict each other.
    #[error("the index contradicts itself")]
    Inconsistent,
}

impl Index {
    /// Builds the index of some texts. The same texts in any order give the same index.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn build(mut texts: Vec<Text>) -> Result<Self, BuildError> {
        texts.sort_by(|one, other| (&one.name, &one.content).cmp(&(&other.name, &other.content)));
        let mut index = Self { format: FORMAT, passages: Vec::new(), lengths: Vec::new(), terms: BTreeMap::new() };
        for text in &texts {
            for passage in passages::passages(&text.content) {
                index.add(Passage { source: text.name.clone(), text: passage });
            }
        }
        if index.passages.is_empty() {
            return Err(BuildError::Empty);
        }
        match index.to_bytes().len() {
            bytes if bytes > MOST_BYTES => Err(BuildError::TooLarge(bytes)),
            _ => Ok(index),
        }
    }

    fn add(&mut self, passage: Passage) {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for term in terms(&passage.text) {
            *counts.entry(term).or_default() += 1;
        }
        let Ok(number) = u32::try_from(self.passages.len()) else { return };
        if counts.is_empty() {
            return;
        }
        self.lengths.push(counts.values().sum());
        for (term, count) in counts {
            self.terms.entry(term).or_default().push((number, count));
        }
        self.passages.push(passage);
    }

    /// The bytes to store.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The version of an index: the hash of its bytes.
    #[must_use]
    pub fn version_of(bytes: &[u8]) -> CorpusVersion {
        CorpusVersion::of_digest(audit::hash::sha256_raw(bytes))
    }

    /// Reads the index of this version.
    ///
    /// # Errors
    /// [`UnreadableIndex`].
    pub fn read(version: &CorpusVersion, bytes: &[u8]) -> Result<Self, UnreadableIndex> {
        if bytes.len() > MOST_BYTES {
            return Err(UnreadableIndex::TooLarge(bytes.len()));
        }
        if sha256(bytes) != version.as_str() {
            return Err(UnreadableIndex::Hash);
        }
        let index: Self = serde_json::from_slice(bytes).map_err(UnreadableIndex::Form)?;
        let is_passage = |(number, _): &Posting| (*number as usize) < index.passages.len();
        let is_consistent = index.format == FORMAT
            && index.lengths.len() == index.passages.len()
            && index.terms.values().flatten().all(is_passage);
        if is_consistent { Ok(index) } else { Err(UnreadableIndex::Inconsistent) }
    }

    /// The passages, by number.
    #[must_use]
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// The number of different terms.
    #[must_use]
    pub fn count_terms(&self) -> usize {
        self.terms.len()
    }

    /// The passages that share terms with a text, best first, at most `most`. Passages with equal scores keep their
    /// order in the corpus.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a corpus has fewer passages than a float is exact to")]
    pub fn search(&self, text: &str, most: usize) -> Vec<&Passage> {
        let count = self.passages.len() as f64;
        let mean = self.lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / count;
        let mut scores = vec![0.0; self.passages.len()];
        for postings in terms(text).collect::<BTreeSet<_>>().iter().filter_map(|term| self.terms.get(term)) {
            let with = postings.len() as f64;
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            for (number, often) in postings {
                let (number, often) = (*number as usize, f64::from(*often));
                let Some((score, length)) = scores.get_mut(number).zip(self.lengths.get(number)) else { continue };
                let norm = K1 * (1.0 - B + B * f64::from(*length) / mean);
                *score += rarity * often * (K1 + 1.0) / (often + norm);
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        ranked.sort_by(|(one, better), (other, worse)| worse.total_cmp(better).then(one.cmp(other)));
        ranked.iter().take(most).filter_map(|(number, _)| self.passages.get(*number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{corpus, text};
    use proptest::prelude::*;

    #[test]
    fn the_passage_with_the_rarer_words_comes_first() {
        let index = corpus();
        let found = index.search("What should a bakery's lease say about the ovens?", 4);
        let sources: Vec<_> = found.iter().map(|passage| passage.source.as_str()).collect();
        assert_eq!(sources, ["leases.md", "bakeries.md"]);
        assert_eq!(index.search("bakeries", 1).len(), 1);
        assert!(index.search("quantum", 4).is_empty() && index.search("", 4).is_empty());
        assert!(index.search("and the of", 4).is_empty(), "common words find nothing");
    }

    #[test]
    fn the_score_is_that_of_the_formula() {
        // Three passages of 2, 2 and 4 terms; "oven" is in the second once and in the third twice.
        let one = |name: &str, content: &str| text(name, content);
        let index = Index::build(vec![one("a", "red brick"), one("b", "oven brick"), one("c", "oven oven stone tile")]);
        let index = index.unwrap();
        let found: Vec<_> = index.search("oven", 9).iter().map(|passage| passage.source.clone()).collect();
        // norm(b) = 1.2(0.25 + 0.75 × 2/2.667) = 0.975, 2.2/1.975 = 1.114; norm(c) = 1.65, 4.4/3.65 = 1.205.
        assert_eq!(found, ["c", "b"]);
    }

    #[test]
    fn the_same_texts_make_the_same_version_in_any_order() {
        let texts = [text("b", "A bakery."), text("a", "A lease."), text("c", "An oven.")];
        let version = |order: [usize; 3]| {
            let index = Index::build(order.map(|at| texts[at].clone()).to_vec()).unwrap();
            Index::version_of(&index.to_bytes())
        };
        assert_eq!(version([0, 1, 2]), version([2, 1, 0]));
        let other = Index::build(vec![text("a", "A lease!")]).unwrap();
        assert_ne!(version([0, 1, 2]), Index::version_of(&other.to_bytes()));
    }

    #[test]
    fn an_index_is_read_as_it_was_built_and_no_changed_byte_is() {
        let index = corpus();
        let bytes = index.to_bytes();
        let version = Index::version_of(&bytes);
        assert_eq!(Index::read(&version, &bytes).unwrap(), index);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(matches!(Index::read(&version, &changed), Err(UnreadableIndex::Hash)), "byte {at}");
        }
        assert!(matches!(Index::read(&version, &bytes[..bytes.len() - 1]), Err(UnreadableIndex::Hash)));
        assert!(matches!(Index::read(&version, &vec![b' '; MOST_BYTES + 1]), Err(UnreadableIndex::TooLarge(_))));
    }

    #[test]
    fn an_index_of_another_form_or_that_points_outside_is_refused() {
        let read = |text: &str| Index::read(&Index::version_of(text.as_bytes()), text.as_bytes());
        assert!(matches!(read("{}"), Err(UnreadableIndex::Form(_))));
        for text in [
            r#"{"format":2,"passages":[],"lengths":[],"terms":{}}"#,
            r#"{"format":1,"passages":[],"lengths":[3],"terms":{}}"#,
            r#"{"format":1,"passages":[],"lengths":[],"terms":{"oven":[[0,1]]}}"#,
        ] {
            assert!(matches!(read(text), Err(UnreadableIndex::Inconsistent)), "{text}");
        }
    }

    #[test]
    fn texts_without_words_and_too_many_are_refused() {
        assert_eq!(Index::build(vec![text("a", " \n--")]), Err(BuildError::Empty));
        assert_eq!(Index::build(Vec::new()), Err(BuildError::Empty));
        let huge = text("a", &format!("{} ", "x".repeat(400)).repeat(MOST_BYTES / 400));
        assert!(matches!(Index::build(vec![huge]), Err(BuildError::TooLarge(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_text_breaks_it(content in "\\PC{0,300}", asked in "\\PC{0,60}") {
            if let Ok(index) = Index::build(vec![text("a", &content)]) {
                let bytes = index.to_bytes();
                prop_assert_eq!(&Index::read(&Index::version_of(&bytes), &bytes).unwrap(), &index);
                prop_assert!(index.search(&asked, 3).len() <= 3);
            }
        }
    }
}
