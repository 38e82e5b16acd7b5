//! Decides whether a held or cleaned text may go to a customer: plain data in, a result with its audit records out.

use audit::{Record, hash};
use authority::{Evaluation, ReplyProblem};
use crosscheck::constants::PHI;
use domain::{CachedVerdict, Query, Sale, Tier, Timestamp, Verdict, ports::CacheEntry, texts};
use filter::Outcome;
use gates::Gate;
use serde::Deserialize;
use serde_json::Value;

/// Why a text may not be delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The quarantine has no payload for this hold.
    #[error("the held payload is not in the quarantine")]
    NoPayload,
    /// It is not a verdict of its tier.
    #[error("it is no verdict of its tier: {0}")]
    Structure(String),
    /// The crosscheck rejects it.
    #[error("the crosscheck rejects it: {0}")]
    Crosscheck(String),
    /// It leaves a field empty that the tier sells.
    #[error("it is hollow: {}", .0.join(", "))]
    Hollow(Vec<String>),
    /// The filter holds it.
    #[error("the content filter holds it ({terms} blocked term(s), gate {gate}, list {list_version})")]
    Blocked {
        /// The gate.
        gate: Gate,
        /// The number of blocked terms.
        terms: usize,
        /// The version of the block list.
        list_version: String,
    },
    /// It breaks the grammar of a narrative answer.
    #[error("it breaks the grammar of a narrative answer: {0}")]
    Grammar(ReplyProblem),
    /// The authority gate refuses its question, and no role may approve it, or those who may have not.
    #[error("the authority gate refuses the question: {0}")]
    Question(&'static str),
    /// The authority gate refuses its question, and the lock cannot be overridden. A decision's attempt is recorded.
    #[error("the authority gate refuses the question: {0}; child safety and self-harm are not subject to human lock")]
    Locked(&'static str),
}

/// The payload of one hold in the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A verdict, held before the cache or before the page.
    Verdict(Value),
    /// A mail, held before it was sent.
    Mail {
        /// Its subject.
        subject: String,
        /// Its body.
        body: String,
    },
}

#[derive(Deserialize)]
struct StoredPayload {
    gate: Gate,
    held_at: String,
    payload: Value,
}

#[derive(Deserialize)]
struct StoredMail {
    subject: String,
    body: String,
}

/// The payload of one hold, out of all that the quarantine has of a sale. A worker that crashed after it stored the
/// payload and before it held the sale leaves a payload that belongs to no hold.
///
/// # Errors
/// [`Refusal::NoPayload`].
pub fn held(payloads: &[String], gate: Gate, held_at: Timestamp) -> Result<Held, Refusal> {
    let kept = payloads.iter().filter_map(|payload| serde_json::from_str::<StoredPayload>(payload).ok());
    let held_at = held_at.to_iso();
    let this = kept.into_iter().find(|kept| kept.gate == gate && kept.held_at == held_at);
    let payload = this.ok_or(Refusal::NoPayload)?.payload;
    Ok(match serde_json::from_value::<StoredMail>(payload.clone()) {
        Ok(StoredMail { subject, body }) => Held::Mail { subject, body },
        Err(_) => Held::Verdict(payload),
    })
}

/// A verdict that may be cached, with the records of its checks.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The verdict after gate 1, with its substitutes.
    pub verdict: Verdict,
    /// The records of the crosscheck and of the filter.
    pub records: Vec<Record>,
}

/// Checks a verdict like a model's reply: crosscheck, form, content, gate 1. If gate 1 replaces a term, the result must
/// pass too. `query` is the customer's question. `sold_without` is what the delivered verdict that this one replaces leaves
/// out too: operators do not invent it.
///
/// # Errors
/// [`Refusal`].
pub fn verdict(
    value: &Value,
    tier: Tier,
    query: &str,
    sold_without: &[String],
    now: Timestamp,
) -> Result<Examined, Refusal> {
    let check = crosscheck::crosscheck_value(value, tier);
    if !check.approved {
        return Err(Refusal::Crosscheck(format!("{:?}, flags {}", check.crosscheck_reason, check.flags.join(", "))));
    }
    let verdict: Verdict =
        serde_json::from_value(value.clone()).map_err(|error| Refusal::Structure(error.to_string()))?;
    if !verdict.is_complete_for(tier) {
        return Err(Refusal::Structure(format!("a {tier} verdict needs more blocks")));
    }
    let mut hollow = crosscheck::hollow(&verdict, tier, query);
    hollow.retain(|missing| !sold_without.contains(missing));
    if !hollow.is_empty() {
        return Err(Refusal::Hollow(hollow));
    }
    let verdict = verdict.for_tier(tier);
    let gate = gates::run(Gate::BeforeCache, verdict.texts());
    let records = vec![Record::crosscheck(now, now, PHI, &check, check.is_opposed()), gate.record(now, now)];
    let texts = gate.delivered().ok_or_else(|| blocked(&gate))?;
    let verdict = verdict.with_texts(texts);
    let again = gates::run(Gate::BeforeCache, verdict.texts());
    if again.outcome() == Outcome::Pass { Ok(Examined { verdict, records }) } else { Err(blocked(&again)) }
}

/// What a verdict needs if today's rules refuse its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Approvals of the question that are valid at this time: the customer does not have the verdict.
    Approvals(Timestamp),
    /// Roles that may approve the question: the verdict was delivered.
    Approvers,
}

impl Needs {
    /// Whether the sale has what its verdict needs, beside roles that may approve the question.
    fn are_met(self, query: &str, sale: &Sale, code: &str) -> bool {
        match self {
            Self::Approvers => true,
            Self::Approvals(now) => {
                Query::parse(query).is_ok_and(|query| sale.is_approved(&hash::query_hash(&query), code, now))
            }
        }
    }
}

/// Today's evaluation of a question of `sale`, with the question that it follows. Today's rules decide, although the
/// question could be answered when its verdict was made.
///
/// # Errors
/// [`Refusal::Question`] if today's rules refuse the question and what its verdict `needs` is missing;
/// [`Refusal::Locked`] if they lock it.
pub fn question(query: &str, first: Option<&str>, sale: &Sale, needs: Needs) -> Result<Evaluation, Refusal> {
    let locale = sale.locale();
    let evaluation = match first {
        Some(first) => authority::evaluate_followup(&[first], query, locale),
        None => authority::evaluate(query, locale),
    };
    let code = evaluation.reason_code();
    if evaluation.override_prohibited() {
        return Err(Refusal::Locked(code));
    }
    if evaluation.state().is_sold() {
        return Ok(evaluation);
    }
    evaluation.approved().filter(|_| needs.are_met(query, sale, code)).ok_or(Refusal::Question(code))
}

/// Checks a verdict of `sale`, as the filter delivers it, against the grammar of a narrative answer. Returns the notice
/// that it is shown with, if the answer is a narrative one. The filter itself is [`verdict`]'s and [`delivery`]'s check.
///
/// # Errors
/// [`Refusal::Grammar`], and those of [`question`].
pub fn grammar(cached: &CachedVerdict, sale: &Sale, needs: Needs) -> Result<Option<String>, Refusal> {
    let first = cached.first.as_ref().map(|first| first.query.as_str());
    let evaluation = question(&cached.query, first, sale, needs)?;
    let gate = gates::run(Gate::BeforeDelivery, cached.verdict.texts());
    gate.checked(|text| evaluation.check_reply(text)).map_err(Refusal::Grammar)?;
    Ok(evaluation.notice())
}

/// A verdict that takes the place of a cached one, with today's notice after the sentence about a regeneration.
///
/// # Errors
/// As [`grammar`].
pub fn replaced(cached: CachedVerdict, sale: &Sale, needs: Needs) -> Result<CachedVerdict, Refusal> {
    let is_announced = cached.notice.as_deref().is_some_and(|notice| notice.starts_with(texts::REGENERATED_NOTICE));
    let today = grammar(&cached, sale, needs)?;
    let parts = [is_announced.then_some(texts::REGENERATED_NOTICE), today.as_deref()];
    let notice = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Ok(CachedVerdict { notice: Some(notice).filter(|notice| !notice.is_empty()), ..cached })
}

/// Checks whether a mail or page that gate 2 held may be delivered now: the held text itself, and the cached verdict it
/// was made from.
///
/// # Errors
/// [`Refusal::Blocked`].
pub fn delivery(held: &Held, entry: &CacheEntry, now: Timestamp) -> Result<Vec<Record>, Refusal> {
    let gate = match held {
        Held::Mail { subject, body } => gates::before_mail(subject, body),
        Held::Verdict(value) => {
            let verdict: Verdict =
                serde_json::from_value(value.clone()).map_err(|error| Refusal::Structure(error.to_string()))?;
            gates::run(Gate::BeforeDelivery, verdict.texts())
        }
    };
    if gate.is_held() {
        return Err(blocked(&gate));
    }
    if let CacheEntry::Hit(cached) = entry {
        let page = gates::before_page(cached);
        if page.is_held() {
            return Err(blocked(&page));
        }
    }
    Ok(vec![gate.record(now, now)])
}

fn blocked(run: &gates::Run) -> Refusal {
    let list_version = gates::list_version().to_owned();
    Refusal::Blocked { gate: run.gate(), terms: run.term_count(), list_version }
}
