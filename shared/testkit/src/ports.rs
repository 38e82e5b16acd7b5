//! The ports, on a [`World`].

use crate::{
    faults::Trouble,
    world::{Delivered, NamedQueue, StoredSecret, World},
};
use async_trait::async_trait;
use domain::{
    Alert, CachedVerdict, CheckoutSession, RenewableSecret, Sale, Secret, SessionId, Submission, Timestamp,
    breaker::Breaker,
    mail::{Draft, Letter},
    message::Message,
    money::PaymentId,
    open_work::Work,
    ports::{
        Alerts, AllSales, AuditLog, AuditObjects, AuditRecords, Breakers, CacheEntry, Clock, CreatedCheckoutSession,
        DeadLetters, DigestSigner, DigestStore, Ledger, Listed, ListedObject, LogNotice, LogNotices, MAX_QUEUE_DELAY,
        MailError, Mailbox, Model, ModelError, ModelReply, NewCheckoutSession, Notes, OpenSales, OutgoingMail,
        PaidSessions, Pause, PaymentError, Payments, Prompt, Published, Quarantine, Queue, QueueError, Randomness,
        RefundStatus, SaleStore, SalesPage, SaveError, SecretSource, StorageError, Submissions, VerdictArchive,
        Versioned,
    },
    sale::AuditEntry,
    smoke::{Facts, SmokeSessions},
};
use std::time::Duration;

/// Entries a page of a list: few, so that tests turn pages.
const PAGE: usize = 2;

pub(crate) fn planned() -> Box<dyn std::error::Error + Send + Sync> {
    "planned fault".into()
}

pub(crate) fn storage(operation: &'static str) -> StorageError {
    StorageError { operation, source: planned() }
}

fn payment_trouble(trouble: Trouble) -> PaymentError {
    match trouble {
        Trouble::Failed | Trouble::Refused(500..) => PaymentError::Unavailable(planned()),
        Trouble::Refused(404) => PaymentError::NotFound,
        Trouble::Refused(status) => PaymentError::Refused(status.to_string()),
    }
}

fn mail_trouble(trouble: Trouble) -> MailError {
    match trouble {
        Trouble::Failed => MailError::OutcomeUnknown(planned()),
        Trouble::Refused(400) => MailError::Rejected,
        Trouble::Refused(403) => MailError::Forbidden(403),
        Trouble::Refused(429) => MailError::Throttled(Duration::from_secs(60)),
        Trouble::Refused(status) => MailError::Unavailable(status),
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        let state = self.state();
        Timestamp::from_millis(state.now + state.skew)
    }
}

impl Randomness for World {
    fn fraction(&self) -> f64 {
        let token = u32::from_str_radix(&self.token()[..8], 16).unwrap_or(0);
        f64::from(token) / (f64::from(u32::MAX) + 1.0)
    }

    /// SplitMix64: the same seed draws the same numbers.
    fn token(&self) -> String {
        let mut state = self.state();
        state.random = state.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        format!("{z:016x}{:016x}", z.rotate_left(17))
    }
}

#[async_trait]
impl Pause for World {
    async fn pause(&self, duration: Duration) {
        self.state().paused.push(duration);
        self.wait(duration).await;
    }
}

#[async_trait]
impl SaleStore for World {
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError> {
        let read = self.boundary("store.load", |state| {
            state.sales.get(session).map(|(value, version)| Versioned { value: value.clone(), version: *version })
        });
        read.await.map_err(|_| storage("store.load"))
    }

    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError> {
        let read = self.boundary("store.load_with_verdict", |state| {
            let sale =
                state.sales.get(session).map(|(value, version)| Versioned { value: value.clone(), version: *version });
            let entry = match state.cache.get(session) {
                Some(_) if state.corrupt_cache || state.corrupt_entries.contains(session) => CacheEntry::Corrupt,
                Some(verdict) => CacheEntry::Hit(Box::new(verdict.clone())),
                None if state.removed_entries.contains(session) => CacheEntry::Removed,
                None => CacheEntry::Miss,
            };
            (sale, entry)
        });
        read.await.map_err(|_| storage("store.load_with_verdict"))
    }

    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        let write = self.boundary("store.save", |state| {
            let current = state.sales.get(&sale.session_id).map_or(0, |(_, version)| *version);
            if current != expected && !domain::planted("save-without-condition") {
                return Err(SaveError::Conflict);
            }
            state.sales.insert(sale.session_id.clone(), (sale.clone(), expected + 1));
            if let Some(verdict) = verdict {
                let key = if domain::planted("cache-under-wrong-key") { state.sales.keys().next() } else { None };
                let key = key.unwrap_or(&sale.session_id).clone();
                if !domain::planted("cache-write-lost") {
                    state.cache_verdict(&key, verdict, sale.changed_at);
                }
                state.corrupt_cache = false;
                state.corrupt_entries.remove(&sale.session_id);
            }
            Ok(expected + 1)
        });
        write.await.unwrap_or_else(|_| Err(storage("store.save").into()))
    }
}

#[async_trait]
impl Breakers for World {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        let read = self.boundary("breaker.load", |state| {
            let (value, version) = state.breakers.get(model).cloned().unwrap_or_default();
            Versioned { value, version }
        });
        read.await.map_err(|_| storage("breaker.load"))
    }

    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError> {
        let write = self.boundary("breaker.save", |state| {
            let current = state.breakers.get(model).map_or(0, |(_, version)| *version);
            if current != expected {
                return Err(SaveError::Conflict);
            }
            state.breakers.insert(model.to_owned(), (breaker.clone(), expected + 1));
            Ok(())
        });
        write.await.unwrap_or_else(|_| Err(storage("breaker.save").into()))
    }
}

#[async_trait]
impl Notes for World {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        let read = self.boundary("notes.load", |state| match state.notes.get(name) {
            Some((document, version)) => Versioned { value: Some(document.clone()), version: *version },
            None => Versioned { value: None, version: 0 },
        });
        read.await.map_err(|_| storage("notes.load"))
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        let write = self.boundary("notes.save", |state| {
            if state.notes.get(name).map_or(0, |(_, version)| *version) != expected {
                return Err(SaveError::Conflict);
            }
            state.notes.insert(name.to_owned(), (document.to_owned(), expected + 1));
            Ok(expected + 1)
        });
        write.await.unwrap_or_else(|_| Err(storage("notes.save").into()))
    }
}

#[async_trait]
impl VerdictArchive for World {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        let write = self.boundary("archive.keep", |state| {
            state.archive.entry(session.clone()).or_insert_with(|| verdict.clone());
        });
        write.await.map_err(|_| storage("archive.keep"))
    }

    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        let read = self.boundary("archive.find", |state| state.archive.get(session).cloned());
        read.await.map_err(|_| storage("archive.find"))
    }
}

#[async_trait]
impl AuditLog for World {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let write = self.boundary("log.publish", |state| match state.log.get(&entry.key) {
            Some(line) if *line == entry.line => Published::AlreadyThere,
            Some(_) => Published::Forked,
            None if domain::planted("log-write-lost") => Published::Written,
            None => {
                state.log.insert(entry.key.clone(), entry.line.clone());
                state.log_written_at.insert(entry.key.clone(), state.now);
                Published::Written
            }
        });
        write.await.map_err(|_| storage("log.publish"))
    }
}

#[async_trait]
impl AuditRecords for World {
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        let read = self.boundary("log.lines", |state| {
            let found = state.log.iter().filter(|(key, _)| key.starts_with(prefix));
            found.map(|(_, line)| line.clone()).collect()
        });
        read.await.map_err(|_| storage("log.lines"))
    }
}

/// An object ends with a line break, as it does in the bucket.
#[async_trait]
impl AuditObjects for World {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        let read = self.boundary("log.keys", |state| {
            let keys = state.log.keys().filter(|key| key.starts_with(prefix) && key.as_str() > after);
            let written_at = |key| Timestamp::from_millis(state.log_written_at.get(key).copied().unwrap_or(0));
            keys.take(PAGE).map(|key| ListedObject { key: key.clone(), written_at: written_at(key) }).collect()
        });
        read.await.map_err(|_| storage("log.keys"))
    }

    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let line = |line: &String| format!("{line}\n").into_bytes();
        let read = self.boundary("log.object", |state| state.log.get(key).map(line));
        read.await.map_err(|_| storage("log.object"))
    }
}

#[async_trait]
impl LogNotices for World {
    async fn receive(&self) -> Result<Vec<LogNotice>, StorageError> {
        let read = self.boundary("log_notices.receive", |state| {
            let visible = state.log_notices.iter().filter(|(handle, _)| !state.hidden_log_notices.contains(*handle));
            let notice = |(handle, body): (&String, &String)| LogNotice { handle: handle.clone(), body: body.clone() };
            let notices: Vec<LogNotice> = visible.take(PAGE).map(notice).collect();
            state.hidden_log_notices.extend(notices.iter().map(|notice| notice.handle.clone()));
            notices
        });
        read.await.map_err(|_| storage("log_notices.receive"))
    }

    async fn remove(&self, handle: &str) -> Result<(), StorageError> {
        let write = self.boundary("log_notices.remove", |state| drop(state.log_notices.remove(handle)));
        write.await.map_err(|_| storage("log_notices.remove"))
    }
}

#[async_trait]
impl DigestStore for World {
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError> {
        let write = self.boundary("digests.keep", |state| {
            state.digests.entry(key.to_owned()).or_insert_with(|| document.to_owned()).clone().into_bytes()
        });
        write.await.map_err(|_| storage("digests.keep"))
    }

    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let read = self.boundary("digests.find", |state| state.digests.get(key).map(|text| text.clone().into_bytes()));
        read.await.map_err(|_| storage("digests.find"))
    }

    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        let read = self.boundary("digests.keys", |state| {
            let keys = state.digests.keys().filter(|key| key.starts_with(prefix) && key.as_str() > after);
            keys.take(PAGE).cloned().collect()
        });
        read.await.map_err(|_| storage("digests.keys"))
    }
}

/// Never the same signature twice, as with ECDSA: the number of the signing, then what was signed.
#[async_trait]
impl DigestSigner for World {
    fn key(&self) -> &str {
        "the world's key"
    }

    async fn sign(&self, sha256: &[u8; 32]) -> Result<Vec<u8>, StorageError> {
        let write = self.boundary("digests.sign", |state| {
            state.signed.push(*sha256);
            let number = u8::try_from(state.signed.len()).unwrap_or(u8::MAX);
            [[number].as_slice(), sha256.as_slice()].concat()
        });
        write.await.map_err(|_| storage("digests.sign"))
    }
}

#[async_trait]
impl AllSales for World {
    async fn all(&self, from: Option<&str>) -> Result<SalesPage, StorageError> {
        let read = self.boundary("store.all", |state| {
            let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            let sales: Vec<_> = state.sales.values().skip(skip).take(PAGE).map(|(sale, _)| sale.clone()).collect();
            let next = (skip + sales.len() < state.sales.len()).then(|| (skip + sales.len()).to_string());
            SalesPage { sales, next }
        });
        read.await.map_err(|_| storage("store.all"))
    }
}

#[async_trait]
impl Quarantine for World {
    async fn hold(&self, session: &SessionId, _held_at: Timestamp, payload: &str) -> Result<(), StorageError> {
        let write =
            self.boundary("quarantine.hold", |state| state.quarantine.push((session.clone(), payload.to_owned())));
        write.await.map_err(|_| storage("quarantine.hold"))
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError> {
        let read = self.boundary("quarantine.held", |state| {
            let of_sale = state.quarantine.iter().filter(|(held, _)| held == session);
            of_sale.map(|(_, payload)| payload.clone()).collect()
        });
        read.await.map_err(|_| storage("quarantine.held"))
    }
}

#[async_trait]
impl Queue for World {
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        assert!(delay <= MAX_QUEUE_DELAY, "SQS refuses a delay of {delay:?}");
        let write = self.boundary("queue.send", |state| state.queue.push_back((message.clone(), delay)));
        write.await.map_err(|_| QueueError(planned()))
    }
}

#[async_trait]
impl Queue for NamedQueue<'_> {
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        assert!(delay <= MAX_QUEUE_DELAY, "SQS refuses a delay of {delay:?}");
        let sent = (self.name, message.clone(), delay);
        let write = self.world.boundary("queue.send", |state| state.outgoing.push_back(sent));
        write.await.map_err(|_| QueueError(planned()))
    }
}

impl NamedQueue<'_> {
    /// Hides a message that was delivered, from now on for this long.
    ///
    /// # Errors
    /// [`QueueError`] when the queue did not hear of it.
    pub async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError> {
        let hidden = (self.name, receipt_handle.to_owned(), duration);
        let write = self.world.boundary("queue.hide", |state| state.hidden.push_back(hidden));
        write.await.map_err(|_| QueueError(planned()))
    }
}

#[async_trait]
impl SecretSource for StoredSecret<'_> {
    async fn document(&self) -> Result<Secret, StorageError> {
        let read = self.world.boundary("secrets.document", |_| Secret::new(self.document.as_str()));
        read.await.map_err(|_| storage("secrets.document"))
    }
}

impl RenewableSecret for StoredSecret<'_> {}

#[async_trait]
impl OpenSales for World {
    async fn open(&self, work: Work, until: Option<Timestamp>, from: Option<&str>) -> Result<Listed, StorageError> {
        let read = self.boundary("store.open", |state| {
            let mut found: Vec<_> =
                state.sales.values().filter_map(|(sale, _)| Some((sale.open_work()?, sale))).collect();
            found.retain(|(open, _)| open.work == work && until.is_none_or(|until| open.due <= until));
            found.sort_by_key(|(open, sale)| (open.due, sale.session_id.clone()));
            let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            let sessions: Vec<_> =
                found.iter().skip(skip).take(PAGE).map(|(_, sale)| sale.session_id.clone()).collect();
            let next = (skip + sessions.len() < found.len()).then(|| (skip + sessions.len()).to_string());
            Listed { sessions, next }
        });
        read.await.map_err(|_| storage("store.open"))
    }
}

#[async_trait]
impl Submissions for World {
    async fn keep(&self, session: &SessionId, submission: &Submission) -> Result<(), StorageError> {
        let write = self.boundary("submissions.keep", |state| {
            state.submissions.insert(session.clone(), submission.clone());
        });
        write.await.map_err(|_| storage("submissions.keep"))
    }

    async fn find(&self, session: &SessionId) -> Result<Option<Submission>, StorageError> {
        let read = self.boundary("submissions.find", |state| state.submissions.get(session).cloned());
        read.await.map_err(|_| storage("submissions.find"))
    }
}

#[async_trait]
impl DeadLetters for World {
    async fn keep(
        &self,
        session: &SessionId,
        letter: Letter,
        died_at: Timestamp,
        document: &str,
    ) -> Result<(), StorageError> {
        let key = format!("{}/{}-{}", session.as_str(), letter.as_str(), died_at.as_millis());
        let write = self.boundary("dead_letters.keep", |state| {
            state.dead_letters.entry(key).or_insert_with(|| document.to_owned());
        });
        write.await.map_err(|_| storage("dead_letters.keep"))
    }
}

#[async_trait]
impl Ledger for World {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<RefundStatus, PaymentError> {
        let write = self.boundary("ledger.refund", |state| {
            if state.given_back.contains(payment) {
                return Err(PaymentError::Refused("charge_already_refunded".to_owned()));
            }
            let status = state.refund_status.unwrap_or(RefundStatus::Succeeded);
            if status != RefundStatus::Failed {
                let other = domain::planted("refund-key-not-known").then_some(state.now);
                let key = other.map_or_else(|| idempotency_key.to_owned(), |at| format!("{idempotency_key}-{at}"));
                state.refunds.insert(key, payment.clone());
            }
            Ok(status)
        });
        write.await.unwrap_or_else(|trouble| Err(payment_trouble(trouble)))
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        let read = self.boundary("ledger.session_of", |state| {
            state.sessions.values().find(|session| session.payment.as_ref() == Some(payment)).cloned()
        });
        read.await.map_err(payment_trouble)
    }

    async fn paid_since(&self, since: Timestamp, from: Option<&str>) -> Result<PaidSessions, PaymentError> {
        let read = self.boundary("ledger.paid_since", |state| {
            let since = |session: &&CheckoutSession| session.created.is_none_or(|created| created >= since);
            let paid: Vec<_> = state.sessions.values().filter(|session| session.is_paid()).filter(since).collect();
            let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            let sessions: Vec<_> = paid.iter().skip(skip).take(PAGE).copied().cloned().collect();
            let next = (skip + sessions.len() < paid.len()).then(|| (skip + sessions.len()).to_string());
            PaidSessions { sessions, next }
        });
        read.await.map_err(payment_trouble)
    }
}

#[async_trait]
impl Alerts for World {
    async fn raise(&self, alert: Alert) {
        let line = alert.clone();
        let raised = self.boundary("alerts.raise", |state| {
            if !domain::planted("alerts-lost") {
                state.alerts.push(alert);
            }
        });
        if raised.await.is_err() {
            self.state().logged_alerts.push(line);
        }
    }
}

#[async_trait]
impl Payments for World {
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let read = self.boundary("payments.session", |state| state.sessions.get(id).cloned());
        read.await.map_err(payment_trouble)?.ok_or(PaymentError::NotFound)
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        let write = self.boundary("payments.create_session", |state| {
            state.created.push(new.clone());
            let id = format!("cs_test_{}", state.created.len());
            SessionId::parse(id.as_str())
                .map(|parsed| CreatedCheckoutSession { id: parsed, url: format!("https://pay.example/{id}") })
        });
        match write.await {
            Ok(Ok(created)) => Ok(created),
            Ok(Err(_)) => Err(PaymentError::Refused("bad id".to_owned())),
            Err(trouble) => Err(payment_trouble(trouble)),
        }
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        let read = self.boundary("payments.promotion_code", |state| state.promotion_codes.get(code).cloned());
        read.await.map_err(payment_trouble)
    }
}

/// No boundary of its own: nothing of a customer's depends on it.
#[async_trait]
impl SmokeSessions for World {
    async fn facts(&self, id: &SessionId) -> Result<Facts, PaymentError> {
        self.state().smoke_sessions.get(id).cloned().ok_or(PaymentError::NotFound)
    }
}

#[async_trait]
impl Model for World {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let call = self.boundary("model.ask", |state| {
            state.prompts.push((model.to_owned(), prompt.clone()));
            let next = state.answers.pop_front();
            next.or_else(|| state.model.as_mut().map(|answer| answer(model, prompt)))
                .unwrap_or(Err(ModelError::Unavailable(503)))
        });
        call.await.unwrap_or_else(|trouble| match trouble {
            Trouble::Failed => Err(ModelError::Timeout),
            Trouble::Refused(404) => Err(ModelError::UnknownModel),
            Trouble::Refused(400) => Err(ModelError::BadRequest(400)),
            Trouble::Refused(status @ (401 | 403)) => Err(ModelError::Unauthorized(status)),
            Trouble::Refused(status) => Err(ModelError::Unavailable(status)),
        })
    }
}

#[async_trait]
impl Mailbox for World {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        let token = self.token();
        let write = self.boundary("mailbox.create_draft", |state| {
            let draft = Draft { id: format!("draft-{token}"), internet_message_id: format!("<{token}@mail>") };
            let letter = Delivered {
                session: mail.session_id.clone(),
                to: mail.to.expose().to_owned(),
                subject: mail.subject.clone(),
                body: mail.body.clone(),
            };
            state.mail_calls.push(("create", state.now));
            if let Some(refusal) = state.mailbox_says.pop_front().flatten() {
                return Err(refusal);
            }
            state.drafts.insert(draft.id.clone(), (draft.clone(), letter));
            Ok(draft)
        });
        write.await.unwrap_or_else(|trouble| Err(mail_trouble(trouble)))
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let write = self.boundary("mailbox.send_draft", |state| {
            state.mail_calls.push(("send", state.now));
            if let Some(refusal) = state.mailbox_says.pop_front().flatten() {
                return Err(refusal);
            }
            let letter = match state.drafts.remove(&draft.id) {
                None if domain::planted("mailbox-sends-again") => {
                    state.sent.iter().find(|(sent, _)| sent.id == draft.id).cloned()
                }
                letter => letter,
            };
            let now = state.now;
            state.sent.push(letter.ok_or(MailError::NoSuchDraft)?);
            state.sent_at.push(now);
            Ok(())
        });
        write.await.unwrap_or_else(|trouble| Err(mail_trouble(trouble)))
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let read = self.boundary("mailbox.draft_exists", |state| state.drafts.contains_key(&draft.id));
        read.await.map_err(|_| MailError::Unavailable(503))
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        let read = self.boundary("mailbox.was_sent", |state| {
            let known_until = state.now - state.sent_items_lag;
            let sent = state.sent.iter().zip(&state.sent_at).filter(|(_, at)| **at <= known_until);
            sent.into_iter().any(|((sent, _), _)| sent.internet_message_id == draft.internet_message_id)
        });
        read.await.map_err(|_| MailError::Unavailable(503))
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let write = self.boundary("mailbox.discard_draft", |state| drop(state.drafts.remove(&draft.id)));
        write.await.map_err(|_| MailError::Unavailable(503))
    }
}
