//! Finds the figures of a forge and of a smoke test.

use super::readings::value_at;
use super::token::{Kind, Tokens};
use crate::{
    forge::{ForgeFigures, SmokeScore},
    measure::Measure,
};

/// What a text says about figures.
pub(super) struct Found {
    pub(super) figures: ForgeFigures,
    /// A smoke score is given that cannot be one, such as 6/5.
    pub(super) has_unusable: bool,
}

const NUMBER_WORDS: [&str; 11] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Losses that are none of a forge's.
const OTHER_LOSSES: [&str; 7] = ["packet", "data", "weight", "signal", "revenue", "no", "power"];

/// Tokens between "smoke" and its score, at most.
const REACH: usize = 8;

pub(super) fn find(tokens: &Tokens<'_>) -> Found {
    let mut found = Found { figures: ForgeFigures::default(), has_unusable: false };
    for at in 0..tokens.len() {
        match tokens.word(at) {
            "loss" | "verlust" | "perte" | "perdida" => found.figures.loss.extend(loss(tokens, at)),
            "smoke" | "smoketest" | "smoketests" => match score(tokens, at) {
                Some(Some(score)) => found.figures.smoke.push(score),
                Some(None) => found.has_unusable = true,
                None => {}
            },
            "pair" | "pairs" | "paare" | "paires" => found.figures.pairs.extend(pairs(tokens, at)),
            "corpus" => found.figures.pairs.extend(corpus_size(tokens, at)),
            _ => {}
        }
    }
    found.figures.pairs.dedup();
    found
}

fn loss(tokens: &Tokens<'_>, at: usize) -> Option<Measure> {
    if at > 0 && OTHER_LOSSES.contains(&tokens.word(at - 1)) {
        return None;
    }
    let mut behind = at + 1;
    let connectors =
        ["is", "of", "at", "was", "now", "final", "equals", "ended", "ends", "value", "est", "ist", "de", "von"];
    while behind < at + 6
        && (matches!(tokens.kind(behind), Some(Kind::Sign('=' | ':' | '|' | '~' | '≈' | '"' | '\'')))
            || connectors.contains(&tokens.word(behind)))
    {
        behind += 1;
    }
    if let Some((value, _)) = value_at(tokens, behind) {
        return Some(value);
    }
    at.checked_sub(1).and_then(|before| tokens.decimal(before))
}

/// A whole number in digits or as a word.
fn count(tokens: &Tokens<'_>, at: usize) -> Option<u64> {
    let in_words = || NUMBER_WORDS.iter().position(|word| *word == tokens.word(at)).map(|count| count as u64);
    tokens.count(at).or_else(in_words)
}

/// "2/5", "2 of 5", "2 out of 5" at this token: both numbers, and the token behind.
fn ratio(tokens: &Tokens<'_>, at: usize) -> Option<(u64, u64, usize)> {
    let passed = count(tokens, at)?;
    let of = match tokens.kind(at + 1)? {
        Kind::Sign('/') => at + 2,
        Kind::Sign('%') => return Some((passed, 100, at + 2)),
        Kind::Word if tokens.word(at + 1) == "out" && tokens.word(at + 2) == "of" => at + 3,
        Kind::Word if ["of", "von", "sur", "de", "from"].contains(&tokens.word(at + 1)) => at + 2,
        _ => return None,
    };
    let of = of + usize::from(tokens.word(of) == "the");
    Some((passed, count(tokens, of)?, of + 1))
}

/// The score that belongs to the word "smoke": `Some(None)` for one that cannot be.
fn score(tokens: &Tokens<'_>, at: usize) -> Option<Option<SmokeScore>> {
    let (start, end) = tokens.sentence(at);
    let ends_there = |of: usize| ["loss", "pairs", "corpus", "smoke"].contains(&tokens.word(of));
    let behind = (at + 1..end.min(at + 1 + REACH)).take_while(|of| !ends_there(*of));
    let before = (start.max(at.saturating_sub(REACH))..at).rev();
    let (passed, of, next) = behind
        .filter_map(|of| ratio(tokens, of))
        .next()
        .or_else(|| before.filter_map(|of| ratio(tokens, of)).find(|(.., next)| *next <= at && at - next < 3))?;
    Some(if counts_failures(tokens, next.max(at + 1), end) {
        of.checked_sub(passed).and_then(|passed| SmokeScore::new(passed, of))
    } else {
        SmokeScore::new(passed, of)
    })
}

/// "5 of 5 smoke tests failed": the number counts failures.
fn counts_failures(tokens: &Tokens<'_>, from: usize, end: usize) -> bool {
    let mut near = from..end.min(from + 3);
    near.any(|at| ["failed", "failing", "fail", "failures"].contains(&tokens.word(at)))
        && !(from.saturating_sub(1)..end.min(from + 3))
            .any(|at| ["no", "none", "0", "zero", "nothing", "not"].contains(&tokens.str(at)))
}

/// "141 pairs", "100-pair", "pairs: 141".
fn pairs(tokens: &Tokens<'_>, at: usize) -> Option<u64> {
    let before = at.checked_sub(1)?;
    let before = if tokens.is_sign(before, '-') { before.checked_sub(1)? } else { before };
    let behind = at + 1 + usize::from(matches!(tokens.kind(at + 1), Some(Kind::Sign(':' | '='))));
    tokens.count(before).or_else(|| if behind > at + 1 { tokens.count(behind) } else { None })
}

/// "corpus of 141", "corpus: 141".
fn corpus_size(tokens: &Tokens<'_>, at: usize) -> Option<u64> {
    let is_linked = matches!(tokens.kind(at + 1), Some(Kind::Sign(':' | '='))) || tokens.word(at + 1) == "of";
    if is_linked { tokens.count(at + 2) } else { None }
}
