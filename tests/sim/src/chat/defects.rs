//! Defects of a port that the checker must detect: each breaks one contract that the chat relies on.

use super::{Broken, Promise, simulate_chat};

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
    /// Every session is that of one customer.
    SessionOfAnother,
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
pub const DEFECTS: [ChatDefect; 32] = [
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
    ChatDefect::SessionOfAnother,
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

impl ChatDefect {
    /// The promises that it has to break. More than one only where chance decides which is broken first.
    #[must_use]
    pub const fn promises(self) -> &'static [Promise] {
        match self {
            Self::AccountVersionIgnored | Self::AccountLost | Self::CountWithoutReply => {
                &[Promise::OneReply, Promise::ThreeFree, Promise::NotForNothing, Promise::Recorded]
            }
            Self::EvaluationLost | Self::RecordLost | Self::RecordAltered | Self::LogForked => &[Promise::Recorded],
            Self::SubscriberLost | Self::OldReportKept => &[Promise::Latest],
            Self::BridgeVersionIgnored => {
                &[Promise::OneThread, Promise::OneLetter, Promise::OnlyGranted, Promise::Recorded]
            }
            Self::BridgeErasureLost => &[Promise::Erased, Promise::OneThread],
            Self::BridgeDraftLost => &[Promise::OneLetter],
            Self::AccessForAll | Self::AccessForNobody | Self::LatePaymentUnlisted => &[Promise::PaidAccess],
            Self::KeyKept | Self::KeyMadeAgain | Self::ErasureUnwritten | Self::ErasuresUnlisted => &[Promise::Erased],
            Self::MemoryLost => &[Promise::NotForNothing],
            Self::LinkKept | Self::SessionKept | Self::OtherSessionsKept => &[Promise::SignIn],
            Self::SessionOfAnother => &[Promise::Own],
            Self::FailureAcknowledged | Self::BillingUnlisted => &[Promise::Latest, Promise::PaidAccess],
            Self::AlertsLostAbout(_) => &[Promise::Alerted],
        }
    }
}

/// Searches for a world in which the defect breaks one of its promises.
///
/// # Errors
/// None of the worlds of seeds 1 to `most` shows it; the first in which it breaks another promise, if any.
pub fn hunt(defect: ChatDefect, most: u64) -> Result<(u64, Broken), Option<(u64, Broken)>> {
    let mut other = None;
    for seed in 1..=most {
        match simulate_chat(seed, false, Some(defect)).broken {
            Some(broken) if defect.promises().contains(&broken.promise) => return Ok((seed, broken)),
            Some(broken) => other = other.or(Some((seed, broken))),
            None => {}
        }
    }
    Err(other)
}
