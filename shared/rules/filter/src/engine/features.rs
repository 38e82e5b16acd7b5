//! Collects the features of an occurrence: its letters, their spelling, and the gaps between them.

use crate::engine::align::Role;
use crate::engine::lists::{Element, Matching, Pattern, Term, kind};
use crate::engine::tables::Tables;
use crate::engine::view::{AFTER_HIDDEN, DECODED, Unit};

/// The characters between two adjacent letters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap {
    pub(crate) width: usize,
    pub(crate) spaces: usize,
    pub(crate) line_breaks: usize,
    /// Markdown marks of emphasis.
    pub(crate) emphasis: usize,
    /// A mark that ends a sentence or a clause.
    pub(crate) stop: bool,
    pub(crate) comma: bool,
    /// The term itself has a gap here.
    pub(crate) own: bool,
    /// The gap is the term's own, or one of its usual variants.
    pub(crate) usual: bool,
    /// Its first sign that is not white space.
    pub(crate) sign: Option<char>,
    /// It has a second, different sign.
    pub(crate) mixed: bool,
    /// A single apostrophe.
    pub(crate) apostrophe: bool,
    pub(crate) brackets: usize,
    /// The width without what a reader reads over: brackets, marks of emphasis, and a line break with its hyphen and the
    /// marks of a quoted mail.
    pub(crate) core: usize,
    /// The first sign of the core.
    core_sign: Option<char>,
    /// The core has a second, different sign.
    pub(crate) core_mixed: bool,
    /// It has an underscore, which joins what is on both sides, also of a line break.
    pub(crate) joined: bool,
}

impl Gap {
    fn count(&mut self, tables: &Tables, unit: &Unit) {
        let is_space = unit.class_in(&tables.characters).is(kind::SPACE);
        self.width += 1;
        self.spaces += usize::from(is_space);
        self.line_breaks += usize::from(unit.ch == '\n');
        self.stop |= matches!(unit.ch, '.' | '!' | '?' | ';' | ':');
        self.comma |= unit.ch == ',';
        self.joined |= unit.ch == '_';
        let is_bracket = matches!(unit.ch, '(' | ')' | '[' | ']' | '{' | '}');
        self.brackets += usize::from(is_bracket);
        self.count_core(unit.ch, is_space);
        if matches!(unit.ch, '*' | '`' | '~') {
            self.emphasis += 1;
        } else if !is_space {
            self.mixed |= self.sign.is_some_and(|sign| sign != unit.ch && sign.is_ascii());
            self.sign = self.sign.or(Some(unit.ch));
        }
    }

    fn count_core(&mut self, ch: char, is_space: bool) {
        if ch == '\n' && self.core_sign == Some('-') && self.core == 1 {
            (self.core, self.core_sign) = (0, None);
        }
        let in_wrap = self.line_breaks > 0 && (is_space || ch == '>');
        if in_wrap || matches!(ch, '*' | '`' | '~' | '_' | '(' | ')' | '[' | ']' | '{' | '}') {
            return;
        }
        self.core += 1;
        if !is_space {
            self.core_mixed |= self.core_sign.is_some_and(|sign| sign != ch && sign.is_ascii());
            self.core_sign = self.core_sign.or(Some(ch));
        }
    }

    /// Completes the features of a gap once the letter after it is known.
    fn close(&mut self, term: &Term, element: &Element, units: &[Unit]) {
        self.own = !element.gap.is_empty();
        self.apostrophe = matches!(units, [unit] if matches!(unit.ch, '\'' | '’'));
        self.usual = self.is_usual(term, element, units);
    }

    /// Whether a gap inside the term is one of its usual spellings.
    fn is_usual(&self, term: &Term, element: &Element, units: &[Unit]) -> bool {
        if element.gap.is_empty() || units.is_empty() {
            return units.is_empty();
        }
        let is_quiet = |c: char| {
            let quiet = matches!(c, '-' | '_' | '‐' | '‑' | '*' | '"' | '“' | '”' | '‘' | '’' | '>' | '.' | '=' | ':');
            quiet || c.is_whitespace()
        };
        let written = || units.iter().map(|unit| unit.ch);
        written().eq(element.gap.chars())
            || self.is_wrapped(element, units)
            || written().filter(|c| !matches!(c, '*' | '`' | '~')).eq(element.gap.chars())
            || (written().all(is_quiet)
                && !(self.stop && self.spaces > 0 && term.matching == Matching::Word)
                && self.line_breaks < 2)
            || (term.category == 4 && self.comma && self.width <= 3 && self.line_breaks < 2)
            || (term.matching == Matching::Greek && self.width <= 4)
    }

    /// Whether it is the term's own gap with a line break beside it, and the marks of a quoted mail.
    fn is_wrapped(&self, element: &Element, units: &[Unit]) -> bool {
        let is_kept = |c: &char| !c.is_whitespace() && *c != '>';
        self.line_breaks == 1
            && units.iter().map(|unit| unit.ch).filter(is_kept).eq(element.gap.chars().filter(is_kept))
    }
}

/// The features of an occurrence.
#[derive(Default)]
pub(crate) struct Features {
    pub(crate) folded: bool,
    /// A letter is upside down.
    pub(crate) upside_down: bool,
    pub(crate) decoded: bool,
    pub(crate) hidden: bool,
    pub(crate) leet: usize,
    /// The capital and small letters that are read as another letter of the same shape.
    pub(crate) swaps: (usize, usize),
    pub(crate) repeats: usize,
    /// A letter of another script is read as other than its nearest letter.
    pub(crate) stretched: bool,
    /// The elements of the first and the last digit or sign that replaces a letter.
    pub(crate) leet_at: Option<(usize, usize)>,
    /// The longest repetition of one letter.
    pub(crate) longest_run: usize,
    pub(crate) letters: usize,
    pub(crate) elements: usize,
    pub(crate) upper: usize,
    pub(crate) lower: usize,
    /// The gaps between its letters; not collected when all letters are as the term writes them.
    pub(crate) gaps: Vec<Gap>,
    /// The number of the term's own gaps here.
    pub(crate) own_gaps: usize,
}

impl Features {
    /// Collects the features of an occurrence and clears the previous ones. It runs for every possible place of a term,
    /// so it reuses its allocations.
    pub(crate) fn collect(&mut self, tables: &Tables, pattern: &Pattern, units: &[Unit], roles: &[Role]) {
        self.clear(pattern);
        let term = tables.term_of(pattern);
        let mut gap = Gap::default();
        let (mut gap_from, mut run) = (0, 0);
        for (index, (unit, role)) in units.iter().zip(roles).enumerate() {
            self.collect_flags(index, unit);
            let (k, repeat) = match *role {
                Role::Gap(_) => {
                    gap.count(tables, unit);
                    continue;
                }
                Role::Element(k) => (k as usize, false),
                Role::Repeat(k) => (k as usize, true),
            };
            let element = &pattern.elements[k];
            let follows_itself = repeat || (k > 0 && index > 0 && roles[index - 1] == Role::Repeat(k as u8));
            if index > 0 && !(follows_itself && gap.width == 0) {
                gap.close(term, element, &units[gap_from..index]);
                self.own_gaps += usize::from(gap.own);
                self.gaps.push(gap);
            }
            (gap, gap_from) = (Gap::default(), index + 1);
            self.repeats += usize::from(repeat);
            run = if repeat { run + 1 } else { 0 };
            self.longest_run = self.longest_run.max(run);
            let leet = self.leet;
            self.collect_letter(tables, unit, element, term.matching.is_symbolic());
            if self.leet > leet {
                self.leet_at = Some((self.leet_at.map_or(k, |(from, _)| from), k));
            }
        }
    }

    /// The same for an occurrence whose letters and gaps are as the term writes them, apart from case.
    pub(crate) fn collect_as_written(&mut self, pattern: &Pattern, units: &[Unit]) {
        self.clear(pattern);
        let mut unit_at = 0;
        for element in &pattern.elements {
            self.own_gaps += usize::from(!element.gap.is_empty());
            unit_at += element.gap.chars().count();
            let ch = units[unit_at].ch;
            unit_at += 1;
            self.count_case(ch);
            self.letters += usize::from(element.written.is_alphabetic());
        }
        for (index, unit) in units.iter().enumerate() {
            self.collect_flags(index, unit);
        }
    }

    fn clear(&mut self, pattern: &Pattern) {
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.clear();
        *self = Features { elements: pattern.elements.len(), gaps, ..Features::default() };
    }

    fn count_case(&mut self, ch: char) {
        self.upper += usize::from(ch.is_uppercase());
        self.lower += usize::from(ch.is_lowercase());
    }

    fn collect_flags(&mut self, index: usize, unit: &Unit) {
        self.decoded |= unit.flags & DECODED != 0;
        self.hidden |= index > 0 && unit.flags & AFTER_HIDDEN != 0;
    }

    fn collect_letter(&mut self, tables: &Tables, unit: &Unit, element: &Element, is_symbolic: bool) {
        let class = unit.class_in(&tables.characters);
        self.upside_down |= class.is(kind::TURNED);
        if is_same_letter(unit.ch, element.written) || (unit.ch == ',' && element.written == '.') {
            // The letter count of a symbol is not used.
            self.letters += usize::from(!is_symbolic && element.written.is_alphabetic());
            self.count_case(unit.ch);
            // The other case of a Greek letter is a spelling of it, and also a disguise of the variable.
            self.folded |= !unit.ch.is_ascii() && unit.ch != element.written;
            return;
        }
        let wants_letter = element.symbol < 26;
        let is_letter = class.primary < 26;
        if unit.ch.is_ascii() && is_letter && wants_letter {
            if unit.ch.is_uppercase() {
                self.swaps.0 += 1;
            } else {
                self.swaps.1 += 1;
            }
            self.letters += 1;
            self.count_case(unit.ch);
        } else if class.primary != element.symbol && ((wants_letter && !is_letter) || element.is_digit()) {
            self.leet += 1;
        } else {
            // If a character stands for two letters, neither may be stretched: "Ⅸ" is nine.
            self.stretched |= class.primary != element.symbol || is_currency(unit.ch);
            self.folded = true;
            self.letters += usize::from(wants_letter);
            self.count_case(unit.ch);
        }
    }

    /// Whether white space replaces one of the term's own marks, which leaves ordinary words ("oracle log").
    pub(crate) fn is_spaced(&self) -> bool {
        self.gaps.iter().any(|gap| gap.own && gap.spaces > 0 && !gap.joined)
    }

    /// Whether the gaps inside words are alike: the same sign, and about the same width, apart from what a reader reads
    /// over.
    pub(crate) fn gaps_are_alike(&self) -> bool {
        let inner = || self.gaps.iter().filter(|gap| !gap.own);
        let widths = inner().map(|gap| gap.core);
        let (least, most) = (widths.clone().min().unwrap_or(0), widths.max().unwrap_or(0));
        most == least || (most <= least + 3 && inner().all(|gap| !gap.core_mixed))
    }
}

/// Whether two letters are equal apart from case.
fn is_same_letter(one: char, other: char) -> bool {
    if one == other || (one.is_ascii() && other.is_ascii()) {
        return one.eq_ignore_ascii_case(&other);
    }
    one.to_lowercase().eq(other.to_lowercase())
}

/// "€8" is a price.
fn is_currency(c: char) -> bool {
    matches!(c, '¢' | '£' | '¥' | '\u{20a0}'..='\u{20cf}')
}
