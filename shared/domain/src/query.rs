//! The customer's question, and its form in Stripe's metadata (Product Tiers, invariant 3).

use std::collections::BTreeMap;

/// The longest question, in Unicode scalar values: 41 chunks, which with `tier` and `qn` stay under
/// Stripe's 50 metadata keys.
pub const MAX_CHARACTERS: usize = 20_000;

/// Characters (Unicode scalar values) in one metadata chunk; Stripe's limit is 500.
pub const CHUNK_CHARACTERS: usize = 490;

/// A question of 1 to 20,000 characters, not blank, without NUL, stored exactly as written.
#[derive(Clone, PartialEq, Eq)]
pub struct Query(String);

/// Why a text is not a question.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidQuery {
    /// It contains only white space.
    #[error("query must not be empty")]
    Empty,
    /// It has more than [`MAX_CHARACTERS`].
    #[error("query must be at most 20000 characters")]
    TooLong,
    /// It contains a NUL character, which Stripe's metadata cannot hold.
    #[error("query must not contain the NUL character")]
    Nul,
}

impl Query {
    /// Accepts a question, or returns why it is invalid.
    ///
    /// # Errors
    /// [`InvalidQuery`], one variant per reason.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidQuery> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err(InvalidQuery::Empty);
        }
        if text.contains('\0') {
            return Err(InvalidQuery::Nul);
        }
        if text.chars().nth(MAX_CHARACTERS).is_some() {
            return Err(InvalidQuery::TooLong);
        }
        Ok(Self(text))
    }

    /// The question as the customer wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The metadata pairs `q0` … `qN` and `qn` (their number).
    #[must_use]
    pub fn to_metadata(&self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        let mut rest = self.0.as_str();
        while !rest.is_empty() {
            let end = rest.char_indices().nth(CHUNK_CHARACTERS).map_or(rest.len(), |(at, _)| at);
            let (chunk, tail) = rest.split_at(end);
            pairs.push((format!("q{}", pairs.len()), chunk.to_owned()));
            rest = tail;
        }
        pairs.push(("qn".to_owned(), pairs.len().to_string()));
        pairs
    }
}

/// Joins the chunks `q0` … in index order.
///
/// `qn` is the number of chunks; without it they are read until the first gap. `None` when there is no chunk, when one
/// is missing or left over, or when `qn` is not a number: an incomplete question must never reach the model (Product
/// Tiers FM-3).
#[must_use]
pub fn from_metadata(metadata: &BTreeMap<String, String>) -> Option<String> {
    let chunk = |index: usize| metadata.get(&format!("q{index}"));
    let count = match metadata.get("qn") {
        Some(count) => count.parse::<usize>().ok().filter(|count| (1..=50).contains(count))?,
        None => (0..50).map_while(chunk).count(),
    };
    let is_chunk = |key: &str| {
        let index = key.strip_prefix('q').unwrap_or_default();
        !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())
    };
    if metadata.keys().filter(|key| is_chunk(key)).count() != count {
        return None;
    }
    let text: String = (0..count).map(|index| chunk(index).map(String::as_str)).collect::<Option<_>>()?;
    (!text.is_empty()).then_some(text)
}

/// Shows only the size: the question is customer text and must not get into a log line.
impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Query({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(text: &str) -> (usize, Option<String>) {
        let pairs: BTreeMap<_, _> = Query::parse(text).unwrap().to_metadata().into_iter().collect();
        for (key, value) in &pairs {
            assert!(value.chars().count() <= 500, "{key}");
            assert!(!value.is_empty(), "{key}: Stripe drops empty values");
        }
        assert!(pairs.len() < 50, "the tier needs a key too");
        (pairs.len() - 1, from_metadata(&pairs))
    }

    #[test]
    fn chunk_boundaries_are_exact() {
        for (length, chunks) in
            [(1, 1), (489, 1), (490, 1), (491, 2), (979, 2), (980, 2), (981, 3), (19_999, 41), (20_000, 41)]
        {
            for unit in ["a", "é", "語", "🍁"] {
                let text = unit.repeat(length);
                assert_eq!(round_trip(&text), (chunks, Some(text)), "{length} x {unit}");
            }
        }
    }

    #[test]
    fn bad_lengths_are_named() {
        assert_eq!(Query::parse("").unwrap_err(), InvalidQuery::Empty);
        assert_eq!(Query::parse(" \n\t\u{3000}").unwrap_err(), InvalidQuery::Empty);
        assert_eq!(Query::parse("a".repeat(20_001)).unwrap_err(), InvalidQuery::TooLong);
        assert_eq!(Query::parse("🍁".repeat(20_001)).unwrap_err(), InvalidQuery::TooLong);
        assert!(Query::parse("🍁".repeat(20_000)).is_ok());
        assert_eq!(Query::parse("a\0b").unwrap_err(), InvalidQuery::Nul);
    }

    #[test]
    fn a_missing_chunk_is_no_query() {
        let mut pairs: BTreeMap<_, _> = Query::parse("x".repeat(1500)).unwrap().to_metadata().into_iter().collect();
        pairs.remove("q1");
        assert_eq!(from_metadata(&pairs), None);
        pairs.insert("q1".into(), "y".into());
        for count in ["", "0", "-1", "many", "99999999999999999999"] {
            pairs.insert("qn".into(), count.into());
            assert_eq!(from_metadata(&pairs), None, "qn={count:?}");
        }
    }

    #[test]
    fn without_a_count_the_chunks_are_read_in_order() {
        let chunks: Vec<String> = (0..12).map(|index| format!("q{index}")).collect();
        let pairs = chunks.iter().chain([&"question".to_owned()]).map(|key| (key.clone(), format!("{key} "))).collect();
        assert_eq!(from_metadata(&pairs), Some("q0 q1 q2 q3 q4 q5 q6 q7 q8 q9 q10 q11 ".to_owned()));
    }

    /// Product Tiers, invariant 3 and FM-3.
    #[test]
    fn a_chunk_that_is_left_over_is_no_query() {
        let joined = |pairs: &[(&str, &str)]| {
            from_metadata(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
        };
        assert_eq!(joined(&[("q0", "a"), ("q1", "b"), ("q3", "d")]), None, "a gap");
        assert_eq!(joined(&[("q0", "a"), ("q1", "b"), ("q10", "z")]), None, "a gap");
        assert_eq!(joined(&[("q1", "b")]), None, "no first one");
        assert_eq!(joined(&[("q0", "a"), ("q1", "b"), ("qn", "1")]), None, "more than were counted");
        assert_eq!(joined(&[("q0", "a"), ("q00", "b"), ("qn", "1")]), None, "an index in another form");
        assert_eq!(joined(&[("q0", ""), ("qn", "1")]), None, "nothing in it");
        assert_eq!(joined(&[("q0", "a"), ("q1", "b"), ("qn", "2"), ("quantity", "3")]), Some("ab".to_owned()));
    }

    proptest! {
        #[test]
        fn any_text_survives_the_round_trip(text in "\\PC{1,3000}|[^\\x00]{1,1200}") {
            prop_assume!(Query::parse(text.as_str()).is_ok());
            prop_assert_eq!(round_trip(&text).1, Some(text));
        }
    }
}
