//! Counts of what happened in a run.

use crate::ends::End;
use std::collections::BTreeMap;

/// Counts over one or more worlds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Worlds.
    pub worlds: u64,
    /// Customers who came, whether they paid or not.
    pub sales: u64,
    /// Sales by how they ended.
    pub ends: BTreeMap<End, u64>,
    /// Effects begun, by boundary.
    pub boundaries: BTreeMap<&'static str, u64>,
    /// Faults that struck, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Follow-ups and messages in the inbox, by what happened.
    pub follow_ups: BTreeMap<&'static str, u64>,
    /// Governed questions by their state at the authority gate, on the site and by a paid Payment Link.
    pub governed: BTreeMap<(&'static str, &'static str), u64>,
    /// Invocations, by what started them.
    pub invocations: BTreeMap<&'static str, u64>,
    /// Decisions of operators that were carried out.
    pub decisions: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub(crate) fn count_fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub(crate) fn count_follow_up(&mut self, what: &'static str) {
        *self.follow_ups.entry(what).or_default() += 1;
    }

    pub(crate) fn count_governed(&mut self, state: &'static str, way: &'static str) {
        *self.governed.entry((state, way)).or_default() += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.sales += other.sales;
        sum(&mut self.ends, &other.ends);
        sum(&mut self.boundaries, &other.boundaries);
        sum(&mut self.faults, &other.faults);
        sum(&mut self.follow_ups, &other.follow_ups);
        sum(&mut self.governed, &other.governed);
        sum(&mut self.invocations, &other.invocations);
        sum(&mut self.decisions, &other.decisions);
    }
}

fn sum<K: Copy + Ord>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, number) in from {
        *into.entry(*key).or_default() += number;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} worlds, {} sales", self.worlds, self.sales)?;
        writeln!(f, "\nends:")?;
        for (end, number) in &self.ends {
            writeln!(f, "  {number:>9} {end:?}")?;
        }
        writeln!(f, "\ngoverned questions:")?;
        for ((state, way), number) in &self.governed {
            writeln!(f, "  {number:>9} {state} {way}")?;
        }
        for (title, numbers) in [
            ("faults", &self.faults),
            ("follow-ups", &self.follow_ups),
            ("boundaries", &self.boundaries),
            ("invocations", &self.invocations),
            ("decisions carried out", &self.decisions),
        ] {
            writeln!(f, "\n{title}:")?;
            for (name, number) in numbers {
                writeln!(f, "  {number:>9} {name}")?;
            }
        }
        Ok(())
    }
}
