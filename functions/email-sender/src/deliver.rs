//! One mail: from a cached verdict to a sent draft.

use crate::render::{Rendered, render, render_silent_drop, render_without_echo};
use audit::{AuditKey, Change, CommitError, Journal, Record, Source, Status, digest};
use domain::{
    Alert, CachedVerdict, Sale, SessionId, Timestamp,
    alert::Severity,
    ports::{
        CacheEntry, MailError, Mailbox, OutgoingMail, PaymentError, Payments, Quarantine, StorageError, VerdictArchive,
        Versioned,
    },
    sale::{Claim, Draft, Fulfilment, Mail},
};
use filter::Outcome;
use gates::Gate;
use runtime::Handled;
use serde_json::json;
use std::time::Duration;

/// What a delivery needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub archive: &'a dyn VerdictArchive,
    pub quarantine: &'a dyn Quarantine,
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
    /// After this many deliveries of its message, a mail whose outcome is still unknown is left to a human.
    pub patience: u32,
}

/// One order, as the queue delivered it.
#[derive(Clone, Debug)]
pub struct MailOrder {
    /// The sale.
    pub session_id: SessionId,
    /// When the mail was ordered.
    pub ordered_at: Timestamp,
    /// The queue message, the owner of the claim.
    pub message_id: String,
    /// How often the message was delivered, this time included.
    pub receive_count: u32,
}

/// Why a mail must be tried again.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The sale could not be changed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Stripe could not be asked for the address.
    #[error(transparent)]
    Payment(#[from] PaymentError),
    /// Nobody has seen this sale.
    #[error("there is no such sale")]
    NoSale,
    /// The sale has no verdict (any more); its page restores it.
    #[error("there is no verdict to deliver")]
    NoVerdict,
}

/// Delivers one mail, or finds that somebody does or did.
///
/// # Errors
/// [`DeliverError`]: the queue must deliver the order again.
pub async fn deliver(ports: Ports<'_>, settings: &Settings, order: &MailOrder) -> Result<Handled, DeliverError> {
    let journal = ports.journal;
    let (sale, entry) = journal.store.load_with_verdict(&order.session_id).await?;
    let sale = sale.ok_or(DeliverError::NoSale)?;
    let letter = match &sale.value.fulfilment {
        Fulfilment::Ready { .. } => Letter::Verdict,
        Fulfilment::Unusable { .. } => Letter::SilentDrop,
        Fulfilment::InReview { .. } | Fulfilment::Failed { .. } => {
            journal.flush(sale).await;
            return Ok(Handled::Done);
        }
        Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => return Ok(Handled::Later),
    };
    let claim = |sale: &mut Sale| {
        let claim = sale.claim_mail(&order.message_id, journal.clock.now(), settings.lease);
        if claim == Claim::Granted { Change::save(claim) } else { Change::nothing(claim) }
    };
    let (sale, claim) = journal.commit(sale, claim).await?;
    match claim {
        Claim::BusyElsewhere | Claim::BusyHere if domain::planted("mail-sent-unclaimed") => {}
        Claim::BusyElsewhere => return Ok(Handled::Done),
        Claim::BusyHere => return Ok(Handled::Later),
        Claim::Done => {
            journal.flush(sale).await;
            return Ok(Handled::Done);
        }
        Claim::Granted => {}
    }
    let delivery = Delivery { ports, settings, order, letter };
    match delivery.run(sale, entry).await {
        Ok(handled) => Ok(handled),
        Err(_) if domain::planted("mail-error-acknowledged") => Ok(Handled::Done),
        Err(error) => {
            delivery.release().await;
            Err(error)
        }
    }
}

/// What a sale's one mail says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letter {
    /// The verdict.
    Verdict,
    /// That the submission did not arrive (Silent Drop, output 1).
    SilentDrop,
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
    letter: Letter,
}

impl Delivery<'_> {
    async fn run(&self, sale: Versioned<Sale>, entry: CacheEntry) -> Result<Handled, DeliverError> {
        if let Mail::Sending { draft: Some(draft), .. } = &sale.value.mail {
            // Somebody recorded this draft and died, or lost the reply to sending it.
            let draft = draft.clone();
            return self.settle_draft(sale, &draft).await;
        }
        let rendered = match self.letter {
            Letter::Verdict => {
                let cached = self.verdict(entry).await?;
                let rendered = render(&self.order.session_id, &cached, &self.settings.site);
                // The customer's own words must never be the reason why a mail is held or changed.
                if gate_2(&rendered).outcome() == Outcome::Pass {
                    rendered
                } else {
                    render_without_echo(&self.order.session_id, &cached, &self.settings.site)
                }
            }
            Letter::SilentDrop => render_silent_drop(),
        };
        let session = self.ports.payments.session(&self.order.session_id).await?;
        let Some(address) = session.email else { return self.no_address(sale).await };
        let now = self.now();
        let gate = gate_2(&rendered);
        let record = gate.record(now, self.order.ordered_at);
        let Some(delivered) = gate.clone().delivered() else {
            let raw = json!({ "subject": rendered.subject, "body": rendered.body });
            return self.hold(sale, &gate, record, &raw).await;
        };
        let mut lines = delivered.into_iter();
        let subject = lines.next().unwrap_or_default();
        let body = lines.collect::<Vec<_>>().join("\n");
        let mail = OutgoingMail { to: address, subject, body, session_id: self.order.session_id.clone() };
        self.draft_and_send(sale, &mail, record).await
    }

    /// The verdict that the page shows: the link in the mail must already answer (Product Tiers, invariant 4), so
    /// there is no mail before the store itself gives the verdict back.
    async fn verdict(&self, entry: CacheEntry) -> Result<CachedVerdict, DeliverError> {
        match entry {
            CacheEntry::Hit(cached) => Ok(*cached),
            CacheEntry::Miss | CacheEntry::Corrupt => {
                self.alert(Severity::Error, "CACHE_READ", "no readable verdict at delivery: taken from the archive")
                    .await;
                self.ports.archive.find(&self.order.session_id).await?.ok_or(DeliverError::NoVerdict)
            }
        }
    }

    async fn draft_and_send(
        &self,
        sale: Versioned<Sale>,
        mail: &OutgoingMail,
        record: Record,
    ) -> Result<Handled, DeliverError> {
        let hash = digest::sha256(format!("{}\n\n{}", mail.subject, mail.body).as_bytes());
        let draft = match self.ports.mailbox.create_draft(mail).await {
            Ok(draft) => draft,
            // Whether or not the mailbox made one: a draft that nobody recorded is never sent.
            Err(error) => return self.failed(sale, &error).await,
        };
        let tag = self.ports.audit_key.email_tag(&mail.to);
        let keep = |sale: &mut Sale| {
            let owned = sale.delivers(&self.order.message_id);
            match &mut sale.mail {
                Mail::Sending { draft: recorded @ None, body_hash, .. } if owned => {
                    *recorded = Some(draft.clone());
                    *body_hash = Some(hash.clone());
                    sale.email_tag = Some(tag.clone());
                    Change::recorded(vec![record.clone()], true)
                }
                _ => Change::nothing(false),
            }
        };
        let (sale, kept) = self.ports.journal.commit(sale, keep).await?;
        if !kept && !domain::planted("surplus-draft-sent") {
            // Another worker took over and recorded its own draft, so this one must never go out.
            if self.ports.mailbox.discard_draft(&draft).await.is_err() {
                self.alert(Severity::Warn, "MAIL_DRAFT", "a surplus draft could not be removed").await;
            }
            return Ok(Handled::Later);
        }
        self.send(sale, &draft).await
    }

    /// Sends a recorded draft.
    async fn send(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Handled, DeliverError> {
        if domain::planted("mail-recorded-before-it-is-sent") {
            return self.sent(sale).await;
        }
        match self.ports.mailbox.send_draft(draft).await {
            Ok(()) => self.sent(sale).await,
            Err(MailError::OutcomeUnknown(_) | MailError::NoSuchDraft) => self.settle_draft(sale, draft).await,
            Err(error) => self.failed(sale, &error).await,
        }
    }

    /// Finds out what became of a recorded draft before anything else is done with it (pitfall: retrying a mail
    /// on a time-out without looking whether the first one went).
    async fn settle_draft(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Handled, DeliverError> {
        match self.ports.mailbox.draft_exists(draft).await {
            // Still a draft: it was not sent, and sending it is safe, for the mailbox sends it once.
            Ok(true) => match self.ports.mailbox.send_draft(draft).await {
                Ok(()) => self.sent(sale).await,
                // The first send was still under way when we looked: now it is done.
                Err(MailError::NoSuchDraft) => self.settle_gone(sale, draft).await,
                Err(error) => self.failed(sale, &error).await,
            },
            Ok(false) => self.settle_gone(sale, draft).await,
            Err(error) => self.failed(sale, &error).await,
        }
    }

    /// The draft is gone: it was sent, unless somebody removed it.
    async fn settle_gone(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Handled, DeliverError> {
        match self.ports.mailbox.was_sent(draft).await {
            Ok(true) => self.sent(sale).await,
            Ok(false) if domain::planted("gone-draft-called-sent") => self.sent(sale).await,
            Ok(false) if self.order.receive_count < self.settings.patience => {
                // Sent items can lag behind; look again when the message comes back.
                self.release().await;
                Ok(Handled::Later)
            }
            Ok(false) => self.unknown(sale).await,
            Err(error) => self.failed(sale, &error).await,
        }
    }

    async fn sent(&self, sale: Versioned<Sale>) -> Result<Handled, DeliverError> {
        self.end(sale, Mail::Sent { at: self.now() }, Status::EmailSent, "accepted by the mailbox (202)").await
    }

    /// Email Retry FM-06: no mail, a warning, the verdict stays on the page.
    async fn no_address(&self, sale: Versioned<Sale>) -> Result<Handled, DeliverError> {
        let detail = match self.letter {
            Letter::Verdict => "the session has no e-mail address: the verdict is on the result page only",
            Letter::SilentDrop => "the session has no e-mail address: the customer cannot be asked for the question",
        };
        let handled = self.end(sale, Mail::NoAddress, Status::EmailFailed, detail).await?;
        self.alert(Severity::Warn, "EMAIL_SEND", detail).await;
        Ok(handled)
    }

    async fn unknown(&self, sale: Versioned<Sale>) -> Result<Handled, DeliverError> {
        let detail = "the draft is gone and not among the sent items: a human decides, nobody sends it again";
        let handled = self.end(sale, Mail::Unknown, Status::EmailFailed, detail).await?;
        self.alert(Severity::Critical, "EMAIL_SEND", detail).await;
        Ok(handled)
    }

    /// A failed attempt: recorded and alerted. It is final where trying again is useless (Email Retry, INV-05).
    async fn failed(&self, sale: Versioned<Sale>, error: &MailError) -> Result<Handled, DeliverError> {
        let reason = error.to_string();
        if !error.is_retriable() || domain::planted("passing-mail-failure-final") {
            let end = Mail::Failed { reason: reason.clone() };
            let handled = self.end(sale, end, Status::EmailFailed, &reason).await?;
            self.alert(Severity::Critical, "EMAIL_SEND", &format!("given up: {reason}")).await;
            return Ok(handled);
        }
        let again = |sale: &mut Sale| {
            if !sale.delivers(&self.order.message_id) {
                return Change::nothing(());
            }
            sale.release_mail(self.now());
            Change::recorded(vec![self.record(Status::EmailFailed, &reason)], ())
        };
        let (sale, ()) = self.ports.journal.commit(sale, again).await?;
        self.ports.journal.settle(sale).await;
        self.alert(Severity::Error, "EMAIL_SEND", &format!("kept for another attempt: {reason}")).await;
        Ok(Handled::Later)
    }

    /// Content filter at gate 2: the raw mail into the quarantine first, then the hold (GAP-L, fail closed).
    async fn hold(
        &self,
        sale: Versioned<Sale>,
        gate: &gates::Run,
        record: Record,
        raw: &serde_json::Value,
    ) -> Result<Handled, DeliverError> {
        let now = self.now();
        let payload = gate.held_payload(&self.order.session_id, sale.value.tier, now, raw);
        self.ports.quarantine.hold(&self.order.session_id, now, &payload).await?;
        let hold = |sale: &mut Sale| {
            if !sale.delivers(&self.order.message_id) {
                return Change::nothing(());
            }
            sale.mail = Mail::Held;
            sale.fulfilment = Fulfilment::InReview { gate: 2, at: now };
            let failed = self.record(Status::EmailFailed, "held by the content filter at gate 2");
            Change::recorded(vec![record.clone(), failed], ())
        };
        let (sale, ()) = self.ports.journal.commit(sale, hold).await?;
        self.ports.journal.settle(sale).await;
        let alert = Alert::quarantine(now, 2, &self.order.session_id, gate.term_count());
        self.ports.journal.alerts.raise(alert).await;
        Ok(Handled::Done)
    }

    /// Ends the delivery, with its record, if it is still ours.
    async fn end(
        &self,
        sale: Versioned<Sale>,
        mail: Mail,
        status: Status,
        detail: &str,
    ) -> Result<Handled, DeliverError> {
        let end = |sale: &mut Sale| {
            if !sale.delivers(&self.order.message_id) {
                return Change::nothing(());
            }
            sale.mail = mail.clone();
            if domain::planted("mail-end-not-recorded") {
                return Change::save(());
            }
            Change::recorded(vec![self.record(status, detail)], ())
        };
        let (sale, ()) = self.ports.journal.commit(sale, end).await?;
        self.ports.journal.settle(sale).await;
        Ok(Handled::Done)
    }

    /// Ends the claim at once, so that the next delivery of the order need not wait for the lease. If this fails
    /// too, the lease ends by itself.
    async fn release(&self) {
        let give_up = |sale: &mut Sale| {
            if !sale.delivers(&self.order.message_id) {
                return Change::nothing(());
            }
            sale.release_mail(self.now());
            Change::save(())
        };
        if let Ok(sale) = self.ports.journal.load(&self.order.session_id, self.order.ordered_at).await {
            let _ = self.ports.journal.commit(sale, give_up).await;
        }
    }

    fn record(&self, status: Status, detail: &str) -> Record {
        Record::pipeline(self.now(), self.order.ordered_at, Source::EmailService, status, Some(detail))
    }

    fn now(&self) -> Timestamp {
        self.ports.journal.clock.now()
    }

    async fn alert(&self, severity: Severity, operation: &str, detail: &str) {
        let alert = Alert::event("ORACLE-EMAIL", severity, self.now(), operation, &self.order.session_id, detail);
        self.ports.journal.alerts.raise(alert).await;
    }
}
