//! Finds the figures of a forge and of a smoke test.

use super::{
    found_figures::FoundFigures,
    numbers::{broken_end, is_decimal, is_loose, value_at},
    readings::changed,
    smoke::scores,
    token::{Kind, Tokens},
    used::Used,
};

/// Words before "loss" that mean a different kind of loss.
const OTHER_LOSSES: [&str; 7] = ["packet", "data", "weight", "signal", "revenue", "no", "power"];

/// Finds the figures and marks the numbers that it uses.
pub(super) fn find(tokens: &Tokens<'_>, used: &mut Used) -> FoundFigures {
    let mut found = FoundFigures::default();
    for at in 0..tokens.len() {
        match tokens.word(at) {
            "loss" | "verlust" | "perte" | "perdida" => loss(tokens, at, &mut found, used),
            "smoke" | "smoketest" | "smoketests" => scores(tokens, at, &mut found, used),
            "pair" | "pairs" | "paare" | "paires" => found.figures.pairs.extend(pairs(tokens, at, used)),
            "corpus" => found.figures.pairs.extend(corpus_size(tokens, at, used)),
            _ => {}
        }
    }
    found.figures.pairs.dedup();
    found
}

fn loss(tokens: &Tokens<'_>, at: usize, found: &mut FoundFigures, used: &mut Used) {
    if at > 0 && OTHER_LOSSES.contains(&tokens.word(at - 1)) {
        return;
    }
    let connectors = [
        "is", "of", "at", "was", "now", "final", "equals", "ended", "ends", "value", "est", "ist", "de", "von", "from",
    ];
    let skip = |from: usize| {
        let mut behind = from;
        while behind < from + 5
            && (matches!(tokens.kind(behind), Some(Kind::Sign('=' | ':' | '|' | '~' | '≈' | '"' | '\'')))
                || connectors.contains(&tokens.word(behind)))
        {
            behind += 1;
        }
        behind
    };
    let mut from = skip(at + 1);
    let Some((mut value, mut next)) = value_at(tokens, from) else {
        let before = at.checked_sub(1).and_then(|before| Some((before, tokens.decimal(before)?)));
        if let Some((before, value)) = before {
            used.mark(before, at);
            found.losses_at.push(at);
            found.figures.loss.push(value);
        }
        return;
    };
    // "A loss of 5 customers", "loss of 1.5 million": a count of something else.
    const SCALES: [&str; 12] = [
        "million", "millions", "billion", "thousand", "hundred", "dollars", "euros", "euro", "dollar", "usd", "eur",
        "k",
    ];
    let is_count = !is_decimal(tokens, from) && !is_loose(tokens, from) && !tokens.word(next).is_empty();
    if is_count && !["smoke", "and", "after", "with", "at", "but", "on"].contains(&tokens.word(next))
        || SCALES.contains(&tokens.word(next))
    {
        used.mark(from, next);
        return;
    }
    found.losses_at.push(at);
    while let Some((latest, (latest_from, end))) = changed(tokens, next, (at, from))
        .map(skip)
        .and_then(|of| value_at(tokens, of).map(|(value, end)| (value, (of, end))))
    {
        (value, from, next) = (latest, latest_from, end);
    }
    if let Some(end) = broken_end(tokens, next, None) {
        found.has_unusable = true;
        used.mark(at, end);
        return;
    }
    used.mark(at, next);
    found.figures.loss.push(value);
}

/// "141 pairs", "100-pair", "pairs: 141"; not "10 pairs of shoes".
fn pairs(tokens: &Tokens<'_>, at: usize, used: &mut Used) -> Option<u64> {
    if tokens.word(at + 1) == "of" && !is_of_a_corpus(tokens.word(at + 2)) {
        return None;
    }
    let before = at.checked_sub(1)?;
    let before = if tokens.is_sign(before, '-') { before.checked_sub(1)? } else { before };
    let behind = at + 1 + usize::from(matches!(tokens.kind(at + 1), Some(Kind::Sign(':' | '='))));
    if let Some(count) = tokens.count(before) {
        used.mark(before, at);
        return Some(count);
    }
    used.mark(at, behind + 1);
    if behind > at + 1 { tokens.count(behind) } else { None }
}

fn is_of_a_corpus(word: &str) -> bool {
    ["questions", "question", "prompts", "examples", "data", "training", "text", "sentences", "answers", "the"]
        .contains(&word)
}

/// "corpus of 141", "corpus: 141"; not "the corpus of 5 lawyers".
fn corpus_size(tokens: &Tokens<'_>, at: usize, used: &mut Used) -> Option<u64> {
    let is_linked = matches!(tokens.kind(at + 1), Some(Kind::Sign(':' | '='))) || tokens.word(at + 1) == "of";
    let noun = tokens.word(at + 3);
    let is_size = noun.is_empty()
        || ["pair", "pairs", "and", "examples", "entries", "samples", "with", "loss", "smoke"].contains(&noun);
    let count = if is_linked && is_size { tokens.count(at + 2) } else { None };
    if count.is_some() {
        used.mark(at, at + 3);
    }
    count
}
