//! Judges an alignment: whether it is the term as written, the term in disguise, or neither, and whether it is allowed.

use crate::engine::align::Alignment;
use crate::engine::context::{Context, floor};
use crate::engine::features::Features;
use crate::engine::known::Known;
use crate::engine::lists::Matching;
use crate::engine::senses::{Case, Shape};
use crate::engine::tables::Tables;
use crate::engine::view::View;
use crate::engine::word_lists::GREEK_LETTERS;
use crate::engine::writing::{Plain, Writing, Written, writing};

/// The judgement on an alignment.
#[derive(Clone, Debug)]
pub(crate) enum Judgement {
    /// The letters match, but no reader would see the term.
    NotTheTerm(&'static str),
    /// The term in an ordinary sense, with the number of the rule that allows it, from 1.
    Ordinary(usize),
    /// The blocked term.
    Blocked { writing: Writing, decoded: bool },
}

/// The first and the last byte (exclusive) of the source that an alignment covers.
pub(crate) fn span(view: &View, alignment: &Alignment) -> (usize, usize) {
    (view.units[alignment.first].start as usize, view.units[alignment.last].end as usize)
}

/// Judges one alignment of a view of `text`. Stores its features in `features`, and the words that it reads in `known`.
pub(crate) fn judge(
    tables: &Tables,
    text: &str,
    view: &View,
    alignment: &Alignment,
    features: &mut Features,
    known: Option<&Known>,
) -> Judgement {
    let pattern = &tables.lists.patterns[alignment.pattern as usize];
    let term = tables.term_of(pattern);
    let written = Written { units: &view.units[alignment.first..=alignment.last], roles: &alignment.roles };
    if alignment.as_written {
        features.collect_as_written(pattern, written.units);
    } else {
        features.collect(tables, pattern, written.units, written.roles);
    }
    let writing = match writing(pattern, term, features, &written) {
        Ok(writing) => writing,
        Err(why) => return Judgement::NotTheTerm(why),
    };
    let next = view.units.get(alignment.last + 1);
    if features.leet > 0 && features.lower > 0 && next.is_some_and(|unit| unit.ch.is_ascii_digit()) {
        return Judgement::NotTheTerm("a word with a longer number");
    }
    if term.matching == Matching::Letter && is_among_characters(text, span(view, alignment)) {
        return Judgement::NotTheTerm("a character among characters");
    }
    if term.matching == Matching::Letter && is_formula(text, span(view, alignment)) {
        return Judgement::NotTheTerm("a formula of one letter");
    }
    if writing == Writing::Squashed && is_among_nibbles(text, span(view, alignment)) {
        return Judgement::NotTheTerm("a row of hexadecimal digits");
    }
    if features.decoded {
        return Judgement::Blocked { writing, decoded: true };
    }
    let (start, end) = span(view, alignment);
    if let Writing::Plain(plain) = writing
        && !(term.allow.is_empty() && term.matching != Matching::Number && term.category != 2)
    {
        let context = match term.matching.is_symbolic() {
            true => Context::of_symbol(known, text, start, end),
            false => Context::of(known, text, start, end),
        };
        let shape = Shape { spaced: features.is_spaced(), ..Shape::of(case(plain, &context)) };
        if let Some(rule) = context.ordinary_sense(term, shape) {
            return Judgement::Ordinary(rule);
        }
        if term.matching.is_symbolic() && is_in_alphabet(text, (start, end)) {
            return Judgement::NotTheTerm("a letter of an alphabet");
        }
        if plain == Plain::Lower && is_in_spelled_alphabet(text, (start, end)) && !context.is_actor(term) {
            return Judgement::NotTheTerm("a letter of an alphabet, spelled");
        }
        if term.matching == Matching::Number && is_signed(&text[..start]) {
            return Judgement::NotTheTerm("a number with a sign before it");
        }
    }
    if writing == Writing::Squashed
        && term.allow.iter().any(|condition| condition.split)
        && let Some(rule) =
            Context::of(known, text, start, end).ordinary_sense(term, Shape { split: true, ..Shape::of(Case::Upper) })
    {
        return Judgement::Ordinary(rule);
    }
    Judgement::Blocked { writing, decoded: false }
}

fn case(plain: Plain, context: &Context<'_>) -> Case {
    match plain {
        Plain::Lower => Case::Lower,
        Plain::Upper => Case::Upper,
        Plain::Title if context.starts_clause() => Case::Initial,
        Plain::Title => Case::Title,
    }
}

/// Whether a listed word ends at the byte `end`, plainly written and in an ordinary sense. A short cut for most
/// occurrences; false only means that the exact check must decide.
pub(crate) fn is_plainly_ordinary(tables: &Tables, text: &str, end: usize, pattern: u16) -> bool {
    let pattern = &tables.lists.patterns[pattern as usize];
    let term = tables.term_of(pattern);
    if pattern.is_turned() || term.matching != Matching::Word || (term.allow.is_empty() && term.category != 2) {
        return false;
    }
    let bytes = text.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|b| b.is_ascii() && !b.is_ascii_alphanumeric());
    let (mut at, mut upper, mut lower, mut words) = (end, 0, 0, 1);
    for element in pattern.elements.iter().rev() {
        let Some(before) = at.checked_sub(1) else {
            return false;
        };
        let byte = bytes[before];
        if !byte.eq_ignore_ascii_case(&(element.written as u8)) || !element.written.is_ascii() {
            return false;
        }
        upper += usize::from(byte.is_ascii_uppercase());
        lower += usize::from(byte.is_ascii_lowercase());
        at = before;
        if !element.gap.is_empty() {
            words += 1;
            if !bytes[..at].ends_with(element.gap.as_bytes()) {
                return false;
            }
            at -= element.gap.len();
        }
    }
    if !is_edge(bytes.get(end)) || !is_edge(at.checked_sub(1).and_then(|before| bytes.get(before))) {
        return false;
    }
    let is_title = upper <= words && upper < lower && pattern.elements.len() > 2;
    let plain = match (upper, lower) {
        (0, _) => Plain::Lower,
        (_, 0) => Plain::Upper,
        _ if is_title => Plain::Title,
        _ => return false,
    };
    let context = Context::of(None, text, at, end);
    context.ordinary_sense(term, Shape::of(case(plain, &context))).is_some()
}

/// Whether a letter is in a row of escaped bytes ("[\xb2-\xb5\xb8-\xba]") or of other signs ("³´µ¶·"), as in a
/// character class.
fn is_among_characters(text: &str, (start, end): (usize, usize)) -> bool {
    let (before, after) = (&text[..start], &text[end..]);
    if text[start..end].starts_with("\\x") {
        let tail = &before[floor(text, start.saturating_sub(6))..];
        return tail.contains("\\x") || after.get(..3).is_some_and(|next| next.contains("\\x"));
    }
    let is_sign =
        |c: Option<char>| c.is_some_and(|c| matches!(c, '\u{a1}'..='\u{bf}') && c != '\u{ad}' && !c.is_alphabetic());
    is_sign(before.chars().next_back()) && is_sign(after.chars().next())
}

/// Whether a letter is a command of LaTeX and the whole formula: "\(\alpha\)", "$\alpha$".
fn is_formula(text: &str, (start, end): (usize, usize)) -> bool {
    let (before, after) = (&text[..start], &text[end..]);
    text[start..end].starts_with('\\')
        && ((before.ends_with("\\(") && after.starts_with("\\)")) || (before.ends_with('$') && after.starts_with('$')))
}

/// Whether the occurrence is in a row of hexadecimal digits with points between them: a reversed address,
/// "C.0.D.E.8.B.D".
fn is_among_nibbles(text: &str, (start, end): (usize, usize)) -> bool {
    const FEWEST: usize = 4;
    let is_nibble = |pair: &[u8]| matches!(pair, [digit, b'.'] | [b'.', digit] if digit.is_ascii_hexdigit());
    let bytes = text.as_bytes();
    let before = bytes[..start].rchunks_exact(2).take_while(|pair| is_nibble(pair)).take(FEWEST).count();
    let after = bytes[end..].chunks_exact(2).take_while(|pair| is_nibble(pair)).take(FEWEST).count();
    bytes[start..end].iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'.') && before + after >= FEWEST
}

/// Whether a Greek letter is in a list of most letters of its alphabet: a table of keys or of characters.
fn is_in_alphabet(text: &str, (start, end): (usize, usize)) -> bool {
    const REACH: usize = 160;
    const FEWEST: u32 = 16;
    if !text[start..end].chars().all(|c| matches!(c, '\u{391}'..='\u{3c9}')) {
        return false;
    }
    let before = text[floor(text, start.saturating_sub(REACH))..start].rsplit('\n').next().unwrap_or_default();
    let after = text[end..floor(text, (end + REACH).min(text.len()))].split('\n').next().unwrap_or_default();
    let letters = before.chars().chain(after.chars()).filter(|c| matches!(c, '\u{391}'..='\u{3a9}'));
    letters.fold(0_u32, |seen, c| seen | 1 << (c as u32 - 0x391)).count_ones() >= FEWEST
}

/// Whether the name of a Greek letter is among names of others, also on other lines: "Add beta", "Add gamma".
fn is_in_spelled_alphabet(text: &str, (start, end): (usize, usize)) -> bool {
    const REACH: usize = 160;
    const FEWEST: usize = 3;
    if !GREEK_LETTERS.contains(&&text[start..end]) {
        return false;
    }
    let around = [floor(text, start.saturating_sub(REACH))..start, end..floor(text, (end + REACH).min(text.len()))];
    let words = || around.iter().flat_map(|part| text[part.clone()].split(|c: char| !c.is_alphanumeric()));
    GREEK_LETTERS.iter().filter(|letter| words().any(|word| word == **letter)).take(FEWEST).count() == FEWEST
}

/// Whether a number is signed: "-0.042" is a change by that amount, not the constant.
fn is_signed(before: &str) -> bool {
    let mut chars = before.chars().rev();
    matches!(chars.next(), Some('-' | '−' | '+' | '±')) && chars.next().is_none_or(|c| c.is_whitespace() || c == '(')
}
