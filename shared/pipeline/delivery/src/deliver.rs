//! Delivers one mail: from a cached verdict to a sent draft. Drafts and endings are in modules of their own.

mod draft;
mod ending;

use crate::{
    Settings,
    circuit::Circuit,
    render::{
        Rendered, render, render_declined, render_divergence, render_refund, render_silent_drop, render_without_echo,
    },
};
use audit::{AuditKey, Change, Context, Journal};
use domain::{
    Alert, CachedVerdict, EmailAddress, ErrorCode, Sale, SessionId, StepError, Timestamp,
    alert::Severity,
    mail::{Failure, Letter, Mail},
    ports::{CacheEntry, DeadLetters, Mailbox, OutgoingMail, Payments, Quarantine, VerdictArchive, Versioned},
    sale::{self, Claim},
    smoke,
};
use ending::keep_dead_letter;
use serde_json::json;
use std::time::Duration;

/// The least wait of a mail whose verdict waits for the model. An outage may last four hours, and a queue allows 300 receives.
const MODEL_WAIT: Duration = Duration::from_secs(120);

/// The ports that a delivery uses.
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
    pub circuit: Circuit<'a>,
}

/// One order, as the queue delivered it.
#[derive(Clone, Debug)]
pub(crate) struct MailOrder {
    /// The sale.
    pub session_id: SessionId,
    /// The kind of mail.
    pub letter: Letter,
    /// When the mail was ordered.
    pub ordered_at: Timestamp,
    /// The id of the queue message, which owns the claim.
    pub message_id: String,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The order needs nothing more.
    Ended,
    /// Another worker holds the claim until this time, or the sale waits for the model until then. This message stays in the
    /// queue, because the other worker's message may be deleted before the mail is sent.
    Busy(Timestamp),
    /// The sale's state does not allow sending the mail now: check again later.
    Later,
    /// The attempt failed, or is not due yet: try again at this time.
    Again(Timestamp),
}

/// Delivers one mail, unless another worker does or did.
///
/// # Errors
/// [`StepError`]: the queue must deliver the order again.
pub(crate) async fn deliver(ports: Ports<'_>, settings: &Settings, order: &MailOrder) -> Result<Attempt, StepError> {
    let journal = ports.journal;
    let (sale, entry) = journal.store.load_with_verdict(&order.session_id).await?;
    let sale = sale.ok_or_else(|| ErrorCode::NoSale.because("there is no such sale"))?;
    if sale.value.smoke() && !matches!(entry, CacheEntry::Hit(_)) {
        // The smoke test is over and has removed its data: a late mail is not needed.
        return Ok(Attempt::Ended);
    }
    if journal.stopped_by_session(&order.session_id).await? {
        return Ok(over(ports, sale, order.letter).await);
    }
    let claim =
        |sale: &mut Sale, now| Change::claimed(sale.claim_mail(order.letter, &order.message_id, now, settings.lease));
    let (mut sale, mut claim) = journal.commit(sale, claim).await?.unsettled();
    if let (Claim::NotYet(due), Mail::Retrying { progress, .. }) = (claim, sale.value.letter(order.letter)) {
        if let Err(until) = ports.circuit.readmits(progress, due).await {
            return Ok(Attempt::Again(until));
        }
        let early = |sale: &mut Sale, now| {
            Change::claimed(sale.claim_mail_early(order.letter, &order.message_id, now, settings.lease))
        };
        (sale, claim) = journal.commit(sale, early).await?.unsettled();
    }
    match claim {
        Claim::Busy(until) => return Ok(Attempt::Busy(until)),
        Claim::Unready => {
            let now = journal.clock.now();
            let waits = sale.value.waits_for_model(now).map(|until| until.max(now.plus(MODEL_WAIT)));
            return Ok(waits.map_or(Attempt::Later, Attempt::Busy));
        }
        Claim::NotYet(due) => return Ok(Attempt::Again(due)),
        Claim::Done | Claim::Foreign => return Ok(over(ports, sale, order.letter).await),
        Claim::Granted => {}
    }
    let delivery = Delivery { ports, settings, order };
    let is_early = delivery.is_early(&sale.value);
    let attempted = delivery.attempts(sale, entry).await;
    if is_early {
        ports.circuit.release().await;
    }
    match attempted {
        Ok(attempt) => Ok(attempt),
        Err(error) => {
            delivery.release().await;
            Err(error)
        }
    }
}

/// Nothing is left to deliver. Keeps the dead letter, because the worker that abandoned the mail may have crashed
/// before it did.
async fn over(ports: Ports<'_>, sale: Versioned<Sale>, letter: Letter) -> Attempt {
    keep_dead_letter(ports, &sale.value, letter).await;
    ports.journal.flush(sale).await;
    Attempt::Ended
}

/// A claimed delivery.
struct Delivery<'a> {
    ports: Ports<'a>,
    settings: &'a Settings,
    order: &'a MailOrder,
}

/// The end of one attempt.
enum Outcome {
    /// The delivery ends, with this result.
    Ended(Attempt),
    /// The attempt failed, after it rendered this mail if it came that far.
    Failed(Box<Versioned<Sale>>, Failure, Option<sale::Rendered>),
}

impl Delivery<'_> {
    /// Makes attempts until one ends the delivery or the next one has to wait.
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
        // Since the claim, the money may have gone back, or the verdict may have been held.
        if !sale.value.may_send(self.order.letter) {
            self.release().await;
            return Ok(Outcome::Ended(Attempt::Later));
        }
        let progress = sale.value.delivering(self.order.letter, &self.order.message_id).cloned();
        let Some(progress) = progress else {
            return Ok(Outcome::Ended(Attempt::Later));
        };
        if let Some(draft) = progress.draft {
            // An earlier attempt recorded this draft and then crashed, lost the reply to sending it, or failed to send
            // it.
            return self.settle_draft(sale, &draft).await;
        }
        let Some((rendered, gate)) = self.render(&sale.value, entry).await? else {
            return self.make_again(sale).await;
        };
        let Some(address) = self.address(&sale.value).await? else { return self.no_address(sale).await };
        let record = gate.record(self.now(), self.order.ordered_at);
        let Some(delivered) = gate.delivered() else {
            let raw = json!({ "subject": rendered.subject, "body": rendered.body });
            return self.hold(sale, &gate, record, &raw).await;
        };
        let mut lines = delivered.into_iter();
        let subject = lines.next().unwrap_or_default();
        let body = lines.collect::<Vec<_>>().join("\n");
        let mail = OutgoingMail { to: address, subject, body, session_id: self.order.session_id.clone() };
        self.draft_and_send(sale, &mail, progress.body_hash, record).await
    }

    /// The address that Stripe has at the moment of sending. The smoke test's is fixed, so that it can never write to a
    /// customer (Smoke Test, invariant 3).
    async fn address(&self, sale: &Sale) -> Result<Option<EmailAddress>, StepError> {
        if sale.smoke() {
            return Ok(EmailAddress::parse(smoke::EMAIL).ok());
        }
        Ok(self.ports.payments.session(&self.order.session_id.paid_session()).await?.email)
    }

    /// The mail, and gate 2's result about it. `None` where the verdict is lost.
    async fn render(&self, sale: &Sale, entry: CacheEntry) -> Result<Option<(Rendered, gates::Run)>, StepError> {
        let (session, site) = (&self.order.session_id, &self.settings.site);
        let checked = |rendered: Rendered| {
            let gate = gates::before_mail(&rendered.subject, &rendered.body);
            (rendered, gate)
        };
        Ok(match self.order.letter {
            Letter::SilentDrop => Some(checked(render_silent_drop())),
            // The gate's decision does not change. A dispute, or a verdict mail that turns out to be sent, takes the
            // sentence about the money out of the mail after a disclosure (draft.rs).
            Letter::Refund => Some(checked(sale.declined().map_or_else(
                || render_refund(session),
                |declined| render_declined(session, declined, sale.gives_money_back()),
            ))),
            Letter::Divergence => Some(checked(render_divergence(session, site))),
            Letter::Verdict => self.verdict(entry).await?.map(|cached| {
                let (rendered, gate) = checked(render(session, &cached, site));
                // A mail is never held or changed because of the customer's own words.
                let echoes = gate.outcome() == filter::Outcome::Pass;
                if echoes { (rendered, gate) } else { checked(render_without_echo(session, &cached, site)) }
            }),
        })
    }

    /// The verdict that the page shows. The link in the mail must already work (Product Tiers, invariant 4), so a mail
    /// is sent only if the store returns the verdict. `None` if neither the cache nor the archive has it.
    async fn verdict(&self, entry: CacheEntry) -> Result<Option<CachedVerdict>, StepError> {
        match entry {
            CacheEntry::Hit(cached) => return Ok(Some(*cached)),
            CacheEntry::Removed => {}
            CacheEntry::Miss | CacheEntry::Corrupt => {
                let detail = "no readable verdict in the cache at delivery: looked for in the archive";
                self.alert(Severity::Error, "CACHE_READ", detail).await;
            }
        }
        Ok(self.ports.archive.find(&self.order.session_id).await?)
    }

    /// Reopens a sale whose verdict is lost: the mail waits until it is made again.
    async fn make_again(&self, sale: Versioned<Sale>) -> Result<Outcome, StepError> {
        self.ports.journal.reopen_lost(sale, Some("ORACLE-EMAIL")).await?;
        self.release().await;
        Ok(Outcome::Ended(Attempt::Later))
    }

    /// Whether this attempt is made before the mail's scheduled time.
    fn is_early(&self, sale: &Sale) -> bool {
        sale.delivering(self.order.letter, &self.order.message_id).is_some_and(|progress| progress.early.is_some())
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
