//! The report on the business from the log: revenue, latency, cache, mail, errors, filter and crosscheck (Audit Trail,
//! derived analytics). [`crate::Aggregate`] makes it.

use audit::{Source, Status};
use domain::Tier;
use serde::Serialize;

/// The latency in milliseconds above which a single verdict indicates a fault (Audit Trail, verification criterion 2).
pub const SLOW_MS: u64 = 60_000;

/// The latency in milliseconds that 95 of 100 answers to agents may not pass (Audit Trail, verification criterion 2).
pub const TOLL_SLOW_MS: u64 = 5_000;

/// The report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Sales with at least one record. A follow-up is part of its session's sale.
    pub sales: u64,
    /// Records.
    pub records: u64,
    /// Records that could not be read.
    pub unreadable: u64,
    /// The currency of all amounts, as Stripe writes it.
    pub currency: &'static str,
    /// Sales with more than one first verdict: work was done twice (Audit Trail, verification criterion 3).
    pub processed_twice: u64,
    /// First verdicts that took longer than [`SLOW_MS`] (Audit Trail, verification criterion 2).
    pub slow_verdicts: u64,
    /// Revenue by day and tier, in order.
    pub revenue: Vec<Revenue>,
    /// Sales that failed, or were held or unusable, and whose last record leaves them without a verdict.
    pub without_verdict: u64,
    /// Sales without a verdict that were refunded in the period, also those that failed in an earlier one.
    pub refunds_without_verdict: u64,
    /// Sales that were paid with another amount or currency than their price: mostly because of promotion codes, or
    /// because an operator chose the tier.
    pub other_amounts: u64,
    /// The sum of these differences for sales in Canadian dollars, in cents: negative for rebates. Revenue already
    /// includes it; money in another currency is in no sum.
    pub other_amounts_cents: i64,
    /// Latency by tier and step.
    pub latency: Vec<Latency>,
    /// The sources of verdicts on the page.
    pub retrievals: Retrievals,
    /// Mails.
    pub mails: Mails,
    /// The most frequent errors.
    pub errors: Vec<Counted>,
    /// The number of all other errors.
    pub other_errors: u64,
    /// Outcomes of the content filter.
    pub filter: Vec<Filtered>,
    /// Outcomes of the crosscheck.
    pub crosscheck: Vec<Crosschecked>,
    /// Regenerated verdicts by their difference to the first one (Regen Consistency, failure mode 6).
    pub divergences: Vec<Diverged>,
    /// Sales to agents for USDC, which are in none of the sums above.
    pub toll: Toll,
}

/// Sales to agents for USDC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Toll {
    /// Answers by day and endpoint, in order.
    pub revenue: Vec<TollRevenue>,
    /// The number of payments by status, including those that bought nothing.
    pub outcomes: Vec<TollOutcome>,
    /// The latency from the request to the answer's settlement, by endpoint.
    pub latency: Vec<TollLatency>,
}

/// Answers sold on a day at an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TollRevenue {
    pub day: String,
    pub endpoint: String,
    pub sold: u64,
    pub usdc_millionths: u64,
}

/// The number of payments with a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TollOutcome {
    pub status: &'static str,
    pub count: u64,
}

/// The latency of answers, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TollLatency {
    pub endpoint: String,
    pub count: u64,
    pub p50_ms: u64,
    pub p95_ms: u64,
    pub p99_ms: u64,
    pub greatest_ms: u64,
}

/// Revenue of a day and a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Revenue {
    /// The day (UTC).
    pub day: String,
    /// The tier.
    pub tier: Tier,
    /// First verdicts on that day.
    pub sold: u64,
    /// The amounts charged for them.
    pub gross_cents: i64,
    /// Refunds on that day of delivered sales.
    pub refunds: u64,
    /// The gross less the refunds, and with the refunds of earlier periods that failed on that day.
    pub net_cents: i64,
}

/// Latency of a step, in milliseconds; the quantiles with [`crate::histogram::RELATIVE_ERROR`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Latency {
    pub tier: Option<Tier>,
    pub step: Step,
    pub count: u64,
    pub p50_ms: u64,
    pub p95_ms: u64,
    pub p99_ms: u64,
    pub greatest_ms: u64,
}

/// The sources of verdicts on the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retrievals {
    /// From the cache.
    pub cache: u64,
    /// Restored from the archive.
    pub archive: u64,
    /// Generated again.
    pub regenerated: u64,
}

/// Mails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mails {
    /// EMAIL_SENT records.
    pub sent: u64,
    /// EMAIL_FAILED records.
    pub failed: u64,
}

/// An error and its number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Counted {
    pub detail: String,
    pub count: u64,
}

/// An outcome of the content filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Filtered {
    pub gate: u8,
    pub outcome: String,
    pub count: u64,
}

/// An outcome of the crosscheck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Crosschecked {
    pub approved: bool,
    pub reason: String,
    pub count: u64,
}

/// Regenerated verdicts with the same difference to the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diverged {
    /// `none`, `minor` or `significant`; `unknown` if the first verdict is not known.
    pub level: String,
    /// Their number.
    pub count: u64,
}

domain::enum_with_words! {
    /// A step that a customer, or an operator, waits for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Step {
        /// From the paid event to the first verdict.
        Verdict = "verdict",
        /// From the paid event to the end without a verdict.
        VerdictFailed = "verdict failed",
        /// The page, from the cache.
        Page = "page",
        /// The page, from the archive.
        PageFromArchive = "page from archive",
        /// From the order of a second verdict to that verdict.
        Regeneration = "regeneration",
        /// From the order of the mail to its acceptance.
        Mail = "mail",
        /// From the order of the mail to a failure.
        MailFailed = "mail failed",
    }
    /// The step in words.
    pub const fn words;
}

impl Step {
    /// The step of a record with this source and status, if it is one.
    pub(crate) const fn of(source: Source, status: Status) -> Option<Self> {
        match (source, status) {
            (Source::Webhook, Status::Ok) => Some(Self::Verdict),
            (Source::Webhook, Status::Error) => Some(Self::VerdictFailed),
            (Source::CacheHit, Status::Cached) => Some(Self::Page),
            (Source::ResultPage, Status::Cached) => Some(Self::PageFromArchive),
            (Source::ResultPage, Status::Regenerated) => Some(Self::Regeneration),
            (Source::EmailService, Status::EmailSent) => Some(Self::Mail),
            (Source::EmailService, Status::EmailFailed) => Some(Self::MailFailed),
            _ => None,
        }
    }
}
