//! The ports, on a [`World`].

mod bridges;
mod chat;
mod erasure;
mod log;
mod relay;
mod sales;
mod store;
mod subscriptions;
mod toll;
mod unknown_ids;
mod vendors;

pub use vendors::MODEL_DELAY;

use crate::world::{NamedQueue, State, StoredSecret, World};
use async_trait::async_trait;
use domain::{
    Alert, RenewableSecret, Secret, Timestamp,
    message::Message,
    metric::Measurement,
    ports::{
        AlertSummaries, Alerts, Clock, MAX_QUEUE_DELAY, Meter, Pause, Queue, QueueError, Randomness, SaveError,
        SecretSource, StorageError, UnreadableMessages, Versioned, Visibility,
    },
    suppression::{Decision, Suppression},
};
use std::{collections::BTreeMap, time::Duration};

/// Entries per page of a list: few, so that tests read several pages.
const PAGE: usize = 2;

pub(crate) fn planned() -> Box<dyn std::error::Error + Send + Sync> {
    "planned fault".into()
}

pub(crate) fn storage(operation: &'static str) -> StorageError {
    StorageError { operation, source: planned() }
}

impl World {
    /// A read or a write of a store.
    pub(crate) async fn stored<T: Send>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut State) -> T + Send,
    ) -> Result<T, StorageError> {
        self.boundary(name, effect).await.map_err(|_| storage(name))
    }

    /// A write that another one may have preceded.
    async fn saved<T: Send>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut State) -> Result<T, SaveError> + Send,
    ) -> Result<T, SaveError> {
        self.boundary(name, effect).await.unwrap_or_else(|_| Err(storage(name).into()))
    }
}

/// What is stored, if anything, with its version.
fn versioned<T: Clone>(stored: Option<&(T, u64)>) -> Option<Versioned<T>> {
    stored.map(|(value, version)| Versioned { value: value.clone(), version: *version })
}

/// Stores a value in place of that with the expected version, and returns the new version.
fn replace<K: Ord, T>(table: &mut BTreeMap<K, (T, u64)>, key: K, value: T, expected: u64) -> Result<u64, SaveError> {
    if table.get(&key).map_or(0, |(_, version)| *version) != expected {
        return Err(SaveError::Conflict);
    }
    table.insert(key, (value, expected + 1));
    Ok(expected + 1)
}

/// The page that begins at a place, and the place of the next one.
fn page<T: Clone>(all: &[T], from: Option<&str>) -> (Vec<T>, Option<String>) {
    let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
    let page: Vec<T> = all.iter().skip(skip).take(PAGE).cloned().collect();
    let next = (skip + page.len() < all.len()).then(|| (skip + page.len()).to_string());
    (page, next)
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

    fn token(&self) -> String {
        let drawn = self.state().random.next();
        format!("{drawn:016x}{:016x}", drawn.rotate_left(17))
    }

    fn secret(&self) -> Option<Secret> {
        Some(Secret::new(self.token() + &self.token()))
    }
}

#[async_trait]
impl Pause for World {
    async fn pause(&self, duration: Duration) {
        self.state().paused.push(duration);
        self.wait(duration).await;
    }
}

/// A pause that never ends: no time limit expires, and a process that crashed is not taken for a late one.
pub struct NoLimit;

#[async_trait]
impl Pause for NoLimit {
    async fn pause(&self, _duration: Duration) {
        std::future::pending().await
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

#[async_trait]
impl Visibility for World {
    async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError> {
        self.queue("").hide(receipt_handle, duration).await
    }
}

#[async_trait]
impl Visibility for NamedQueue<'_> {
    async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError> {
        let hidden = (self.name, receipt_handle.to_owned(), duration);
        let write = self.world.boundary("queue.hide", |state| state.hidden.push_back(hidden));
        write.await.map_err(|_| QueueError(planned()))
    }
}

#[async_trait]
impl UnreadableMessages for World {
    async fn put_aside(&self, body: &str) -> Result<(), QueueError> {
        self.queue("").put_aside(body).await
    }
}

#[async_trait]
impl UnreadableMessages for NamedQueue<'_> {
    async fn put_aside(&self, body: &str) -> Result<(), QueueError> {
        let sent = (self.name, body.to_owned());
        let write = self.world.boundary("queue.put_aside", |state| state.put_aside.push_back(sent));
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

/// A world withholds no alert.
#[async_trait]
impl AlertSummaries for World {
    async fn send_summaries(&self) {}
}

#[async_trait]
impl Alerts for World {
    async fn raise(&self, alert: Alert) {
        let line = alert.clone();
        let raised = self.boundary("alerts.raise", |state| {
            let now = Timestamp::from_millis(state.now);
            let held_back = |suppression: &mut Suppression| suppression.decide(&alert, now) != Decision::Send;
            if state.suppression.as_mut().is_some_and(held_back) {
                state.held_back_alerts.push(alert);
            } else {
                state.alerts.push(alert);
            }
        });
        if raised.await.is_err() {
            self.state().logged_alerts.push(line);
        }
    }
}

impl Meter for World {
    fn record(&self, measurements: &[Measurement], _at: Timestamp) {
        self.state().measurements.extend_from_slice(measurements);
    }
}
