//! Decides how an occurrence is written: as the term is, in one of its disguises, or in a way in which no reader would
//! see the term.
//! The file has more than 300 lines because each disguise has a short rule, and all rules judge the same features of an
//! occurrence.

use crate::engine::align::Role;
use crate::engine::features::{Features, Gap};
use crate::engine::lists::{Direction, Matching, Pattern, Term};
use crate::engine::view::Unit;

/// How an occurrence is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Writing {
    /// Like the term, in one of the ordinary cases.
    Plain(Plain),
    /// With look-alikes, invisible characters or an odd mixture of cases.
    Folded,
    /// With separators between its letters, or without the term's own separators.
    Squashed,
    /// With digits or signs for letters, or repeated letters. This and the following variants are never replaced.
    Leet,
    /// Backwards, also where it is shown the right way round, or upside down.
    Turned,
}

impl Writing {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Writing::Plain(_) => "as written",
            Writing::Folded => "in look-alike, invisible or oddly cased characters",
            Writing::Squashed => "with its letters apart or its words together",
            Writing::Leet => "with digits or signs for letters, or letters repeated",
            Writing::Turned => "backwards or upside down",
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

/// How the occurrence with these features and units is written.
///
/// # Errors
///
/// The reason why no reader would see the term.
pub(crate) fn writing(
    pattern: &Pattern,
    term: &Term,
    features: &Features,
    written: &Written<'_>,
) -> Result<Writing, &'static str> {
    let gapped = features.gaps.iter().filter(|gap| gap.width > 0 && !gap.own).count();
    let odd_own = features.gaps.iter().filter(|gap| gap.own && !gap.usual).count();
    let inner = features.gaps.iter().filter(|gap| !gap.own).count();
    let uniform = inner > 0 && gapped == inner && features.gaps_are_alike();
    let swapped = features.swaps != (0, 0);
    let strong = features.folded || features.decoded || features.hidden;
    match term.matching {
        Matching::Number => return number(term, features, gapped, uniform, written),
        Matching::Symbol | Matching::Greek | Matching::Letter => {
            return Ok(match (gapped + odd_own > 0, strong) {
                (true, _) => Writing::Squashed,
                (_, true) if features.hidden || features.decoded || features.elements > 1 => Writing::Folded,
                // A small or Cyrillic φ is a letter of its own alphabet as much as a disguise.
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
        leet(features, gapped, uniform, strong, written)?;
    }
    let one_gap = gapped == 1 && !uniform && features.elements < 6;
    if features.leet > 0 && one_gap && !strong && written.has_version_number() {
        return Err("a version number");
    }
    // "Oracle 10g" is not a form of oracle_log.
    if features.leet > 0 && !strong && features.is_spaced() && term.allow.iter().any(|condition| condition.spaced) {
        return Err("words of their own");
    }
    // "addr_spec (email" is not a form of SPEC_EMAIL, nor "{AI} on" of AION.
    let bracketed = |gap: &Gap| gap.spaces > 0 && matches!(gap.sign, Some('(' | ')' | '{' | '}' | '[' | ']'));
    if !uniform && !strong && features.gaps.iter().any(bracketed) && !written.has_whole_brackets() {
        return Err("a bracket between its pieces");
    }
    // "tt.mm" is a date's form.
    if features.elements == 3 && features.repeats > 0 && gapped > 0 && !uniform && !strong && features.lower > 0 {
        return Err("three letters, repeated and apart");
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
        split(term, features, written)?;
    }
    if gapped > 0 && features.elements == 2 {
        two_letters(features, strong)?;
    }
    if features.repeats > 0 && features.elements == 2 && features.repeats < 2 && !strong {
        return Err("one letter of two, repeated");
    }
    if pattern.is_turned() {
        return turned(pattern, features, uniform, strong);
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

/// Judges digits or signs that replace letters: enough letters must remain for a reader to recognise the term.
fn leet(
    features: &Features,
    gapped: usize,
    uniform: bool,
    strong: bool,
    written: &Written<'_>,
) -> Result<(), &'static str> {
    let (real, all) = (features.letters, features.elements);
    if real == 0 || all < 3 || (all == 3 && gapped > 0 && !uniform) {
        return Err("too few letters are left");
    }
    // "V314" is a model number, not a spelling of VELA.
    let digits = written.units.iter().filter(|unit| unit.ch.is_ascii_digit()).count();
    if real == 1 && digits + 1 == all && features.leet_at == Some((1, all - 1)) && !strong {
        return Err("a letter with a number");
    }
    // A whole token may be mostly digits ("457R4"); a term in pieces may not.
    let enough = if all < 6 { real * 2 >= all } else { real * 3 >= all };
    let whole = gapped == 0 && all > 3;
    if !whole && (all == 3 || !enough) && features.lower > 0 && !strong {
        return Err("too few letters are left");
    }
    // "log05" is the fifth log; "glo$$" is not.
    let ends_in_digit = written.units.last().is_some_and(|unit| unit.ch.is_ascii_digit());
    let at_the_end = features.leet == 2 && features.leet_at == Some((all - 2, all - 1));
    let numbered = at_the_end && ends_in_digit && features.lower > 0;
    if numbered && gapped == 0 && !strong { Err("a word with a number") } else { Ok(()) }
}

/// Judges the letters of a term from the last to the first. A reader finds a short word backwards only when nothing
/// else is changed.
fn turned(pattern: &Pattern, features: &Features, uniform: bool, strong: bool) -> Result<Writing, &'static str> {
    if pattern.direction == Direction::UpsideDown && !features.upside_down {
        return Err("letters that stand upright");
    }
    let apart = features.gaps.iter().any(|gap| gap.width > 0 && !gap.own && gap.spaces == gap.width) && !uniform;
    if features.elements < 6 && !strong && (apart || features.leet > 0 || features.repeats > 0) {
        return Err("a short word backwards, with more changed");
    }
    Ok(Writing::Turned)
}

fn is_title(features: &Features) -> bool {
    // Only counts of the letters' cases are known: at most one capital per word, and fewer capitals than small letters.
    let words = 1 + features.own_gaps;
    // One capital in two letters is not an odd mixture: "%lX" is a format.
    if features.elements == 2 {
        return true;
    }
    features.upper <= words && features.upper < features.lower
}

/// Whether a swap of capital I and small l can deceive a reader: only among letters of the other case.
fn plausible_swap(features: &Features) -> bool {
    match features.swaps {
        (capitals, 0) => features.lower > 0 && features.upper <= capitals + 1,
        (0, small) => features.upper > 0 && features.lower == small,
        _ => false,
    }
}

/// Judges a term in pieces longer than single letters: "no us", "mani fold", "gam-ma".
fn split(term: &Term, features: &Features, written: &Written<'_>) -> Result<(), &'static str> {
    for gap in features.gaps.iter().filter(|gap| gap.width > 0 && !(gap.own && gap.usual)) {
        let quotes = gap.line_breaks == 0 && matches!(gap.sign, Some('\'' | '"' | '’' | '”'));
        if gap.spaces > 0 && (gap.stop || gap.comma || quotes) {
            return Err("a mark of punctuation between its pieces");
        }
        if gap.line_breaks > 1 {
            return Err("a blank line between its pieces");
        }
        if gap.core > 4 || (gap.core_mixed && gap.spaces > 0) {
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
    // Small letters joined by an underscore are an identifier: "gap_x".
    let is_joined = |gap: &Gap| matches!((gap.width, gap.sign), (0, _) | (1, Some('_')));
    let snake_case = features.upper == 0 && features.gaps.iter().all(is_joined);
    let innocent = (spaced || snake_case) && term.innocent.iter().any(|words| written.is_pieces(words));
    if innocent && !capitals { Err("words of their own") } else { Ok(()) }
}

/// The units of an occurrence and the role of each.
pub(crate) struct Written<'v> {
    pub(crate) units: &'v [Unit],
    pub(crate) roles: &'v [Role],
}

impl Written<'_> {
    /// Whether a point is between two digits: "V3.1A".
    fn has_version_number(&self) -> bool {
        let is_digit = |unit: &Unit| unit.ch.is_ascii_digit();
        self.units.windows(3).any(|three| is_digit(&three[0]) && three[1].ch == '.' && is_digit(&three[2]))
    }

    /// Whether it contains a bracket and the one that closes it, with letters between the two.
    fn has_whole_brackets(&self) -> bool {
        let place = |bracket: &[char]| self.units.iter().position(|unit| bracket.contains(&unit.ch));
        let (open, close) = (place(&['(', '[', '{']), place(&[')', ']', '}']));
        let inside = open.zip(close).and_then(|(open, close)| self.units.get(open..close));
        inside.is_some_and(|inside| inside.iter().any(|unit| unit.ch.is_alphanumeric()))
    }

    /// Whether "**" or a bracket precedes a minus sign.
    fn is_power(&self) -> bool {
        self.units.windows(2).any(|pair| matches!(pair[0].ch, '*' | '(' | '[' | '{') && matches!(pair[1].ch, '-' | '−'))
    }

    /// Whether its pieces read as these words, which are in lower case, each in an ordinary case.
    fn is_pieces(&self, words: &str) -> bool {
        let is_gap = |at: usize| matches!(self.roles[at], Role::Gap(_));
        let places = || 0..self.units.len().min(self.roles.len());
        let pieces = || {
            // Writes one space for every gap.
            let counted = places().filter(|at| !is_gap(*at) || !at.checked_sub(1).is_some_and(is_gap));
            counted.map(|at| if is_gap(at) { ' ' } else { self.units[at].ch })
        };
        let mut letters = words.chars();
        pieces().all(|c| c.to_lowercase().all(|c| letters.next() == Some(c)))
            && letters.next().is_none()
            && pieces().collect::<String>().split(' ').all(is_cased)
    }
}

/// Whether a word is in lower case, in capitals, or capitalised.
fn is_cased(word: &str) -> bool {
    let rest = || word.chars().skip(1);
    rest().all(char::is_lowercase) || word.chars().all(char::is_uppercase)
}

fn two_letters(features: &Features, strong: bool) -> Result<(), &'static str> {
    let gap = features.gaps.first().copied().unwrap_or_default();
    let spaces_only = gap.spaces == gap.width;
    if gap.core == 0 && gap.brackets == 2 {
        return Ok(());
    }
    let bracket = gap.line_breaks == 0 && matches!(gap.sign, Some('<' | '>'));
    if bracket || matches!(gap.sign, Some('$' | '\\' | '(' | '=')) {
        return Err("a sign of code between two letters");
    }
    let apart = if spaces_only { gap.width > 2 } else { gap.spaces > 0 || gap.mixed };
    // "L-" at the end of a line, and "X" on the next.
    let hyphenated = gap.sign == Some('-') && gap.width == 2 && gap.line_breaks == 1 && features.lower == 0;
    // The same in a quoted mail: "L", and "> X" on the next line.
    let quoted = gap.sign == Some('>') && gap.core == 0 && gap.line_breaks == 1 && features.lower == 0;
    if !hyphenated && !quoted && ((features.lower > 0 && spaces_only && !strong) || apart) {
        Err("two single letters")
    } else {
        Ok(())
    }
}

/// Judges a numeric term: it keeps its separators, and its signs may only be separated all together.
fn number(
    term: &Term,
    features: &Features,
    gapped: usize,
    uniform: bool,
    written: &Written<'_>,
) -> Result<Writing, &'static str> {
    let digits = features.elements;
    let before_percent = gapped == 1
        && features.gaps.last().is_some_and(|gap| gap.width == 1 && gap.spaces == 1 && gap.line_breaks == 0)
        && term.text.ends_with('%');
    let wrapped = gapped == 1
        && features.gaps.iter().all(|gap| gap.width == 0 || (gap.line_breaks == 1 && !gap.stop && !gap.comma));
    // Marks of emphasis are not shown, and brackets are read over: "0.04**2**", "(9)(7).(4)%". Before a minus sign they
    // mean a power or a product ("10**-4", "10(-4)").
    let dressed = features.gaps.iter().all(|gap| gap.core == 0 && gap.sign != Some('-')) && !written.is_power();
    let dressed = dressed && features.gaps.iter().map(|gap| gap.line_breaks).sum::<usize>() <= 1;
    if gapped > 0 && !uniform && !before_percent && !wrapped && !dressed && !features.hidden {
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
