//! Defects of a port that the checker must detect: each breaks one contract that the chat relies on.

use super::{Broken, simulate_chat};

/// One defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatDefect {
    /// Saving an account overwrites concurrent changes.
    AccountVersionIgnored,
    /// Accounts are not saved, but the store reports success.
    AccountLost,
    /// An account is saved without its sealed replies.
    CountWithoutReply,
    /// An account is saved without the evaluations of its claims.
    EvaluationLost,
    /// Subscribers are not saved, but the store reports success.
    SubscriberLost,
    /// The store returns subscribers without their subscriptions, so that an old report replaces a newer one.
    OldReportKept,
    /// Saving a Bridge overwrites concurrent changes.
    BridgeVersionIgnored,
    /// The erasure of a Bridge is not saved, but the store reports success.
    BridgeErasureLost,
    /// A Bridge is saved without the draft of its letter.
    BridgeDraftLost,
    /// Every person has access.
    AccessForAll,
    /// No person has access.
    AccessForNobody,
    /// The key of an erased memory is kept.
    KeyKept,
    /// The key of an erased memory can be created again.
    KeyMadeAgain,
    /// The memory's log drops its writes.
    MemoryLost,
    /// The erasure of a log is not written.
    ErasureUnwritten,
    /// The log of records drops its writes.
    RecordLost,
    /// The log of records changes a record that it writes.
    RecordAltered,
    /// The log of records forks: it writes each record under a second key too.
    LogForked,
    /// A link can be used any number of times.
    LinkKept,
    /// A session that is signed out goes on.
    SessionKept,
    /// The other sessions of a customer who signs out everywhere go on.
    OtherSessionsKept,
    /// Interrupted erasures are not listed.
    ErasuresUnlisted,
    /// A failed message is removed from its queue.
    FailureAcknowledged,
    /// Stripe's subscriptions cannot be listed.
    BillingUnlisted,
    /// Stripe's list has only the paid invoices that were created within three days.
    LatePaymentUnlisted,
    /// Alerts are lost whose line contains this text.
    AlertsLostAbout(&'static str),
}

/// All defects that the checker must detect.
pub const DEFECTS: [ChatDefect; 31] = [
    ChatDefect::AccountVersionIgnored,
    ChatDefect::AccountLost,
    ChatDefect::CountWithoutReply,
    ChatDefect::EvaluationLost,
    ChatDefect::SubscriberLost,
    ChatDefect::OldReportKept,
    ChatDefect::BridgeVersionIgnored,
    ChatDefect::BridgeErasureLost,
    ChatDefect::BridgeDraftLost,
    ChatDefect::AccessForAll,
    ChatDefect::AccessForNobody,
    ChatDefect::KeyKept,
    ChatDefect::KeyMadeAgain,
    ChatDefect::MemoryLost,
    ChatDefect::ErasureUnwritten,
    ChatDefect::RecordLost,
    ChatDefect::RecordAltered,
    ChatDefect::LogForked,
    ChatDefect::LinkKept,
    ChatDefect::SessionKept,
    ChatDefect::OtherSessionsKept,
    ChatDefect::ErasuresUnlisted,
    ChatDefect::FailureAcknowledged,
    ChatDefect::BillingUnlisted,
    ChatDefect::LatePaymentUnlisted,
    ChatDefect::AlertsLostAbout("MONEY_BACK"),
    ChatDefect::AlertsLostAbout("MONEY_GONE"),
    ChatDefect::AlertsLostAbout("TWO_SUBSCRIPTIONS"),
    ChatDefect::AlertsLostAbout("BRIDGE_ACCEPTED"),
    ChatDefect::AlertsLostAbout("BRIDGE_MESSAGE"),
    ChatDefect::AlertsLostAbout("BRIDGE_LETTER"),
];

/// Searches for a world in which the defect breaks a promise: returns the first of seeds 1 to `most`, if any.
#[must_use]
pub fn hunt(defect: ChatDefect, most: u64) -> Option<(u64, Broken)> {
    (1..=most).find_map(|seed| Some((seed, simulate_chat(seed, false, Some(defect)).broken?)))
}
