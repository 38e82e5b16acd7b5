//! Finds where the automaton says that a term may end, and lines its letters up with the text's.

use std::ops::ControlFlow;

use crate::engine::nfa::ends_before;
use crate::engine::tables::{Matching, Pattern, Tables, kind};
use crate::engine::view::{Unit, View};

/// How many separators may stand between two letters of one term.
const WIDEST_GAP: usize = 10;

/// The longest stretch of units that one occurrence may cover.
pub(crate) const LONGEST: usize = 200;

/// The longest pattern that fits the state sets below.
const LONGEST_PATTERN: usize = 64;

/// One occurrence of a pattern's letters, in order, in a view.
#[derive(Clone, Debug)]
pub(crate) struct Alignment {
    pub(crate) pattern: u16,
    /// Index of the first unit.
    pub(crate) first: usize,
    /// Index of the last unit.
    pub(crate) last: usize,
    /// What every unit from first to last is taken for.
    pub(crate) roles: Vec<Role>,
}

/// What a unit inside an occurrence is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The element of the pattern with this index.
    Element(u8),
    /// The element with this index once more.
    Repeat(u8),
    /// A separator before the element with this index.
    Gap(u8),
}

/// Every occurrence of every pattern in a view, judged by letters and edges alone, until `found` says to stop.
pub(crate) fn alignments(tables: &Tables, view: &View, mut found: impl FnMut(Alignment) -> ControlFlow<()>) {
    let end_of_text = tables.fold('\n') as u8;
    let mut state = tables.nfa.start();
    let mut flow = ControlFlow::Continue(());
    for index in 0..=view.units.len() {
        let number = view.units.get(index).map_or(end_of_text, |unit| unit.class);
        let class = tables.class(number);
        if index > 0 {
            tables.nfa.complete(&state, |pattern| {
                if flow.is_continue()
                    && ends_before(&tables.lists.patterns[pattern as usize], class)
                    && let Some(alignment) = alignment_at(tables, &view.units, pattern, index - 1)
                {
                    flow = found(alignment);
                }
            });
        }
        tables.nfa.step(&mut state, number, class);
        if class.is_special() && flow.is_continue() {
            flow = symbolic(tables, &view.units, index, &mut found);
        }
        if flow.is_break() {
            return;
        }
    }
}

/// The occurrence of a pattern whose last letter is the unit at `last`, if there is one.
pub(crate) fn alignment_at(tables: &Tables, units: &[Unit], pattern: u16, last: usize) -> Option<Alignment> {
    align(tables, units, pattern, last).filter(|alignment| ends(tables, units, alignment))
}

/// The terms that begin with the symbol at `first`.
fn symbolic(
    tables: &Tables,
    units: &[Unit],
    first: usize,
    found: &mut impl FnMut(Alignment) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let class = units[first].class_in(tables);
    for (symbol, number) in tables.nfa.symbolic() {
        if !class.reads_as(*symbol) {
            continue;
        }
        let pattern = &tables.lists.patterns[*number as usize];
        if begins(tables, units, pattern, first)
            && let Some(alignment) = align_forward(tables, units, *number, first)
            && ends(tables, units, &alignment)
        {
            found(alignment)?;
        }
    }
    ControlFlow::Continue(())
}

fn align_forward(tables: &Tables, units: &[Unit], number: u16, first: usize) -> Option<Alignment> {
    let elements = &tables.lists.patterns[number as usize].elements;
    let mut roles = Vec::new();
    let (mut found, mut gap) = (0, 0);
    for unit in &units[first..] {
        let class = unit.class_in(tables);
        if class.reads_as(elements[found].symbol) {
            roles.push(Role::Element(found as u8));
            found += 1;
            gap = 0;
            if found == elements.len() {
                return Some(Alignment { pattern: number, first, last: first + roles.len() - 1, roles });
            }
        } else if class.is(kind::SEPARATOR) && found > 0 && gap < WIDEST_GAP {
            roles.push(Role::Gap(found as u8));
            gap += 1;
        } else {
            return None;
        }
    }
    None
}

fn begins(tables: &Tables, units: &[Unit], pattern: &Pattern, first: usize) -> bool {
    let Some(before) = first.checked_sub(1).and_then(|i| units.get(i)) else { return true };
    match tables.term_of(pattern).matching {
        Matching::Symbol => true,
        Matching::Greek => !before.class_in(tables).is(kind::GREEK) && !is_cyrillic(before.ch),
        Matching::Word => before.class_in(tables).is_edge(),
        Matching::Number => {
            let digit_before = first.checked_sub(2).and_then(|i| units.get(i)).is_some_and(|u| is_digit(u.ch));
            before.class_in(tables).is_edge() && !(digit_before && matches!(before.ch, '.' | ',' | '-' | '/' | ':'))
        }
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

fn ends(tables: &Tables, units: &[Unit], alignment: &Alignment) -> bool {
    let pattern = &tables.lists.patterns[alignment.pattern as usize];
    let Some(after) = units.get(alignment.last + 1) else { return true };
    let class = after.class_in(tables);
    match tables.term_of(pattern).matching {
        Matching::Symbol => true,
        Matching::Greek => {
            let ends_in_letter = pattern.elements.last().is_some_and(|e| e.written.is_ascii_alphanumeric());
            if ends_in_letter { class.is_edge() } else { !class.is(kind::GREEK) && !is_cyrillic(after.ch) }
        }
        Matching::Number => {
            let digit_after = units.get(alignment.last + 2).is_some_and(|u| is_digit(u.ch));
            let ends_in_digit = pattern.elements.last().is_some_and(|e| e.written.is_ascii_digit());
            let goes_on = digit_after && matches!(after.ch, '.' | ',' | '-' | '/' | ':');
            !ends_in_digit || (class.is_edge() && !goes_on)
        }
        Matching::Word if class.is(kind::DIGIT) => {
            // "NOUS2" is NOUS with a number; "lx8f3c" is a random token.
            let digits = units[alignment.last + 1..].iter().take(4).take_while(|u| u.class_in(tables).is(kind::DIGIT));
            let count = digits.count();
            let letters = pattern.elements.iter().filter(|e| e.written.is_ascii_alphabetic()).count();
            let beyond = units.get(alignment.last + 1 + count);
            letters >= 4 && count <= 3 && beyond.is_none_or(|u| u.class_in(tables).is_edge())
        }
        Matching::Word => class.is_edge(),
    }
}

/// The quick and usual case: the letters stand side by side as the term writes them, gaps included.
fn as_written(tables: &Tables, units: &[Unit], number: u16, last: usize) -> Option<Alignment> {
    let pattern = &tables.lists.patterns[number as usize];
    let mut index = last + 1;
    for element in pattern.elements.iter().rev() {
        index = index.checked_sub(1)?;
        if !units[index].ch.eq_ignore_ascii_case(&element.written) {
            return None;
        }
        for gap in element.gap.chars().rev() {
            index = index.checked_sub(1)?;
            if units[index].ch != gap {
                return None;
            }
        }
    }
    if !begins(tables, units, pattern, index) {
        return None;
    }
    let mut roles = Vec::with_capacity(last + 1 - index);
    for (k, element) in pattern.elements.iter().enumerate() {
        roles.extend(element.gap.chars().map(|_| Role::Gap(k as u8)));
        roles.push(Role::Element(k as u8));
    }
    Some(Alignment { pattern: number, first: index, last, roles })
}

/// Lines a pattern up with the units that end at `last`, going back to the nearest place where it may begin.
fn align(tables: &Tables, units: &[Unit], number: u16, last: usize) -> Option<Alignment> {
    let pattern = &tables.lists.patterns[number as usize];
    let length = pattern.elements.len();
    if length > LONGEST_PATTERN - 2 {
        return None;
    }
    if let Some(alignment) = as_written(tables, units, number, last) {
        return Some(alignment);
    }
    let repeats = tables.term_of(pattern).matching == Matching::Word;
    // Bit k of reached[i]: the units from last - i on hold the elements from k on.
    let mut reached: Vec<u64> = Vec::with_capacity(length * 2);
    let mut open: u64 = 1 << length;
    let mut gap = 0;
    let mut first = None;
    for back in 0..=last.min(LONGEST) {
        let index = last - back;
        let class = units[index].class_in(tables);
        let mut now = 0_u64;
        let mut remaining = open;
        let mut moved = false;
        while remaining != 0 {
            let k = remaining.trailing_zeros() as usize;
            remaining &= remaining - 1;
            if k > 0 && class.reads_as(pattern.elements[k - 1].symbol) {
                now |= 1 << (k - 1);
                moved = true;
            }
            if repeats && k < length && class.reads_as(pattern.elements[k].symbol) {
                now |= 1 << k;
                moved = true;
            }
            if class.is(kind::SEPARATOR) && k > 0 && k < length {
                now |= 1 << k;
            }
        }
        gap = if moved { 0 } else { gap + 1 };
        if now == 0 || gap > WIDEST_GAP {
            return None;
        }
        reached.push(now);
        open = now;
        if now & 1 != 0 && begins(tables, units, pattern, index) {
            first = Some(index);
            break;
        }
    }
    let first = first?;
    let roles = match only_roles(tables, &units[first..=last], pattern, repeats, &reached) {
        Some(roles) => roles,
        None => cheapest_roles(tables, &units[first..=last], pattern, repeats)?,
    };
    Some(Alignment { pattern: number, first, last, roles })
}

/// The only way to take the units for the pattern's letters, or `None` when there are several. `reached` is
/// what [`align`] found, from the last unit to the first.
fn only_roles(tables: &Tables, units: &[Unit], pattern: &Pattern, repeats: bool, reached: &[u64]) -> Option<Vec<Role>> {
    let length = pattern.elements.len();
    let mut roles = Vec::with_capacity(units.len());
    let mut k = 0;
    for (index, unit) in units.iter().enumerate() {
        let class = unit.class_in(tables);
        let next = match units.len() - index {
            1 => 1 << length,
            left => reached[left - 2],
        };
        let reads = pattern.elements.get(k).is_some_and(|element| class.reads_as(element.symbol));
        let advances = reads && next & (1 << (k + 1)) != 0;
        let stays = next & (1 << k) != 0;
        let is_gap = stays && class.is(kind::SEPARATOR) && k > 0 && k < length;
        let is_repeat = stays && reads && repeats;
        if u8::from(advances) + u8::from(is_gap) + u8::from(is_repeat) != 1 {
            return None;
        }
        roles.push(if advances {
            Role::Element(k as u8)
        } else if is_gap {
            Role::Gap(k as u8)
        } else {
            Role::Repeat(k as u8)
        });
        k += usize::from(advances);
    }
    Some(roles)
}

/// Of all ways to take the units for the pattern's letters, the one that needs the fewest liberties.
fn cheapest_roles(tables: &Tables, units: &[Unit], pattern: &Pattern, repeats: bool) -> Option<Vec<Role>> {
    const NEVER: u16 = u16::MAX;
    let length = pattern.elements.len();
    let width = length + 1;
    // costs[i * width + k]: of taking the units from i on for the elements from k on.
    let mut costs = vec![NEVER; (units.len() + 1) * width];
    costs[units.len() * width + length] = 0;
    let options = |index: usize, k: usize, costs: &[u16]| {
        let class = units[index].class_in(tables);
        let after = &costs[(index + 1) * width..][..width];
        let letter = pattern.elements.get(k).filter(|element| class.reads_as(element.symbol));
        let liberty = letter.map_or(0, |element| if class.primary == element.symbol { 0 } else { 4 });
        let gap = class.is(kind::SEPARATOR) && k > 0 && k < length;
        [
            letter.map(|_| (after[k + 1].saturating_add(liberty), Role::Element(k as u8))),
            gap.then(|| (after[k].saturating_add(if class.is_ambiguous() { 2 } else { 0 }), Role::Gap(k as u8))),
            letter.filter(|_| repeats).map(|_| (after[k].saturating_add(liberty + 1), Role::Repeat(k as u8))),
        ]
    };
    for index in (0..units.len()).rev() {
        for k in 0..=length {
            let best = options(index, k, &costs).into_iter().flatten().map(|(cost, _)| cost).min();
            costs[index * width + k] = best.unwrap_or(NEVER);
        }
    }
    let (mut k, mut roles) = (0, Vec::with_capacity(units.len()));
    for index in 0..units.len() {
        let (cost, role) = options(index, k, &costs).into_iter().flatten().min_by_key(|(cost, _)| *cost)?;
        if cost == NEVER {
            return None;
        }
        k += usize::from(matches!(role, Role::Element(_)));
        roles.push(role);
    }
    Some(roles)
}
