//! The ports, on a [`World`].

use crate::{
    faults::Trouble,
    world::{Letter, NamedQueue, StoredSecret, World},
};
use async_trait::async_trait;
use domain::{
    Alert, CachedVerdict, CheckoutSession, Sale, Secret, SessionId, Timestamp,
    breaker::Breaker,
    message::Message,
    ports::{
        Alerts, AuditLog, Breakers, CacheEntry, Clock, CreatedCheckoutSession, MailError, Mailbox, Model, ModelError,
        ModelReply, NewCheckoutSession, OutgoingMail, Pause, PaymentError, Payments, Prompt, Published, Quarantine,
        Queue, QueueError, Randomness, SaleStore, SaveError, SecretSource, StorageError, VerdictArchive, Versioned,
    },
    sale::{AuditEntry, Draft},
};
use std::time::Duration;

fn planned() -> Box<dyn std::error::Error + Send + Sync> {
    "planned fault".into()
}

fn storage(operation: &'static str) -> StorageError {
    StorageError { operation, source: planned() }
}

fn payment(trouble: Trouble) -> PaymentError {
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
                    state.cache.insert(key, verdict.clone());
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
                Published::Written
            }
        });
        write.await.map_err(|_| storage("log.publish"))
    }
}

#[async_trait]
impl Quarantine for World {
    async fn hold(&self, session: &SessionId, _held_at: Timestamp, payload: &str) -> Result<(), StorageError> {
        let write =
            self.boundary("quarantine.hold", |state| state.quarantine.push((session.clone(), payload.to_owned())));
        write.await.map_err(|_| storage("quarantine.hold"))
    }
}

#[async_trait]
impl Queue for World {
    async fn send(&self, message: &Message) -> Result<(), QueueError> {
        let write = self.boundary("queue.send", |state| state.queue.push_back(message.clone()));
        write.await.map_err(|_| QueueError(planned()))
    }
}

#[async_trait]
impl Queue for NamedQueue<'_> {
    async fn send(&self, message: &Message) -> Result<(), QueueError> {
        let sent = (self.name, message.clone());
        let write = self.world.boundary("queue.send", |state| state.outgoing.push_back(sent));
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
            self.state().undelivered_alerts.push(line);
        }
    }
}

#[async_trait]
impl Payments for World {
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let read = self.boundary("payments.session", |state| state.sessions.get(id).cloned());
        read.await.map_err(payment)?.ok_or(PaymentError::NotFound)
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
            Err(trouble) => Err(payment(trouble)),
        }
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        let read = self.boundary("payments.promotion_code", |state| state.promotion_codes.get(code).cloned());
        read.await.map_err(payment)
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
            let letter = Letter {
                session: mail.session_id.clone(),
                to: mail.to.expose().to_owned(),
                subject: mail.subject.clone(),
                body: mail.body.clone(),
            };
            state.drafts.insert(draft.id.clone(), (draft.clone(), letter));
            draft
        });
        write.await.map_err(mail_trouble)
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let write = self.boundary("mailbox.send_draft", |state| match state.drafts.remove(&draft.id) {
            Some(letter) => {
                state.sent.push(letter);
                let now = state.now;
                state.sent_at.push(now);
                Ok(())
            }
            None if domain::planted("mailbox-sends-again") => {
                let again = state.sent.iter().find(|(sent, _)| sent.id == draft.id).cloned();
                let now = state.now;
                state.sent_at.extend(again.iter().map(|_| now));
                state.sent.extend(again);
                Ok(())
            }
            None => Err(MailError::NoSuchDraft),
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
