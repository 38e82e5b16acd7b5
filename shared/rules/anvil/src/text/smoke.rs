//! Finds the scores of smoke tests, and whether the words around a score state a pass.

use super::{
    found_figures::FoundFigures,
    numbers::broken_end,
    token::{Kind, Tokens},
    used::Used,
};
use crate::forge::SmokeScore;

const NUMBER_WORDS: [&str; 11] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// The maximum number of tokens between "smoke" and its score.
const REACH: usize = 8;

/// A whole number in digits or as a word.
fn count(tokens: &Tokens<'_>, at: usize) -> Option<u64> {
    let in_words = || NUMBER_WORDS.iter().position(|word| *word == tokens.word(at)).map(|count| count as u64);
    tokens.count(at).or_else(in_words)
}

/// "2/5", "2 of 5", "2 out of 5" at this token: both numbers, and the token after them.
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

/// Finds every score of a sentence that belongs to the word "smoke". A score counts as a pass only if the words say so.
pub(super) fn scores(tokens: &Tokens<'_>, at: usize, found: &mut FoundFigures, used: &mut Used) {
    let (start, end) = tokens.sentence(at);
    let ends_there = |of: usize| ["loss", "pairs", "corpus", "smoke"].contains(&tokens.word(of));
    let behind_end =
        (at + 1..end.min(at + 1 + 3 * REACH)).find(|of| ends_there(*of)).unwrap_or(end.min(at + 1 + 3 * REACH));
    let mut ratios: Vec<(usize, u64, u64, usize)> = Vec::new();
    let mut of = at + 1;
    while of < behind_end {
        match ratio(tokens, of) {
            Some((passed, all, next)) => {
                // A first score far from "smoke" belongs to something else.
                if ratios.is_empty() && of > at + REACH {
                    break;
                }
                ratios.push((of, passed, all, next));
                of = next;
            }
            None => of += 1,
        }
    }
    if ratios.is_empty() {
        let before = (start.max(at.saturating_sub(REACH))..at).rev();
        let found = before.filter_map(|of| ratio(tokens, of).map(|(passed, all, next)| (of, passed, all, next)));
        ratios.extend(found.into_iter().find(|(.., next)| *next <= at && at - next < 3 && !used.is_used(*next - 1)));
    }
    for (from, passed, all, next) in ratios {
        let clause = clause(tokens, (start, end), at.min(from), next.max(at + 1));
        let tone = tone(tokens, clause, (from, next));
        let score = if tone == Tone::Failures { all.checked_sub(passed) } else { Some(passed) };
        let is_broken = broken_end(tokens, next, None).is_some();
        match score.and_then(|passed| SmokeScore::new(passed, all)).filter(|_| !is_broken) {
            // "Smoke is coming out of my ears 24/7."
            None if tone == Tone::Unclear => continue,
            None => found.has_unusable = true,
            Some(score) => {
                found.is_unclear |= tone == Tone::Unclear && score.is_full();
                found.figures.smoke.push(score);
            }
        }
        used.mark(from, next);
    }
}

/// The part of a sentence around a score, up to the next separator, such as a comma or "and".
fn clause(tokens: &Tokens<'_>, (start, end): (usize, usize), from: usize, to: usize) -> (usize, usize) {
    let ends = |at: usize| {
        matches!(tokens.kind(at), Some(Kind::Sign(',' | '|' | '(' | ')' | '"')))
            || ["and", "but", "loss", "while", "pairs", "corpus"].contains(&tokens.word(at))
    };
    let first = (start..from).rev().find(|at| ends(*at)).map_or(start, |at| at + 1);
    (first, (to..end).find(|at| ends(*at)).unwrap_or(end))
}

/// The meaning that the words around a score give it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tone {
    Passes,
    Failures,
    Unclear,
}

/// Words that may surround a score without making its meaning unclear.
const PLAIN: [&str; 40] = [
    "smoke",
    "smoketest",
    "smoketests",
    "test",
    "tests",
    "testing",
    "score",
    "scored",
    "scores",
    "result",
    "results",
    "suite",
    "run",
    "is",
    "was",
    "are",
    "were",
    "at",
    "of",
    "the",
    "a",
    "with",
    "all",
    "it",
    "pass",
    "passed",
    "passes",
    "passing",
    "green",
    "ok",
    "complete",
    "completed",
    "assess",
    "deployment",
    "forge",
    "final",
    "out",
    "from",
    "in",
    "now",
];

const FAILING: [&str; 30] = [
    "fail",
    "fails",
    "failed",
    "failing",
    "failure",
    "failures",
    "error",
    "errors",
    "errored",
    "crash",
    "crashed",
    "crashes",
    "crashing",
    "red",
    "broken",
    "broke",
    "wrong",
    "down",
    "dead",
    "rejected",
    "unsuccessful",
    "aborted",
    "missed",
    "lost",
    "flaky",
    "unstable",
    "burned",
    "exploded",
    "panicked",
    "bad",
];

const PASSING: [&str; 8] = ["pass", "passed", "passes", "passing", "succeed", "succeeded", "green", "ok"];

fn tone(tokens: &Tokens<'_>, (from, to): (usize, usize), score: (usize, usize)) -> Tone {
    let outside = || (from..to).filter(|at| *at < score.0 || *at >= score.1);
    let is = |list: &[&str]| outside().any(|at| list.contains(&tokens.str(at)));
    let denies = is(&[
        "no", "none", "0", "zero", "nothing", "not", "never", "neither", "didn", "wasn", "weren", "doesn", "without",
    ]);
    match (is(&FAILING), denies, is(&PASSING)) {
        (true, false, _) | (false, true, true) => return Tone::Failures,
        (true, true, _) => return Tone::Passes,
        _ => {}
    }
    // The words before "smoke" introduce it; the words after it must be plain.
    let plain_from = outside().find(|at| tokens.word(*at).starts_with("smoke")).unwrap_or(from).min(score.0);
    let doubtful = [
        "last",
        "previous",
        "previously",
        "old",
        "earlier",
        "yesterday",
        "expected",
        "expect",
        "target",
        "planned",
        "if",
        "should",
        "would",
        "could",
        "used",
        "claim",
        "claims",
        "supposedly",
        "want",
        "need",
        "needs",
    ];
    let is_plain = (plain_from..to)
        .filter(|at| *at < score.0 || *at >= score.1)
        .all(|at| tokens.word(at).is_empty() || PLAIN.contains(&tokens.word(at)));
    if is_plain && !is(&doubtful) { Tone::Passes } else { Tone::Unclear }
}
