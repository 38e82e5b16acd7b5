//! GET /api/verdict: what becomes of a session id.
//!
//! cache → archive → pending, with the order repeated when nobody works on it. Stripe is asked only where our
//! own records do not already show that the session was paid.

use crate::{Ports, asked::Known, followup};
use audit::{Change, CommitError, Context};
use domain::{
    Alert, CachedVerdict, CheckoutSession, Metric, Sale, SessionId, Timestamp,
    alert::Severity,
    customer_text,
    message::{self, Message, OrderedBy},
    money::Money,
    ports::{CacheEntry, PaymentError, Versioned},
    sale::{Declined, Finder, Fulfilment, Holder},
    texts,
};
use runtime::{http::Reply, telemetry};
use serde_json::{Map, Value, json};

/// Seconds after which the page asks again.
const RETRY_AFTER: &str = "2";

/// The same while the verdict is tried again: the next attempt is not near.
const RETRY_AFTER_FAILURE: &str = "10";
/// The field that says when the money went back.
const REFUNDED_AT: &str = "refunded_at";

/// Answers a request for the verdict of `id`.
pub(crate) async fn retrieve(ports: Ports<'_>, id: Option<&str>) -> Reply {
    // A follow-up is shown with the verdict that it follows, and has no page of its own.
    let parsed = id.and_then(|id| SessionId::parse(id).ok()).filter(|id| id.looks_issued() && !id.is_followup());
    let Some(session_id) = parsed else { return not_found() };
    answer(ports, session_id).await
}

/// What becomes of a sale, a follow-up's included.
pub(crate) async fn answer(ports: Ports<'_>, session_id: SessionId) -> Reply {
    let retrieval = Retrieval { ports, session_id, asked_at: ports.journal.clock.now() };
    retrieval.answer().await
}

struct Retrieval<'a> {
    ports: Ports<'a>,
    session_id: SessionId,
    asked_at: Timestamp,
}

impl Retrieval<'_> {
    async fn answer(&self) -> Reply {
        let (sale, entry) = match self.ports.journal.store.load_with_verdict(&self.session_id).await {
            Ok(loaded) => loaded,
            Err(error) => return self.without_table(&telemetry::chain(&error)).await,
        };
        let Some(sale) = sale else { return self.ask_stripe(None).await };
        match sale.value.fulfilment() {
            // What was delivered stays readable; what was not will not be made for money that went back.
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } | Fulfilment::InReview { .. }
                if !sale.value.is_money_kept() =>
            {
                self.failed(sale.value.refunded_at())
            }
            Fulfilment::Ready { .. } => match entry {
                CacheEntry::Hit(cached) => self.serve(sale, *cached).await,
                // The smoke test has cleaned up after itself: there is nothing to restore or to make anew.
                CacheEntry::Miss | CacheEntry::Corrupt | CacheEntry::Removed if sale.value.smoke() => not_found(),
                // Taken out for its age: the archive has it, and nothing is wrong.
                CacheEntry::Removed => self.restore(sale).await,
                CacheEntry::Miss => {
                    self.cache_lost(Severity::Error, "write-confirm mismatch: no entry").await;
                    self.restore(sale).await
                }
                CacheEntry::Corrupt => {
                    self.cache_lost(Severity::Critical, "corrupt entry").await;
                    self.restore(sale).await
                }
            },
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => {
                if sale.value.is_tried_again() && !sale.value.needs_order(self.asked_at) {
                    return self.tried_again(&sale.value);
                }
                if sale.value.waits_for_model(self.asked_at).is_some() {
                    return temporarily_unavailable();
                }
                if sale.value.needs_order(self.asked_at) { self.ask_stripe(Some(sale)).await } else { pending() }
            }
            Fulfilment::InReview { .. } => in_review(),
            Fulfilment::Erased { .. } => erased(),
            // Perhaps somebody has paid meanwhile.
            Fulfilment::Failed { .. } if sale.value.not_paid().is_some() => self.ask_stripe(Some(sale)).await,
            Fulfilment::Failed { .. } | Fulfilment::Unusable { .. } => match sale.value.declined() {
                Some(declined) => declined_reply(declined, &sale.value),
                None => self.failed(sale.value.refunded_at()),
            },
        }
    }

    /// Serves a cached verdict through gate 2, and records that it did.
    async fn serve(&self, sale: Versioned<Sale>, cached: CachedVerdict) -> Reply {
        let gate = gates::before_page(&cached);
        let mut cached = cached;
        match gate.clone().delivered() {
            Some(texts) => {
                if cached.notice.is_some() {
                    cached.notice = texts.last().cloned();
                }
                cached.verdict = cached.verdict.with_texts(texts);
            }
            // The customer has it, and what becomes of it is an operator's to decide (infra/decisions/second-look.md).
            None if sale.value.keeps_page() => {}
            None => return self.hold(sale, &cached, &gate).await,
        }
        let followup = match followup::of(self.ports, &sale.value).await {
            Ok(followup) => followup,
            Err(error) => return self.unavailable("CACHE_READ", &telemetry::chain(&error)).await,
        };
        let reply = self.verdict_reply(&cached, sale.value.refunded_at(), followup);
        match self.record_retrieval(sale, &gate).await {
            Ok(()) => reply,
            // What the filter did is on record, or nothing is shown (content filter GAP-L, fail closed).
            Err(error) if gate.term_count() > 0 => self.unavailable("CONTENT_FILTER", &telemetry::chain(&error)).await,
            Err(error) => {
                let detail = format!("retrieval not recorded: {}", telemetry::chain(&error));
                self.alert(Severity::Error, "AUDIT_WRITE", &detail).await;
                reply
            }
        }
    }

    /// The table cannot be read: the archive has what was delivered, and gate 2 judges it as ever. What the filter would
    /// change cannot be put on record, so it is not shown (content filter GAP-L, fail closed).
    async fn without_table(&self, detail: &str) -> Reply {
        let unavailable = self.unavailable("CACHE_READ", detail).await;
        let Ok(Some(cached)) = self.ports.archive.find(&self.session_id).await else { return unavailable };
        let gate = gates::before_page(&cached);
        if gate.term_count() > 0 || gate.delivered().is_none() {
            return unavailable;
        }
        self.verdict_reply(&cached, None, Map::new())
    }

    /// An attempt failed, and the next one comes by itself: the page says so, and when.
    fn tried_again(&self, sale: &Sale) -> Reply {
        let end = if sale.email_tag().is_some() { texts::MAILED_WHEN_READY } else { texts::HERE_WHEN_READY };
        let mut body = json!({ "status": "pending", "message": format!("{}{end}", texts::TRYING_AGAIN) });
        if let Some(due) = sale.waits_for_model(self.asked_at) {
            body["next_attempt_at"] = due.to_iso().into();
        }
        Reply::json(202, &body).header("retry-after", RETRY_AFTER_FAILURE)
    }

    fn verdict_reply(
        &self,
        cached: &CachedVerdict,
        refunded_at: Option<Timestamp>,
        followup: Map<String, Value>,
    ) -> Reply {
        let mut body = match serde_json::to_value(cached) {
            Ok(Value::Object(body)) => body,
            _ => return temporarily_unavailable(),
        };
        // Kept with every verdict (Smoke Test, invariant 2), and shown for those that were regenerated.
        if !cached.regen {
            body.remove("regen");
        }
        // The page has the first verdict from its own sale.
        body.remove("first");
        body.extend(followup);
        if let Some(at) = refunded_at {
            body.insert(REFUNDED_AT.to_owned(), at.to_iso().into());
        }
        if gates::may_echo(&cached.query) {
            body.insert("query".to_owned(), customer_text::visible(&cached.query).into());
        } else {
            body.insert("query".to_owned(), gates::withheld_line(&self.session_id).into());
            body.insert("query_withheld".to_owned(), true.into());
            body.insert("reference".to_owned(), gates::reference(&self.session_id).into());
        }
        Reply::json(200, &Value::Object(body))
    }

    /// A record of the retrieval, and of what the filter found if it found anything. A clean verdict is served
    /// whether or not its record can be written.
    async fn record_retrieval(&self, sale: Versioned<Sale>, gate: &gates::Run) -> Result<(), CommitError> {
        let record = |sale: &mut Sale, now| {
            let Ok(event) = sale.serve() else { return Change::nothing(()) };
            let filtered = (gate.term_count() > 0).then(|| gate.record(now, self.asked_at));
            Change::of(&event, &Context::new(now, self.asked_at).with_evidence(filtered), ())
        };
        self.ports.journal.commit(sale, record).await?.settle().await;
        Ok(())
    }

    /// Gate 2 found what gate 1 let through: the verdict is held, here and in the mail.
    async fn hold(&self, sale: Versioned<Sale>, cached: &CachedVerdict, gate: &gates::Run) -> Reply {
        let now = self.now();
        let payload = gate.held_payload(&self.session_id, Some(cached.tier), now, &json!(cached.verdict));
        if let Err(error) = self.ports.quarantine.hold(&self.session_id, now, &payload).await {
            // Fail closed: nothing is shown, and the next request tries again (content filter GAP-L).
            return self.unavailable("CONTENT_FILTER", &telemetry::chain(&error)).await;
        }
        let hold = |sale: &mut Sale, _| {
            let Ok(event) = sale.hold(Holder::Page, now) else { return Change::nothing(()) };
            let alert = Alert::quarantine(now, 2, &self.session_id, gate.term_count());
            let context = Context::new(now, self.asked_at).with_evidence([gate.record(now, self.asked_at)]);
            Change::of(&event, &context, ()).alerting(alert)
        };
        if let Ok(held) = self.ports.journal.commit(sale, hold).await {
            held.settle().await;
        }
        in_review()
    }

    async fn cache_lost(&self, severity: Severity, detail: &str) {
        let alert = Alert::cache(severity, self.now(), "CACHE_READ", &self.session_id, detail);
        self.ports.journal.alerts.raise(alert).await;
    }

    /// The cache has no verdict (any more): it comes back from the archive, or else is generated once more (Regen
    /// Consistency, with DESIGN's archive in between).
    async fn restore(&self, sale: Versioned<Sale>) -> Reply {
        let archived = match self.ports.archive.find(&self.session_id).await {
            Ok(archived) => archived,
            Err(error) => return self.unavailable("ARCHIVE_READ", &telemetry::chain(&error)).await,
        };
        let Some(cached) = archived else { return self.regenerate(sale).await };
        let put_back = |sale: &mut Sale, now| {
            let Ok(event) = sale.restore() else { return Change::nothing(()) };
            let context = Context::new(now, self.asked_at);
            Change { verdict: Some(Box::new(cached.clone())), ..Change::of(&event, &context, ()) }
        };
        match self.ports.journal.commit(sale, put_back).await {
            Ok(restored) => self.serve(restored.unsettled().0, cached).await,
            Err(error) => self.unavailable("CACHE_WRITE", &telemetry::chain(&error)).await,
        }
    }

    async fn regenerate(&self, sale: Versioned<Sale>) -> Reply {
        let reopen = |sale: &mut Sale, _| {
            if sale.reopen(self.asked_at).is_ok() { Change::save(true) } else { Change::nothing(false) }
        };
        match self.ports.journal.commit(sale, reopen).await {
            Ok(reopened) => {
                if reopened.unsettled().1 {
                    self.order().await
                } else {
                    pending()
                }
            }
            Err(error) => self.unavailable("CACHE_WRITE", &telemetry::chain(&error)).await,
        }
    }

    /// Our records do not show a verdict at work: only Stripe can say what the session is.
    async fn ask_stripe(&self, sale: Option<Versioned<Sale>>) -> Reply {
        let (asked, id) = (self.ports.asked, &self.session_id.paid_session());
        if sale.is_none() {
            match asked.known(id, self.asked_at) {
                Known::Nothing => {}
                Known::NoSuchSession => return not_found(),
                Known::Unpaid(address) => return unpaid(address.as_deref()),
                Known::TooMany => return busy(),
            }
            if self.ports.payments.is_of_other_mode(id).await {
                return not_found();
            }
        }
        let session = match self.ports.payments.session(id).await {
            Ok(session) => session,
            Err(PaymentError::NotFound) => {
                asked.is_unknown(id, self.asked_at);
                return not_found();
            }
            Err(error) => {
                tracing::error!(session = self.session_id.prefix(), error = %telemetry::chain(&error), "Stripe");
                return temporarily_unavailable();
            }
        };
        let is_covered = match &sale {
            Some(sale) => sale.value.is_covered_by(&session),
            None => session.is_paid(),
        };
        if !is_covered {
            asked.is_unpaid(id, session.url.clone(), self.asked_at);
            return unpaid(session.url.as_deref());
        }
        self.order_paid(sale, &session).await
    }

    /// A paid session without a verdict: its webhook is late or lost, or its worker died. It is ordered (again);
    /// the claim makes sure that two orders are one verdict.
    async fn order_paid(&self, sale: Option<Versioned<Sale>>, session: &CheckoutSession) -> Reply {
        let fresh = || Versioned { value: Sale::ordered(self.session_id.clone(), self.asked_at), version: 0 };
        let usable = self.session_id.is_followup() || session.submission().is_ok();
        let note = |sale: &mut Sale, now| {
            let noted = if usable {
                sale.order_again(self.asked_at)
            } else {
                sale.unusable(Finder::Page, "no usable tier or query", self.asked_at)
            };
            match noted {
                Ok(event) => Change::of(&event, &Context::new(now, self.asked_at), true),
                Err(_) => Change::nothing(false),
            }
        };
        match self.ports.journal.commit(sale.unwrap_or_else(fresh), note).await {
            Ok(noted) => match (noted.unsettled().1, usable) {
                (true, true) => self.order().await,
                (true, false) => self.notify().await,
                (false, _) => pending(),
            },
            Err(error) => self.unavailable("CACHE_WRITE", &telemetry::chain(&error)).await,
        }
    }

    async fn order(&self) -> Reply {
        let order = Message::Order {
            v: message::VERSION,
            session_id: self.session_id.clone(),
            received_at: self.asked_at,
            ordered_by: OrderedBy::ResultPage,
        };
        if let Err(error) = self.ports.orders.send(&order).await {
            // The page asks again, and after a minute the order is repeated.
            self.alert(Severity::Error, "ORDER", &telemetry::chain(&error)).await;
        }
        pending()
    }

    async fn notify(&self) -> Reply {
        let notice =
            Message::Notice { v: message::VERSION, session_id: self.session_id.clone(), received_at: self.asked_at };
        if let Err(error) = self.ports.notices.send(&notice).await {
            let detail = format!("[SILENT-DROP] notice not queued: {}", telemetry::chain(&error));
            self.alert(Severity::Critical, "NOTICE", &detail).await;
        }
        self.failed(None)
    }

    /// The end of a sale without a verdict. Counted, so that the alarm on 5xx replies can leave it out: the operator who has to act
    /// was alerted when the sale failed.
    fn failed(&self, refunded_at: Option<Timestamp>) -> Reply {
        self.ports.meter.record(&[Metric::FailedSaleShown.once()], self.asked_at);
        let body = match refunded_at {
            Some(at) => json!({ "error": texts::FAILED_AND_REFUNDED, REFUNDED_AT: at.to_iso() }),
            None => json!({ "error": texts::ANALYSIS_FAILED }),
        };
        Reply::json(500, &body)
    }

    fn now(&self) -> Timestamp {
        self.ports.journal.clock.now()
    }

    async fn alert(&self, severity: Severity, operation: &str, detail: &str) {
        let alert = Alert::event("ORACLE-RESULT", severity, self.now(), operation, &self.session_id, detail);
        self.ports.journal.alerts.raise(alert).await;
    }

    async fn unavailable(&self, operation: &str, detail: &str) -> Reply {
        let alert = Alert::cache(Severity::Error, self.now(), operation, &self.session_id, detail);
        self.ports.journal.alerts.raise(alert).await;
        temporarily_unavailable()
    }
}

/// Unknown ids and foreign ones get the same reply.
pub(crate) fn not_found() -> Reply {
    Reply::error(404, "not_found", "There is no such session.")
}

fn pending() -> Reply {
    Reply::json(202, &json!({ "status": "pending" })).header("retry-after", RETRY_AFTER)
}

fn in_review() -> Reply {
    Reply::json(202, &json!({ "status": "in_review" }))
}

/// A session that is still open can be paid at `address`.
fn unpaid(address: Option<&str>) -> Reply {
    match address {
        Some(address) => {
            Reply::json(402, &json!({ "error": texts::NOT_PAID_YET, "code": "unpaid", "payment_url": address }))
        }
        None => Reply::error(402, "unpaid", texts::NOT_PAID),
    }
}

/// Somebody guesses ids. A customer whose sale we do not know yet gets through within a minute.
fn busy() -> Reply {
    Reply::error(429, "busy", "Too many requests at the moment. This page asks again by itself.")
        .header("retry-after", "20")
}

pub(crate) fn erased() -> Reply {
    Reply::error(410, "erased", texts::ERASED)
}

/// A question that the authority gate declines after payment: who helps, what to do instead, and that the money goes
/// back. A possible disclosure of self-harm gets no word of money.
fn declined_reply(declined: &Declined, sale: &Sale) -> Reply {
    let sentence = match sale.money() {
        _ if declined.is_crisis => texts::CRISIS.to_owned(),
        // Its money is that of a verdict that was delivered.
        _ if sale.is_followup() => texts::DECLINED.to_owned(),
        Money::Refunded { .. } => format!("{} {}", texts::DECLINED, texts::MONEY_IS_BACK),
        _ => format!("{} {}", texts::DECLINED, texts::MONEY_GOES_BACK),
    };
    let mut body = json!({
        "error": sentence,
        "code": "declined",
        "resources": declined.helpers,
        "suggested_actions": declined.advice,
        "crisis": declined.is_crisis,
    });
    if let Some(at) = sale.refunded_at().filter(|_| !declined.is_crisis) {
        body[REFUNDED_AT] = at.to_iso().into();
    }
    Reply::json(422, &body)
}

pub(crate) fn temporarily_unavailable() -> Reply {
    Reply::json(503, &json!({ "error": texts::TEMPORARILY_UNAVAILABLE })).header("retry-after", "30")
}
