//! The world's ports as a deployment has them: decorators that pass every call on, and that break one contract where the
//! world has a [`Defect`].

use crate::{cast::PLACEHOLDER, defects::Defect};
use async_trait::async_trait;
use domain::{
    Alert, CachedVerdict, CheckoutSession, PaymentStatus, RenewableSecret, Sale, Secret, SessionId, Submission,
    Timestamp,
    mail::Letter,
    message::Message,
    money::PaymentId,
    open_work::Work,
    ports::{
        Alerts, AuditLog, CacheEntry, CompletedSessions, CreatedCheckoutSession, DeadLetters, Ledger, Listed,
        MadeRefund, MailError, Mailbox, NewCheckoutSession, NewRefund, OpenSales, OutgoingMail, PaymentError,
        PaymentReports, Payments, Published, Quarantine, Queue, QueueError, RelayDrafts, ReportsSince, SaleStore,
        SaveError, SecretSource, StorageError, UnreadableMessages, VerdictArchive, Versioned, Visibility,
    },
    relay::{RelayDraft, RelayDraftId, RelayMailbox},
    sale::{AuditEntry, Draft},
};
use serde_json::json;
use std::{sync::OnceLock, time::Duration};
use testkit::{
    World,
    world::{NamedQueue, StoredSecret},
};

/// A world's ports, one of which may have a defect.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'w> {
    pub(crate) world: &'w World,
    pub(crate) defect: Option<Defect>,
}

impl Ports<'_> {
    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }
}

#[async_trait]
impl SaleStore for Ports<'_> {
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError> {
        SaleStore::load(self.world, session).await
    }

    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError> {
        self.world.load_with_verdict(session).await
    }

    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        let store: &dyn SaleStore = self.world;
        match self.defect {
            Some(Defect::VersionIgnored) => {
                let current = store.load(sale.session_id()).await?.map_or(0, |stored| stored.version);
                store.save(sale, current, verdict).await
            }
            Some(Defect::SaleLost) => Ok(expected + 1),
            Some(Defect::PendingAlertsLost) => store.save(&without(sale, "alerts"), expected, verdict).await,
            Some(Defect::PendingRecordsLost) => store.save(&without(sale, "outbox"), expected, verdict).await,
            Some(Defect::VerdictLost) => store.save(sale, expected, None).await,
            Some(Defect::VerdictUnderOtherKey) => {
                let saved = store.save(sale, expected, None).await;
                let mut state = self.world.state();
                if let (Ok(_), Some(verdict), Some(first)) = (&saved, verdict, state.sales.keys().next().cloned()) {
                    state.cache_verdict(&first, verdict, sale.changed_at());
                }
                saved
            }
            Some(Defect::VerdictHollowed) => {
                let mut hollow = verdict.cloned();
                if let Some(verdict) = &mut hollow {
                    PLACEHOLDER.clone_into(&mut verdict.verdict.summary);
                }
                store.save(sale, expected, hollow.as_ref()).await
            }
            _ => store.save(sale, expected, verdict).await,
        }
    }

    async fn open_followup(&self, sale: &Sale, text: &Submission, first_version: u64) -> Result<(), SaveError> {
        match self.defect {
            Some(Defect::SaleLost) => Ok(()),
            Some(Defect::FollowUpReplaced) => {
                self.world.state().sales.remove(sale.session_id());
                self.world.open_followup(sale, text, first_version).await
            }
            Some(Defect::FollowUpTextLost) => {
                let opened = self.world.open_followup(sale, text, first_version).await;
                self.world.state().submissions.remove(sale.session_id());
                opened
            }
            _ => self.world.open_followup(sale, text, first_version).await,
        }
    }
}

/// The sale with nothing in this list.
fn without(sale: &Sale, list: &str) -> Sale {
    let mut document = serde_json::to_value(sale).unwrap_or_default();
    document[list] = json!([]);
    serde_json::from_value(document).unwrap_or_else(|_| sale.clone())
}

#[async_trait]
impl OpenSales for Ports<'_> {
    async fn open(&self, work: Work, until: Option<Timestamp>, from: Option<&str>) -> Result<Listed, StorageError> {
        if self.has(Defect::WorkUnlisted(work)) {
            return Ok(Listed::default());
        }
        self.world.open(work, until, from).await
    }
}

#[async_trait]
impl AuditLog for Ports<'_> {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let log: &dyn AuditLog = self.world;
        match self.defect {
            Some(Defect::RecordLost) => Ok(Published::Written),
            Some(Defect::RecordErrorSwallowed) => Ok(log.publish(entry).await.unwrap_or(Published::Written)),
            Some(Defect::RecordAltered) => {
                let line = entry.line.replacen("\"timestamp\":\"2", "\"timestamp\":\"3", 1);
                log.publish(&AuditEntry { line, ..entry.clone() }).await
            }
            Some(Defect::LogForked) => {
                log.publish(&AuditEntry { key: format!("{}-fork", entry.key), ..entry.clone() }).await?;
                log.publish(entry).await
            }
            _ => log.publish(entry).await,
        }
    }
}

#[async_trait]
impl Alerts for Ports<'_> {
    async fn raise(&self, alert: Alert) {
        let lost = match self.defect {
            Some(Defect::AlertsLost) => true,
            Some(Defect::AlertsLostAbout(text)) => alert.line.contains(text),
            _ => false,
        };
        if !lost {
            self.world.raise(alert).await;
        }
    }
}

#[async_trait]
impl VerdictArchive for Ports<'_> {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        let kept = VerdictArchive::keep(self.world, session, verdict).await;
        if self.has(Defect::ArchiveErrorSwallowed) { Ok(()) } else { kept }
    }

    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        if self.has(Defect::ArchiveUnreadable) {
            return Err(StorageError { operation: "archive read", source: "planted defect".into() });
        }
        let found = VerdictArchive::find(self.world, session).await?;
        Ok(found.filter(|_| !self.has(Defect::ArchiveEmpty)))
    }

    async fn listed(&self, after: Option<&SessionId>, most: usize) -> Result<Vec<SessionId>, StorageError> {
        self.world.listed(after, most).await
    }
}

#[async_trait]
impl Quarantine for Ports<'_> {
    async fn hold(&self, session: &SessionId, held_at: Timestamp, payload: &str) -> Result<(), StorageError> {
        if self.has(Defect::PayloadLost) {
            return Ok(());
        }
        self.world.hold(session, held_at, payload).await
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError> {
        self.world.held(session).await
    }
}

#[async_trait]
impl DeadLetters for Ports<'_> {
    async fn keep(
        &self,
        session: &SessionId,
        letter: Letter,
        died_at: Timestamp,
        document: &str,
    ) -> Result<(), StorageError> {
        if self.has(Defect::DeadLetterLost) {
            return Ok(());
        }
        DeadLetters::keep(self.world, session, letter, died_at, document).await
    }
}

#[async_trait]
impl Payments for Ports<'_> {
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let mut session = self.world.session(id).await?;
        if self.has(Defect::UnpaidReadsPaid) {
            session.payment_status = PaymentStatus::Paid;
        }
        Ok(session)
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        self.world.create_session(new).await
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        self.world.promotion_code(code).await
    }
}

#[async_trait]
impl Ledger for Ports<'_> {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<NewRefund, PaymentError> {
        match self.defect {
            Some(Defect::RefundLost) => Ok(NewRefund::NothingLeft),
            _ => self.world.refund(payment, idempotency_key).await,
        }
    }

    async fn refunds(&self, payment: &PaymentId) -> Result<Vec<MadeRefund>, PaymentError> {
        self.world.refunds(payment).await
    }

    async fn reports_since(
        &self,
        since: ReportsSince,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError> {
        if self.has(Defect::ReportsUnlisted) {
            return Ok(PaymentReports::default());
        }
        self.world.reports_since(since, now, from).await
    }

    async fn slowest_method(&self) -> Result<Duration, PaymentError> {
        self.world.slowest_method().await
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        self.world.session_of(payment).await
    }

    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError> {
        if self.has(Defect::CompletedSessionsUnlisted) {
            return Ok(CompletedSessions::default());
        }
        self.world.completed_since(since, from).await
    }
}

#[async_trait]
impl Mailbox for Ports<'_> {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        self.vendor(&self.relay()).create_draft(mail).await
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        match self.defect {
            Some(Defect::MailLost) => Ok(()),
            Some(Defect::MailErrorSwallowed) => {
                let _ = self.vendor(&self.relay()).send_draft(draft).await;
                Ok(())
            }
            Some(Defect::SentDraftSentAgain) => {
                self.put_back(draft);
                self.vendor(&self.relay()).send_draft(draft).await
            }
            _ => self.vendor(&self.relay()).send_draft(draft).await,
        }
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let exists = self.vendor(&self.relay()).draft_exists(draft).await?;
        Ok(match self.defect {
            Some(Defect::SentDraftSentAgain) => true,
            _ => exists,
        })
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        Ok(self.vendor(&self.relay()).was_sent(draft).await? || self.has(Defect::GoneDraftReadsSent))
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.vendor(&self.relay()).discard_draft(draft).await
    }
}

/// The drafts of mails that a service sends which keeps none.
#[async_trait]
impl RelayDrafts for Ports<'_> {
    async fn draft(&self, id: &RelayDraftId) -> Result<Option<Versioned<RelayDraft>>, StorageError> {
        self.world.draft(id).await
    }

    async fn save(&self, id: &RelayDraftId, draft: &RelayDraft, expected: u64) -> Result<u64, SaveError> {
        let drafts: &dyn RelayDrafts = self.world;
        let saved = drafts.save(id, draft, expected).await?;
        if self.has(Defect::MailClaimLost) && *draft == RelayDraft::Claimed {
            let mut state = self.world.state();
            if let Some((_, mail)) = state.relay_claims.iter().rev().find(|(claimed, _)| claimed == id).cloned() {
                state.relay_drafts.insert(id.clone(), Versioned { value: RelayDraft::Ready(mail), version: saved });
            }
        }
        Ok(saved)
    }

    async fn discard(&self, id: &RelayDraftId) -> Result<(), StorageError> {
        self.world.discard(id).await
    }

    async fn link(&self, message: &str, session: &SessionId) -> Result<(), StorageError> {
        self.world.link(message, session).await
    }

    async fn linked(&self, message: &str) -> Result<Option<SessionId>, StorageError> {
        self.world.linked(message).await
    }
}

impl Ports<'_> {
    /// The mailbox of a world in which a service sends mails that keeps none.
    fn relay(&self) -> RelayMailbox<'_> {
        RelayMailbox { drafts: self, relay: self.world, randomness: self.world }
    }

    /// The mailbox of this world.
    fn vendor<'a>(&'a self, relay: &'a RelayMailbox<'a>) -> &'a dyn Mailbox {
        if self.world.state().relays_mails { relay } else { self.world }
    }

    /// Puts a draft that was sent back among the drafts.
    fn put_back(&self, draft: &Draft) {
        let mut state = self.world.state();
        if let Some(sent) = state.sent.iter().find(|(sent, _)| sent.id == draft.id).cloned() {
            state.drafts.insert(draft.id.clone(), sent);
        }
    }
}

/// One of the world's queues, from the side of the functions that send.
pub(crate) struct Outgoing<'w> {
    queue: NamedQueue<'w>,
    /// What is wrong with this queue.
    defect: Option<Defect>,
}

impl<'w> Outgoing<'w> {
    pub(crate) fn new(ports: Ports<'w>, name: &'static str) -> Self {
        let own = |defect: &Defect| match *defect {
            Defect::QueueErrorSwallowed(of) | Defect::QueueLoses(of) | Defect::QueueMixedUp(of, _) => of == name,
            Defect::UnreadableAcknowledged => true,
            _ => false,
        };
        let defect = ports.defect.filter(own);
        let into = if let Some(Defect::QueueMixedUp(_, other)) = defect { other } else { name };
        Self { queue: ports.world.queue(into), defect }
    }
}

#[async_trait]
impl Visibility for Outgoing<'_> {
    async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError> {
        self.queue.hide(receipt_handle, duration).await
    }
}

#[async_trait]
impl UnreadableMessages for Outgoing<'_> {
    async fn put_aside(&self, body: &str) -> Result<(), QueueError> {
        match self.defect {
            Some(Defect::UnreadableAcknowledged) => Ok(()),
            _ => self.queue.put_aside(body).await,
        }
    }
}

#[async_trait]
impl Queue for Outgoing<'_> {
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        match self.defect {
            Some(Defect::QueueLoses(_)) => Ok(()),
            Some(Defect::QueueErrorSwallowed(_)) => {
                let _ = self.queue.send_after(message, delay).await;
                Ok(())
            }
            _ => self.queue.send_after(message, delay).await,
        }
    }
}

/// A secret that is fetched at its first use and then kept, as a function's process does.
pub(crate) struct KeptSecret<'w> {
    stored: StoredSecret<'w>,
    kept: OnceLock<Secret>,
}

impl<'w> KeptSecret<'w> {
    pub(crate) fn new(world: &'w World, document: &str) -> Self {
        Self { stored: world.secret(document), kept: OnceLock::new() }
    }
}

#[async_trait]
impl SecretSource for KeptSecret<'_> {
    async fn document(&self) -> Result<Secret, StorageError> {
        if let Some(kept) = self.kept.get() {
            return Ok(kept.clone());
        }
        let document = self.stored.document().await?;
        Ok(self.kept.get_or_init(|| document).clone())
    }
}

impl RenewableSecret for KeptSecret<'_> {}
