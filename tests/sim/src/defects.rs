//! Defects of the functions' surroundings, which test the checker: for each of them there must be a world in which a
//! promise is broken with the defect and holds without it.
//!
//! Each defect is a port or a queue that does not keep its contract ([`crate::ports`], [`crate::queues`]), so the
//! functions run as they are deployed. Defects of their code are what `cargo xtask mutants` is for.

use crate::{Rule, Violation, simulate_with};
use domain::open_work::Work;
use std::fmt;

/// One way in which a port or a queue does not keep its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The store saves a sale whatever version is stored.
    VersionIgnored,
    /// The store reports a sale as saved and does not save it.
    SaleLost,
    /// The store saves a sale without its pending alerts.
    PendingAlertsLost,
    /// The store saves a sale without its unpublished records.
    PendingRecordsLost,
    /// The store saves a sale without its verdict.
    VerdictLost,
    /// The store caches a verdict under another sale's key.
    VerdictUnderOtherKey,
    /// The store caches a verdict with a placeholder in place of its summary.
    VerdictHollowed,
    /// The store caches a verdict with a term for which the content filter holds a text.
    VerdictContaminated,
    /// The store returns a cached verdict with another question.
    AnotherQuestionRead,
    /// The store opens a follow-up although there is one.
    FollowUpReplaced,
    /// The store opens a follow-up without its text.
    FollowUpTextLost,
    /// The list of due sales leaves out those with this work.
    WorkUnlisted(Work),
    /// The log reports a record as written and does not write it.
    RecordLost,
    /// The log reports a record as written although the write failed.
    RecordErrorSwallowed,
    /// The log changes a record that it writes.
    RecordAltered,
    /// The log forks: it writes each record under a second key too.
    LogForked,
    /// Alerts are lost, all of them.
    AlertsLost,
    /// Alerts are lost whose line contains this text.
    AlertsLostAbout(&'static str),
    /// Alerts name an address.
    AddressInAlerts,
    /// The archive reports a verdict as kept although the write failed.
    ArchiveErrorSwallowed,
    /// The archive finds nothing.
    ArchiveEmpty,
    /// The archive cannot be read.
    ArchiveUnreadable,
    /// The quarantine does not keep the payload.
    PayloadLost,
    /// The dead letter's object is not kept.
    DeadLetterLost,
    /// The stores of an erased sale report its data as removed and keep it.
    DataKept,
    /// An open circuit of a model reads as closed.
    CircuitReadsClosed,
    /// Stripe's session reads as paid.
    UnpaidReadsPaid,
    /// Stripe's session reads as unpaid.
    PaidReadsUnpaid,
    /// The question of a Payment Link's session reads as one that is sold.
    QuestionReplaced,
    /// Stripe reports a refund and makes none.
    RefundLost,
    /// Stripe's list of paid sessions is empty.
    CompletedSessionsUnlisted,
    /// Stripe's lists of refunds and disputes are empty.
    ReportsUnlisted,
    /// The mailbox sends a draft again that it has sent already.
    SentDraftSentAgain,
    /// The mailbox reports a draft as sent and does not send it.
    MailLost,
    /// The mailbox reports a draft as sent although sending failed.
    MailErrorSwallowed,
    /// The claim on the draft of a mail that a service sends is lost.
    MailClaimLost,
    /// The mailbox reports every draft that no longer exists as sent.
    GoneDraftReadsSent,
    /// This queue reports a message as sent although sending failed.
    QueueErrorSwallowed(&'static str),
    /// This queue loses every message.
    QueueLoses(&'static str),
    /// Messages for the first queue go into the second.
    QueueMixedUp(&'static str, &'static str),
    /// This queue's messages are acknowledged although their handler failed.
    FailureAcknowledged(&'static str),
    /// Messages that cannot be read are acknowledged.
    UnreadableAcknowledged,
    /// Messages are acknowledged before their handler runs.
    AcknowledgedBeforeWork,
    /// Queues deliver a message for ever.
    NeverDeadLettered,
}

/// Every defect that the checker must notice.
pub const DEFECTS: [Defect; 61] = [
    Defect::VersionIgnored,
    Defect::SaleLost,
    Defect::PendingAlertsLost,
    Defect::PendingRecordsLost,
    Defect::VerdictLost,
    Defect::VerdictUnderOtherKey,
    Defect::VerdictHollowed,
    Defect::VerdictContaminated,
    Defect::AnotherQuestionRead,
    Defect::FollowUpReplaced,
    Defect::FollowUpTextLost,
    Defect::WorkUnlisted(Work::InFlight),
    Defect::WorkUnlisted(Work::Refund),
    Defect::RecordLost,
    Defect::RecordErrorSwallowed,
    Defect::RecordAltered,
    Defect::LogForked,
    Defect::AlertsLost,
    Defect::AlertsLostAbout("[ORACLE-DEADLINES]"),
    Defect::AlertsLostAbout("[ORACLE-PAYMENT]"),
    Defect::AlertsLostAbout("[ORACLE-QUARANTINE]"),
    Defect::AlertsLostAbout("[ORACLE-VERDICT]"),
    Defect::AlertsLostAbout("[SILENT-DROP]"),
    Defect::AlertsLostAbout("DEAD LETTER"),
    Defect::AddressInAlerts,
    Defect::ArchiveErrorSwallowed,
    Defect::ArchiveEmpty,
    Defect::ArchiveUnreadable,
    Defect::PayloadLost,
    Defect::DeadLetterLost,
    Defect::DataKept,
    Defect::CircuitReadsClosed,
    Defect::UnpaidReadsPaid,
    Defect::PaidReadsUnpaid,
    Defect::QuestionReplaced,
    Defect::RefundLost,
    Defect::CompletedSessionsUnlisted,
    Defect::ReportsUnlisted,
    Defect::SentDraftSentAgain,
    Defect::MailLost,
    Defect::MailErrorSwallowed,
    Defect::MailClaimLost,
    Defect::GoneDraftReadsSent,
    Defect::QueueErrorSwallowed("orders"),
    Defect::QueueErrorSwallowed("email"),
    Defect::QueueErrorSwallowed("notices"),
    Defect::QueueLoses("orders"),
    Defect::QueueLoses("email"),
    Defect::QueueLoses("email-retry"),
    Defect::QueueLoses("notices"),
    Defect::QueueLoses("payments"),
    Defect::QueueMixedUp("notices", "orders"),
    Defect::QueueMixedUp("payments", "orders"),
    Defect::FailureAcknowledged("orders"),
    Defect::FailureAcknowledged("email"),
    Defect::FailureAcknowledged("email-retry"),
    Defect::FailureAcknowledged("notices"),
    Defect::FailureAcknowledged("payments"),
    Defect::UnreadableAcknowledged,
    Defect::AcknowledgedBeforeWork,
    Defect::NeverDeadLettered,
];

impl Defect {
    /// The rules that have to find it. More than one only where chance decides which breaks first.
    #[must_use]
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::VersionIgnored => &[Rule::Recorded, Rule::Claims, Rule::States],
            Self::SaleLost | Self::PendingRecordsLost | Self::RecordLost | Self::RecordErrorSwallowed => {
                &[Rule::Recorded]
            }
            Self::RecordAltered | Self::LogForked => &[Rule::Chain],
            Self::PendingAlertsLost | Self::AlertsLost | Self::AlertsLostAbout(_) => &[Rule::HumanAlerted],
            Self::VerdictLost | Self::VerdictUnderOtherKey => &[Rule::CacheBeforeMail],
            Self::VerdictHollowed => &[Rule::NothingHollow],
            Self::VerdictContaminated => &[Rule::NothingBlocked],
            Self::AnotherQuestionRead => &[Rule::Page],
            Self::FollowUpReplaced => &[Rule::FollowUp, Rule::Recorded, Rule::EndsInTime],
            Self::FollowUpTextLost => &[Rule::FollowUp],
            Self::WorkUnlisted(Work::Refund) => &[Rule::EndsInTime],
            Self::WorkUnlisted(_) => &[Rule::Orphaned],
            Self::AcknowledgedBeforeWork => &[Rule::Orphaned, Rule::EndsInTime],
            Self::AddressInAlerts => &[Rule::Private],
            Self::ArchiveErrorSwallowed | Self::ArchiveEmpty => &[Rule::FirstVerdict],
            Self::ArchiveUnreadable => &[Rule::ServedFromArchive],
            Self::PayloadLost | Self::DeadLetterLost => &[Rule::Reviewable],
            Self::DataKept => &[Rule::Forgotten],
            Self::CircuitReadsClosed => &[Rule::Model],
            Self::UnpaidReadsPaid => &[Rule::PaidOnly],
            Self::PaidReadsUnpaid => &[Rule::Needless, Rule::Page, Rule::EndsInTime],
            Self::QuestionReplaced => &[Rule::Authority],
            Self::RefundLost | Self::ReportsUnlisted => &[Rule::Money],
            Self::CompletedSessionsUnlisted => &[Rule::EndsInTime],
            Self::SentDraftSentAgain
            | Self::MailLost
            | Self::MailErrorSwallowed
            | Self::MailClaimLost
            | Self::GoneDraftReadsSent => &[Rule::OneMail],
            Self::QueueErrorSwallowed(_) | Self::QueueLoses(_) | Self::FailureAcknowledged(_) => {
                &[Rule::Orphaned, Rule::EndsInTime, Rule::Money]
            }
            Self::QueueMixedUp(..) | Self::UnreadableAcknowledged | Self::NeverDeadLettered => &[Rule::Queues],
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The world that shows a defect.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its seed; without the defect, every promise holds in it.
    pub seed: u64,
    /// The rule that the defect broke.
    pub violation: Violation,
}

/// Looks for a world in which the defect breaks one of its rules, and no rule is broken without it.
///
/// # Errors
/// None of the worlds of seeds 1 to `most` does; the first of them in which the defect breaks another rule, if any.
pub fn hunt(defect: Defect, most: u64) -> Result<Found, Option<Found>> {
    let mut other = None;
    for seed in 1..=most {
        let Some(violation) = simulate_with(seed, false, Some(defect)).violation else { continue };
        let is_named = defect.rules().contains(&violation.rule);
        // A world in which a promise is broken without the defect shows nothing.
        if (!is_named && other.is_some()) || simulate_with(seed, false, None).violation.is_some() {
            continue;
        }
        let found = Found { seed, violation };
        if is_named {
            return Ok(found);
        }
        other = Some(found);
    }
    Err(other)
}
