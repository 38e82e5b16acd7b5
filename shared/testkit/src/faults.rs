//! The faults that a test injects, and their places.

use std::{collections::BTreeMap, time::Duration};

/// The fault at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The effect does not happen, and the caller gets an error.
    Fail,
    /// The effect happens, and the caller gets an error.
    LoseReply,
    /// The process crashes before the effect.
    CrashBefore,
    /// The process crashes after the effect.
    CrashAfter,
    /// A vendor replies with this HTTP status, and there is no effect. Without a vendor, the same as `Fail`.
    Refuse(u16),
}

/// The faults that any effect may have.
pub const FAULTS: [Fault; 4] = [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter];

/// One plan for each of [`FAULTS`] at each boundary of a run without faults, which passes `passed` boundaries. Each
/// plan comes with its name for messages.
///
/// # Panics
/// When the run has not more than `least` boundaries: then it ended too early, and its sweep would prove nothing.
pub fn every_single_fault(passed: usize, least: usize) -> impl Iterator<Item = (Plan, String)> {
    assert!(passed > least, "the run without faults passes only {passed} boundaries");
    let plan = |boundary: usize, fault: Fault| (Plan::at(boundary, fault), format!("{fault:?} at {boundary}"));
    (0..passed).flat_map(move |boundary| FAULTS.map(|fault| plan(boundary, fault)))
}

/// Every two of [`FAULTS`].
#[must_use]
pub fn pairs_of_faults() -> Vec<(Fault, Fault)> {
    FAULTS.iter().flat_map(|one| FAULTS.map(|other| (*one, other))).collect()
}

/// One plan for each of these pairs at two boundaries: the first is one of the `passed` boundaries of a run without
/// faults, the second comes later, and less than `more` after them. Each plan comes with its name for messages.
pub fn every_two_faults(passed: usize, more: usize, pairs: &[(Fault, Fault)]) -> impl Iterator<Item = (Plan, String)> {
    let places = (0..passed).flat_map(move |first| (first + 1..passed + more).map(move |second| (first, second)));
    places.flat_map(move |(first, second)| {
        pairs.iter().map(move |(one, other)| {
            (Plan::at(first, *one).and_at(second, *other), format!("{one:?} at {first}, {other:?} at {second}"))
        })
    })
}

/// The conditions of an effect: how long the request takes, the fault, how long the reply takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// The time until the effect happens.
    pub before: Duration,
    /// The fault, if any.
    pub fault: Option<Fault>,
    /// The time until its reply arrives.
    pub after: Duration,
}

/// Why a port returns an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is unknown whether the effect happened.
    Failed,
    /// The vendor refused, with this status.
    Refused(u16),
}

/// The faults of one run, by boundary number (from 0).
#[derive(Clone, Debug, Default)]
pub struct Plan {
    at: BTreeMap<usize, Fault>,
    named: Vec<(&'static str, Fault)>,
}

impl Plan {
    /// A plan without faults.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// One fault at one boundary.
    #[must_use]
    pub fn at(boundary: usize, fault: Fault) -> Self {
        Self::none().and_at(boundary, fault)
    }

    /// A further fault.
    #[must_use]
    pub fn and_at(mut self, boundary: usize, fault: Fault) -> Self {
        self.at.insert(boundary, fault);
        self
    }

    /// A fault at every boundary of this name.
    #[must_use]
    pub fn whenever(mut self, name: &'static str, fault: Fault) -> Self {
        self.named.push((name, fault));
        self
    }

    pub(crate) fn fault(&self, boundary: usize, name: &str) -> Option<Fault> {
        let named = || self.named.iter().find(|(wanted, _)| *wanted == name).map(|(_, fault)| *fault);
        self.at.get(&boundary).copied().or_else(named)
    }
}
