//! Judges an alignment: is it the term as written, the term in disguise, or neither; and may it stand?

use crate::engine::align::{Alignment, Role};
use crate::engine::context::Context;
use crate::engine::tables::{Case, Element, Matching, Pattern, Tables, Term, kind};
use crate::engine::view::{AFTER_HIDDEN, DECODED, Unit, View};

/// How an occurrence is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Writing {
    /// As the term is, in one of the ordinary cases.
    Plain(Plain),
    /// With look-alikes, invisible characters or an odd mixture of cases.
    Folded,
    /// With separators between its letters, or none where it has its own.
    Squashed,
    /// With digits or signs for letters, or repeated letters. This and what follows is never replaced.
    Leet,
    /// Backwards, and shown the right way round.
    Turned,
}

impl Writing {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Writing::Plain(_) => "as written",
            Writing::Folded => "in look-alike, invisible or oddly cased characters",
            Writing::Squashed => "with its letters apart or its words together",
            Writing::Leet => "with digits or signs for letters, or letters repeated",
            Writing::Turned => "backwards, after a control character that turns it around",
        }
    }
}

/// The case of a plain occurrence; numbers and symbols count as small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Plain {
    Lower,
    Title,
    Upper,
}

/// What became of an alignment.
#[derive(Clone, Debug)]
pub(crate) enum Judgement {
    /// The letters are there, but no reader would see the term.
    NotTheTerm(&'static str),
    /// The term, in an ordinary sense: the number of the rule that says so, from 1.
    Ordinary(usize),
    /// The term.
    Blocked { writing: Writing, decoded: bool },
}

/// What stands between two letters that follow one another.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    width: usize,
    spaces: usize,
    line_breaks: usize,
    /// Marks of emphasis, as Markdown has them.
    emphasis: usize,
    /// A mark that ends a sentence or a clause.
    stop: bool,
    comma: bool,
    /// The term itself has a gap here.
    own: bool,
    /// It is what the term writes, or one of its usual variants.
    usual: bool,
    /// Its first sign that is not white space.
    sign: Option<char>,
    /// It has another sign than that one.
    mixed: bool,
    /// A single apostrophe.
    apostrophe: bool,
}

/// What an occurrence is made of.
#[derive(Default)]
struct Features {
    folded: bool,
    decoded: bool,
    hidden: bool,
    leet: usize,
    /// Capital and small letters taken for one of the same shape.
    swaps: (usize, usize),
    repeats: usize,
    /// A letter of another script is read as other than its nearest letter.
    stretched: bool,
    /// Where the first and the last digit or sign for a letter stand, by element.
    leet_at: Option<(usize, usize)>,
    /// The most that one letter is repeated.
    longest_run: usize,
    letters: usize,
    elements: usize,
    upper: usize,
    lower: usize,
    gaps: Vec<Gap>,
    pieces: String,
}

impl Features {
    /// Whether the gaps inside words are of one kind: the same sign, and about the same width.
    fn gaps_are_alike(&self) -> bool {
        let inner = || self.gaps.iter().filter(|gap| !gap.own);
        let widths = inner().map(|gap| gap.width);
        let (least, most) = (widths.clone().min().unwrap_or(0), widths.max().unwrap_or(0));
        most == least || (most <= least + 3 && inner().all(|gap| !gap.mixed))
    }
}

/// The first and the last byte (exclusive) of the source that an alignment covers.
pub(crate) fn span(view: &View, alignment: &Alignment) -> (usize, usize) {
    (view.units[alignment.first].start as usize, view.units[alignment.last].end as usize)
}

/// Judges one alignment of a view of `text`.
pub(crate) fn judge(tables: &Tables, text: &str, view: &View, alignment: &Alignment) -> Judgement {
    let pattern = &tables.lists.patterns[alignment.pattern as usize];
    let term = tables.term_of(pattern);
    let units = &view.units[alignment.first..=alignment.last];
    let features = features(tables, pattern, term, units, &alignment.roles);
    let writing = match writing(pattern, term, &features) {
        Ok(writing) => writing,
        Err(why) => return Judgement::NotTheTerm(why),
    };
    let next = view.units.get(alignment.last + 1);
    if features.leet > 0 && features.lower > 0 && next.is_some_and(|unit| unit.ch.is_ascii_digit()) {
        return Judgement::NotTheTerm("a word with a longer number");
    }
    if features.decoded {
        return Judgement::Blocked { writing, decoded: true };
    }
    let (start, end) = span(view, alignment);
    if let Writing::Plain(plain) = writing {
        let context = match term.matching {
            Matching::Greek | Matching::Symbol => Context::of_symbol(text, start, end),
            Matching::Word | Matching::Number => Context::of(text, start, end),
        };
        if let Some(rule) = context.ordinary_sense(term, case(plain, &context), false) {
            return Judgement::Ordinary(rule);
        }
        if term.matching == Matching::Number && is_signed(&text[..start]) {
            return Judgement::NotTheTerm("a number with a sign before it");
        }
    }
    if writing == Writing::Squashed
        && term.allow.iter().any(|condition| condition.split)
        && let Some(rule) = Context::of(text, start, end).ordinary_sense(term, Case::Upper, true)
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

/// Whether a word of the list ends at the byte `end`, written plainly, and in an ordinary sense. A short cut for
/// what nearly every occurrence is; "no" only means that it takes a closer look.
pub(crate) fn is_plainly_ordinary(tables: &Tables, text: &str, end: usize, pattern: u16) -> bool {
    let pattern = &tables.lists.patterns[pattern as usize];
    let term = tables.term_of(pattern);
    if term.matching != Matching::Word || term.allow.is_empty() {
        return false;
    }
    let bytes = text.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|b| b.is_ascii() && !b.is_ascii_alphanumeric());
    let (mut at, mut upper, mut lower, mut words) = (end, 0, 0, 1);
    for element in pattern.elements.iter().rev() {
        let Some(before) = at.checked_sub(1) else { return false };
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
    let context = Context::of(text, at, end);
    context.ordinary_sense(term, case(plain, &context), false).is_some()
}

/// "-0.042" is a change by that much, not the constant.
fn is_signed(before: &str) -> bool {
    let mut chars = before.chars().rev();
    matches!(chars.next(), Some('-' | '−' | '+' | '±')) && chars.next().is_none_or(|c| c.is_whitespace() || c == '(')
}

fn features(tables: &Tables, pattern: &Pattern, term: &Term, units: &[Unit], roles: &[Role]) -> Features {
    let mut features = Features { elements: pattern.elements.len(), ..Features::default() };
    let mut gap = Gap::default();
    let mut gap_text = String::new();
    let mut run = 0;
    for (index, (unit, role)) in units.iter().zip(roles).enumerate() {
        features.decoded |= unit.flags & DECODED != 0;
        features.hidden |= index > 0 && unit.flags & AFTER_HIDDEN != 0;
        let (k, repeat) = match *role {
            Role::Gap(_) => {
                let class = unit.class_in(tables);
                gap.width += 1;
                gap.spaces += usize::from(class.is(kind::SPACE));
                gap.line_breaks += usize::from(unit.ch == '\n');
                gap.stop |= matches!(unit.ch, '.' | '!' | '?' | ';' | ':');
                gap.comma |= unit.ch == ',';
                if matches!(unit.ch, '*' | '`' | '~') {
                    gap.emphasis += 1;
                } else if !class.is(kind::SPACE) {
                    gap.mixed |= gap.sign.is_some_and(|sign| sign != unit.ch && sign.is_ascii());
                    gap.sign = gap.sign.or(Some(unit.ch));
                }
                gap_text.push(unit.ch);
                continue;
            }
            Role::Element(k) => (k as usize, false),
            Role::Repeat(k) => (k as usize, true),
        };
        let element = &pattern.elements[k];
        if index > 0
            && !(repeat && gap.width == 0)
            && !(k > 0 && roles[index - 1] == Role::Repeat(k as u8) && gap.width == 0)
        {
            gap.own = !element.gap.is_empty();
            gap.apostrophe = matches!(gap_text.as_str(), "'" | "’");
            gap.usual = is_usual_gap(term, element, &gap_text, &gap);
            if gap.width > 0 {
                features.pieces.push(' ');
            }
            features.gaps.push(gap);
        }
        gap = Gap::default();
        gap_text.clear();
        features.repeats += usize::from(repeat);
        run = if repeat { run + 1 } else { 0 };
        features.longest_run = features.longest_run.max(run);
        let leet = features.leet;
        note_letter(tables, unit, element, &mut features);
        if features.leet > leet {
            features.leet_at = Some((features.leet_at.map_or(k, |(from, _)| from), k));
        }
    }
    features
}

fn note_letter(tables: &Tables, unit: &Unit, element: &Element, features: &mut Features) {
    let class = unit.class_in(tables);
    features.pieces.push(unit.ch);
    if unit.ch.to_lowercase().eq(element.written.to_lowercase()) {
        features.letters += usize::from(element.written.is_alphabetic());
        features.upper += usize::from(unit.ch.is_uppercase());
        features.lower += usize::from(unit.ch.is_lowercase());
        // A Greek letter's other case is a way of writing it, and still a disguise of the variable.
        features.folded |= !unit.ch.is_ascii() && unit.ch != element.written;
        return;
    }
    let wants_letter = element.symbol < 26;
    let is_letter = class.primary < 26;
    if unit.ch.is_ascii() && is_letter && wants_letter {
        if unit.ch.is_uppercase() {
            features.swaps.0 += 1;
        } else {
            features.swaps.1 += 1;
        }
        features.letters += 1;
        features.upper += usize::from(unit.ch.is_uppercase());
        features.lower += usize::from(unit.ch.is_lowercase());
    } else if class.primary != element.symbol && ((wants_letter && !is_letter) || element.is_digit()) {
        features.leet += 1;
    } else {
        // Of two letters, neither may be a stretch: "Ⅸ" is nine.
        features.stretched |= class.primary != element.symbol || is_currency(unit.ch);
        features.folded = true;
        features.letters += usize::from(wants_letter);
        features.upper += usize::from(unit.ch.is_uppercase());
        features.lower += usize::from(unit.ch.is_lowercase());
    }
}

/// "€8" is a price.
fn is_currency(c: char) -> bool {
    matches!(c, '¢' | '£' | '¥' | '\u{20a0}'..='\u{20cf}')
}

/// Whether a gap inside the term is one of the ways in which people write it.
fn is_usual_gap(term: &Term, element: &Element, text: &str, gap: &Gap) -> bool {
    if element.gap.is_empty() {
        return text.is_empty();
    }
    let is_quiet = |c: char| {
        let quiet = matches!(c, '-' | '_' | '‐' | '‑' | '*' | '"' | '“' | '”' | '‘' | '’' | '>' | '.' | '=' | ':');
        quiet || c.is_whitespace()
    };
    let plain: String = text.chars().filter(|c| !matches!(c, '*' | '`' | '~')).collect();
    text.is_empty()
        || text == element.gap
        || plain == element.gap
        || (text.chars().all(is_quiet)
            && !(gap.stop && gap.spaces > 0 && term.matching == Matching::Word)
            && gap.line_breaks < 2)
        || (term.category == 4 && gap.comma && gap.width <= 3 && gap.line_breaks < 2)
        || (term.matching == Matching::Greek && gap.width <= 4)
}

fn writing(pattern: &Pattern, term: &Term, features: &Features) -> Result<Writing, &'static str> {
    let gapped = features.gaps.iter().filter(|gap| gap.width > 0 && !gap.own).count();
    let odd_own = features.gaps.iter().filter(|gap| gap.own && !gap.usual).count();
    let inner = features.gaps.iter().filter(|gap| !gap.own).count();
    let uniform = inner > 0 && gapped == inner && features.gaps_are_alike();
    let swapped = features.swaps != (0, 0);
    let strong = features.folded || features.decoded || features.hidden;
    match term.matching {
        Matching::Number => return number(term, features, gapped, uniform),
        Matching::Symbol | Matching::Greek => {
            return Ok(match (gapped + odd_own > 0, strong) {
                (true, _) => Writing::Squashed,
                (_, true) if features.hidden || features.decoded || features.elements > 1 => Writing::Folded,
                // A small φ, or a Cyrillic one, is the letter of its own alphabet as much as a disguise.
                _ if features.lower > 0 => Writing::Plain(Plain::Lower),
                _ => Writing::Plain(Plain::Upper),
            });
        }
        Matching::Word => {}
    }
    let in_cells = |gap: &Gap| gap.line_breaks > 1 || (matches!(gap.sign, Some('|' | '(')) && gap.spaces > 0);
    if features.leet > 0 && !strong && features.gaps.iter().any(|gap| !gap.own && in_cells(gap)) {
        return Err("letters and numbers that stand apart");
    }
    if features.leet > 0 {
        leet(features, gapped, uniform, strong)?;
    }
    if features.longest_run > if features.elements == 2 { 1 } else { 4 } {
        return Err("a letter repeated too often");
    }
    if features.elements == 2 && (swapped || features.stretched) {
        return Err("one letter of two, read as another");
    }
    // "A1 on" is not AION.
    let spaced =
        features.gaps.iter().any(|gap| !gap.own && gap.spaces == gap.width && gap.width > 0 && gap.line_breaks == 0);
    if (features.leet > 0 || swapped) && spaced && !uniform && features.lower > 0 && features.elements < 6 && !strong {
        return Err("short pieces that would have to be read as other letters too");
    }
    let possessive = features.gaps.last().is_some_and(|gap| gap.apostrophe) && gapped == 1;
    if possessive && pattern.elements.last().is_some_and(|e| e.written.eq_ignore_ascii_case(&'s')) {
        return Err("a possessive");
    }
    if swapped && !strong && !plausible_swap(features) {
        return Err("an i or an l that looks like itself");
    }
    if gapped + odd_own > 0 && !uniform && !strong {
        split(term, features)?;
    }
    if gapped > 0 && features.elements == 2 {
        two_letters(features, strong)?;
    }
    if features.repeats > 0 && features.elements == 2 && features.repeats < 2 && !strong {
        return Err("one letter of two, repeated");
    }
    if features.leet > 0 || features.repeats > 0 {
        return Ok(Writing::Leet);
    }
    if gapped + odd_own > 0 {
        return Ok(Writing::Squashed);
    }
    if strong || swapped || pattern.disguise {
        return Ok(Writing::Folded);
    }
    Ok(match (features.upper, features.lower) {
        (0, _) => Writing::Plain(Plain::Lower),
        (_, 0) => Writing::Plain(Plain::Upper),
        _ if is_title(features) => Writing::Plain(Plain::Title),
        _ if pattern.plural && features.lower == 1 => Writing::Plain(Plain::Upper),
        _ if term.text.contains("v2") => Writing::Plain(Plain::Upper),
        _ => Writing::Folded,
    })
}

/// Digits or signs for letters: enough letters must be left to read the rest by.
fn leet(features: &Features, gapped: usize, uniform: bool, strong: bool) -> Result<(), &'static str> {
    let (real, all) = (features.letters, features.elements);
    if real == 0 || all < 3 || (all == 3 && gapped > 0 && !uniform) {
        return Err("too few letters are left");
    }
    // A token of its own may consist of little else than digits ("457R4"), pieces may not.
    let enough = if all < 6 { real * 2 >= all } else { real * 3 >= all };
    let whole = gapped == 0 && all > 3;
    if !whole && (all == 3 || !enough) && features.lower > 0 && !strong {
        return Err("too few letters are left");
    }
    // "log05" is the fifth log.
    let numbered = features.leet == 2 && features.leet_at == Some((all - 2, all - 1)) && features.lower > 0;
    if numbered && gapped == 0 && !strong { Err("a word with a number") } else { Ok(()) }
}

fn is_title(features: &Features) -> bool {
    // The case of the letters was counted, not kept: one capital per word at most, and fewer than small ones.
    let words = 1 + features.gaps.iter().filter(|gap| gap.own).count();
    // Of two letters, one capital is no odd mixture: "%lX" is a format.
    if features.elements == 2 {
        return true;
    }
    features.upper <= words && features.upper < features.lower
}

/// A capital I for a small l, or the other way round, fools the eye only among letters of the other case.
fn plausible_swap(features: &Features) -> bool {
    match features.swaps {
        (capitals, 0) => features.lower > 0 && features.upper <= capitals + 1,
        (0, small) => features.upper > 0 && features.lower == small,
        _ => false,
    }
}

/// A term in pieces that are not single letters: "no us", "mani fold", "gam-ma".
fn split(term: &Term, features: &Features) -> Result<(), &'static str> {
    for gap in features.gaps.iter().filter(|gap| gap.width > 0 && !(gap.own && gap.usual)) {
        if gap.spaces > 0 && (gap.stop || gap.comma) {
            return Err("a mark of punctuation between its pieces");
        }
        if gap.line_breaks > 1 {
            return Err("a blank line between its pieces");
        }
        if gap.width > 4 + gap.emphasis || (gap.mixed && gap.spaces > 0) {
            return Err("too much between its pieces");
        }
    }
    let capitals = features.lower == 0 && features.upper >= 2;
    if features.elements == 3 && features.lower > 0 && features.upper > 0 {
        return Err("three letters of two kinds, not all together");
    }
    let spaced = features.gaps.iter().all(|gap| gap.sign.is_none() && gap.emphasis == 0);
    let wrapped = features.gaps.iter().any(|gap| gap.line_breaks > 0);
    if features.elements == 3 && features.upper == 0 && spaced && !wrapped {
        return Err("a letter that stands alone");
    }
    let innocent =
        spaced && term.innocent.contains(&features.pieces.to_lowercase()) && features.pieces.split(' ').all(is_cased);
    if innocent && !capitals { Err("words of their own") } else { Ok(()) }
}

/// Whether a word is in small letters, in capitals, or capitalised.
fn is_cased(word: &str) -> bool {
    let rest = || word.chars().skip(1);
    rest().all(char::is_lowercase) || word.chars().all(char::is_uppercase)
}

fn two_letters(features: &Features, strong: bool) -> Result<(), &'static str> {
    let gap = features.gaps.first().copied().unwrap_or_default();
    let spaces_only = gap.spaces == gap.width;
    if matches!(gap.sign, Some('$' | '\\' | '(' | '=')) {
        return Err("a sign of code between two letters");
    }
    let apart = if spaces_only { gap.width > 2 } else { gap.spaces > 0 || gap.mixed };
    if (features.lower > 0 && spaces_only && !strong) || apart { Err("two single letters") } else { Ok(()) }
}

/// Numeric terms keep their separators; only all of their signs together may stand apart.
fn number(term: &Term, features: &Features, gapped: usize, uniform: bool) -> Result<Writing, &'static str> {
    let digits = features.elements;
    let before_percent = gapped == 1
        && features.gaps.last().is_some_and(|gap| gap.width == 1 && gap.spaces == 1 && gap.line_breaks == 0)
        && term.text.ends_with('%');
    let wrapped = gapped == 1
        && features.gaps.iter().all(|gap| gap.width == 0 || (gap.line_breaks == 1 && !gap.stop && !gap.comma));
    if gapped > 0 && !uniform && !before_percent && !wrapped && !features.hidden {
        return Err("digits that stand apart");
    }
    if features.leet * 2 > digits {
        return Err("too few digits are left");
    }
    if features.leet > 0 {
        return Ok(Writing::Leet);
    }
    if gapped > 0 && !before_percent {
        return Ok(Writing::Squashed);
    }
    if features.folded || features.hidden {
        return Ok(Writing::Folded);
    }
    Ok(Writing::Plain(Plain::Lower))
}
