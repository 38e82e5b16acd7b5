//! One order: from a paid session to a cached verdict and an ordered mail.

mod finish;
mod till;

use crate::generate::{self, Generated, NoVerdict, Policy, generate};
use audit::{AuditKey, Body, Change, Committed, Journal, Record, Source, Status, digest};
use crosscheck::constants::PHI;
use domain::{
    Alert, CachedVerdict, ErrorCode, Sale, SessionId, StepError, Timestamp, Unusable, Verdict,
    alert::Severity,
    message::OrderedBy,
    ports::{Payments, Quarantine, Queue, Submissions, VerdictArchive, Versioned},
    sale::{Claim, Fulfilment},
    smoke::SmokeSessions,
    texts,
    verdict::Divergence,
};
use finish::{finish, give_notice};
use gates::Gate;
use runtime::Handled;
use serde_json::json;
use std::time::Duration;
use till::{Bought, Till};

/// What fulfilment needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub(crate) struct Ports<'a> {
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
pub(crate) struct Order {
    /// The sale.
    pub session_id: SessionId,
    /// When the triggering event reached us.
    pub received_at: Timestamp,
    /// Who asked.
    pub ordered_by: OrderedBy,
    /// The queue message, the owner of the claim.
    pub message_id: String,
}

/// Fulfils an order, or finds that somebody does or did.
///
/// # Errors
/// [`StepError`]: the queue must deliver the order again.
pub(crate) async fn fulfil(ports: Ports<'_>, settings: &Settings, order: &Order) -> Result<Handled, StepError> {
    let journal = ports.journal;
    let sale = journal.load(&order.session_id, order.received_at).await?;
    let fresh = Sale::ordered(order.session_id.clone(), order.received_at);
    let claim = |sale: &mut Sale, now| {
        if order.ordered_by == OrderedBy::SmokeTest {
            // The smoke test's sale is one from its very beginning; no other becomes one.
            sale.smoke = sale.smoke || *sale == fresh;
            if !sale.smoke {
                return Change::nothing(Claim::BusyElsewhere);
            }
        } else if sale.smoke && matches!(sale.fulfilment, Fulfilment::Failed { .. }) {
            // Somebody's after all, it seems: the till decides, and whoever paid has lost nothing by it.
            sale.fulfilment = Fulfilment::Ordered { at: now };
        }
        let claim = sale.claim_generation(&order.message_id, now, settings.lease);
        if claim == Claim::Granted { Change::save(claim) } else { Change::nothing(claim) }
    };
    let (sale, claim) = journal.commit(sale, claim).await?.unsettled();
    if order.ordered_by == OrderedBy::SmokeTest && !sale.value.smoke {
        tracing::error!(session = order.session_id.prefix(), "a smoke test's order for a customer's sale: dropped");
    }
    match claim {
        Claim::BusyElsewhere => return Ok(Handled::Done),
        Claim::BusyHere => return Ok(Handled::Later),
        Claim::NotYet(_) => return Ok(Handled::Later),
        Claim::Done => {
            // The worker that found it unusable may have died before it gave notice.
            give_notice(ports, order, &sale.value).await?;
            let sale = journal.flush(sale).await;
            return finish(ports, sale).await;
        }
        Claim::Granted => {}
    }
    match produce(ports, settings, order, sale).await {
        Ok(ended) if matches!(ended.state().fulfilment, Fulfilment::Ready { .. }) => {
            finish(ports, ended.unsettled().0).await
        }
        Ok(ended) => {
            ended.settle().await;
            Ok(Handled::Done)
        }
        Err(error) => {
            release(ports, order).await;
            Err(error)
        }
    }
}

/// Ends the claim at once, so that the next delivery of the order need not wait for the lease. If this fails
/// too, the lease ends by itself.
async fn release(ports: Ports<'_>, order: &Order) {
    let give_up = |sale: &mut Sale, now| match &mut sale.fulfilment {
        Fulfilment::Generating { owner, lease_until } if *owner == order.message_id => {
            *lease_until = now;
            Change::save(())
        }
        _ => Change::nothing(()),
    };
    if let Ok(sale) = ports.journal.load(&order.session_id, order.received_at).await {
        let _ = ports.journal.commit(sale, give_up).await.map(Committed::unsettled);
    }
}

/// A sale whose claim has ended: with a verdict, or without one.
type Ended<'a> = Committed<Journal<'a>, ()>;

/// Makes the verdict of a claimed sale: confirms the payment, asks the model, checks, filters, saves.
async fn produce<'a>(
    ports: Ports<'a>,
    settings: &Settings,
    order: &Order,
    sale: Versioned<Sale>,
) -> Result<Ended<'a>, StepError> {
    let bought = match till::ask(ports, order, &sale.value).await? {
        Till::Bought(bought) => bought,
        Till::Unpaid => return unpaid(ports, order, sale).await,
        Till::Unusable(reason) => return unusable(ports, order, sale, reason).await,
        Till::Refused(reason) => return refuse(ports, order, sale, &reason).await,
    };
    let (tier, query) = (bought.tier, &bought.query);
    // Again after payment: a Payment Link's question did not come through checkout.
    let evaluation = authority::evaluate(query.as_str(), None);
    if !evaluation.state().is_sold() {
        return decline(ports, order, sale, &bought, &evaluation).await;
    }
    let generated = authorized(ports, settings, order, &bought, &evaluation).await;
    let now = ports.journal.clock.now();
    let mut records: Vec<Record> =
        generated.crosschecks.iter().map(|check| crosscheck_record(check, order, now)).collect();
    let mut details = details(&generated, order, tier);
    details["authority"] = json!(evaluation.envelope());
    let verdict = match generated.verdict {
        Ok(verdict) => verdict,
        Err(NoVerdict::NotReady(detail)) => {
            return Err(ErrorCode::ModelNotReady.because(format!("the model cannot be asked: {detail}")));
        }
        Err(NoVerdict::CircuitOpen(until)) => {
            // Not a failure of this sale: it is ordered again by its message and by its page.
            end(ports, order, sale, |sale, now| {
                sale.fulfilment = Fulfilment::Ordered { at: now };
                sale.unavailable_until = Some(until);
                Change::save(())
            })
            .await?
            .unsettled();
            return Err(ErrorCode::CircuitOpen.because("the circuit is open"));
        }
        Err(NoVerdict::Failed(reason)) => {
            let status = (Source::Webhook, Status::Error, Some(reason.as_str()));
            records.push(Record::pipeline(now, order.received_at, status.0, status.1, status.2).with_details(details));
            return end(ports, order, sale, |sale, now| {
                bought.note(sale);
                sale.fulfilment = Fulfilment::Failed { reason: reason.clone(), at: now };
                let alert = event(now, &order.session_id, Severity::Critical, "VERDICT", &reason);
                Change::recorded(records.clone(), ()).alerting(alert)
            })
            .await;
        }
    };
    let gate = gates::run(Gate::BeforeCache, verdict.texts());
    records.push(gate.record(now, order.received_at));
    let grammar = check_grammar(&evaluation, &verdict);
    let held_by = if grammar.is_ok() { "held by the content filter at gate 1" } else { "held by the authority gate" };
    match deliverable(&gate, &verdict).filter(|_| grammar.is_ok()) {
        Some(verdict) => {
            let notice = evaluation.notice();
            save(ports, order, sale, &bought, Made { verdict, records, details, notice }).await
        }
        None => {
            // The raw payload first: a hold without it could not be resolved (content filter GAP-L, fail closed).
            let payload = gate.held_payload(&order.session_id, Some(tier), now, &json!(verdict));
            ports.quarantine.hold(&order.session_id, now, &payload).await?;
            let status = Record::pipeline(now, order.received_at, Source::Webhook, Status::Error, Some(held_by));
            records.push(status.with_details(details));
            // The hold bears the time of its payload, by which operators find it.
            end(ports, order, sale, |sale, _| {
                bought.note(sale);
                sale.fulfilment = Fulfilment::InReview { gate: 1, at: now };
                let alert = Alert::quarantine(now, 1, &order.session_id, gate.term_count());
                Change::recorded(records.clone(), ()).alerting(alert)
            })
            .await
        }
    }
}

/// The signed event, or an earlier reading, said otherwise: a human is told. Stripe's next event or the customer's page
/// orders again.
async fn unpaid<'a>(ports: Ports<'a>, order: &Order, sale: Versioned<Sale>) -> Result<Ended<'a>, StepError> {
    end(ports, order, sale, |sale, now| {
        sale.fulfilment = Fulfilment::Ordered { at: now };
        let detail = "ordered, but Stripe says it is not paid";
        let alert = event(now, &order.session_id, Severity::Critical, "PAYMENT", detail);
        Change::save(()).alerting(alert)
    })
    .await
}

/// Paid, and nobody knows for what: the customer is asked (Silent Drop).
async fn unusable<'a>(
    ports: Ports<'a>,
    order: &Order,
    sale: Versioned<Sale>,
    unusable: Unusable,
) -> Result<Ended<'a>, StepError> {
    tracing::error!(session = order.session_id.prefix(), %unusable, "paid but unusable");
    let reason = format!("paid but unusable: {unusable}");
    let ended = end(ports, order, sale, |sale, now| {
        sale.fulfilment = Fulfilment::Unusable { at: now };
        let status = (Source::Webhook, Status::Error, Some(reason.as_str()));
        Change::recorded(vec![Record::pipeline(now, order.received_at, status.0, status.1, status.2)], ())
    })
    .await?;
    give_notice(ports, order, ended.state()).await?;
    Ok(ended)
}

/// Ends a smoke test's sale without a verdict. It is not tried again: its test is over soon.
async fn refuse<'a>(
    ports: Ports<'a>,
    order: &Order,
    sale: Versioned<Sale>,
    reason: &str,
) -> Result<Ended<'a>, StepError> {
    tracing::warn!(session = order.session_id.prefix(), reason, "a smoke test's session is refused");
    end(ports, order, sale, |sale, now| {
        sale.fulfilment = Fulfilment::Failed { reason: reason.to_owned(), at: now };
        let record = Record::pipeline(now, order.received_at, Source::Webhook, Status::Error, Some(reason));
        Change::recorded(vec![record], ())
    })
    .await
}

/// Ends a paid sale whose question must not be answered: no verdict, and a human refunds it as any failed sale. The
/// record has the state and the reason, no text (003: every evaluation is recorded).
async fn decline<'a>(
    ports: Ports<'a>,
    order: &Order,
    sale: Versioned<Sale>,
    bought: &Bought,
    evaluation: &authority::Evaluation,
) -> Result<Ended<'a>, StepError> {
    let (state, code) = (evaluation.state(), evaluation.reason_code());
    let reason = format!("authority gate: {state} {code}");
    tracing::warn!(session = order.session_id.prefix(), reason, "paid, and not to be answered");
    end(ports, order, sale, |sale, now| {
        bought.note(sale);
        sale.fulfilment = Fulfilment::Failed { reason: reason.clone(), at: now };
        let record = Record::pipeline(now, order.received_at, Source::Webhook, Status::Error, Some(&reason));
        let record = record.with_details(json!({ "authority": evaluation.envelope(), "ordered_by": order.ordered_by }));
        let alert = event(now, &order.session_id, Severity::Critical, "AUTHORITY", &reason);
        Change::recorded(vec![record], ()).alerting(alert)
    })
    .await
}

/// Asks the model; where the reply breaks the grammar of a narrative answer, once more with the attempts that are left.
async fn authorized(
    ports: Ports<'_>,
    settings: &Settings,
    order: &Order,
    bought: &Bought,
    evaluation: &authority::Evaluation,
) -> Generated {
    let (session, tier, query) = (&order.session_id, bought.tier, &bought.query);
    let first = generate(ports.generate, &settings.policy, session, tier, query).await;
    let breaks = matches!(&first.verdict, Ok(verdict) if check_grammar(evaluation, verdict).is_err());
    let left = settings.policy.backoff.attempts.saturating_sub(first.attempts);
    if !breaks || left == 0 {
        return first;
    }
    let mut policy = settings.policy.clone();
    policy.backoff.attempts = left;
    let mut second = generate(ports.generate, &policy, session, tier, query).await;
    second.attempts += first.attempts;
    second.crosschecks.splice(0..0, first.crosschecks);
    second
}

/// Holds a verdict with its notice against the grammar of a narrative answer.
fn check_grammar(evaluation: &authority::Evaluation, verdict: &Verdict) -> Result<(), authority::ReplyProblem> {
    let texts: Vec<&str> = verdict.texts().into_iter().chain(evaluation.notice()).collect();
    evaluation.check_reply(&texts.join("\n"))
}

/// A verdict that passed, and what the log says of its making.
struct Made {
    verdict: Verdict,
    records: Vec<Record>,
    details: serde_json::Value,
    notice: Option<&'static str>,
}

/// Saves the verdict with its records, unless the claim was lost meanwhile.
async fn save<'a>(
    ports: Ports<'a>,
    order: &Order,
    sale: Versioned<Sale>,
    bought: &Bought,
    Made { verdict, records, details, notice }: Made,
) -> Result<Ended<'a>, StepError> {
    let verdict_hash = digest::verdict_hash(&verdict);
    let now = ports.journal.clock.now();
    let mut original = CachedVerdict::first(bought.tier, &bought.query, verdict, now);
    original.notice = notice.map(str::to_owned);
    let ready = |sale: &mut Sale, _| {
        if !sale.generates(&order.message_id) {
            return Change::nothing(());
        }
        bought.note(sale);
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
            if told {
                let notices = [Some(texts::REGENERATED_NOTICE), notice];
                cached.notice = Some(notices.into_iter().flatten().collect::<Vec<_>>().join(" "));
            }
            (Source::ResultPage, Status::Regenerated, Some("cache_miss"))
        } else {
            sale.colour = Some(cached.verdict.verdict);
            (Source::Webhook, Status::Ok, None)
        };
        let record = Record::pipeline(now, order.received_at, source, status, detail).with_details(details.clone());
        records.push(record.with_detail("colour", cached.verdict.verdict.word()));
        Change { verdict: Some(Box::new(cached)), ..Change::recorded(records, ()) }
    };
    Ok(ports.journal.commit(sale, ready).await?)
}

/// Saves an end of the claim, unless the claim was lost meanwhile.
async fn end<'a>(
    ports: Ports<'a>,
    order: &Order,
    sale: Versioned<Sale>,
    change: impl Fn(&mut Sale, Timestamp) -> Change<()> + Send + Sync,
) -> Result<Ended<'a>, StepError> {
    let change = |sale: &mut Sale, now| {
        if !sale.generates(&order.message_id) {
            return Change::nothing(());
        }
        change(sale, now)
    };
    Ok(ports.journal.commit(sale, change).await?)
}

fn event(now: Timestamp, session: &SessionId, severity: Severity, operation: &str, detail: &str) -> Alert {
    Alert::event("ORACLE-VERDICT", severity, now, operation, session, detail)
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
    gate.clone().delivered().map(|texts| verdict.clone().with_texts(texts))
}
