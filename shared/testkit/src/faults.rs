//! What goes wrong, and where.

use std::{collections::BTreeMap, time::Duration};

/// What happens at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The effect is not done and an error comes back.
    Fail,
    /// The effect is done and an error comes back.
    LoseReply,
    /// The process dies before the effect.
    CrashBefore,
    /// The process dies after the effect.
    CrashAfter,
    /// A vendor answers with this HTTP status, and nothing is done. Where there is no vendor, the same as `Fail`.
    Refuse(u16),
}

/// What an effect meets: how long the way takes, what goes wrong, how long the reply takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Time until the effect is done.
    pub before: Duration,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// Time until its reply arrives.
    pub after: Duration,
}

/// Why a port has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nobody knows whether the effect was done.
    Failed,
    /// The vendor said no, with this status.
    Refused(u16),
}

/// The faults of one run, by boundary number (from 0).
#[derive(Clone, Debug, Default)]
pub struct Plan {
    at: BTreeMap<usize, Fault>,
    named: Vec<(&'static str, Fault)>,
}

impl Plan {
    /// Nothing goes wrong.
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
