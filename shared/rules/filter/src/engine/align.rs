//! Aligns a term's letters with the text at the places where the automaton reports that a term may end.

use std::ops::ControlFlow;

pub(crate) use crate::engine::alignment::{Alignment, Role};
use crate::engine::edges::{begins, ends};
use crate::engine::lists::{Matching, Pattern, kind};
use crate::engine::nfa::ends_before;
use crate::engine::tables::Tables;
use crate::engine::view::{Unit, View};

/// The most separators between two letters of one term.
const WIDEST_GAP: usize = 12;

/// The most units that one occurrence may cover.
pub(crate) const LONGEST: usize = 200;

/// The longest pattern that fits the state sets below.
const LONGEST_PATTERN: usize = 64;

/// Aligns patterns with a view. It runs for every possible place of a term, so it reuses its allocations.
pub(crate) struct Aligner<'t> {
    tables: &'t Tables,
    current: Alignment,
    reached: Vec<u64>,
    costs: Vec<u16>,
}

impl<'t> Aligner<'t> {
    pub(crate) fn new(tables: &'t Tables) -> Aligner<'t> {
        Aligner { tables, current: Alignment::default(), reached: Vec::new(), costs: Vec::new() }
    }

    /// Calls `found` with every occurrence of every pattern in a view, by letters and edges alone, until `found` stops
    /// the search. `found` gets the index of the unit at which the occurrence was detected; the indices never decrease.
    pub(crate) fn each(&mut self, view: &View, mut found: impl FnMut(usize, &Alignment) -> ControlFlow<()>) {
        let tables = self.tables;
        let end_of_text = tables.characters.fold('\n') as u8;
        let mut state = tables.nfa.start();
        let mut flow = ControlFlow::Continue(());
        for index in 0..=view.units.len() {
            let number = view.units.get(index).map_or(end_of_text, |unit| unit.class);
            let class = tables.characters.class(number);
            if index > 0 {
                tables.nfa.complete(&state, |pattern| {
                    if flow.is_continue()
                        && ends_before(&tables.lists.patterns[pattern as usize], class)
                        && let Some(alignment) = self.at(&view.units, pattern, index - 1)
                    {
                        flow = found(index, alignment);
                    }
                });
            }
            tables.nfa.step(&mut state, number, class);
            if class.is_special() && flow.is_continue() {
                flow = self.symbolic(&view.units, index, &mut found);
            }
            if flow.is_break() {
                return;
            }
        }
    }

    /// The occurrence of a pattern whose last letter is the unit at `last`, if one exists.
    pub(crate) fn at(&mut self, units: &[Unit], pattern: u16, last: usize) -> Option<&Alignment> {
        (self.align(units, pattern, last) && ends(self.tables, units, &self.current)).then_some(&self.current)
    }

    /// Finds the terms that begin with the symbol at `first`.
    fn symbolic(
        &mut self,
        units: &[Unit],
        first: usize,
        found: &mut impl FnMut(usize, &Alignment) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let tables = self.tables;
        for number in tables.nfa.symbolic(units[first].class) {
            if begins(tables, units, &tables.lists.patterns[*number as usize], first)
                && self.align_forward(units, *number, first)
                && ends(tables, units, &self.current)
            {
                found(first, &self.current)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn align_forward(&mut self, units: &[Unit], number: u16, first: usize) -> bool {
        let elements = &self.tables.lists.patterns[number as usize].elements;
        let roles = &mut self.current.roles;
        roles.clear();
        let (mut found, mut gap) = (0, 0);
        for unit in &units[first..] {
            let class = unit.class_in(&self.tables.characters);
            if class.reads_as(elements[found].symbol) {
                roles.push(Role::Element(found as u8));
                found += 1;
                gap = 0;
                if found == elements.len() {
                    let last = first + roles.len() - 1;
                    self.current.place(number, first, last, false);
                    return true;
                }
            } else if class.is(kind::SEPARATOR) && found > 0 && gap < WIDEST_GAP {
                roles.push(Role::Gap(found as u8));
                gap += 1;
            } else {
                return false;
            }
        }
        false
    }

    /// The fast and usual case: the letters are adjacent, as the term writes them, including its own gaps.
    fn align_as_written(&mut self, units: &[Unit], number: u16, last: usize) -> bool {
        let pattern = &self.tables.lists.patterns[number as usize];
        let mut index = last + 1;
        for element in pattern.elements.iter().rev() {
            match index.checked_sub(1) {
                Some(before) if units[before].ch.eq_ignore_ascii_case(&element.written) => index = before,
                _ => return false,
            }
            for gap in element.gap.chars().rev() {
                match index.checked_sub(1) {
                    Some(before) if units[before].ch == gap => index = before,
                    _ => return false,
                }
            }
        }
        if !begins(self.tables, units, pattern, index) {
            return false;
        }
        self.current.roles.clear();
        for (k, element) in pattern.elements.iter().enumerate() {
            self.current.roles.extend(element.gap.chars().map(|_| Role::Gap(k as u8)));
            self.current.roles.push(Role::Element(k as u8));
        }
        self.current.place(number, index, last, true);
        true
    }

    /// Aligns a pattern with the units that end at `last`, going back to the nearest unit where it may begin.
    fn align(&mut self, units: &[Unit], number: u16, last: usize) -> bool {
        let pattern = &self.tables.lists.patterns[number as usize];
        let length = pattern.elements.len();
        if length > LONGEST_PATTERN - 2 {
            return false;
        }
        if self.align_as_written(units, number, last) {
            return true;
        }
        let Some(first) = self.reach_back(units, pattern, last) else {
            return false;
        };
        let repeats = self.tables.term_of(pattern).matching == Matching::Word;
        let units = &units[first..=last];
        if !self.only_roles(units, pattern, repeats) && !self.cheapest_roles(units, pattern, repeats) {
            return false;
        }
        self.current.place(number, first, last, false);
        true
    }

    /// The nearest unit before `last` with which the pattern may begin. Stores a note for each unit on the way, from
    /// the last to the first: bit k means that the units from there on contain the elements from k on.
    fn reach_back(&mut self, units: &[Unit], pattern: &Pattern, last: usize) -> Option<usize> {
        let length = pattern.elements.len();
        let repeats = self.tables.term_of(pattern).matching == Matching::Word;
        self.reached.clear();
        let mut open: u64 = 1 << length;
        let mut gap = 0;
        for back in 0..=last.min(LONGEST) {
            let index = last - back;
            let class = units[index].class_in(&self.tables.characters);
            let mut now = 0_u64;
            let mut remaining = open;
            let mut moved = false;
            while remaining != 0 {
                let k = remaining.trailing_zeros() as usize;
                remaining &= remaining - 1;
                if k > 0 && pattern.reads(k - 1, class) {
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
            self.reached.push(now);
            open = now;
            if now & 1 != 0 && begins(self.tables, units, pattern, index) {
                return Some(index);
            }
        }
        None
    }

    /// The only assignment of the units to the pattern's letters, by the notes of [`Aligner::reach_back`]; false when
    /// several exist.
    fn only_roles(&mut self, units: &[Unit], pattern: &Pattern, repeats: bool) -> bool {
        let length = pattern.elements.len();
        let roles = &mut self.current.roles;
        roles.clear();
        let mut k = 0;
        for (index, unit) in units.iter().enumerate() {
            let class = unit.class_in(&self.tables.characters);
            let next = match units.len() - index {
                1 => 1 << length,
                left => self.reached[left - 2],
            };
            let reads = pattern.elements.get(k).is_some_and(|element| class.reads_as(element.symbol));
            let advances = reads && next & (1 << (k + 1)) != 0;
            let stays = next & (1 << k) != 0;
            let is_gap = stays && class.is(kind::SEPARATOR) && k > 0 && k < length;
            let is_repeat = stays && reads && repeats;
            if u8::from(advances) + u8::from(is_gap) + u8::from(is_repeat) != 1 {
                return false;
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
        true
    }

    /// Chooses, among all assignments of the units to the pattern's letters, the one with the fewest deviations.
    fn cheapest_roles(&mut self, units: &[Unit], pattern: &Pattern, repeats: bool) -> bool {
        const NEVER: u16 = u16::MAX;
        let tables = self.tables;
        let length = pattern.elements.len();
        let width = length + 1;
        // costs[i * width + k] is the cost of assigning the units from i on to the elements from k on.
        let costs = &mut self.costs;
        costs.clear();
        costs.resize((units.len() + 1) * width, NEVER);
        costs[units.len() * width + length] = 0;
        let options = |index: usize, k: usize, costs: &[u16]| {
            let class = units[index].class_in(&tables.characters);
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
                let best = options(index, k, costs).into_iter().flatten().map(|(cost, _)| cost).min();
                costs[index * width + k] = best.unwrap_or(NEVER);
            }
        }
        let roles = &mut self.current.roles;
        roles.clear();
        let mut k = 0;
        for index in 0..units.len() {
            match options(index, k, costs).into_iter().flatten().min_by_key(|(cost, _)| *cost) {
                Some((cost, role)) if cost != NEVER => {
                    k += usize::from(matches!(role, Role::Element(_)));
                    roles.push(role);
                }
                _ => return false,
            }
        }
        true
    }
}
