//! One mail: from a cached verdict to a sent draft.

mod draft;
mod ending;

use crate::render::{Rendered, render, render_divergence, render_refund, render_silent_drop, render_without_echo};
use audit::{AuditKey, Change, Context, Journal};
use domain::{
    Alert, CachedVerdict, EmailAddress, ErrorCode, Sale, SessionId, StepError, Timestamp,
    alert::Severity,
    mail::{Failure, Letter, MailSchedule},
    ports::{CacheEntry, DeadLetters, Mailbox, OutgoingMail, Payments, Quarantine, VerdictArchive, Versioned},
    sale::{self, Claim, Fulfilment},
    smoke,
};
use ending::keep_dead_letter;
use gates::Gate;
use serde_json::json;
use std::time::Duration;

/// What a delivery needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub(crate) struct Ports<'a> {
    pub journal: Journal<'a>,
    pub archive: &'a dyn VerdictArchive,
    pub quarantine: &'a dyn Quarantine,
    pub dead_letters: &'a dyn DeadLetters,
    pub payments: &'a dyn Payments,
    pub mailbox: &'a dyn Mailbox,
    pub audit_key: &'a AuditKey,
}

/// How a delivery goes about it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The public address, for the link to the result page.
    pub site: String,
    /// How long one invocation may work on a mail; longer than the function's time-out, shorter than the queue's
    /// visibility time-out.
    pub lease: Duration,
    /// When a failed verdict mail or silent-drop mail is tried again.
    pub schedule: MailSchedule,
}

impl Settings {
    fn schedule(&self, letter: Letter, smoke: bool) -> MailSchedule {
        if smoke {
            return MailSchedule::at_once();
        }
        match letter {
            Letter::Verdict | Letter::SilentDrop | Letter::Refund => self.schedule.clone(),
            Letter::Divergence => MailSchedule::once_more(),
        }
    }
}

/// One order, as the queue delivered it.
#[derive(Clone, Debug)]
pub(crate) struct MailOrder {
    /// The sale.
    pub session_id: SessionId,
    /// Which mail.
    pub letter: Letter,
    /// When the mail was ordered.
    pub ordered_at: Timestamp,
    /// The queue message, the owner of the claim.
    pub message_id: String,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// There is nothing left to do for this order.
    Ended,
    /// Somebody is at it until this moment. This message is kept: theirs may be gone before the mail is.
    Busy(Timestamp),
    /// It cannot be sent as the sale stands: look again later.
    Later,
    /// It failed, or is not due yet: try again at this moment.
    Again(Timestamp),
}

/// Delivers one mail, or finds that somebody does or did.
///
/// # Errors
/// [`StepError`]: the queue must deliver the order again.
pub(crate) async fn deliver(ports: Ports<'_>, settings: &Settings, order: &MailOrder) -> Result<Attempt, StepError> {
    let journal = ports.journal;
    let (sale, entry) = journal.store.load_with_verdict(&order.session_id).await?;
    let sale = sale.ok_or_else(|| ErrorCode::NoSale.because("there is no such sale"))?;
    if sale.value.smoke() && !matches!(entry, CacheEntry::Hit(_)) {
        // The smoke test is over and has cleaned up: a mail that comes late has nothing to tell.
        return Ok(Attempt::Ended);
    }
    match stands(order.letter, &sale.value) {
        Stands::Now => {}
        Stands::Later => return Ok(Attempt::Later),
        Stands::NoMore => return Ok(over(ports, sale, order.letter).await),
    }
    let claim = |sale: &mut Sale, now| {
        let claim = sale.claim_mail(order.letter, &order.message_id, now, settings.lease);
        if claim == Claim::Granted { Change::save(claim) } else { Change::nothing(claim) }
    };
    let (sale, claim) = journal.commit(sale, claim).await?.unsettled();
    match claim {
        Claim::Busy(until) => return Ok(Attempt::Busy(until)),
        Claim::Unready => return Ok(Attempt::Later),
        Claim::NotYet(due) => return Ok(Attempt::Again(due)),
        Claim::Done | Claim::Foreign => return Ok(over(ports, sale, order.letter).await),
        Claim::Granted => {}
    }
    let delivery = Delivery { ports, settings, order };
    match delivery.attempts(sale, entry).await {
        Ok(attempt) => Ok(attempt),
        Err(error) => {
            delivery.release().await;
            Err(error)
        }
    }
}

/// There is nothing left to deliver. The worker that gave the mail up may have died before it wrote that down.
async fn over(ports: Ports<'_>, sale: Versioned<Sale>, letter: Letter) -> Attempt {
    keep_dead_letter(ports, &sale.value, letter).await;
    ports.journal.flush(sale).await;
    Attempt::Ended
}

/// Whether a letter can be sent as the sale stands.
enum Stands {
    Now,
    Later,
    NoMore,
}

fn stands(letter: Letter, sale: &Sale) -> Stands {
    match (letter, sale.fulfilment()) {
        (Letter::Refund, _) if sale.wants(letter) => Stands::Now,
        (Letter::Verdict | Letter::Divergence, Fulfilment::Ready { .. })
        | (Letter::SilentDrop, Fulfilment::Unusable { .. }) => Stands::Now,
        (Letter::Verdict | Letter::Divergence, Fulfilment::Ordered { .. } | Fulfilment::Generating { .. }) => {
            Stands::Later
        }
        _ => Stands::NoMore,
    }
}

fn no_verdict() -> StepError {
    ErrorCode::NoVerdict.because("there is no verdict to deliver")
}

/// Gate 2 on the finished text, line by line: what a line means does not depend on the next one, and a verdict's
/// sentences read in the mail as they read on the page. Terms that are split over lines are found all the same.
fn gate_2(rendered: &Rendered) -> gates::Run {
    gates::run(Gate::BeforeDelivery, std::iter::once(rendered.subject.as_str()).chain(rendered.body.split('\n')))
}

/// A claimed delivery.
struct Delivery<'a> {
    ports: Ports<'a>,
    settings: &'a Settings,
    order: &'a MailOrder,
}

/// How one attempt ended.
enum Outcome {
    /// With this.
    Ended(Attempt),
    /// It failed, after it had rendered this, if it came that far.
    Failed(Box<Versioned<Sale>>, Failure, Option<sale::Rendered>),
}

impl Delivery<'_> {
    /// Attempts, until one ends it or the next one is to wait.
    async fn attempts(&self, sale: Versioned<Sale>, entry: CacheEntry) -> Result<Attempt, StepError> {
        let mut sale = sale;
        loop {
            match self.attempt(sale, entry.clone()).await? {
                Outcome::Ended(attempt) => return Ok(attempt),
                Outcome::Failed(failed, failure, facts) => {
                    match self.failed(*failed, &failure, facts.as_ref()).await? {
                        (again, None) => sale = again,
                        (_, Some(attempt)) => return Ok(attempt),
                    }
                }
            }
        }
    }

    async fn attempt(&self, sale: Versioned<Sale>, entry: CacheEntry) -> Result<Outcome, StepError> {
        // The money may have gone back, and the verdict may have been held, since the claim.
        if !sale.value.may_send(self.order.letter) {
            self.release().await;
            return Ok(Outcome::Ended(Attempt::Later));
        }
        let progress = sale.value.delivering(self.order.letter, &self.order.message_id).cloned();
        let Some(progress) = progress else {
            return Ok(Outcome::Ended(Attempt::Later));
        };
        if let Some(draft) = progress.draft {
            // Somebody recorded this draft and died, or lost the reply to sending it, or failed to send it.
            return self.settle_draft(sale, &draft).await;
        }
        let rendered = self.render(entry).await?;
        let Some(address) = self.address(&sale.value).await? else { return self.no_address(sale).await };
        let gate = gate_2(&rendered);
        let record = gate.record(self.now(), self.order.ordered_at);
        let Some(delivered) = gate.clone().delivered() else {
            let raw = json!({ "subject": rendered.subject, "body": rendered.body });
            return self.hold(sale, &gate, record, &raw).await;
        };
        let mut lines = delivered.into_iter();
        let subject = lines.next().unwrap_or_default();
        let body = lines.collect::<Vec<_>>().join("\n");
        let mail = OutgoingMail { to: address, subject, body, session_id: self.order.session_id.clone() };
        self.draft_and_send(sale, &mail, progress.body_hash, record).await
    }

    /// Stripe's, at the moment of sending; the smoke test's is fixed, so that it can never write to a customer (Smoke
    /// Test, invariant 3).
    async fn address(&self, sale: &Sale) -> Result<Option<EmailAddress>, StepError> {
        if sale.smoke() {
            return Ok(EmailAddress::parse(smoke::EMAIL).ok());
        }
        Ok(self.ports.payments.session(&self.order.session_id.paid_session()).await?.email)
    }

    async fn render(&self, entry: CacheEntry) -> Result<Rendered, StepError> {
        let (session, site) = (&self.order.session_id, &self.settings.site);
        match self.order.letter {
            Letter::SilentDrop => Ok(render_silent_drop()),
            Letter::Refund => Ok(render_refund()),
            Letter::Divergence => Ok(render_divergence(session, site)),
            Letter::Verdict => {
                let cached = self.verdict(entry).await?;
                let rendered = render(session, &cached, site);
                // The customer's own words must never be the reason why a mail is held or changed.
                let echoes = gate_2(&rendered).outcome() == filter::Outcome::Pass;
                Ok(if echoes { rendered } else { render_without_echo(session, &cached, site) })
            }
        }
    }

    /// The verdict that the page shows: the link in the mail must already answer (Product Tiers, invariant 4), so
    /// there is no mail before the store itself gives the verdict back.
    async fn verdict(&self, entry: CacheEntry) -> Result<CachedVerdict, StepError> {
        match entry {
            CacheEntry::Hit(cached) => Ok(*cached),
            CacheEntry::Removed => self.ports.archive.find(&self.order.session_id).await?.ok_or_else(no_verdict),
            CacheEntry::Miss | CacheEntry::Corrupt => {
                self.alert(Severity::Error, "CACHE_READ", "no readable verdict at delivery: taken from the archive")
                    .await;
                self.ports.archive.find(&self.order.session_id).await?.ok_or_else(no_verdict)
            }
        }
    }

    const fn context(&self, now: Timestamp) -> Context {
        Context::new(now, self.order.ordered_at)
    }

    fn now(&self) -> Timestamp {
        self.ports.journal.clock.now()
    }

    async fn alert(&self, severity: Severity, operation: &str, detail: &str) {
        self.ports.journal.alerts.raise(self.event(severity, operation, detail)).await;
    }

    fn event(&self, severity: Severity, operation: &str, detail: &str) -> Alert {
        Alert::event("ORACLE-EMAIL", severity, self.now(), operation, &self.order.session_id, detail)
    }
}
