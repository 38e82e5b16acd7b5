//! Deliberate defects, and the hunt for them: a simulation that finds nothing proves nothing unless it finds these.

use crate::{Rule, Violation, simulate};

/// A defect that can be planted.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// Its name where it is planted: `domain::planted("…")`.
    pub name: &'static str,
    /// Where that is.
    pub place: &'static str,
}

/// The world that shows a defect.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its seed; without the defect, every promise holds in it.
    pub seed: u64,
    /// How many worlds were tried.
    pub worlds: u64,
    /// The rule that the defect broke.
    pub violation: Violation,
}

impl Bug {
    /// Whether it keeps humans from being told.
    fn silences(self) -> bool {
        ["alerts-lost", "drop-not-alerted"].contains(&self.name)
    }
}

const fn bug(name: &'static str, place: &'static str) -> Bug {
    Bug { name, place }
}

/// Every defect there is, by where it is planted: in the functions, in what they share, and in what surrounds them.
pub const BUGS: [Bug; 50] = [
    bug("event-taken-without-queue", "functions/webhook"),
    bug("late-payment-ignored", "functions/webhook"),
    bug("notice-into-wrong-queue", "functions/webhook"),
    bug("unpaid-session-ordered", "functions/webhook"),
    bug("unusable-session-dropped", "functions/webhook"),
    bug("archive-error-swallowed", "functions/verdict"),
    bug("asked-until-it-pleases", "functions/verdict"),
    bug("failure-not-recorded", "functions/verdict"),
    bug("finished-sale-left-alone", "functions/verdict"),
    bug("first-failure-final", "functions/verdict"),
    bug("held-verdict-cached", "functions/verdict"),
    bug("held-without-payload", "functions/verdict"),
    bug("mail-order-error-swallowed", "functions/verdict"),
    bug("mail-ordered-before-cache", "functions/verdict"),
    bug("open-circuit-ignored", "functions/verdict"),
    bug("order-error-acknowledged", "functions/verdict"),
    bug("payment-not-confirmed", "functions/verdict"),
    bug("verdict-made-unclaimed", "functions/verdict"),
    bug("verdict-saved-unowned", "functions/verdict"),
    bug("gone-draft-called-sent", "functions/email-sender"),
    bug("mail-end-not-recorded", "functions/email-sender"),
    bug("mail-error-acknowledged", "functions/email-sender"),
    bug("mail-recorded-before-it-is-sent", "functions/email-sender"),
    bug("mail-sent-unclaimed", "functions/email-sender"),
    bug("passing-mail-failure-final", "functions/email-sender"),
    bug("surplus-draft-sent", "functions/email-sender"),
    bug("page-calls-review-failure", "functions/result"),
    bug("page-ignores-archive", "functions/result"),
    bug("page-orders-unpaid", "functions/result"),
    bug("drop-mail-error-swallowed", "functions/silent-drop"),
    bug("drop-not-alerted", "functions/silent-drop"),
    bug("drop-recorded-twice", "functions/silent-drop"),
    bug("chain-not-linked", "shared/audit"),
    bug("conflict-saved-over", "shared/audit"),
    bug("log-error-swallowed", "shared/audit"),
    bug("records-published-before-the-save", "shared/audit"),
    bug("lease-ignored", "shared/domain"),
    bug("mail-claim-forgets-draft", "shared/domain"),
    bug("sent-mail-claimed-again", "shared/domain"),
    bug("gate-2-open", "shared/gates"),
    bug("failures-not-reported", "shared/runtime"),
    bug("unreadable-message-taken", "shared/runtime"),
    bug("alerts-lost", "the ports"),
    bug("cache-under-wrong-key", "the ports"),
    bug("cache-write-lost", "the ports"),
    bug("log-write-lost", "the ports"),
    bug("mailbox-sends-again", "the ports"),
    bug("save-without-condition", "the ports"),
    bug("message-acknowledged-before-work", "the queues"),
    bug("never-given-up", "the queues"),
];

/// Looks for a world in which the planted defect breaks a promise that holds without it. `None` when none of the
/// worlds of seeds 1 to `most` does.
#[must_use]
pub fn hunt(bug: Bug, most: u64) -> Option<Found> {
    (1..=most).find_map(|seed| {
        let violation = with(bug, || simulate(seed, false)).violation?;
        // What is known not to hold (see the test of a thousand worlds) shows with any defect.
        if violation.rule == Rule::HumanTold && !bug.silences() {
            return None;
        }
        // A world that is broken anyway shows nothing.
        simulate(seed, false).violation.is_none().then_some(Found { seed, worlds: seed, violation })
    })
}

/// Runs something with a defect planted.
pub fn with<T>(bug: Bug, run: impl FnOnce() -> T) -> T {
    domain::planted::plant(Some(bug.name));
    let outcome = run();
    domain::planted::plant(None);
    outcome
}
