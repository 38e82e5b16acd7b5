//! A queue on SQS.

use crate::Connection;
use async_trait::async_trait;
use domain::{
    message::Message,
    ports::{MAX_QUEUE_DELAY, Queue, QueueError},
};
use std::{sync::OnceLock, time::Duration};

/// The longest a message may be hidden: SQS allows twelve hours from its delivery, the time at work included.
pub(crate) const MAX_HIDDEN: Duration = Duration::from_secs(12 * 3600 - 300);

/// One queue.
#[derive(Debug)]
pub struct SqsQueue {
    connection: Connection,
    url: String,
    client: OnceLock<aws_sdk_sqs::Client>,
}

impl SqsQueue {
    /// The queue at `url`.
    #[must_use]
    pub const fn new(connection: Connection, url: String) -> Self {
        Self { connection, url, client: OnceLock::new() }
    }

    /// Keeps a message that is being worked on back for as long again, whatever its queue's visibility time-out;
    /// at most twelve hours from its
    /// delivery.
    ///
    /// # Errors
    /// [`QueueError`]: it comes back when the visibility time-out ends.
    pub async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError> {
        let client = self.client.get_or_init(|| self.connection.sqs());
        let seconds = i32::try_from(duration.min(MAX_HIDDEN).as_secs()).unwrap_or_default();
        let hide = client.change_message_visibility().queue_url(&self.url).receipt_handle(receipt_handle);
        hide.visibility_timeout(seconds).send().await.map(drop).map_err(|error| QueueError(Box::new(error)))
    }
}

#[async_trait]
impl Queue for SqsQueue {
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        let body = serde_json::to_string(message).map_err(|error| QueueError(Box::new(error)))?;
        let client = self.client.get_or_init(|| self.connection.sqs());
        let mut send = client.send_message().queue_url(&self.url).message_body(body);
        let seconds = delay.min(MAX_QUEUE_DELAY).as_secs();
        if seconds > 0 {
            send = send.delay_seconds(i32::try_from(seconds).unwrap_or_default());
        }
        let sent = send.send().await;
        sent.map(drop).map_err(|error| QueueError(Box::new(error)))
    }
}
