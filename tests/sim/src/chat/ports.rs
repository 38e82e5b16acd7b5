//! The ports of a world of the chat: decorators that pass every call on, and that break one contract where the world
//! has a [`ChatDefect`]. The file has more than 300 lines because each port has its few lines of passing on.

use super::{chaos::DAYS, defects::ChatDefect};
use crate::ports::{altered, forked};
use async_trait::async_trait;
use domain::{
    Alert, Timestamp,
    chat::{Access, Account, BillingReport, Bridge, ChatSession, ExchangeId, Login, Subscriber, SubscriberId},
    money::PaymentId,
    ports::{
        Alerts, AuditLog, BillingReports, Bridges, ChatAccess, ChatAccounts, MemoryAppend, MemoryLogs, MemoryRecord,
        PaymentError, Published, ReplyBeginnings, SaveError, SignIns, StorageError, Store, SubjectKey, SubjectKeys,
        Subscribers, SubscriptionLedger, Versioned,
    },
    sale::AuditEntry,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use testkit::World;

/// A world's ports. One of them may have a defect.
#[derive(Clone)]
pub(super) struct Ports {
    pub(super) world: Arc<World>,
    pub(super) defect: Option<ChatDefect>,
}

impl Ports {
    fn has(&self, defect: ChatDefect) -> bool {
        self.defect == Some(defect)
    }

    fn loses(&self, alert: &Alert) -> bool {
        matches!(self.defect, Some(ChatDefect::AlertsLostAbout(text)) if alert.line.contains(text))
    }
}

#[async_trait]
impl Store<Account> for Ports {
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Account>>, StorageError> {
        Store::<Account>::load(&*self.world, id).await
    }

    async fn save(&self, account: &Account, expected: u64) -> Result<u64, SaveError> {
        let store: &dyn Store<Account> = &*self.world;
        match self.defect {
            Some(ChatDefect::AccountVersionIgnored) => {
                let current = store.load(account.id()).await?.map_or(0, |stored| stored.version);
                store.save(account, current).await
            }
            Some(ChatDefect::AccountLost) => Ok(expected + 1),
            Some(ChatDefect::CountWithoutReply) => {
                let mut document = serde_json::to_value(account).unwrap_or_default();
                if let Some(exchanges) = document["exchanges"].as_array_mut() {
                    exchanges.retain(|exchange| exchange["stage"]["is"] != "answered");
                }
                let without = serde_json::from_value(document).unwrap_or_else(|_| account.clone());
                store.save(&without, expected).await
            }
            Some(ChatDefect::EvaluationLost) => {
                let mut without = account.clone();
                drop(without.take_evaluations(|_| true));
                store.save(&without, expected).await
            }
            _ => store.save(account, expected).await,
        }
    }
}

#[async_trait]
impl ChatAccounts for Ports {
    async fn erasures_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        if self.has(ChatDefect::ErasuresUnlisted) {
            return Ok(Vec::new());
        }
        self.world.erasures_due(until).await
    }

    async fn unpublished(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.world.unpublished(until).await
    }
}

/// Beginnings have no defect of their own: whatever this store returns, only the seal and the claim make it readable.
/// It returns the latest beginning of any exchange.
#[async_trait]
impl ReplyBeginnings for Ports {
    async fn put(
        &self,
        who: &SubscriberId,
        exchange: &ExchangeId,
        sealed: &str,
        until: Timestamp,
    ) -> Result<(), StorageError> {
        self.world.put(who, exchange, sealed, until).await
    }

    async fn find(&self, who: &SubscriberId, exchange: &ExchangeId) -> Result<Option<String>, StorageError> {
        let found = ReplyBeginnings::find(&*self.world, who, exchange).await?;
        Ok(found.or_else(|| self.world.state().beginnings.values().next_back().cloned()))
    }
}

#[async_trait]
impl ChatAccess for Ports {
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError> {
        let access = self.world.access(subscriber, now).await?;
        Ok(match self.defect {
            Some(ChatDefect::AccessForAll) => Access { plan: domain::chat::Plan::Chat, ..access },
            Some(ChatDefect::AccessForNobody) => Access::default(),
            _ => access,
        })
    }
}

fn subscriptions(subscriber: &Subscriber) -> Value {
    serde_json::to_value(subscriber).unwrap_or_default()["billing"]["subscriptions"].take()
}

/// A subscriber with these subscriptions, except that its own stay as they are. Null removes all.
fn with_subscriptions(subscriber: &Subscriber, known: &Value) -> Subscriber {
    let mut document = serde_json::to_value(subscriber).unwrap_or_default();
    let own = document["billing"]["subscriptions"].take();
    let objects = [known, &own].into_iter().filter(|_| !known.is_null()).filter_map(Value::as_object);
    let all: Map<String, Value> = objects.flatten().map(|(id, state)| (id.clone(), state.clone())).collect();
    document["billing"]["subscriptions"] = all.into();
    serde_json::from_value(document).unwrap_or_else(|_| subscriber.clone())
}

#[async_trait]
impl Store<Subscriber> for Ports {
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Subscriber>>, StorageError> {
        let found = Store::<Subscriber>::load(&*self.world, id).await?;
        Ok(match found {
            Some(found) if self.has(ChatDefect::OldReportKept) => {
                Some(Versioned { value: with_subscriptions(&found.value, &Value::Null), version: found.version })
            }
            found => found,
        })
    }

    async fn save(&self, subscriber: &Subscriber, expected: u64) -> Result<u64, SaveError> {
        match self.defect {
            Some(ChatDefect::SubscriberLost) => Ok(expected + 1),
            Some(ChatDefect::OldReportKept) => {
                let stored =
                    self.world.state().subscribers.get(subscriber.id()).map(|(stored, _)| subscriptions(stored));
                let whole = with_subscriptions(subscriber, &stored.unwrap_or_default());
                Store::<Subscriber>::save(&*self.world, &whole, expected).await
            }
            _ => Store::<Subscriber>::save(&*self.world, subscriber, expected).await,
        }
    }
}

#[async_trait]
impl Store<Bridge> for Ports {
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Bridge>>, StorageError> {
        Store::<Bridge>::load(&*self.world, id).await
    }

    async fn save(&self, bridge: &Bridge, expected: u64) -> Result<u64, SaveError> {
        let store: &dyn Store<Bridge> = &*self.world;
        match self.defect {
            Some(ChatDefect::BridgeVersionIgnored) => {
                let current = store.load(bridge.id()).await?.map_or(0, |stored| stored.version);
                store.save(bridge, current).await
            }
            Some(ChatDefect::BridgeDraftLost) => {
                let mut document = serde_json::to_value(bridge).unwrap_or_default();
                if document["letter"]["mail"].is_object() {
                    document["letter"]["mail"] = "waiting".into();
                }
                let without = serde_json::from_value(document).unwrap_or_else(|_| bridge.clone());
                store.save(&without, expected).await
            }
            Some(ChatDefect::BridgeErasureLost) if bridge.acceptance().is_none() => Ok(expected + 1),
            _ => store.save(bridge, expected).await,
        }
    }
}

#[async_trait]
impl Bridges for Ports {
    async fn letters_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.world.letters_due(until).await
    }

    async fn listed(&self) -> Result<Vec<SubscriberId>, StorageError> {
        Bridges::listed(&*self.world).await
    }
}

#[async_trait]
impl Subscribers for Ports {
    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.world.ending_after(from).await
    }
}

#[async_trait]
impl SubscriptionLedger for Ports {
    async fn billing_since(
        &self,
        since: Timestamp,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<BillingReports, PaymentError> {
        let recent = Timestamp::from_millis(now.as_millis() - 3 * DAYS);
        let since = if self.has(ChatDefect::LatePaymentUnlisted) { recent } else { since };
        self.world.billing_since(since, now, from).await
    }

    async fn invoice_of(
        &self,
        payment: &PaymentId,
        now: Timestamp,
    ) -> Result<Option<(SubscriberId, BillingReport)>, PaymentError> {
        self.world.invoice_of(payment, now).await
    }
}

#[async_trait]
impl SubjectKeys for Ports {
    async fn find(&self, subject: &str) -> Result<Option<SubjectKey>, StorageError> {
        SubjectKeys::find(&*self.world, subject).await
    }

    async fn find_or_create(&self, subject: &str) -> Result<SubjectKey, StorageError> {
        self.world.find_or_create(subject).await
    }

    async fn destroy(&self, subject: &str) -> Result<(), StorageError> {
        if self.has(ChatDefect::KeyKept) {
            return Ok(());
        }
        let destroyed = self.world.destroy(subject).await;
        if self.has(ChatDefect::KeyMadeAgain) {
            self.world.state().memory_keys_destroyed.remove(subject);
        }
        destroyed
    }
}

#[async_trait]
impl MemoryLogs for Ports {
    async fn append(&self, log: &str, records: &[MemoryRecord]) -> Result<MemoryAppend, StorageError> {
        let is_erasure = records.iter().any(|record| record.body.first() == Some(&b'P'));
        match self.defect {
            Some(ChatDefect::MemoryLost) if !is_erasure => Ok(MemoryAppend::Written),
            Some(ChatDefect::ErasureUnwritten) if is_erasure => Ok(MemoryAppend::Written),
            _ => self.world.append(log, records).await,
        }
    }

    async fn read(&self, log: &str, after: u64) -> Result<Vec<MemoryRecord>, StorageError> {
        self.world.read(log, after).await
    }

    async fn head(&self, log: &str) -> Result<Option<(u64, [u8; 32])>, StorageError> {
        self.world.head(log).await
    }
}

#[async_trait]
impl AuditLog for Ports {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let log: &dyn AuditLog = &*self.world;
        match self.defect {
            Some(ChatDefect::RecordLost) => Ok(Published::Written),
            Some(ChatDefect::RecordAltered) => log.publish(&altered(entry)).await,
            Some(ChatDefect::LogForked) => {
                log.publish(&forked(entry)).await?;
                log.publish(entry).await
            }
            _ => log.publish(entry).await,
        }
    }
}

#[async_trait]
impl Alerts for Ports {
    async fn raise(&self, alert: Alert) {
        if !self.loses(&alert) {
            self.world.raise(alert).await;
        }
    }
}

#[async_trait]
impl SignIns for Ports {
    async fn login(&self, digest: &str) -> Result<Option<Versioned<Login>>, StorageError> {
        self.world.login(digest).await
    }

    async fn save_login(&self, digest: &str, login: &Login, expected: u64) -> Result<(), SaveError> {
        if self.has(ChatDefect::LinkKept) && expected > 0 {
            return Ok(());
        }
        self.world.save_login(digest, login, expected).await
    }

    async fn session(&self, digest: &str) -> Result<Option<ChatSession>, StorageError> {
        let found = SignIns::session(&*self.world, digest).await?;
        let is_another = found.is_some() && self.has(ChatDefect::SessionOfAnother);
        Ok(if is_another { self.world.state().chat_sessions.values().next().cloned() } else { found })
    }

    async fn begin_session(&self, digest: &str, session: &ChatSession) -> Result<(), StorageError> {
        self.world.begin_session(digest, session).await
    }

    async fn end_session(&self, digest: &str) -> Result<(), StorageError> {
        if self.has(ChatDefect::SessionKept) {
            return Ok(());
        }
        self.world.end_session(digest).await
    }

    async fn end_sessions(&self, who: &SubscriberId, except: Option<&str>) -> Result<usize, StorageError> {
        if self.has(ChatDefect::OtherSessionsKept) {
            return Ok(0);
        }
        self.world.end_sessions(who, except).await
    }

    async fn take(&self, name: &str, most: u32, until: Timestamp) -> Result<bool, StorageError> {
        self.world.take(name, most, until).await
    }
}
