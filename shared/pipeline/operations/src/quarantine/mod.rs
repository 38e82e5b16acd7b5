//! Sales that the content filter holds: an operator lists, approves or replaces them (content filter, GAP-B and GAP-L).
//!
//! Neither decision bypasses a check. An approved verdict passes today's filter, and a replaced one passes the
//! crosscheck and gate 1 like a model's reply and has all that its tier sells; both keep the grammar of a narrative
//! answer, and neither releases a question that today's rules refuse and the required people have not approved. Gate 2
//! runs before the mail and the page in both cases.
//! The file has more than 300 lines because every refusal of a decision is documented beside the check that makes it.

pub mod examine;

use crate::{Done, NotDone, Operator, PartFailed, Refusals, authority_gate};
use audit::{Change, Context, Journal, Record, hash};
use domain::{
    CachedVerdict, FirstVerdict, Gate, Query, Sale, SessionId, Timestamp, Verdict,
    mail::{Letter, Mail},
    message::{Message, OrderedBy},
    ports::{CacheEntry, Payments, Quarantine, Queue, QueueError, Submissions, Versioned},
    sale::{Decision, Fulfilment, NewVerdict},
};
use examine::{Held, Needs, Refusal};
use serde_json::Value;

/// The ports of a decision about a held sale.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub quarantine: &'a dyn Quarantine,
    pub payments: &'a dyn Payments,
    pub submissions: &'a dyn Submissions,
    pub orders: &'a dyn Queue,
    /// The e-mail retry queue.
    pub retries: &'a dyn Queue,
    pub notices: &'a dyn Queue,
}

/// Why a held sale stays held.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// The money went back, so nothing is delivered.
    #[error("the sale's money went back, or is about to: nothing more is delivered")]
    MoneyWentBack,
    /// The sale is not held, or no longer.
    #[error("the content filter does not hold this sale")]
    NotHeld,
    /// A mail with the held text may have been sent, so another text must not be delivered in addition.
    #[error("a draft of the held mail exists and may be on its way: approve it, or refund the sale")]
    DraftExists,
    /// The held mail is the one that asks for the submission: there is no verdict to replace.
    #[error("the held text is a mail, not a verdict: approve it, or refund the sale")]
    NoVerdict,
    /// The question that was answered cannot be found.
    #[error("the question that this verdict answers cannot be found: refund or erase the sale")]
    NoQuestion,
    /// The text must not be delivered.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The cache does not have the first verdict of a follow-up.
    #[error("the first verdict is not in the cache: open its result page, which restores it, and repeat the command")]
    NoFirstVerdict,
}

impl Refusals for DecideError {}

impl From<Refusal> for NotDone<DecideError> {
    fn from(refusal: Refusal) -> Self {
        DecideError::from(refusal).into()
    }
}

/// The effect of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// The sale is released and continues.
    Freed,
    /// It was decided before: only its message was sent again.
    AskedAgain,
}

/// Releases a held sale unchanged, if it passes today's filter and, unless its first verdict is held and was mailed,
/// today's rules about its question.
///
/// # Errors
/// [`DecideError`]. Repeating is safe.
pub async fn approve(ports: Ports<'_>, operator: &Operator, session: &SessionId) -> Done<Decided, DecideError> {
    let case = match Case::open(ports, session).await? {
        Opened::Held(case) => case,
        Opened::Decided(sale) => return ask_again(ports, *sale).await,
    };
    let now = ports.journal.clock.now();
    let (verdict, records) = match case.examine(ports, now).await {
        Ok(examined) => examined,
        Err(refused) => return Err(case.refused(ports, operator, refused).await),
    };
    case.free(ports, operator, Decision::Approve, verdict, records, now).await
}

/// Whether [`approve`] would be carried out, and its effect. Changes nothing.
///
/// # Errors
/// [`DecideError`].
pub async fn plan_approval(ports: Ports<'_>, session: &SessionId) -> Done<Decided, DecideError> {
    Ok(match Case::open(ports, session).await? {
        Opened::Held(case) => {
            case.examine(ports, ports.journal.clock.now()).await?;
            Decided::Freed
        }
        Opened::Decided(_) => Decided::AskedAgain,
    })
}

/// Replaces the held verdict by a cleaned one, if that passes the checks of a model's reply.
///
/// # Errors
/// [`DecideError`]. Repeating is safe.
pub async fn replace(
    ports: Ports<'_>,
    operator: &Operator,
    session: &SessionId,
    verdict: &Value,
) -> Done<Decided, DecideError> {
    let case = match Case::open(ports, session).await? {
        Opened::Held(case) => case,
        Opened::Decided(sale) => return ask_again(ports, *sale).await,
    };
    if *case.sale.value.notice() == Mail::Held {
        return Err(DecideError::NoVerdict.into());
    }
    let now = ports.journal.clock.now();
    let (cached, records) = match case.cleaned(ports, verdict, now).await {
        Ok(cleaned) => cleaned,
        Err(refused) => return Err(case.refused(ports, operator, refused).await),
    };
    case.free(ports, operator, Decision::Replace, Some(cached), records, now).await
}

/// What the customer asked.
struct Asked {
    query: Query,
    /// What a follow-up follows.
    first: Option<Box<FirstVerdict>>,
}

/// A held sale.
struct Case {
    sale: Versioned<Sale>,
    entry: CacheEntry,
    gate: Gate,
    held_at: Timestamp,
}

enum Opened {
    Held(Box<Case>),
    /// An earlier command released it and its reply was lost; its message may never have been sent.
    Decided(Box<Versioned<Sale>>),
}

impl Case {
    async fn open(ports: Ports<'_>, session: &SessionId) -> Done<Opened, DecideError> {
        let (sale, entry) = ports.journal.store.load_with_verdict(session).await?;
        let sale = sale.ok_or(DecideError::NoSale)?;
        if !sale.value.is_money_kept() || ports.journal.stopped_by_session(session).await? {
            return Err(DecideError::MoneyWentBack.into());
        }
        match *sale.value.fulfilment() {
            Fulfilment::InReview { gate, at } => Ok(Opened::Held(Box::new(Self { sale, entry, gate, held_at: at }))),
            Fulfilment::Ready { .. } if sale.value.is_undispatched() => Ok(Opened::Decided(Box::new(sale))),
            _ => Err(DecideError::NotHeld.into()),
        }
    }

    /// What the held verdict needs if today's rules refuse its question. If the customer has it by mail, no approval is
    /// needed.
    fn needs(&self, now: Timestamp) -> Needs {
        let sale = &self.sale.value;
        let is_mailed = matches!(sale.mail(), Mail::Sent { .. }) || sale.is_sent_again();
        // The mail may have the verdict that a regenerated one replaced.
        let is_regenerated = match &self.entry {
            CacheEntry::Hit(cached) => cached.regen,
            CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => sale.regenerated_at().is_some(),
        };
        match self.gate {
            Gate::BeforeDelivery if is_mailed && !is_regenerated => Needs::Approvers,
            Gate::BeforeCache | Gate::BeforeDelivery => Needs::Approvals(now),
        }
    }

    /// Checks what is held by today's rules: the verdict to cache, if one is released, and the records of the checks.
    async fn examine(
        &self,
        ports: Ports<'_>,
        now: Timestamp,
    ) -> Done<(Option<CachedVerdict>, Vec<Record>), DecideError> {
        let sale = &self.sale.value;
        let needs = self.needs(now);
        let is_delivered = needs == Needs::Approvers || *sale.notice() == Mail::Held;
        // Also if the cache lost the verdict: the archive may have it, and what is restored from there is not asked about.
        let asked = if is_delivered { None } else { Some(self.asked(ports, now).await?) };
        let payloads = ports.quarantine.held(sale.session_id()).await?;
        match (examine::held(&payloads, self.gate, self.held_at)?, self.gate, asked) {
            (Held::Verdict(value), Gate::BeforeCache, Some(asked)) => {
                let tier = sale.tier().ok_or(Refusal::Structure("its tier is not known".to_owned()))?;
                let examined = examine::verdict(&value, tier, asked.query.as_str(), &[], now)?;
                Ok((Some(self.cached(asked, examined.verdict, now)?), examined.records))
            }
            (held, ..) => {
                if let (CacheEntry::Hit(cached), Needs::Approvals(_)) = (&self.entry, needs) {
                    examine::grammar(cached, sale, needs)?;
                }
                Ok((None, examine::delivery(&held, &self.entry, now)?))
            }
        }
    }

    /// Checks an operator's verdict: the verdict to cache, and the records of the checks.
    async fn cleaned(
        &self,
        ports: Ports<'_>,
        verdict: &Value,
        now: Timestamp,
    ) -> Done<(CachedVerdict, Vec<Record>), DecideError> {
        let sale = &self.sale.value;
        let asked = self.asked(ports, now).await?;
        if sale.may_have_draft(now) {
            return Err(DecideError::DraftExists.into());
        }
        let tier = sale.tier().ok_or(Refusal::Structure("its tier is not known".to_owned()))?;
        let examined = examine::verdict(verdict, tier, asked.query.as_str(), &[], now)?;
        Ok((self.cached(asked, examined.verdict, now)?, examined.records))
    }

    /// The question of the cached verdict, or else the customer's, if it may be answered. Asked for before anything else is
    /// checked, so that an attempt to override a lock is recorded whatever the text says.
    async fn asked(&self, ports: Ports<'_>, now: Timestamp) -> Done<Asked, DecideError> {
        let sale = &self.sale.value;
        let asked = match (self.gate, &self.entry) {
            (Gate::BeforeDelivery, CacheEntry::Hit(held)) => Asked {
                query: Query::parse(held.query.as_str()).map_err(|_| DecideError::NoQuestion)?,
                first: held.first.clone(),
            },
            _ => {
                let query = question(ports, sale).await?;
                // An operator may have handed in another question since, or it is lost and Stripe has the one before it.
                if sale.query_hash().is_some_and(|asked| asked != hash::query_hash(&query)) {
                    return Err(DecideError::NoQuestion.into());
                }
                Asked { query, first: self.first(ports).await? }
            }
        };
        let first = asked.first.as_ref().map(|first| first.query.as_str());
        examine::question(asked.query.as_str(), first, sale, self.needs(now))?;
        Ok(asked)
    }

    /// The cached verdict: that of the held one, or a first one. Refuses a narrative answer that breaks its grammar, also
    /// one that an operator wrote (Authority Governance, RFC-0009).
    fn cached(&self, asked: Asked, verdict: Verdict, now: Timestamp) -> Result<CachedVerdict, DecideError> {
        let sale = &self.sale.value;
        if let (Gate::BeforeDelivery, CacheEntry::Hit(held)) = (self.gate, &self.entry) {
            let cached = CachedVerdict { verdict, cached_at: now.to_iso(), ..(**held).clone() };
            return Ok(examine::replaced(cached, sale, self.needs(now))?);
        }
        let tier = sale.tier().ok_or(Refusal::Structure("its tier is not known".to_owned()))?;
        let mut cached = CachedVerdict::first(tier, &asked.query, verdict, now);
        cached.first = asked.first;
        cached.notice = examine::grammar(&cached, sale, self.needs(now))?;
        if let Some(compared) = sale.comparison(cached.verdict.verdict, now) {
            cached.mark_regenerated(&compared);
        }
        Ok(cached)
    }

    /// What a follow-up follows.
    async fn first(&self, ports: Ports<'_>) -> Done<Option<Box<FirstVerdict>>, DecideError> {
        let sale = &self.sale.value;
        if !sale.is_followup() {
            return Ok(None);
        }
        match ports.journal.store.load_with_verdict(&sale.session_id().paid_session()).await? {
            (_, CacheEntry::Hit(first)) => Ok(Some(Box::new((*first).into()))),
            _ => Err(DecideError::NoFirstVerdict.into()),
        }
    }

    /// Records the attempt if today's rules lock the question (Authority Governance, Appendix F). Returns the refusal.
    async fn refused(
        self,
        ports: Ports<'_>,
        operator: &Operator,
        refused: NotDone<DecideError>,
    ) -> NotDone<DecideError> {
        if !matches!(refused, NotDone::Refused(DecideError::Refused(Refusal::Locked(_)))) {
            return refused;
        }
        let by = authority_gate::without_role(operator);
        match authority_gate::record_override(ports.journal, self.sale, by, true).await {
            Ok(()) => refused,
            Err(error) => error.into(),
        }
    }

    /// Saves the decision with its records, and sends the sale's messages.
    async fn free(
        self,
        ports: Ports<'_>,
        operator: &Operator,
        decision: Decision,
        verdict: Option<CachedVerdict>,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Done<Decided, DecideError> {
        let journal = ports.journal;
        let held = self.sale.value.fulfilment().clone();
        let new = verdict.as_ref().map(|cached| (cached.verdict.verdict, hash::verdict_hash(&cached.verdict)));
        let new = new.as_ref().map(|(colour, verdict_hash)| NewVerdict { colour: *colour, verdict_hash });
        let context = Context::at(now).with_evidence(records);
        let decide = |sale: &mut Sale, _| {
            // The sale must still be held for the payload that was checked above.
            let Ok(event) = sale.free(decision, &held, new, operator, now) else {
                return (Change::nothing(false), None);
            };
            (Change::of(&event, &context, true), verdict.clone().map(Box::new))
        };
        let (sale, decided) = journal.commit_with_verdict(self.sale, decide).await?.settle().await;
        if !decided {
            let has_draft = decision == Decision::Replace && sale.value.may_have_draft(now);
            let refused = if has_draft { DecideError::DraftExists } else { DecideError::NotHeld };
            return Err(refused.into());
        }
        send(ports, &sale.value, now).await.map_err(not_sent)?;
        Ok(Decided::Freed)
    }
}

/// The customer's question: the one that an operator handed in, or the one that Stripe has.
async fn question(ports: Ports<'_>, sale: &Sale) -> Done<Query, DecideError> {
    if (sale.is_resubmitted() || sale.is_followup())
        && let Some(submission) = ports.submissions.find(sale.session_id()).await?
    {
        return Ok(submission.query);
    }
    if sale.is_followup() {
        return Err(DecideError::NoQuestion.into());
    }
    let session = ports.payments.session(sale.session_id()).await?;
    session.submission().map(|submission| submission.query).map_err(|_| DecideError::NoQuestion.into())
}

/// Sends the messages that continue the sale: its order, and the mails that were in work when it was held. A message
/// that is not needed has no effect.
async fn send(ports: Ports<'_>, sale: &Sale, now: Timestamp) -> Result<(), QueueError> {
    let (session_id, received_at) = (sale.session_id(), sale.received_at());
    if matches!(sale.fulfilment(), Fulfilment::Unusable { .. }) {
        return ports.notices.send(&Message::notice(session_id.clone(), received_at)).await;
    }
    for letter in [Letter::Verdict, Letter::Divergence] {
        if matches!(sale.letter(letter), Mail::Sending { .. } | Mail::Retrying { .. }) {
            ports.retries.send(&Message::mail_retry(session_id.clone(), now, letter)).await?;
        }
    }
    ports.orders.send(&Message::order(session_id.clone(), received_at, OrderedBy::Operator)).await
}

fn not_sent(error: QueueError) -> PartFailed {
    let what = "it is decided, but the message that delivers it was not sent; repeating the command is safe";
    PartFailed::new(what, error)
}

async fn ask_again(ports: Ports<'_>, sale: Versioned<Sale>) -> Done<Decided, DecideError> {
    send(ports, &sale.value, ports.journal.clock.now()).await.map_err(not_sent)?;
    ports.journal.flush(sale).await;
    Ok(Decided::AskedAgain)
}

#[cfg(test)]
mod tests;
