//! One mail: from a cached verdict to a sent draft.

use crate::{
    failure::{self, Failure, Next, judge},
    render::{Rendered, render, render_divergence, render_silent_drop, render_without_echo},
};
use audit::{AuditKey, Change, CommitError, Journal, Record, Source, Status, digest};
use domain::{
    Alert, CachedVerdict, EmailAddress, Sale, SessionId, Timestamp,
    alert::Severity,
    mail::{Draft, Letter, Mail, MailSchedule, Progress},
    money::Money,
    ports::{
        CacheEntry, DeadLetters, MailError, Mailbox, OutgoingMail, PaymentError, Payments, Quarantine, StorageError,
        VerdictArchive, Versioned,
    },
    sale::{Claim, Fulfilment},
    smoke,
};
use gates::Gate;
use serde_json::json;
use std::time::Duration;

/// What a delivery needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
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
            Letter::Verdict | Letter::SilentDrop => self.schedule.clone(),
            Letter::Divergence => MailSchedule::once_more(),
        }
    }
}

/// One order, as the queue delivered it.
#[derive(Clone, Debug)]
pub struct MailOrder {
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
pub enum Attempt {
    /// There is nothing left to do for this order.
    Ended,
    /// Somebody is at it: look again later.
    Busy,
    /// It failed, or is not due yet: try again at this moment.
    Again(Timestamp),
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
pub async fn deliver(ports: Ports<'_>, settings: &Settings, order: &MailOrder) -> Result<Attempt, DeliverError> {
    let journal = ports.journal;
    let (sale, entry) = journal.store.load_with_verdict(&order.session_id).await?;
    let sale = sale.ok_or(DeliverError::NoSale)?;
    if sale.value.smoke && !matches!(entry, CacheEntry::Hit(_)) {
        // The smoke test is over and has cleaned up: a mail that comes late has nothing to tell.
        return Ok(Attempt::Ended);
    }
    match stands(order.letter, &sale.value.fulfilment) {
        Stands::Now => {}
        Stands::Later => return Ok(Attempt::Busy),
        Stands::NoMore => return Ok(over(ports, sale, order.letter).await),
    }
    let claim = |sale: &mut Sale| {
        // Decided again on whatever is there after a conflict.
        if !matches!(stands(order.letter, &sale.fulfilment), Stands::Now) {
            return Change::nothing(Claim::BusyHere);
        }
        let claim = sale.claim_mail(order.letter, &order.message_id, journal.clock.now(), settings.lease);
        if claim == Claim::Granted { Change::save(claim) } else { Change::nothing(claim) }
    };
    let (sale, claim) = journal.commit(sale, claim).await?;
    match claim {
        Claim::BusyElsewhere | Claim::BusyHere if domain::planted("mail-sent-unclaimed") => {}
        Claim::BusyElsewhere => return Ok(Attempt::Ended),
        Claim::BusyHere => return Ok(Attempt::Busy),
        Claim::NotYet(due) => return Ok(Attempt::Again(due)),
        Claim::Done => return Ok(over(ports, sale, order.letter).await),
        Claim::Granted => {}
    }
    let delivery = Delivery { ports, settings, order };
    match delivery.attempts(sale, entry).await {
        Ok(attempt) => Ok(attempt),
        Err(_) if domain::planted("mail-error-acknowledged") => Ok(Attempt::Ended),
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

/// Keeps the object of a dead letter. Its alert has been raised and its state saved; when the object cannot be
/// written, operators hear of that too (Email Retry, FM-04).
async fn keep_dead_letter(ports: Ports<'_>, sale: &Sale, letter: Letter) {
    let dead = failure::dead_letter(sale, letter).filter(|_| !sale.smoke && !domain::planted("dead-letter-not-kept"));
    let Some((died_at, document)) = dead else { return };
    if let Err(error) = ports.dead_letters.keep(&sale.session_id, letter, died_at, &document.to_string()).await {
        let (now, detail) = (ports.journal.clock.now(), format!("dead letter not kept: {}", error.operation));
        let alert = Alert::event("ORACLE-EMAIL", Severity::Critical, now, "DEAD_LETTER", &sale.session_id, &detail);
        ports.journal.alerts.raise(alert).await;
    }
}

/// Whether a letter can be sent as the sale stands.
enum Stands {
    Now,
    Later,
    NoMore,
}

fn stands(letter: Letter, fulfilment: &Fulfilment) -> Stands {
    match (letter, fulfilment) {
        (Letter::Verdict | Letter::Divergence, Fulfilment::Ready { .. })
        | (Letter::SilentDrop, Fulfilment::Unusable { .. }) => Stands::Now,
        (Letter::Verdict | Letter::Divergence, Fulfilment::Ordered { .. } | Fulfilment::Generating { .. }) => {
            Stands::Later
        }
        _ => Stands::NoMore,
    }
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
    /// It failed.
    Failed(Box<Versioned<Sale>>, Failure),
}

impl Delivery<'_> {
    /// Attempts, until one ends it or the next one is to wait.
    async fn attempts(&self, sale: Versioned<Sale>, entry: CacheEntry) -> Result<Attempt, DeliverError> {
        let mut sale = sale;
        loop {
            match self.attempt(sale, entry.clone()).await? {
                Outcome::Ended(attempt) => return Ok(attempt),
                Outcome::Failed(failed, failure) => match self.failed(*failed, &failure).await? {
                    (again, None) => sale = again,
                    (_, Some(attempt)) => return Ok(attempt),
                },
            }
        }
    }

    async fn attempt(&self, mut sale: Versioned<Sale>, entry: CacheEntry) -> Result<Outcome, DeliverError> {
        if !self.may_go(&sale.value) {
            self.release().await;
            return Ok(Outcome::Ended(Attempt::Busy));
        }
        let progress = sale.value.delivering(self.order.letter, &self.order.message_id).cloned();
        let progress = progress.or_else(|| domain::planted("mail-sent-unclaimed").then(Progress::default));
        let Some(progress) = progress else {
            return Ok(Outcome::Ended(Attempt::Busy));
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

    /// Whether the mail may still go out: the money may have gone back, and the verdict may have been held, since
    /// the claim.
    fn may_go(&self, sale: &Sale) -> bool {
        let kept = sale.money == Money::Kept || domain::planted("mail-after-refund");
        kept && matches!(stands(self.order.letter, &sale.fulfilment), Stands::Now)
    }

    /// Stripe's, at the moment of sending; the smoke test's is fixed, so that it can never write to a customer (Smoke
    /// Test, invariant 3).
    async fn address(&self, sale: &Sale) -> Result<Option<EmailAddress>, DeliverError> {
        if sale.smoke {
            return Ok(EmailAddress::parse(smoke::EMAIL).ok());
        }
        Ok(self.ports.payments.session(&self.order.session_id).await?.email)
    }

    async fn render(&self, entry: CacheEntry) -> Result<Rendered, DeliverError> {
        let (session, site) = (&self.order.session_id, &self.settings.site);
        match self.order.letter {
            Letter::SilentDrop => Ok(render_silent_drop()),
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
    async fn verdict(&self, entry: CacheEntry) -> Result<CachedVerdict, DeliverError> {
        match entry {
            CacheEntry::Hit(cached) => Ok(*cached),
            CacheEntry::Removed => {
                self.ports.archive.find(&self.order.session_id).await?.ok_or(DeliverError::NoVerdict)
            }
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
        first_hash: Option<String>,
        record: Record,
    ) -> Result<Outcome, DeliverError> {
        let hash = digest::sha256(format!("{}\n\n{}", mail.subject, mail.body).as_bytes());
        if first_hash.is_some_and(|first| first != hash) {
            return Ok(Outcome::Failed(Box::new(sale), Failure::changed()));
        }
        let tag = self.ports.audit_key.email_tag(&mail.to);
        let draft = match self.ports.mailbox.create_draft(mail).await {
            Ok(draft) => draft,
            // Whether or not the mailbox made one: a draft that nobody recorded is never sent.
            Err(error) => {
                let mut sale = sale;
                sale.value.email_tag = Some(tag);
                if let Some(progress) = sale.value.delivering(self.order.letter, &self.order.message_id) {
                    progress.body_hash = Some(hash);
                }
                return Ok(Outcome::Failed(Box::new(sale), Failure::of(&error)));
            }
        };
        let keep = |sale: &mut Sale| {
            let may_go = self.may_go(sale);
            match sale.delivering(self.order.letter, &self.order.message_id) {
                // The reply to this very write was lost, and somebody else saved after it.
                Some(progress) if progress.draft.as_ref() == Some(&draft) => Change::nothing(may_go),
                Some(progress) if progress.draft.is_none() && may_go => {
                    progress.draft = Some(draft.clone());
                    progress.body_hash = Some(hash.clone());
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
            return Ok(Outcome::Ended(Attempt::Busy));
        }
        self.send(sale, &draft).await
    }

    /// Sends a recorded draft.
    async fn send(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, DeliverError> {
        if domain::planted("mail-recorded-before-it-is-sent") {
            return self.sent(sale).await;
        }
        match self.ports.mailbox.send_draft(draft).await {
            Ok(()) => self.sent(sale).await,
            Err(MailError::OutcomeUnknown(_) | MailError::NoSuchDraft) => self.settle_draft(sale, draft).await,
            Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
        }
    }

    /// Finds out what became of a recorded draft before anything else is done with it (pitfall: retrying a mail
    /// on a time-out without looking whether the first one went).
    async fn settle_draft(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, DeliverError> {
        match self.ports.mailbox.draft_exists(draft).await {
            // Still a draft: it was not sent, and sending it is safe, for the mailbox sends it once.
            Ok(true) => match self.ports.mailbox.send_draft(draft).await {
                Ok(()) => self.sent(sale).await,
                // The first send was still under way when we looked: now it is done.
                Err(MailError::NoSuchDraft) => self.settle_gone(sale, draft).await,
                Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
            },
            Ok(false) => self.settle_gone(sale, draft).await,
            Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
        }
    }

    /// The draft is gone: it was sent, unless somebody removed it. Sent items can lag behind.
    async fn settle_gone(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, DeliverError> {
        match self.ports.mailbox.was_sent(draft).await {
            Ok(true) => self.sent(sale).await,
            Ok(false) if domain::planted("gone-draft-called-sent") => self.sent(sale).await,
            Ok(false) => Ok(Outcome::Failed(Box::new(sale), Failure::lost_track())),
            Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
        }
    }

    async fn sent(&self, sale: Versioned<Sale>) -> Result<Outcome, DeliverError> {
        let sent = Mail::Sent { at: self.now() };
        self.end(sale, sent, Status::EmailSent, "accepted by the mailbox (202)", None).await
    }

    /// Email Retry FM-06: no mail, a warning, the verdict stays on the page.
    async fn no_address(&self, sale: Versioned<Sale>) -> Result<Outcome, DeliverError> {
        let detail = match self.order.letter {
            Letter::Verdict | Letter::Divergence => {
                "the session has no e-mail address: the verdict is on the result page only"
            }
            Letter::SilentDrop => "the session has no e-mail address: the customer cannot be asked for the question",
        };
        let alert = self.event(Severity::Warn, "EMAIL_SEND", detail);
        self.end(sale, Mail::NoAddress, Status::EmailFailed, detail, Some(alert)).await
    }

    /// Counts a failed attempt, records it, and decides what follows (Email Retry, INV-02, INV-05, INV-08).
    /// Nothing follows in `.1` when the next attempt is to be made at once.
    async fn failed(
        &self,
        failed: Versioned<Sale>,
        failure: &Failure,
    ) -> Result<(Versioned<Sale>, Option<Attempt>), DeliverError> {
        let (letter, owner) = (self.order.letter, &self.order.message_id);
        let schedule = self.settings.schedule(letter, failed.value.smoke);
        let now = self.now();
        let (tag, hash) = (failed.value.email_tag.clone(), body_hash(failed.value.letter(letter)));
        let count = |sale: &mut Sale| {
            let Some(progress) = sale.delivering(letter, owner) else { return Change::nothing(None) };
            progress.failures.push(failure.code.clone());
            progress.body_hash = progress.body_hash.take().or_else(|| hash.clone());
            let progress = progress.clone();
            if sale.email_tag.is_none() {
                sale.email_tag.clone_from(&tag);
            }
            let next = judge(failure, &progress, &schedule, now);
            let record = failure::with_progress(
                self.record(Status::EmailFailed, &failure.detail),
                letter,
                &progress,
                Some(&next),
            );
            let alert = failure::alert(sale, letter, failure, &next, now);
            match &next {
                Next::AtOnce => {}
                Next::At(due) => {
                    let forgets = domain::planted("retry-forgets-draft");
                    let progress = if forgets { Progress { draft: None, ..progress } } else { progress };
                    *sale.letter_mut(letter) = Mail::Retrying { due: *due, progress };
                }
                Next::Dead => *sale.letter_mut(letter) = Mail::Dead { at: now, progress },
                Next::Unknown => *sale.letter_mut(letter) = Mail::Unknown { at: now },
            }
            let records = if domain::planted("mail-failure-not-recorded") { Vec::new() } else { vec![record] };
            Change { alerts: alert.into_iter().collect(), ..Change::recorded(records, Some(next)) }
        };
        let (sale, next) = self.ports.journal.commit(failed, count).await?;
        let attempt = match next {
            None => Attempt::Busy,
            Some(Next::AtOnce) => return Ok((sale, None)),
            Some(Next::At(due)) => Attempt::Again(due),
            Some(Next::Unknown) => Attempt::Ended,
            Some(Next::Dead) => {
                keep_dead_letter(self.ports, &sale.value, letter).await;
                Attempt::Ended
            }
        };
        self.ports.journal.settle(sale.clone()).await;
        Ok((sale, Some(attempt)))
    }

    /// Content filter at gate 2: the raw mail into the quarantine first, then the hold (GAP-L, fail closed).
    async fn hold(
        &self,
        sale: Versioned<Sale>,
        gate: &gates::Run,
        record: Record,
        raw: &serde_json::Value,
    ) -> Result<Outcome, DeliverError> {
        let now = self.now();
        let payload = gate.held_payload(&self.order.session_id, sale.value.tier, now, raw);
        self.ports.quarantine.hold(&self.order.session_id, now, &payload).await?;
        let hold = |sale: &mut Sale| {
            if sale.delivering(self.order.letter, &self.order.message_id).is_none() {
                return Change::nothing(());
            }
            *sale.letter_mut(self.order.letter) = Mail::Held;
            sale.fulfilment = Fulfilment::InReview { gate: 2, at: now };
            let failed = self.record(Status::EmailFailed, "held by the content filter at gate 2");
            let alert = Alert::quarantine(now, 2, &self.order.session_id, gate.term_count());
            Change::recorded(vec![record.clone(), failed], ()).alerting(alert)
        };
        let (sale, ()) = self.ports.journal.commit(sale, hold).await?;
        self.ports.journal.settle(sale).await;
        Ok(Outcome::Ended(Attempt::Ended))
    }

    /// Ends the delivery, with its record, if it is still ours.
    async fn end(
        &self,
        sale: Versioned<Sale>,
        mail: Mail,
        status: Status,
        detail: &str,
        alert: Option<Alert>,
    ) -> Result<Outcome, DeliverError> {
        let letter = self.order.letter;
        let end = |sale: &mut Sale| {
            let Some(progress) = sale.delivering(letter, &self.order.message_id).cloned() else {
                return Change::nothing(());
            };
            *sale.letter_mut(letter) = mail.clone();
            sale.chased = 0;
            let record = failure::with_progress(self.record(status, detail), letter, &progress, None);
            let records = if domain::planted("mail-end-not-recorded") { Vec::new() } else { vec![record] };
            Change { alerts: alert.iter().cloned().collect(), ..Change::recorded(records, ()) }
        };
        let (sale, ()) = self.ports.journal.commit(sale, end).await?;
        self.ports.journal.settle(sale).await;
        Ok(Outcome::Ended(Attempt::Ended))
    }

    /// Ends the claim at once, so that the next delivery of the order need not wait for the lease. If this fails
    /// too, the lease ends by itself.
    async fn release(&self) {
        let give_up = |sale: &mut Sale| {
            if sale.delivering(self.order.letter, &self.order.message_id).is_none() {
                return Change::nothing(());
            }
            sale.release_mail(self.order.letter, self.now());
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
        self.ports.journal.alerts.raise(self.event(severity, operation, detail)).await;
    }

    fn event(&self, severity: Severity, operation: &str, detail: &str) -> Alert {
        Alert::event("ORACLE-EMAIL", severity, self.now(), operation, &self.order.session_id, detail)
    }
}

fn body_hash(mail: &Mail) -> Option<String> {
    match mail {
        Mail::Sending { progress, .. } => progress.body_hash.clone(),
        _ => None,
    }
}
