//! GET /api/verdict: replies with the state of a session.
//!
//! It looks in the cache and then in the archive, and otherwise replies "pending", repeating the order if no worker
//! handles it. It asks Stripe only if our own records do not already show that the session was paid.
//!
//! The file has more than 300 lines because each state of a sale has its own short reply, and the replies lead to one
//! another: a verdict that the cache lost is restored and served, or ordered again.

use crate::{
    Ports, followup,
    recent_answers::Unpaid,
    replies::{self, Shown},
};
use audit::{Change, CommitError, Context};
use domain::{
    Alert, CachedVerdict, CheckoutSession, Metric, Sale, SessionId, Tier, Timestamp,
    alert::Severity,
    customer_text,
    message::{Message, OrderedBy},
    ports::{CacheEntry, PaymentError, StorageError, Versioned},
    sale::{FoundBy, Fulfilment, HeldBy},
    texts,
    unknown_ids::{Answer, NotAnswered},
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde_json::{Map, Value, json};

/// The function's name in alerts.
const COMPONENT: &str = "ORACLE-RESULT";

/// The seconds after which the page asks again while a failed attempt waits for its retry.
const RETRY_AFTER_FAILURE: &str = "10";

/// Answers a request for the verdict of `id`.
pub(crate) async fn retrieve(ports: Ports<'_>, request: &Request) -> Reply {
    // A follow-up is shown with the verdict that it follows, and has no page of its own.
    let id = request.query("session_id");
    let parsed = id.and_then(|id| SessionId::parse(id).ok()).filter(|id| id.looks_issued() && !id.is_followup());
    let Some(session_id) = parsed else { return replies::not_found() };
    let only = request.query("only");
    let asked = if only.as_deref() == Some("followup") { Asked::FollowupState } else { Asked::Verdict };
    let (network, asked_at) = (request.network(), ports.journal.clock.now());
    let shown = Retrieval { ports, session_id, asked, network, asked_at }.shown().await;
    // The alarm on 5xx replies excludes this one: the operator in charge was alerted when the sale failed. A failed
    // follow-up is shown in a reply with 200.
    if matches!(shown, Shown::Failed(..)) {
        ports.meter.record(&[Metric::FailedSaleShown.once()], asked_at);
    }
    shown.into_reply()
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// The verdict, or the state of the sale.
    Verdict,
    /// The state of a delivered sale's follow-up. A page that waits for the follow-up asks every few seconds; no verdict
    /// is served, so no retrieval is recorded.
    FollowupState,
}

/// Where a served verdict was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// In the cache.
    Cached,
    /// In the archive: it was restored to the cache for this request.
    Archived,
}

struct Retrieval<'a> {
    ports: Ports<'a>,
    session_id: SessionId,
    asked: Asked,
    /// The client's network.
    network: Option<String>,
    asked_at: Timestamp,
}

impl Retrieval<'_> {
    /// Reads the sale, orders what it lacks, and returns what its page shows. Used for follow-ups too.
    async fn shown(&self) -> Shown {
        let (sale, entry) = match self.ports.journal.store.load_with_verdict(&self.session_id).await {
            Ok(loaded) => loaded,
            Err(error) => return self.without_table(&telemetry::chain(&error)).await,
        };
        let Some(sale) = sale else { return self.without_sale().await };
        match sale.value.fulfilment() {
            // A delivered verdict stays readable; a missing one is not made for money that went back.
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } | Fulfilment::InReview { .. }
                if !sale.value.is_money_kept() =>
            {
                replies::failed(sale.value.money())
            }
            Fulfilment::Ready { .. } if self.asked == Asked::FollowupState => self.followup_state(&sale.value).await,
            Fulfilment::Ready { .. } => match entry {
                CacheEntry::Hit(cached) => self.serve(sale, *cached, Found::Cached).await,
                // The smoke test has removed its own verdict: there is nothing to restore or to regenerate.
                CacheEntry::Miss | CacheEntry::Corrupt | CacheEntry::Removed if sale.value.smoke() => {
                    replies::not_found().into()
                }
                // The archive has it, and this is no fault. If the archive lost it, nothing has reported that yet.
                CacheEntry::Removed => self.restore(sale, Some(COMPONENT)).await,
                CacheEntry::Miss => {
                    self.cache_lost(Severity::Error, "write-confirm mismatch: no entry").await;
                    self.restore(sale, None).await
                }
                CacheEntry::Corrupt => {
                    self.cache_lost(Severity::Critical, "corrupt entry").await;
                    self.restore(sale, None).await
                }
            },
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => {
                if sale.value.is_tried_again() && !sale.value.needs_order(self.asked_at) {
                    return self.tried_again(&sale.value);
                }
                if sale.value.waits_for_model(self.asked_at).is_some() {
                    return replies::temporarily_unavailable().into();
                }
                if sale.value.needs_order(self.asked_at) { self.ask_stripe(sale).await } else { replies::pending() }
            }
            Fulfilment::InReview { .. } => replies::in_review(&sale.value),
            Fulfilment::Erased { .. } => replies::erased().into(),
            // The session may have been paid meanwhile. If that payment went back too, nothing is ordered for it.
            Fulfilment::Failed { .. } if sale.value.not_paid().is_some() && sale.value.is_money_kept() => {
                self.ask_stripe(sale).await
            }
            Fulfilment::Unusable { .. } if sale.value.is_money_kept() => replies::unusable(),
            Fulfilment::Failed { .. } | Fulfilment::Unusable { .. } => match sale.value.declined() {
                Some(declined) => replies::declined(declined, &sale.value),
                None => replies::failed(sale.value.money()),
            },
        }
    }

    /// Serves a verdict through gate 2, and records that.
    async fn serve(&self, sale: Versioned<Sale>, cached: CachedVerdict, found: Found) -> Shown {
        let gate = gates::before_page(&cached);
        let mut cached = cached;
        match gate.delivered() {
            Some(texts) => {
                if cached.notice.is_some() {
                    cached.notice = texts.last().cloned();
                }
                cached.verdict = cached.verdict.with_texts(texts);
            }
            // The customer has the verdict already, and an operator decides about it (infra/decisions/second-look.md).
            None if sale.value.keeps_page() => {}
            None => return self.hold(sale, &cached, &gate).await,
        }
        let followup = match self.followup(&sale.value).await {
            Ok(followup) => followup,
            Err(error) => return self.unavailable("CACHE_READ", &telemetry::chain(&error)).await,
        };
        let shown = self.verdict(&cached, sale.value.refunded_at(), followup);
        match self.record_retrieval(sale, &gate, found).await {
            Ok(()) => shown,
            // A filtered verdict is shown only if the filter's action is recorded (content filter GAP-L, fail closed).
            Err(error) if gate.term_count() > 0 => self.unavailable("CONTENT_FILTER", &telemetry::chain(&error)).await,
            Err(error) => {
                let detail = format!("retrieval not recorded: {}", telemetry::chain(&error));
                self.alert(Severity::Error, "AUDIT_WRITE", &detail).await;
                shown
            }
        }
    }

    /// The fields about the follow-up in the reply with a verdict: `followup_status`, and `followup` once it exists. Empty
    /// if the sale includes no follow-up.
    async fn followup(&self, sale: &Sale) -> Result<Map<String, Value>, StorageError> {
        if sale.tier() != Some(Tier::Strategy) || sale.is_followup() {
            return Ok(Map::new());
        }
        let session_id = sale.session_id().followup();
        if self.ports.journal.store.load(&session_id).await?.is_none() {
            return Ok(followup::not_ordered(sale));
        }
        // Retrieved like any sale: with gates, records, repeated orders and restoration from the archive.
        let retrieval = Retrieval { session_id, network: None, asked_at: self.now(), ..*self };
        Ok(followup::ordered(Box::pin(retrieval.shown()).await))
    }

    /// The fields about the follow-up without its verdict. The page then asks for the verdict, which passes gate 2. A
    /// follow-up has no follow-up of its own, and so no such fields.
    async fn followup_state(&self, sale: &Sale) -> Shown {
        match self.followup(sale).await {
            Ok(mut fields) => {
                fields.remove(followup::VERDICT);
                Shown::Delivered(fields)
            }
            Err(error) => self.unavailable("CACHE_READ", &telemetry::chain(&error)).await,
        }
    }

    /// Replies while the table cannot be read: the archive has delivered verdicts, and gate 2 checks them as usual. A
    /// verdict that the filter would change is not shown, because the change cannot be recorded (content filter GAP-L,
    /// fail closed).
    async fn without_table(&self, detail: &str) -> Shown {
        let unavailable = self.unavailable("CACHE_READ", detail).await;
        if self.asked == Asked::FollowupState {
            return unavailable;
        }
        let Ok(Some(cached)) = self.ports.archive.find(&self.session_id).await else { return unavailable };
        let gate = gates::before_page(&cached);
        if gate.term_count() > 0 || gate.is_held() {
            return unavailable;
        }
        self.verdict(&cached, None, Map::new())
    }

    /// An attempt failed and is retried automatically: the reply says so, and when.
    fn tried_again(&self, sale: &Sale) -> Shown {
        let end = if sale.email_tag().is_some() { texts::MAILED_WHEN_READY } else { texts::HERE_WHEN_READY };
        let sentence = format!("{}{end}", texts::TRYING_AGAIN);
        let mut body = json!({ "status": "pending", "message": sentence });
        if let Some(due) = sale.waits_for_model(self.asked_at) {
            body["next_attempt_at"] = due.to_iso().into();
        }
        Shown::Other(Reply::json(202, &body).header("retry-after", RETRY_AFTER_FAILURE), Some(sentence))
    }

    fn verdict(&self, cached: &CachedVerdict, refunded_at: Option<Timestamp>, followup: Map<String, Value>) -> Shown {
        let mut body = match serde_json::to_value(cached) {
            Ok(Value::Object(body)) => body,
            _ => return replies::temporarily_unavailable().into(),
        };
        // Stored with every verdict (Smoke Test, invariant 2), and shown only for regenerated ones.
        if !cached.regen {
            body.remove("regen");
        }
        // The page shows the first verdict from its own sale.
        body.remove("first");
        body.extend(followup);
        if let Some(at) = refunded_at {
            body.insert(replies::REFUNDED_AT.to_owned(), at.to_iso().into());
        }
        if gates::may_echo(&cached.query) {
            body.insert("query".to_owned(), customer_text::visible(&cached.query).into());
        } else {
            body.insert("query".to_owned(), gates::withheld_line(&self.session_id).into());
            body.insert("query_withheld".to_owned(), true.into());
            body.insert("reference".to_owned(), self.session_id.reference().into());
        }
        Shown::Delivered(body)
    }

    /// Counts and records the retrieval, and records the filter's findings if there are any. After the last recorded
    /// retrieval, the findings of each block list are recorded once. A clean verdict is served even if its record
    /// cannot be written.
    async fn record_retrieval(
        &self,
        sale: Versioned<Sale>,
        gate: &gates::Run,
        found: Found,
    ) -> Result<(), CommitError> {
        let filtered_by = (gate.term_count() > 0).then(gates::list_version);
        let record = |sale: &mut Sale, now| {
            let Ok(event) = sale.serve(filtered_by) else { return Change::nothing(()) };
            let filtered = filtered_by.map(|_| gate.record_shown(now, self.asked_at));
            match found {
                Found::Cached => Change::of(&event, &Context::new(now, self.asked_at).with_evidence(filtered), ()),
                // The restoration is recorded, and the cache had nothing (Audit Trail, derived analytics).
                Found::Archived => Change::recorded(filtered.into_iter().collect(), ()),
            }
        };
        self.ports.journal.commit(sale, record).await?.settle().await;
        Ok(())
    }

    /// Gate 2 found a term that gate 1 let through: the verdict is held, on the page and in the mail.
    async fn hold(&self, sale: Versioned<Sale>, cached: &CachedVerdict, gate: &gates::Run) -> Shown {
        let now = self.now();
        let payload = gate.held_payload(&self.session_id, Some(cached.tier), now, &json!(cached.verdict));
        if let Err(error) = self.ports.quarantine.hold(&self.session_id, now, &payload).await {
            // Fail closed: nothing is shown, and the next request tries again (content filter GAP-L).
            return self.unavailable("CONTENT_FILTER", &telemetry::chain(&error)).await;
        }
        let context = Context::new(now, self.asked_at).with_evidence([gate.record(now, self.asked_at)]);
        let hold = |sale: &mut Sale, _| gate.hold(sale, HeldBy::Page, &context);
        match self.ports.journal.commit(sale, hold).await {
            Ok(held) => replies::in_review(&held.settle().await.0.value),
            Err(error) => self.unavailable("CONTENT_FILTER", &telemetry::chain(&error)).await,
        }
    }

    async fn cache_lost(&self, severity: Severity, detail: &str) {
        let alert = Alert::cache(severity, self.now(), "CACHE_READ", &self.session_id, detail);
        self.ports.journal.alerts.raise(alert).await;
    }

    /// The cache does not have the verdict: it is restored from the archive, or otherwise regenerated (Regen
    /// Consistency, invariant 6). `component` raises the alert about its loss, unless reading the entry raised one.
    async fn restore(&self, sale: Versioned<Sale>, component: Option<&str>) -> Shown {
        let archived = match self.ports.archive.find(&self.session_id).await {
            Ok(archived) => archived,
            Err(error) => return self.unavailable("ARCHIVE_READ", &telemetry::chain(&error)).await,
        };
        let Some(cached) = archived else { return self.regenerate(sale, component).await };
        let put_back = |sale: &mut Sale, now| {
            let Ok(event) = sale.restore() else { return (Change::nothing(()), None) };
            let context = Context::new(now, self.asked_at);
            (Change::of(&event, &context, ()), Some(Box::new(cached.clone())))
        };
        match self.ports.journal.commit_with_verdict(sale, put_back).await {
            Ok(restored) => self.serve(restored.settle().await.0, cached, Found::Archived).await,
            Err(error) => self.unavailable("CACHE_WRITE", &telemetry::chain(&error)).await,
        }
    }

    async fn regenerate(&self, sale: Versioned<Sale>, component: Option<&str>) -> Shown {
        match self.ports.journal.reopen_lost(sale, component).await {
            Ok(true) => self.order().await,
            Ok(false) => replies::pending(),
            Err(error) => self.unavailable("CACHE_WRITE", &telemetry::chain(&error)).await,
        }
    }

    /// The store has no such sale: its webhook is late or lost, or the id is made up. Stripe is asked, within limits.
    async fn without_sale(&self) -> Shown {
        let (recent_answers, id, payments) =
            (self.ports.recent_answers, &self.session_id.paid_session(), self.ports.payments);
        if let Some(why) = recent_answers.unpaid.recall(id.as_str(), self.asked_at) {
            return replies::unpaid(&why);
        }
        if payments.is_of_other_mode(id).await {
            return replies::not_found().into();
        }
        let question = async {
            match payments.session(id).await {
                Ok(session) => Ok(Some(session)),
                Err(PaymentError::NotFound) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let from = (id.as_str(), self.network.as_deref(), self.asked_at);
        // A session that is not paid costs its client nothing.
        let is_free = |session: &CheckoutSession| !session.is_paid();
        match recent_answers.sessions.ask(self.ports.unknown_ids, from, question, is_free).await {
            Ok(Answer::Known(session)) if session.is_paid() => self.order_paid(None, &session).await,
            Ok(Answer::Known(session)) => self.unpaid(session),
            Ok(Answer::Unknown) => replies::not_found().into(),
            Ok(Answer::TooMany) => replies::busy(),
            Err(NotAnswered::Vendor(error)) => self.stripe_failed(&error),
            // The store raised its alert.
            Err(NotAnswered::Storage(error)) => {
                tracing::error!(session = id.prefix(), error = %telemetry::chain(&error), "a guess was not counted");
                replies::temporarily_unavailable().into()
            }
        }
    }

    /// The sale has no verdict in work, so Stripe is asked whether its session is paid.
    async fn ask_stripe(&self, sale: Versioned<Sale>) -> Shown {
        match self.ports.payments.session(&self.session_id.paid_session()).await {
            Ok(session) if sale.value.is_covered_by(&session) => self.order_paid(Some(sale), &session).await,
            Ok(session) => self.unpaid(session),
            // Also for "not found": the store has this sale, so the key is one of another account or mode.
            Err(error) => self.stripe_failed(&error),
        }
    }

    /// The session is not paid. The reply is remembered, because the client may poll.
    fn unpaid(&self, session: CheckoutSession) -> Shown {
        let (id, why) = (session.id.clone(), Unpaid::from(session));
        let shown = replies::unpaid(&why);
        self.ports.recent_answers.unpaid.keep(id.as_str(), why, self.asked_at);
        shown
    }

    fn stripe_failed(&self, error: &PaymentError) -> Shown {
        tracing::error!(session = self.session_id.prefix(), error = %telemetry::chain(error), "Stripe cannot be asked");
        replies::temporarily_unavailable().into()
    }

    /// A paid session without a verdict: its webhook is late or lost, or its worker crashed. The verdict is ordered
    /// (again); the claim turns two orders into one verdict.
    async fn order_paid(&self, sale: Option<Versioned<Sale>>, session: &CheckoutSession) -> Shown {
        let fresh = || Versioned { value: Sale::ordered(self.session_id.clone(), self.asked_at), version: 0 };
        let usable = self.session_id.is_followup() || session.submission().is_ok();
        let order = |sale: &mut Sale, now| {
            let context = Context::new(now, self.asked_at);
            if usable {
                return Change::made(sale.order_again(self.asked_at), &context);
            }
            // The page has no key for the tag of the address; the drop's own record has it.
            let (tier, reason) = (session.tier(), "no usable tier or query");
            let dropped = sale.unusable(FoundBy::Page, tier, None, reason, self.asked_at);
            Change::unusable(dropped, sale, COMPONENT, &context)
        };
        match self.ports.journal.commit(sale.unwrap_or_else(fresh), order).await {
            Ok(committed) => match (committed.settle().await.1, usable) {
                (true, true) => self.order().await,
                (true, false) => self.notify().await,
                (false, _) => replies::pending(),
            },
            Err(error) => self.unavailable("CACHE_WRITE", &telemetry::chain(&error)).await,
        }
    }

    async fn order(&self) -> Shown {
        let order = Message::order(self.session_id.clone(), self.asked_at, OrderedBy::ResultPage);
        if let Err(error) = self.ports.orders.send(&order).await {
            // The page asks again, and after a minute the order is repeated.
            self.alert(Severity::Error, "ORDER", &telemetry::chain(&error)).await;
        }
        replies::pending()
    }

    async fn notify(&self) -> Shown {
        let notice = Message::notice(self.session_id.clone(), self.asked_at);
        if let Err(error) = self.ports.notices.send(&notice).await {
            let detail = format!("[SILENT-DROP] notice not queued: {}", telemetry::chain(&error));
            self.alert(Severity::Critical, "NOTICE", &detail).await;
        }
        replies::unusable()
    }

    fn now(&self) -> Timestamp {
        self.ports.journal.clock.now()
    }

    async fn alert(&self, severity: Severity, operation: &str, detail: &str) {
        let alert = Alert::event(COMPONENT, severity, self.now(), operation, &self.session_id, detail);
        self.ports.journal.alerts.raise(alert).await;
    }

    async fn unavailable(&self, operation: &str, detail: &str) -> Shown {
        let alert = Alert::cache(Severity::Error, self.now(), operation, &self.session_id, detail);
        self.ports.journal.alerts.raise(alert).await;
        replies::temporarily_unavailable().into()
    }
}
