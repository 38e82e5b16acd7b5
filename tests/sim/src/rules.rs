//! The rules that must hold, by name.

/// A promise that a simulation checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// At most one mail of each letter per session (Email Retry, INV-03), and only a recorded draft.
    OneMail,
    /// Nothing reaches a page or a mailbox, or is cached, that the content filter would stop.
    NothingBlocked,
    /// No verdict is sold that has no text in a field that its tier sells.
    NothingHollow,
    /// A mail shows the verdict that its page shows, and only once the page can (Product Tiers, invariant 4).
    CacheBeforeMail,
    /// Nothing is asked, ordered or sent for a session that is not paid (Verdict Pipeline, invariant 1).
    PaidOnly,
    /// A state changes along the sale's life only, and never away from an end.
    States,
    /// A worker claims a sale before it works on it, and no claim is taken from a living worker.
    Claims,
    /// Every change of state has its records, saved with it, and no record is lost (Audit Trail).
    Recorded,
    /// The log's chain has no gap, no fork and no edit.
    Chain,
    /// The model is asked within its ceiling, and never again for another opinion (Gemini Timeout, invariant 2).
    Model,
    /// A first verdict is never replaced while it can be read (Regen Consistency).
    FirstVerdict,
    /// What is held can be reviewed: its payload is put aside first (content filter, GAP-L).
    Reviewable,
    /// The page shows the state of the sale.
    Page,
    /// While the table cannot be read, pages show the verdicts that the archive has.
    ServedFromArchive,
    /// Every paid sale ends in time, or is on a human's list.
    EndsInTime,
    /// Every unfinished sale has a message in a queue. The deadlines function restarts a sale only if a process died
    /// whose work no queue delivers again.
    Orphaned,
    /// Money goes back once, and by an authority on record: an operator, or the policy where it may decide. Nothing
    /// is made or mailed afterwards (Silent Drop, invariant 6).
    Money,
    /// Operators are alerted to a sale that needs them, and find it in a list.
    HumanAlerted,
    /// No message moves to a dead-letter queue that later receives would have finished.
    NotGivenUp,
    /// No sale that the code can finish is put on a human's list.
    Needless,
    /// Unreadable messages end in a dead-letter queue, and no chain of messages is endless.
    Queues,
    /// What the authority gate does not sell is not bought on the site, not asked of the model, and not kept (Authority
    /// Governance).
    Authority,
    /// A Strategy Session has one follow-up: an accepted one is answered, a second one is not, and every message in the
    /// inbox is announced and leads to a follow-up or to a person.
    FollowUp,
    /// No address and no question in alerts, logs or queues.
    Private,
    /// After an erasure nothing more is generated, sent or shown, and no store keeps anything of the sale.
    Forgotten,
}

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// What happened, without any customer's text.
    pub detail: String,
}

impl Rule {
    pub(crate) fn broken(self, detail: impl Into<String>) -> Violation {
        Violation { rule: self, detail: detail.into() }
    }

    /// An error unless `holds`.
    pub(crate) fn require(self, holds: bool, detail: impl FnOnce() -> String) -> Result<(), Violation> {
        if holds { Ok(()) } else { Err(self.broken(detail())) }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.detail)
    }
}
