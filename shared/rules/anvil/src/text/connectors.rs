//! Skips the words and signs between a kernel's name and its value.

use super::{
    token::{Kind, Tokens},
    vocabulary::{List, is_word},
};

/// Words that make a number a bound instead of a value.
const UPPER: [&str; 6] = ["below", "under", "less", "most", "unter", "menos"];
const LOWER: [&str; 8] = ["above", "over", "more", "least", "exceeds", "exceeding", "uber", "mas"];

/// "threshold for Φζ", "minimum Φζ": the number after it is not a reading.
pub(super) fn is_limit_before(tokens: &Tokens<'_>, start: usize, free_from: usize) -> bool {
    let mut at = start;
    while at > free_from && ["for", "of", "on", "the", "de", "fur"].contains(&tokens.word(at - 1)) {
        at -= 1;
    }
    let before = if at > free_from { tokens.word(at - 1) } else { "" };
    let is_direct = ["minimum", "maximum", "min", "max"].contains(&before);
    is_direct || at < start && is_word(List::Limit, before)
}

pub(super) fn skip_connectors(tokens: &Tokens<'_>, from: usize) -> usize {
    let mut at = from;
    let limit = from + 10;
    while at < limit {
        match tokens.kind(at) {
            Some(Kind::Sign(
                '=' | ':' | '|' | '"' | '\'' | '`' | '*' | '}' | ')' | ']' | '$' | '~' | '≈' | '≃' | '_',
            )) => at += 1,
            Some(Kind::Sign('(')) => match gloss_end(tokens, at) {
                Some(end) => at = end,
                None => at += 1,
            },
            // A dash between name and value, as opposed to a minus sign, which touches its number.
            Some(Kind::Sign('-')) if !tokens.touches_next(at) || tokens.is_sign(at + 1, '-') => at += 1,
            Some(Kind::Word) if tokens.is(at, List::Connector) => at += 1,
            _ => break,
        }
    }
    at
}

/// The end of a bracket without a number, such as "(coherence)", or with a threshold, such as "(≥ 0.974)".
fn gloss_end(tokens: &Tokens<'_>, open: usize) -> Option<usize> {
    let is_limit = tokens.is(open + 1, List::Limit) || comparison_at(tokens, open + 1).is_some();
    for at in open + 1..open + 8 {
        match tokens.kind(at)? {
            Kind::Sign(')') => return Some(at + 1),
            Kind::Number if is_limit => {}
            Kind::Number | Kind::Malformed | Kind::Stop(_) => return None,
            _ => {}
        }
    }
    None
}

/// A comparison: whether the number is a lower bound of the value, and the token after the comparison.
pub(super) fn comparison_at(tokens: &Tokens<'_>, at: usize) -> Option<(bool, usize)> {
    match tokens.kind(at)? {
        Kind::Sign('≥' | '≧' | '⩾') => Some((true, at + 1)),
        Kind::Sign('≤' | '≦' | '⩽') => Some((false, at + 1)),
        Kind::Sign(sign @ ('<' | '>')) => Some((sign == '>', at + 1 + usize::from(tokens.is_sign(at + 1, '=')))),
        Kind::Word if UPPER.contains(&tokens.word(at)) => {
            Some((false, at + 1 + usize::from(tokens.word(at + 1) == "than")))
        }
        Kind::Word if LOWER.contains(&tokens.word(at)) => {
            Some((true, at + 1 + usize::from(tokens.word(at + 1) == "than")))
        }
        _ => None,
    }
}
