//! The world's ports as a deployment has them: decorators that pass every call on, and that break one contract where
//! the world has a [`Defect`].

mod queues;
mod reminder;
mod secrets;
mod vendors;

pub(crate) use queues::Outgoing;
pub(crate) use reminder::NoReminder;
pub(crate) use secrets::KeptSecret;

use crate::{
    answer::{HELD_TERM, PLACEHOLDER},
    breaker_policy,
    defects::Defect,
};
use async_trait::async_trait;
use domain::{
    Alert, CachedVerdict, Sale, SessionId, Submission, Timestamp,
    breaker::Breaker,
    erasure::Store,
    mail::Letter,
    open_work::Work,
    ports::{
        Alerts, AuditLog, Breakers, CacheEntry, DeadLetters, Listed, OpenSales, Published, Quarantine, SaleData,
        SaleStore, SaveError, StorageError, VerdictArchive, Versioned,
    },
    sale::AuditEntry,
};
use serde_json::json;
use testkit::World;

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
        let (sale, mut entry) = self.world.load_with_verdict(session).await?;
        if let (Some(Defect::AnotherQuestionRead), CacheEntry::Hit(cached)) = (self.defect, &mut entry) {
            "Should I open another shop?".clone_into(&mut cached.query);
        }
        Ok((sale, entry))
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
                store.save(sale, expected, with_summary(verdict, PLACEHOLDER).as_ref()).await
            }
            Some(Defect::VerdictContaminated) => {
                store.save(sale, expected, with_summary(verdict, HELD_TERM).as_ref()).await
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

/// The verdict with this summary.
fn with_summary(verdict: Option<&CachedVerdict>, summary: &str) -> Option<CachedVerdict> {
    let mut verdict = verdict.cloned()?;
    summary.clone_into(&mut verdict.verdict.summary);
    Some(verdict)
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

/// The record with another time.
pub(crate) fn altered(entry: &AuditEntry) -> AuditEntry {
    AuditEntry { line: entry.line.replacen("\"timestamp\":\"2", "\"timestamp\":\"3", 1), ..entry.clone() }
}

/// The record under a second key.
pub(crate) fn forked(entry: &AuditEntry) -> AuditEntry {
    AuditEntry { key: format!("{}-fork", entry.key), ..entry.clone() }
}

#[async_trait]
impl AuditLog for Ports<'_> {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let log: &dyn AuditLog = self.world;
        match self.defect {
            Some(Defect::RecordLost) => Ok(Published::Written),
            Some(Defect::RecordErrorSwallowed) => Ok(log.publish(entry).await.unwrap_or(Published::Written)),
            Some(Defect::RecordAltered) => log.publish(&altered(entry)).await,
            Some(Defect::LogForked) => {
                log.publish(&forked(entry)).await?;
                log.publish(entry).await
            }
            _ => log.publish(entry).await,
        }
    }
}

#[async_trait]
impl Alerts for Ports<'_> {
    async fn raise(&self, mut alert: Alert) {
        if self.has(Defect::AddressInAlerts) {
            alert.line.push_str(" customer@example.com");
        }
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
            return Err(StorageError { operation: "archive read", source: "a defect of the simulation".into() });
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
impl SaleData for Ports<'_> {
    async fn kept(&self, store: Store, session: &SessionId) -> Result<u64, StorageError> {
        self.world.kept(store, session).await
    }

    async fn remove(&self, store: Store, session: &SessionId) -> Result<u64, StorageError> {
        if self.has(Defect::DataKept) {
            return Ok(1);
        }
        SaleData::remove(self.world, store, session).await
    }
}

#[async_trait]
impl Breakers for Ports<'_> {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        let found = Breakers::load(self.world, model).await?;
        let now = Timestamp::from_millis(self.world.state().now);
        let is_open = found.value.refuses_until(now, &breaker_policy()).is_some();
        let value = if is_open && self.has(Defect::CircuitReadsClosed) { Breaker::default() } else { found.value };
        Ok(Versioned { value, version: found.version })
    }

    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError> {
        Breakers::save(self.world, model, breaker, expected).await
    }
}
