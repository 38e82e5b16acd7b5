//! One order: from a paid session to a cached verdict and an ordered mail.
//! The file has more than 300 lines because each way to end a claim is one short method, and all of them build their
//! changes with the same helpers.

mod authority_gate;
mod finish;
mod payment_check;
mod sample;

use audit::{AuditKey, Change, Committed, Context, Journal, Record, hash};
use domain::{
    Alert, CachedVerdict, ErrorCode, Sale, SessionId, StepError, Tier, Timestamp, Unusable, Verdict,
    alert::Severity,
    message::OrderedBy,
    ports::{
        Breakers, CacheEntry, Meter, Model, Pause, Payments, Quarantine, Queue, Randomness, SecretSource, Submissions,
        VerdictArchive, Versioned,
    },
    retry::{FailedAttempt, RetryTable, Unavailable},
    sale::{Claim, Claimant, Event, FoundBy, Fulfilment, HeldBy, Refused},
    smoke::SmokeSessions,
};
use gates::Gate;
use generation::{Failure, Generated, NoVerdict, Policy, Question, all_closed_until, generate};
use payment_check::{Bought, Checked};
use runtime::Handled;
use serde_json::{Value, json};
use std::time::Duration;

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub model: &'a dyn Model,
    pub breakers: &'a dyn Breakers,
    pub archive: &'a dyn VerdictArchive,
    pub quarantine: &'a dyn Quarantine,
    pub mails: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub payments: &'a dyn Payments,
    pub smoke: &'a dyn SmokeSessions,
    pub submissions: &'a dyn Submissions,
    pub audit_keys: &'a dyn SecretSource,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

/// The settings of fulfilment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the model is asked.
    pub policy: Policy,
    /// The retry table of a sale whose model call failed.
    pub retries: RetryTable,
    /// The lease of a claim; longer than the function's time-out, shorter than the queue's visibility time-out.
    pub lease: Duration,
}

/// One order, as the queue delivered it.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The sale.
    pub session_id: SessionId,
    /// When the triggering event reached us.
    pub received_at: Timestamp,
    /// The function or person who ordered the verdict.
    pub ordered_by: OrderedBy,
    /// The id of the queue message, which owns the claim.
    pub message_id: String,
}

/// A worker with one order.
#[derive(Clone, Copy)]
pub(crate) struct Worker<'a> {
    pub ports: Ports<'a>,
    /// The ports for asking the model.
    pub generate: generation::Ports<'a>,
    pub audit_key: &'a AuditKey,
    pub settings: &'a Settings,
    pub order: &'a Order,
}

/// The component that the alerts name.
const COMPONENT: &str = "ORACLE-VERDICT";

/// How often an order checks whether the worker with the claim is done, which is usually long before the claim ends.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// The orders that wait for one circuit come back spread over this time.
const SPREAD: Duration = Duration::from_secs(3);

/// The verdict that this worker saved, if it did.
type Saved = Option<Box<CachedVerdict>>;

/// A sale whose claim has ended, with or without a verdict.
type Ended<'a> = Committed<Journal<'a>, Saved>;

/// A verdict that passed, with the context for its records.
struct Made {
    verdict: Verdict,
    context: Context,
    notice: Option<String>,
    sample: Option<Alert>,
}

impl<'a> Worker<'a> {
    /// Fulfils the order, unless another worker does or did.
    ///
    /// # Errors
    /// [`StepError`]: the queue must deliver the order again.
    pub(crate) async fn fulfil(&self) -> Result<Handled, StepError> {
        let Self { order, settings, .. } = *self;
        let journal = self.ports.journal;
        let mut sale = journal.load(&order.session_id, order.received_at).await?;
        if journal.stopped_by_session(&order.session_id).await? {
            journal.flush(sale).await;
            return Ok(Handled::Done);
        }
        let claimant = match order.ordered_by {
            OrderedBy::SmokeTest => Claimant::SmokeTest { received_at: order.received_at },
            _ => Claimant::Customer,
        };
        if claimant == Claimant::Customer
            && let Some(until) = all_closed_until(self.generate, &settings.policy).await
        {
            // The sale is not claimed and Stripe is not asked, so that an outage with many waiting orders costs little.
            let wait = |sale: &mut Sale, now| {
                let made = sale.model_unavailable(None, Unavailable::CircuitOpen(until), &settings.retries, now);
                self.wait(made, &Context::new(now, order.received_at))
            };
            let (noted, waits) = journal.commit(sale, wait).await?.settle().await;
            if waits {
                return Ok(self.hidden_until(&noted.value, until));
            }
            sale = noted;
        }
        let claim =
            |sale: &mut Sale, now| Change::claimed(sale.claim(&order.message_id, claimant, now, settings.lease));
        let (sale, claim) = journal.commit(sale, claim).await?.unsettled();
        match claim {
            Claim::Foreign => {
                let session = order.session_id.prefix();
                tracing::error!(session, "a smoke test's order for a customer's sale: dropped");
                Ok(Handled::Done)
            }
            Claim::Unready => Ok(Handled::Later),
            // The order stays in the queue until the sale has ended, because the message of the working worker may be
            // deleted before that.
            Claim::Busy(until) => Ok(Handled::At(until.min(journal.clock.now().plus(LOOK_AGAIN)))),
            Claim::NotYet(until) => Ok(Handled::At(until)),
            Claim::Done if self.orders_again(&sale.value).await? => {
                journal.reopen_lost(sale, Some(COMPONENT)).await?;
                Ok(Handled::At(journal.clock.now()))
            }
            Claim::Done => {
                // The worker that ended the sale without a verdict may have crashed before it sent the notice.
                self.give_notice(&sale.value).await?;
                let sale = journal.flush(sale).await;
                self.finish(sale, None).await
            }
            Claim::Granted => self.work(sale).await,
        }
    }

    /// Works on a sale that this order claimed, and gives the claim back if the work fails.
    async fn work(&self, sale: Versioned<Sale>) -> Result<Handled, StepError> {
        match self.produce(sale).await {
            Ok(ended) => {
                let is_ready = |sale: &Sale| matches!(sale.fulfilment(), Fulfilment::Ready { .. });
                let (sale, saved) = ended.settle_unless(|sale, _| is_ready(sale)).await;
                if is_ready(&sale.value) {
                    return self.finish(sale, saved.as_deref()).await;
                }
                self.give_notice(&sale.value).await?;
                // Also applies if that time has passed meanwhile.
                let until = sale.value.unavailable_until();
                Ok(until.map_or(Handled::Done, |until| self.hidden_until(&sale.value, until)))
            }
            Err(error) => {
                let order = self.order;
                let release = |sale: &mut Sale, now| sale.release_claim(&order.message_id, now).is_ok();
                self.ports.journal.release(&order.session_id, order.received_at, release).await;
                Err(error)
            }
        }
    }

    /// Whether the smoke test orders its removed verdict once more (infra/decisions/smoke-test.md). A repetition of its
    /// first order was received before the verdict was ready, and after a regeneration there is no other one.
    async fn orders_again(&self, sale: &Sale) -> Result<bool, StepError> {
        let Fulfilment::Ready { at, .. } = sale.fulfilment() else { return Ok(false) };
        let is_second = sale.smoke() && sale.regenerated_at().is_none() && self.order.received_at > *at;
        if self.order.ordered_by != OrderedBy::SmokeTest || !is_second {
            return Ok(false);
        }
        let (_, entry) = self.ports.journal.store.load_with_verdict(&self.order.session_id).await?;
        Ok(matches!(entry, CacheEntry::Miss | CacheEntry::Removed))
    }

    /// Hides the order until its sale may be worked on, plus a random extra while every circuit is open: the first of
    /// the waiting orders makes the half-open call, and the others must not arrive together with it.
    fn hidden_until(&self, sale: &Sale, until: Timestamp) -> Handled {
        match sale.fulfilment() {
            Fulfilment::Ordered { .. } => Handled::At(until.plus(SPREAD.mul_f64(self.ports.randomness.fraction()))),
            _ => Handled::Done,
        }
    }

    /// Makes the verdict of a claimed sale: confirms the payment, asks the model and checks the reply. Then decides
    /// whether it may go out.
    async fn produce(&self, sale: Versioned<Sale>) -> Result<Ended<'a>, StepError> {
        let Self { order, settings, ports, .. } = *self;
        let owner = order.message_id.as_str();
        let bought = match self.check_payment(&sale.value).await? {
            Checked::Bought(bought) => *bought,
            // Operators are alerted, because the signed event or an earlier read said that the session was paid.
            // Stripe's next event or the customer's page orders again once it is paid.
            Checked::Unpaid(why) => {
                let alert = Some(("PAYMENT", why.words()));
                return self.end(sale, None, alert, |sale, now| sale.unpaid(owner, why, now)).await;
            }
            Checked::Unusable { why, tier, email_tag } => {
                return self.unusable(sale, why, tier, email_tag.as_deref()).await;
            }
            // It is not retried, because its test ends soon.
            Checked::Refused(reason) => {
                tracing::warn!(session = order.session_id.prefix(), reason, "a smoke test's session is refused");
                return self.end(sale, None, None, |sale, now| sale.fail(owner, None, &reason, now)).await;
            }
            Checked::Lost(reason) => {
                let alert = Some(("FOLLOWUP", reason));
                return self.end(sale, None, alert, |sale, now| sale.fail(owner, None, reason, now)).await;
            }
        };
        // Evaluated again after payment, because the question of a Payment Link did not come through checkout.
        let evaluation = bought.evaluate();
        let now = ports.journal.clock.now();
        let evaluation = match authority_gate::answerable(evaluation, &sale.value, &bought.purchase, now) {
            Ok(evaluation) => evaluation,
            Err(evaluation) => return self.decline(sale, &bought, &evaluation).await,
        };
        let (tier, query, background) = (bought.tier, &bought.query, bought.background());
        let question = Question { tier, query, background, evaluation: &evaluation };
        let generated = generate(self.generate, &settings.policy, &order.session_id, question).await;
        let now = ports.journal.clock.now();
        let crosschecks = generated.records(now, order.received_at);
        let mut details = self.details(&generated, &bought);
        details["authority"] = json!(evaluation.envelope());
        let context = Context::new(now, order.received_at).with_evidence(crosschecks).with_details(details);
        let verdict = match generated.verdict {
            Ok(verdict) => verdict,
            Err(NoVerdict::NotReady(detail)) => {
                return Err(ErrorCode::ModelNotReady.because(format!("the model cannot be asked: {detail}")));
            }
            Err(NoVerdict::NotBefore(unavailable)) => {
                let table = self.table();
                // An earlier reply of this attempt may have been crosschecked (TMM Crosscheck, invariant 5).
                let postpone = |sale: &mut Sale, now| {
                    self.wait(sale.model_unavailable(Some(owner), unavailable, &table, now), &context).map(|_| None)
                };
                return Ok(ports.journal.commit(sale, postpone).await?);
            }
            Err(NoVerdict::Failed(failure)) => return self.fail(sale, &bought, &context, failure).await,
            Err(NoVerdict::Refused(reason)) => {
                let fail = |sale: &mut Sale, now| {
                    let failed = sale.fail(owner, Some(&bought.purchase), &reason, now);
                    changed(failed, &context, self.event(now, Severity::Critical, "VERDICT", &reason))
                };
                return Ok(ports.journal.commit(sale, fail).await?);
            }
        };
        self.release_or_hold(sale, &bought, &evaluation, verdict, context).await
    }

    /// Saves a verdict that passes the content filter and the grammar of its answer, and holds any other one.
    async fn release_or_hold(
        &self,
        sale: Versioned<Sale>,
        bought: &Bought,
        evaluation: &authority::Evaluation,
        verdict: Verdict,
        context: Context,
    ) -> Result<Ended<'a>, StepError> {
        let Self { order, ports, .. } = *self;
        let now = context.now;
        let gate = gates::run(Gate::BeforeCache, verdict.texts());
        let (outcome, terms) = (gate.outcome().as_str(), gate.term_count());
        tracing::info!(session = order.session_id.prefix(), outcome, terms, "gate 1 has run");
        let crosschecks = context.evidence.clone();
        let context = context.with_evidence([gate.record(now, order.received_at)]);
        // The grammar binds what customers read, so it comes after the filter.
        match gate.checked(|text| evaluation.check_reply(text)) {
            Ok(Some(texts)) => {
                let verdict = verdict.with_texts(texts);
                let notice = evaluation.notice();
                let sample = sample::of(&gate, &order.session_id, now);
                self.save(sale, bought, Made { verdict, context, notice, sample }).await
            }
            held => {
                let payload = gate.held_payload(&order.session_id, Some(bought.tier), now, &json!(verdict));
                if let Err(error) = ports.quarantine.hold(&order.session_id, now, &payload).await {
                    self.keep_crosschecks(sale, &crosschecks).await;
                    return Err(error.into());
                }
                let (owner, purchase) = (order.message_id.as_str(), &bought.purchase);
                let held_by = match held {
                    Ok(_) => HeldBy::Maker { owner, purchase },
                    Err(_) => HeldBy::AuthorityGate { owner, purchase },
                };
                let hold = |sale: &mut Sale, _| gate.hold(sale, held_by, &context).map(|()| None);
                Ok(ports.journal.commit(sale, hold).await?)
            }
        }
    }

    /// Keeps the records of the crosschecks of a verdict that could not be held: each crosscheck that ran has its record
    /// (TMM Crosscheck, invariant 5). The filter's record is not kept, because it says that the verdict is held.
    async fn keep_crosschecks(&self, sale: Versioned<Sale>, crosschecks: &[Record]) {
        let keep = |sale: &mut Sale, _| match sale.fulfilment() {
            Fulfilment::Generating { owner, .. } if *owner == self.order.message_id => {
                Change::recorded(crosschecks.to_vec(), ())
            }
            _ => Change::nothing(()),
        };
        match self.ports.journal.commit(sale, keep).await {
            Ok(kept) => {
                kept.settle().await;
            }
            Err(error) => {
                tracing::error!(session = self.order.session_id.prefix(), %error, "crosschecks are not recorded");
            }
        }
    }

    /// The table of the sale's retries. A smoke test is not retried, because its test ends soon.
    fn table(&self) -> RetryTable {
        if self.order.ordered_by == OrderedBy::SmokeTest { RetryTable::none() } else { self.settings.retries.clone() }
    }

    /// Ends an attempt whose calls failed: the sale is retried by the table, and needs a human after the last retry.
    async fn fail(
        &self,
        sale: Versioned<Sale>,
        bought: &Bought,
        context: &Context,
        Failure { reason, is_ours, not_before }: Failure,
    ) -> Result<Ended<'a>, StepError> {
        let (table, fraction) = (self.table(), self.ports.randomness.fraction());
        // This failure may have opened the circuit; from then on the circuit decides when the model is asked.
        let open_until = all_closed_until(self.generate, &self.settings.policy).await;
        let fail = |sale: &mut Sale, now| {
            let (owner, attempt) = (&self.order.message_id, FailedAttempt { reason: &reason, open_until, not_before });
            let failed = sale.model_failed(owner, &bought.purchase, attempt, &table, fraction, now);
            let (severity, detail) = match &failed {
                Ok(Event::ModelFailed { failures, due, .. }) => {
                    let severity = if is_ours { Severity::Critical } else { Severity::Error };
                    (severity, format!("{reason}; tried again at {due} ({failures})"))
                }
                _ => (Severity::Critical, reason.clone()),
            };
            changed(failed, context, self.event(now, severity, "VERDICT", &detail))
        };
        Ok(self.ports.journal.commit(sale, fail).await?)
    }

    /// Records a wait for the model and returns whether it was recorded; nothing changes if another worker has the
    /// sale. A sale that waited too long fails, and an operator is alerted.
    fn wait(&self, made: Result<Event, Refused>, context: &Context) -> Change<bool> {
        let alert = match &made {
            Ok(Event::Failed { reason }) => Some(self.event(context.now, Severity::Critical, "VERDICT", reason)),
            _ => None,
        };
        Change::made(made, context).alerting_all(alert)
    }

    /// Ends the claim by a transition, with its records and at most one critical alert, of which the operation and the
    /// detail are given. Nothing changes if the claim was lost meanwhile.
    async fn end(
        &self,
        sale: Versioned<Sale>,
        details: Option<Value>,
        alert: Option<(&str, &str)>,
        transition: impl Fn(&mut Sale, Timestamp) -> Result<Event, Refused> + Send + Sync,
    ) -> Result<Ended<'a>, StepError> {
        let end = |sale: &mut Sale, now| {
            let Ok(event) = transition(sale, now) else { return Change::nothing(None) };
            let context = Context { details: details.clone(), ..Context::new(now, self.order.received_at) };
            let critical = |(operation, detail)| self.event(now, Severity::Critical, operation, detail);
            Change::of(&event, &context, None).alerting_all(alert.map(critical))
        };
        Ok(self.ports.journal.commit(sale, end).await?)
    }

    /// Ends a claim of a paid session without a usable tier or question: the customer is asked for it (Silent Drop).
    async fn unusable(
        &self,
        sale: Versioned<Sale>,
        unusable: Unusable,
        tier: Option<Tier>,
        email_tag: Option<&str>,
    ) -> Result<Ended<'a>, StepError> {
        tracing::error!(session = self.order.session_id.prefix(), %unusable, "a paid session is unusable");
        let (found_by, reason) = (FoundBy::Maker { owner: &self.order.message_id }, unusable.to_string());
        let drop = |sale: &mut Sale, now| {
            let dropped = sale.unusable(found_by, tier, email_tag, &reason, now);
            Change::unusable(dropped, sale, COMPONENT, &Context::new(now, self.order.received_at)).map(|_| None)
        };
        Ok(self.ports.journal.commit(sale, drop).await?)
    }

    /// Ends a paid sale whose question must not be answered: there is no verdict. The money goes back by policy unless
    /// people with the required roles approve the question first. If the customer has an earlier verdict by mail, no
    /// policy refunds the sale; if no role may approve the question, no reminder follows this alert. The record has the
    /// state and the reason, no text (Authority Governance, RFC-0008: every evaluation is recorded).
    async fn decline(
        &self,
        sale: Versioned<Sale>,
        bought: &Bought,
        evaluation: &authority::Evaluation,
    ) -> Result<Ended<'a>, StepError> {
        let (state, code) = (evaluation.state(), evaluation.reason_code());
        let reason = format!("authority gate: {state} {code}");
        tracing::warn!(session = self.order.session_id.prefix(), reason, "the authority gate declined a paid question");
        let details = json!({ "authority": evaluation.envelope(), "ordered_by": self.order.ordered_by });
        let decline = |sale: &mut Sale, now| {
            let declined = authority_gate::declined(evaluation, now);
            sale.decline(&self.order.message_id, &bought.purchase, declined, now)
        };
        let detail = if sale.value.is_served() && !sale.value.is_followup() {
            format!("{reason}; no policy refunds it, because the customer has a verdict by mail (oracle refunds issue)")
        } else {
            reason
        };
        self.end(sale, Some(details), Some(("AUTHORITY", detail.as_str())), decline).await
    }

    /// Saves the verdict with its records, unless the claim was lost meanwhile.
    async fn save(
        &self,
        sale: Versioned<Sale>,
        bought: &Bought,
        Made { verdict, context, notice, sample }: Made,
    ) -> Result<Ended<'a>, StepError> {
        let verdict_hash = hash::verdict_hash(&verdict);
        let now = self.ports.journal.clock.now();
        let mut original = CachedVerdict::first(bought.tier, &bought.query, verdict, now);
        original.notice = notice;
        original.first = bought.followed.as_ref().map(|followed| Box::new(followed.first.clone()));
        let context = Context { now, ..context };
        let colour = original.verdict.verdict;
        let ready = |sale: &mut Sale, _| {
            let Ok(event) = sale.ready(&self.order.message_id, &bought.purchase, colour, &verdict_hash, now) else {
                return (Change::nothing(None), None);
            };
            let mut cached = Box::new(CachedVerdict { smoke: sale.smoke(), ..original.clone() });
            if let Event::VerdictReady { regenerated: Some(compared), .. } = &event {
                cached.mark_regenerated(compared);
            }
            let change = Change::of(&event, &context, Some(cached.clone())).alerting_all(sample.clone());
            (change, Some(cached))
        };
        Ok(self.ports.journal.commit_with_verdict(sale, ready).await?)
    }

    fn event(&self, now: Timestamp, severity: Severity, operation: &str, detail: &str) -> Alert {
        Alert::event(COMPONENT, severity, now, operation, &self.order.session_id, detail)
    }

    fn details(&self, generated: &Generated, bought: &Bought) -> Value {
        let mut details = generated.facts(bought.prompt_version());
        details["ordered_by"] = json!(self.order.ordered_by);
        if let Some(followed) = &bought.followed {
            details["working_set_hash"] = json!(followed.memory.bytes_hash());
        }
        details
    }
}

/// A transition with its records and its alert; no change if the claim was lost meanwhile.
fn changed(made: Result<Event, Refused>, context: &Context, alert: Alert) -> Change<Saved> {
    match made {
        Ok(event) => Change::of(&event, context, None).alerting(alert),
        Err(_) => Change::nothing(None),
    }
}
