//! Queues, alerts and measurements.

use super::StorageError;
use crate::{Alert, Timestamp, message::Message, metric::Measurement};
use async_trait::async_trait;
use std::time::Duration;

/// A queue refused a message.
#[derive(Debug, thiserror::Error)]
#[error("the queue did not take the message")]
pub struct QueueError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A queue.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Returns once the queue has the message.
    async fn send(&self, message: &Message) -> Result<(), QueueError> {
        self.send_after(message, Duration::ZERO).await
    }

    /// Sends a message that stays hidden for `delay`, at most [`MAX_QUEUE_DELAY`].
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError>;
}

/// The consumer's view of a queue: the consumer decides how long a received message stays hidden.
#[async_trait]
pub trait Visibility: Send + Sync {
    /// Hides the received message with this receipt handle for `duration`, counted from now, whatever the queue's
    /// visibility time-out. SQS allows at most twelve hours from the delivery.
    ///
    /// # Errors
    /// [`QueueError`]: the message becomes visible when the visibility time-out ends.
    async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError>;
}

/// The dead letters of a consumer's own queue, for bodies that are no message: redelivery cannot help them.
#[async_trait]
pub trait UnreadableMessages: Send + Sync {
    /// Returns once the dead-letter queue has the body.
    ///
    /// # Errors
    /// [`QueueError`]: the message stays in its queue.
    async fn put_aside(&self, body: &str) -> Result<(), QueueError>;
}

/// The longest delay of a new message.
pub const MAX_QUEUE_DELAY: Duration = Duration::from_secs(900);

/// Reports the alerts of a storm that were withheld.
#[async_trait]
pub trait AlertSummaries: Send + Sync {
    /// Sends one alert for each kind of which alerts are withheld. Never fails for the caller.
    async fn send_summaries(&self);
}

/// Alerts operators. Raising never fails for the caller: the fallback chain ends in the function's log.
#[async_trait]
pub trait Alerts: Send + Sync {
    /// Raises an alert.
    async fn raise(&self, alert: Alert);
}

/// The topic for operators, for lines that may name a sender: they go there and into no log.
#[async_trait]
pub trait Broadcast: Send + Sync {
    /// Returns once the topic has accepted the line.
    async fn announce(&self, line: &str) -> Result<(), StorageError>;
}

/// The metrics that alarms and the dashboard read. Recording never fails and never waits.
pub trait Meter: Send + Sync {
    /// Records measurements that were taken at `at`.
    fn record(&self, measurements: &[Measurement], at: Timestamp);
}
