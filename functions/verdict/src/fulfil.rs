//! One order: from a paid session to a cached verdict and an ordered mail.

use crate::generate::{self, Generated, NoVerdict, Policy, generate};
use audit::{AuditKey, Body, Change, CommitError, Journal, Record, Source, Status, digest};
use crosscheck::constants::PHI;
use domain::{
    Alert, CachedVerdict, Query, Sale, SessionId, Submission, Timestamp, Unusable, Verdict,
    alert::Severity,
    mail::{Letter, Mail},
    message::{self, Message, OrderedBy},
    money::Money,
    ports::{
        CacheEntry, PaymentError, Payments, Quarantine, Queue, QueueError, StorageError, Submissions, VerdictArchive,
        Versioned,
    },
    sale::{Claim, Fulfilment},
    smoke::{self, SmokeSessions},
    texts,
    verdict::Divergence,
};
use gates::Gate;
use runtime::Handled;
use serde_json::json;
use std::time::Duration;

/// What fulfilment needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub generate: generate::Ports<'a>,
    pub archive: &'a dyn VerdictArchive,
    pub quarantine: &'a dyn Quarantine,
    pub mails: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub payments: &'a dyn Payments,
    pub smoke: &'a dyn SmokeSessions,
    pub submissions: &'a dyn Submissions,
    pub audit_key: &'a AuditKey,
}

/// How fulfilment goes about it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Asking the model.
    pub policy: Policy,
    /// How long one invocation may work on a sale; longer than the function's time-out, shorter than the queue's
    /// visibility time-out.
    pub lease: Duration,
}

/// One order, as the queue delivered it.
#[derive(Clone, Debug)]
pub struct Order {
    /// The sale.
    pub session_id: SessionId,
    /// When the triggering event reached us.
    pub received_at: Timestamp,
    /// Who asked.
    pub ordered_by: OrderedBy,
    /// The queue message, the owner of the claim.
    pub message_id: String,
}

/// Why an order must come again. Nothing is lost: the claim is released or ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum FulfilError {
    /// The sale could not be changed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The model cannot be asked: our own side of it is not ready.
    #[error("the model cannot be asked: {0}")]
    ModelNotReady(String),
    /// The model's circuit breaker is open.
    #[error("the circuit is open")]
    CircuitOpen,
    /// The payment could not be confirmed.
    #[error(transparent)]
    Payment(#[from] PaymentError),
}

/// Fulfils an order, or finds that somebody does or did.
///
/// # Errors
/// [`FulfilError`]: the queue must deliver the order again.
pub async fn fulfil(ports: Ports<'_>, settings: &Settings, order: &Order) -> Result<Handled, FulfilError> {
    let journal = ports.journal;
    let sale = journal.load(&order.session_id, order.received_at).await?;
    let fresh = Sale::ordered(order.session_id.clone(), order.received_at);
    let claim = |sale: &mut Sale| {
        if order.ordered_by == OrderedBy::SmokeTest {
            // The smoke test's sale is one from its very beginning; no other becomes one.
            sale.smoke = sale.smoke || *sale == fresh;
            if !sale.smoke {
                tracing::error!(
                    session = order.session_id.prefix(),
                    "a smoke test's order for somebody's sale: dropped"
                );
                return Change::nothing(Claim::BusyElsewhere);
            }
        } else if sale.smoke && matches!(sale.fulfilment, Fulfilment::Failed { .. }) {
            // Somebody's after all, it seems: the till decides, and whoever paid has lost nothing by it.
            sale.fulfilment = Fulfilment::Ordered { at: journal.clock.now() };
        }
        let claim = sale.claim_generation(&order.message_id, journal.clock.now(), settings.lease);
        if claim == Claim::Granted { Change::save(claim) } else { Change::nothing(claim) }
    };
    let (sale, claim) = journal.commit(sale, claim).await?;
    match claim {
        Claim::BusyElsewhere | Claim::BusyHere if domain::planted("verdict-made-unclaimed") => {}
        Claim::Done if domain::planted("finished-sale-left-alone") => return Ok(Handled::Done),
        Claim::BusyElsewhere => return Ok(Handled::Done),
        Claim::BusyHere => return Ok(Handled::Later),
        Claim::NotYet(_) => return Ok(Handled::Later),
        Claim::Done => {
            // The worker that found it unusable may have died before it gave notice.
            give_notice(ports, order, &sale.value).await?;
            journal.flush(sale.clone()).await;
            return finish(ports, sale).await;
        }
        Claim::Granted => {}
    }
    match produce(ports, settings, order, sale).await {
        Ok(sale) if matches!(sale.value.fulfilment, Fulfilment::Ready { .. }) => finish(ports, sale).await,
        Ok(sale) => {
            journal.settle(sale).await;
            Ok(Handled::Done)
        }
        Err(_) if domain::planted("order-error-acknowledged") => Ok(Handled::Done),
        Err(error) => {
            release(ports, order).await;
            Err(error)
        }
    }
}

/// Has an unusable sale announced, if nobody announced it yet. Two notices are one announcement.
async fn give_notice(ports: Ports<'_>, order: &Order, sale: &Sale) -> Result<(), QueueError> {
    if !matches!(sale.fulfilment, Fulfilment::Unusable { .. }) || sale.drop_recorded {
        return Ok(());
    }
    let session_id = order.session_id.clone();
    let notice = Message::Notice { v: message::VERSION, session_id, received_at: order.received_at };
    ports.notices.send(&notice).await
}

/// Ends the claim at once, so that the next delivery of the order need not wait for the lease. If this fails
/// too, the lease ends by itself.
async fn release(ports: Ports<'_>, order: &Order) {
    let give_up = |sale: &mut Sale| match &mut sale.fulfilment {
        Fulfilment::Generating { owner, lease_until } if *owner == order.message_id => {
            *lease_until = ports.journal.clock.now();
            Change::save(())
        }
        _ => Change::nothing(()),
    };
    if let Ok(sale) = ports.journal.load(&order.session_id, order.received_at).await {
        let _ = ports.journal.commit(sale, give_up).await;
    }
}

/// Makes the verdict of a claimed sale: confirms the payment, asks the model, checks, filters, saves.
async fn produce(
    ports: Ports<'_>,
    settings: &Settings,
    order: &Order,
    sale: Versioned<Sale>,
) -> Result<Versioned<Sale>, FulfilError> {
    let is_smoke = order.ordered_by == OrderedBy::SmokeTest;
    if is_smoke && let Err(reason) = examined(ports, order).await {
        return refuse(ports, order, sale, &reason).await;
    }
    // The order came through a queue; whether the session is paid is for Stripe alone to say (Verdict Pipeline,
    // invariant 1). What the smoke test buys is fixed, so that nothing of a session can choose it.
    let session = if is_smoke { None } else { Some(ports.payments.session(&order.session_id).await?) };
    let unpaid = session.as_ref().is_some_and(|session| !session.is_paid());
    if unpaid && !domain::planted("payment-not-confirmed") {
        // The signed event, or an earlier reading, said otherwise: a human is told. Stripe's next event or the
        // customer's page orders again.
        return end(ports, order, sale, |sale, now| {
            sale.fulfilment = Fulfilment::Ordered { at: now };
            let detail = "ordered, but Stripe says it is not paid";
            let alert = event(ports, &order.session_id, Severity::Critical, "PAYMENT", detail);
            Change::save(()).alerting(alert)
        })
        .await;
    }
    let address = session.as_ref().and_then(|session| session.email.as_ref());
    let email_tag = address.map(|address| ports.audit_key.email_tag(address));
    let resubmitted = if sale.value.resubmitted { ports.submissions.find(&order.session_id).await? } else { None };
    let submitted = || match &session {
        Some(session) => session.submission(),
        None => smoke::submission().map_err(|_| Unusable::Query),
    };
    let Submission { tier, query } = match resubmitted.filter(|_| !is_smoke).map_or_else(submitted, Ok) {
        Ok(submission) => submission,
        Err(unusable) => {
            tracing::error!(session = order.session_id.prefix(), %unusable, "paid but unusable");
            let reason = format!("paid but unusable: {unusable}");
            let sale = end(ports, order, sale, |sale, now| {
                sale.fulfilment = Fulfilment::Unusable { at: now };
                let status = (Source::Webhook, Status::Error, Some(reason.as_str()));
                Change::recorded(vec![Record::pipeline(now, order.received_at, status.0, status.1, status.2)], ())
            })
            .await?;
            give_notice(ports, order, &sale.value).await?;
            return Ok(sale);
        }
    };
    let facts = Facts { query_hash: digest::query_hash(&query), email_tag, smoke: is_smoke };
    let generated = generate(ports.generate, &settings.policy, &order.session_id, tier, &query).await;
    let now = ports.journal.clock.now();
    let mut records: Vec<Record> =
        generated.crosschecks.iter().map(|check| crosscheck_record(check, order, now)).collect();
    let details = details(&generated, order, tier);
    let verdict = match generated.verdict {
        Ok(verdict) => verdict,
        Err(NoVerdict::NotReady(detail)) => return Err(FulfilError::ModelNotReady(detail)),
        Err(NoVerdict::CircuitOpen(until)) => {
            // Not a failure of this sale: it is ordered again by its message and by its page.
            end(ports, order, sale, |sale, now| {
                sale.fulfilment = Fulfilment::Ordered { at: now };
                sale.unavailable_until = Some(until);
                Change::save(())
            })
            .await?;
            return Err(FulfilError::CircuitOpen);
        }
        Err(NoVerdict::Failed(reason)) => {
            let status = (Source::Webhook, Status::Error, Some(reason.as_str()));
            records.push(Record::pipeline(now, order.received_at, status.0, status.1, status.2).with_details(details));
            return end(ports, order, sale, |sale, now| {
                facts.note(sale, tier);
                sale.fulfilment = Fulfilment::Failed { reason: reason.clone(), at: now };
                let alert = event(ports, &order.session_id, Severity::Critical, "VERDICT", &reason);
                let records = if domain::planted("failure-not-recorded") { Vec::new() } else { records.clone() };
                Change::recorded(records, ()).alerting(alert)
            })
            .await;
        }
    };
    let gate = gates::run(Gate::BeforeCache, verdict.texts());
    records.push(gate.record(now, order.received_at));
    match deliverable(&gate, &verdict) {
        Some(verdict) => save(ports, order, sale, &facts, tier, &query, verdict, records, details).await,
        None => {
            // The raw payload first: a hold without it could not be resolved (content filter GAP-L, fail closed).
            let payload = gate.held_payload(&order.session_id, Some(tier), now, &json!(verdict));
            if !domain::planted("held-without-payload") {
                ports.quarantine.hold(&order.session_id, now, &payload).await?;
            }
            let status = Record::pipeline(
                now,
                order.received_at,
                Source::Webhook,
                Status::Error,
                Some("held by the content filter at gate 1"),
            );
            records.push(status.with_details(details));
            // The hold bears the time of its payload, by which operators find it.
            end(ports, order, sale, |sale, _| {
                facts.note(sale, tier);
                sale.fulfilment = Fulfilment::InReview { gate: 1, at: now };
                let alert = Alert::quarantine(now, 1, &order.session_id, gate.term_count());
                Change::recorded(records.clone(), ()).alerting(alert)
            })
            .await
        }
    }
}

/// Whether the session of a smoke test's order is what it says: by Stripe's test mode, under the smoke test's own key.
async fn examined(ports: Ports<'_>, order: &Order) -> Result<(), String> {
    let facts = ports.smoke.facts(&order.session_id).await.map_err(|error| format!("smoke: {error}"))?;
    smoke::examine(&facts, ports.journal.clock.now()).map_err(|error| error.to_string())
}

/// Ends a smoke test's sale without a verdict. It is not tried again: its test is over soon.
async fn refuse(
    ports: Ports<'_>,
    order: &Order,
    sale: Versioned<Sale>,
    reason: &str,
) -> Result<Versioned<Sale>, FulfilError> {
    tracing::warn!(session = order.session_id.prefix(), reason, "a smoke test's session is refused");
    end(ports, order, sale, |sale, now| {
        sale.fulfilment = Fulfilment::Failed { reason: reason.to_owned(), at: now };
        let record = Record::pipeline(now, order.received_at, Source::Webhook, Status::Error, Some(reason));
        Change::recorded(vec![record], ())
    })
    .await
}

/// What the log may know about a sale.
struct Facts {
    query_hash: String,
    email_tag: Option<String>,
    smoke: bool,
}

impl Facts {
    fn note(&self, sale: &mut Sale, tier: domain::Tier) {
        sale.smoke = self.smoke;
        sale.tier = Some(tier);
        sale.query_hash = Some(self.query_hash.clone());
        sale.email_tag.clone_from(&self.email_tag);
    }
}

#[allow(clippy::too_many_arguments)] // One step, named above; a struct for it would only move the list.
async fn save(
    ports: Ports<'_>,
    order: &Order,
    sale: Versioned<Sale>,
    facts: &Facts,
    tier: domain::Tier,
    query: &Query,
    verdict: Verdict,
    records: Vec<Record>,
    details: serde_json::Value,
) -> Result<Versioned<Sale>, FulfilError> {
    let verdict_hash = digest::verdict_hash(&verdict);
    let now = ports.journal.clock.now();
    let original = CachedVerdict::first(tier, query, verdict, now);
    if domain::planted("mail-ordered-before-cache") {
        order_mail(ports, &order.session_id, Letter::Verdict).await?;
    }
    let ready = |sale: &mut Sale| {
        if !sale.generates(&order.message_id) && !domain::planted("verdict-saved-unowned") {
            return Change::nothing(());
        }
        facts.note(sale, tier);
        sale.verdict_hash = Some(verdict_hash.clone());
        sale.unavailable_until = None;
        sale.chased = 0;
        // What the smoke test leaves is cleaned up: nothing of it is for the archive.
        sale.fulfilment = Fulfilment::Ready { at: now, archived: sale.smoke };
        let mut cached = original.clone();
        let mut records = records.clone();
        let (source, status, detail) = if sale.regenerated_at.is_some() {
            let colour = cached.verdict.verdict;
            let body = Body::regen_divergence_check(sale.colour, colour);
            records.push(Record { timestamp: now, triggered_at: order.received_at, body });
            cached.regen = true;
            cached.regen_reason = Some("cache_miss".to_owned());
            // The first verdict stays authoritative (Regen Consistency, invariant 4): the page says where the second
            // may differ from it much.
            let told = matches!(sale.note_divergence(colour), None | Some(Divergence::Significant));
            cached.notice = told.then(|| texts::REGENERATED_NOTICE.to_owned());
            (Source::ResultPage, Status::Regenerated, Some("cache_miss"))
        } else {
            sale.colour = Some(cached.verdict.verdict);
            (Source::Webhook, Status::Ok, None)
        };
        let record = Record::pipeline(now, order.received_at, source, status, detail).with_details(details.clone());
        records.push(record.with_detail("colour", cached.verdict.verdict.word()));
        Change { verdict: Some(Box::new(cached)), ..Change::recorded(records, ()) }
    };
    let (sale, ()) = ports.journal.commit(sale, ready).await?;
    Ok(sale)
}

/// Saves an end of the claim, unless the claim was lost meanwhile.
async fn end(
    ports: Ports<'_>,
    order: &Order,
    sale: Versioned<Sale>,
    change: impl Fn(&mut Sale, Timestamp) -> Change<()> + Send + Sync,
) -> Result<Versioned<Sale>, FulfilError> {
    let change = |sale: &mut Sale| {
        if !sale.generates(&order.message_id) {
            return Change::nothing(());
        }
        change(sale, ports.journal.clock.now())
    };
    let (sale, ()) = ports.journal.commit(sale, change).await?;
    Ok(sale)
}

/// What is left to do once the verdict is cached: the archive, and the order of the mail. Both may be done again
/// without effect, so a worker that died in between is simply followed by another.
async fn finish(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<Handled, FulfilError> {
    let (archived, mail_ordered) = match (&sale.value.fulfilment, &sale.value.mail) {
        _ if sale.value.money != Money::Kept => return Ok(Handled::Done),
        (Fulfilment::Ready { archived, .. }, mail) => (*archived, *mail != Mail::NotOrdered),
        _ => return Ok(Handled::Done),
    };
    let session_id = sale.value.session_id.clone();
    if sale.value.divergence == Mail::Ordered {
        // Whether or not it was sent before: the claim makes one mail of two orders.
        order_mail(ports, &session_id, Letter::Divergence).await?;
    }
    if archived && mail_ordered {
        return Ok(Handled::Done);
    }
    let kept = if archived { Ok(()) } else { archive(ports, &session_id).await };
    if !mail_ordered {
        let ordered = order_mail(ports, &session_id, Letter::Verdict).await;
        if !domain::planted("mail-order-error-swallowed") {
            ordered?;
        }
    }
    let is_kept = kept.is_ok() || domain::planted("archive-error-swallowed");
    let note = |sale: &mut Sale| {
        if let Fulfilment::Ready { archived, .. } = &mut sale.fulfilment {
            *archived = *archived || is_kept;
        }
        if sale.mail == Mail::NotOrdered {
            sale.mail = Mail::Ordered;
        }
        Change::save(())
    };
    ports.journal.commit(sale, note).await?;
    if let Err(error) = kept {
        // The customer is served; the archive is for later, and the order comes again for it.
        let alert = event(ports, &session_id, Severity::Warn, "ARCHIVE_WRITE", &error.to_string());
        ports.journal.alerts.raise(alert).await;
        return Ok(Handled::Later);
    }
    Ok(Handled::Done)
}

async fn order_mail(ports: Ports<'_>, session: &SessionId, letter: Letter) -> Result<(), QueueError> {
    let ordered_at = ports.journal.clock.now();
    ports.mails.send(&Message::Mail { v: message::VERSION, session_id: session.clone(), ordered_at, letter }).await
}

async fn archive(ports: Ports<'_>, session: &SessionId) -> Result<(), StorageError> {
    match ports.journal.store.load_with_verdict(session).await?.1 {
        CacheEntry::Hit(verdict) => ports.archive.keep(session, &verdict).await,
        // The page makes it anew when somebody asks for it; until then the sale is not archived and stays open.
        CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => {
            let source = std::io::Error::other("the cache has lost the verdict").into();
            Err(StorageError { operation: "archive write", source })
        }
    }
}

fn event(ports: Ports<'_>, session: &SessionId, severity: Severity, operation: &str, detail: &str) -> Alert {
    Alert::event("ORACLE-VERDICT", severity, ports.journal.clock.now(), operation, session, detail)
}

fn crosscheck_record(check: &crosscheck::Crosscheck, order: &Order, now: Timestamp) -> Record {
    let decision = serde_json::to_value(check).unwrap_or_default();
    Record { timestamp: now, triggered_at: order.received_at, body: Body::TmmCrosscheck { phi: PHI, decision } }
}

fn details(generated: &Generated, order: &Order, tier: domain::Tier) -> serde_json::Value {
    json!({
        "attempts": generated.attempts,
        "model_version": generated.model_version,
        "prompt_version": prompt::version(tier),
        "ordered_by": order.ordered_by,
    })
}

/// The verdict after gate 1, or nothing when it is held.
fn deliverable(gate: &gates::Run, verdict: &Verdict) -> Option<Verdict> {
    let raw = || verdict.texts().into_iter().map(str::to_owned).collect();
    let texts = gate.clone().delivered().or_else(|| domain::planted("held-verdict-cached").then(raw));
    #[cfg(feature = "gate-1-off")]
    let texts = texts.or_else(|| Some(raw()));
    texts.map(|texts| verdict.clone().with_texts(texts))
}
