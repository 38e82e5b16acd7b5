//! The kinds of disguise. `TUNED` ones may guide a change of the filter; `COUNTED` ones are only counted.

use crate::alphabets::*;
use crate::spelling::{in_words, latex, named_entity, roman};
use crate::writing::{Piece, Role, Writing};

/// A kind's change of a writing; the number selects a variant. `None`: the kind does not apply.
type Apply = fn(Writing, u64) -> Option<Writing>;

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) apply: Apply,
}

const fn kind(name: &'static str, apply: Apply) -> Kind {
    Kind { name, apply }
}

fn pick<T: Copy>(from: &[T], seed: u64) -> T {
    from[(seed % from.len() as u64) as usize]
}

fn mark(text: impl Into<String>) -> Piece {
    Piece::new(text, Role::Mark)
}

fn markup(text: impl Into<String>) -> Piece {
    Piece::new(text, Role::Markup)
}

fn between(writing: Writing, text: &str) -> Option<Writing> {
    writing.between(|| mark(text))
}

/// A different mark after every letter.
fn between_each(writing: Writing, seed: u64, marks: &[&str]) -> Option<Writing> {
    let mut at = seed;
    writing.between(|| {
        at += 1;
        mark(pick(marks, at))
    })
}

fn replaced(writing: Writing, from: char, to: char) -> Option<Writing> {
    writing.map(|letter| (letter == from).then(|| to.to_string()))
}

fn after_each(writing: Writing, follows: impl Fn(char) -> bool, add: &str) -> Option<Writing> {
    writing.map(|letter| follows(letter).then(|| format!("{letter}{add}")))
}

const VISIBLE_MARKS: [&str; 8] = ["·", "•", "*", "|", "~", "+", "♥", "¦"];
const ZERO_WIDTH: [&str; 5] = ["\u{200B}", "\u{200C}", "\u{200D}", "\u{FEFF}", "\u{2060}"];
const OTHER_INVISIBLE: [&str; 7] =
    ["\u{180E}", "\u{034F}", "\u{FE0E}", "\u{E0020}", "\u{3164}", "\u{2062}", "\u{2064}"];
const WIDE_SPACES: [&str; 6] = ["\u{A0}", "\u{2009}", "\u{2003}", "\u{202F}", "\u{3000}", "\u{205F}"];
const BRACKETS: [(&str, &str); 4] = [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">")];
const EMPHASIS: [(&str, &str); 5] = [("**", "**"), ("*", "*"), ("__", "__"), ("`", "`"), ("~~", "~~")];
const TAGS: [(&str, &str); 5] =
    [("<b>", "</b>"), ("<i>", "</i>"), ("<span>", "</span>"), ("<em class=\"x\">", "</em>"), ("<u>", "</u>")];
const EMOJI: [&str; 4] = ["🙂", "🔥", "✨", "👏"];
const ZALGO: [&str; 4] = ["\u{0301}\u{0323}", "\u{0352}\u{0331}", "\u{030D}\u{0353}", "\u{0344}\u{0317}"];

fn is_digit_or_letter(letter: char) -> bool {
    letter.is_alphanumeric()
}

pub(crate) static TUNED: &[Kind] = &[
    kind("Cyrillic look-alikes", |w, _| w.map(|l| CYRILLIC.look_up(l))),
    kind("Cherokee look-alikes", |w, _| w.map(|l| CHEROKEE.look_up(l))),
    kind("Coptic look-alikes", |w, _| w.map(|l| COPTIC.look_up(l))),
    kind("full-width", |w, _| w.map(full_width)),
    kind("circled", |w, _| w.map(circled)),
    kind("superscript", |w, _| w.map(|l| SUPERSCRIPT.look_up(l))),
    kind("leetspeak", |w, s| {
        let written = w.is_words().then_some(w)?.map(|l| LEET.look_up(l).filter(|_| s % 2 == 0 || l != 'l'))?;
        // With fewer letters left, a reader sees a number.
        let shown = written.to_string();
        let left = shown.chars().filter(|l| l.is_alphabetic()).count();
        (left * 3 >= written.term.chars().filter(|l| l.is_alphabetic()).count()).then_some(written)
    }),
    kind("accents", |w, _| w.map(|l| ACCENTED.look_up(l))),
    kind("stroke through", |w, _| after_each(w, |l| l != ' ', "\u{0336}")),
    kind("upside down", |w, _| w.is_readable_turned().then_some(w)?.map(|l| UPSIDE_DOWN.look_up_any_case(l))?.turn()),
    kind("number words", |w, s| in_words(&w, s)),
    kind("decimal comma", |w, _| {
        let is_decimal = w.term.contains("0.") || w.term.contains("7.4");
        is_decimal.then_some(w)?.map(|l| (l == '.').then(|| ",".into()))
    }),
    kind("Arabic digits", |w, _| w.map(|l| ARABIC_DIGITS.look_up(l))),
    kind("other dashes", |w, s| replaced(w, '-', pick(&DASHES, s))),
    kind("spaces between", |w, _| between(w, " ")),
    kind("points between", |w, _| between(w.is_words().then_some(w)?, ".")),
    kind("other marks between", |w, s| between_each(w, s, &VISIBLE_MARKS)),
    kind("zero-width between", |w, s| between_each(w, s, &ZERO_WIDTH)),
    kind("letter per line", |w, _| between(w, "\n")),
    kind("hyphenated line break", |w, s| w.is_words().then_some(w)?.break_once(s, mark("-\n"))),
    kind("brackets around each", |w, s| w.around_each(pick(&BRACKETS[..3], s), Role::Mark)),
    kind("emphasis around some", |w, s| w.around_some(s / 5, pick(&EMPHASIS, s), Role::Markup)),
    kind("tags around some", |w, s| w.around_some(s / 5, pick(&TAGS, s), Role::Markup)),
    kind("decimal entities", |w, _| w.escape(|l| Some(format!("&#{};", l as u32)))),
    kind("named entities", |w, _| w.escape(named_entity)),
    kind("CSS escapes", |w, s| {
        w.escape(|l| Some(if s % 2 == 0 { format!("\\{:06x}", l as u32) } else { format!("\\{:x} ", l as u32) }))
    }),
    kind("percent encoding", |w, _| {
        w.escape(|l| Some(l.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()))
    }),
    kind("reversed", |w, _| w.turn()),
    kind("letter stretched", |w, s| {
        let stretched = w.term.chars().filter(char::is_ascii_alphabetic).nth((s % 3) as usize)?;
        // A Greek letter among others is a word of Greek.
        (w.is_words() && w.term.is_ascii()).then_some(w)?.map(|l| (l == stretched).then(|| format!("{l}{l}{l}")))
    }),
];

pub(crate) static COUNTED: &[Kind] = &[
    kind("Greek look-alikes", |w, _| w.map(|l| GREEK.look_up(l))),
    kind("Lisu look-alikes", |w, _| w.map(|l| LISU.look_up(l))),
    kind("Armenian look-alikes", |w, _| w.map(|l| ARMENIAN.look_up(l))),
    kind("syllabics", |w, _| w.map(|l| SYLLABICS.look_up(l))),
    kind("mathematical letters", |w, s| w.map(|l| mathematical(s, l))),
    kind("small capitals", |w, _| w.map(|l| SMALL_CAPITALS.look_up_any_case(l))),
    kind("squared", |w, s| w.map(|l| squared(s, l.to_ascii_uppercase()))),
    kind("parenthesised", |w, _| w.map(parenthesised)),
    kind("regional indicators", |w, _| w.map(|l| regional(l.to_ascii_uppercase()))),
    kind("subscript", |w, _| w.map(|l| SUBSCRIPT.look_up_any_case(l))),
    kind("hooks and bars", |w, _| w.map(|l| HOOKED.look_up(l))),
    kind("marks above and below", |w, s| after_each(w, is_digit_or_letter, pick(&ZALGO, s))),
    kind("keycaps", |w, _| after_each(w, |l| l.is_ascii_digit() || l == '#', "\u{FE0F}\u{20E3}")),
    kind("Devanagari digits", |w, _| w.map(|l| DEVANAGARI_DIGITS.look_up(l))),
    kind("other percent signs", |w, s| replaced(w, '%', pick(&PERCENT_SIGNS, s))),
    kind("other decimal points", |w, s| {
        let has_digits = w.term.chars().any(|l| l.is_ascii_digit());
        replaced(has_digits.then_some(w)?, '.', pick(&POINTS, s))
    }),
    kind("other low lines", |w, s| replaced(w, '_', pick(&LOW_LINES, s))),
    kind("Roman numerals", |w, _| roman(&w)),
    kind("alternating case", |w, _| {
        let letters = w.term.chars().filter(|l| l.is_alphabetic()).count();
        let mut w = (letters >= 4).then_some(w)?;
        for (n, piece) in w.pieces.iter_mut().filter(|piece| piece.role == Role::Letter).enumerate() {
            piece.text = if n % 2 == 0 { piece.text.to_lowercase() } else { piece.text.to_uppercase() };
        }
        Some(w)
    }),
    kind("hyphens between", |w, _| between(w.is_words().then_some(w)?, "-")),
    kind("wide spaces between", |w, s| between_each(w, s, &WIDE_SPACES)),
    kind("soft hyphens between", |w, _| between(w, "\u{AD}")),
    kind("other invisible between", |w, s| between_each(w, s, &OTHER_INVISIBLE)),
    kind("emoji between", |w, s| between_each(w, s, &EMOJI)),
    kind("line break", |w, s| w.break_once(s, mark("\n"))),
    kind("quoted line break", |w, s| w.break_once(s, mark("\n> "))),
    kind("brackets around some", |w, s| w.around_some(s / 5, pick(&BRACKETS[..3], s), Role::Mark)),
    kind("emphasis around each", |w, s| w.around_each(pick(&EMPHASIS, s), Role::Markup)),
    kind("comment inside", |w, s| w.break_once(s, markup("<!-- -->"))),
    kind("break tag inside", |w, s| w.break_once(s / 2, markup(if s % 2 == 0 { "<wbr>" } else { "<br>\n" }))),
    kind("hexadecimal entities", |w, _| w.escape(|l| Some(format!("&#x{:X};", l as u32)))),
    kind("code escapes", |w, s| {
        w.escape(|l| match (s % 2, l as u32) {
            (0, code) if code < 0x100 => Some(format!("\\x{code:02x}")),
            (_, code) if code < 0x10000 => Some(format!("\\u{code:04x}")),
            (_, code) => Some(format!("\\u{{{code:x}}}")),
        })
    }),
    kind("backslash escapes", |w, _| w.escape(|l| l.is_ascii_punctuation().then(|| format!("\\{l}")))),
    kind("LaTeX", |w, _| w.escape(latex)),
    kind("bidi override", |w, _| {
        let turned = w.reverse()?;
        Some(turned.surround(mark("\u{202E}"), Some(mark("\u{202C}"))))
    }),
    kind("ring for a letter", |w, _| {
        w.is_words().then_some(w)?.map(|l| (l.eq_ignore_ascii_case(&'o')).then(|| "⭕".into()))
    }),
];
