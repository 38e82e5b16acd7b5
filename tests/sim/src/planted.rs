//! Deliberate defects, and the hunt for them: a simulation that finds nothing proves nothing unless it finds these.

use crate::{Violation, simulate};

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

const fn bug(name: &'static str, place: &'static str) -> Bug {
    Bug { name, place }
}

/// Every defect there is, by where it is planted: in the functions, in what they share, and in what surrounds them.
pub const BUGS: [Bug; 74] = [
    bug("event-taken-without-queue", "functions/webhook"),
    bug("late-payment-ignored", "functions/webhook"),
    bug("notice-into-wrong-queue", "functions/webhook"),
    bug("payment-change-into-wrong-queue", "functions/webhook"),
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
    bug("dead-letter-not-kept", "shared/pipeline/delivery"),
    bug("given-up-mail-not-alerted", "shared/pipeline/delivery"),
    bug("gone-draft-called-sent", "shared/pipeline/delivery"),
    bug("mail-end-not-recorded", "shared/pipeline/delivery"),
    bug("mail-error-acknowledged", "shared/pipeline/delivery"),
    bug("mail-failure-not-recorded", "shared/pipeline/delivery"),
    bug("mail-recorded-before-it-is-sent", "shared/pipeline/delivery"),
    bug("mail-sent-unclaimed", "shared/pipeline/delivery"),
    bug("passing-mail-failure-final", "shared/pipeline/delivery"),
    bug("retry-forgets-draft", "shared/pipeline/delivery"),
    bug("surplus-draft-sent", "shared/pipeline/delivery"),
    bug("retry-not-passed-on", "functions/email-sender"),
    bug("waiting-retry-dropped", "functions/email-retry"),
    bug("page-calls-review-failure", "functions/result"),
    bug("page-ignores-archive", "functions/result"),
    bug("page-orders-unpaid", "functions/result"),
    bug("drop-mail-error-swallowed", "functions/silent-drop"),
    bug("drop-not-alerted", "functions/silent-drop"),
    bug("drop-recorded-twice", "functions/silent-drop"),
    bug("chase-without-message", "functions/deadlines"),
    bug("policy-refunds-unusable", "functions/deadlines"),
    bug("refund-not-asked-again", "functions/deadlines"),
    bug("reminder-not-alerted", "functions/deadlines"),
    bug("dispute-not-alerted", "functions/payment-events"),
    bug("payment-change-ignored", "functions/payment-events"),
    bug("payment-change-not-recorded", "functions/payment-events"),
    bug("missing-sale-not-ordered", "functions/reconcile"),
    bug("refund-authority-not-recorded", "shared/pipeline/refund"),
    bug("reattempt-not-recorded", "shared/pipeline/operations"),
    bug("redrive-forgets-draft", "shared/pipeline/operations"),
    bug("alert-after-the-save", "shared/audit"),
    bug("alert-not-in-the-change", "shared/audit"),
    bug("alerts-dropped-at-flush", "shared/audit"),
    bug("chain-not-linked", "shared/audit"),
    bug("conflict-saved-over", "shared/audit"),
    bug("log-error-swallowed", "shared/audit"),
    bug("records-published-before-the-save", "shared/audit"),
    bug("lease-ignored", "shared/domain"),
    bug("mail-after-refund", "shared/domain"),
    bug("mail-claim-forgets-draft", "shared/domain"),
    bug("sent-mail-claimed-again", "shared/domain"),
    bug("verdict-after-refund", "shared/domain"),
    bug("gate-2-open", "shared/pipeline/gates"),
    bug("failures-not-reported", "shared/platform/runtime"),
    bug("unreadable-message-taken", "shared/platform/runtime"),
    bug("alerts-lost", "the ports"),
    bug("cache-under-wrong-key", "the ports"),
    bug("cache-write-lost", "the ports"),
    bug("log-write-lost", "the ports"),
    bug("mailbox-sends-again", "the ports"),
    bug("refund-key-not-known", "the ports"),
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
