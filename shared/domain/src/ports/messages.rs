//! Queues, and what operators are told.

use super::StorageError;
use crate::{Alert, message::Message};
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

    /// The same; nobody sees the message before `delay`, at most [`MAX_QUEUE_DELAY`], has passed.
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError>;
}

/// The longest a queue keeps a new message back.
pub const MAX_QUEUE_DELAY: Duration = Duration::from_secs(900);

/// Tells operators. It never fails towards its caller: it has a fallback chain that ends in the function's log.
#[async_trait]
pub trait Alerts: Send + Sync {
    /// Raises an alert.
    async fn raise(&self, alert: Alert);
}

/// The topic that operators read, for lines that may name a sender: they go there and into no log.
#[async_trait]
pub trait Broadcast: Send + Sync {
    /// Returns once the topic has the line.
    async fn tell(&self, line: &str) -> Result<(), StorageError>;
}
