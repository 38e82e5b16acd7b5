//! A queue on SQS.

use crate::{Connection, attempts::Step};
use async_trait::async_trait;
use domain::{
    SessionId,
    message::Message,
    ports::{MAX_QUEUE_DELAY, Queue, QueueError, UnreadableMessages, Visibility},
};
use std::{sync::OnceLock, time::Duration};

/// The longest time that a message may be hidden: SQS allows twelve hours from its delivery, including the time at
/// work.
const MAX_HIDDEN: Duration = Duration::from_secs(12 * 3600 - 300);

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
}

#[async_trait]
impl Queue for SqsQueue {
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        let body = serde_json::to_string(message).map_err(|error| QueueError(Box::new(error)))?;
        let client = self.client.get_or_init(|| self.connection.sqs());
        let subject = message.session_id().map_or("-", SessionId::reference);
        let step = Step { name: "queue send", operation: "QUEUE_SEND", subject };
        // A lost reply leads to a second message, and the claim turns both into one sale.
        let seconds = i32::try_from(delay.min(MAX_QUEUE_DELAY).as_secs()).ok().filter(|seconds| *seconds > 0);
        let send = || async {
            let send = client.send_message().queue_url(&self.url).message_body(&body);
            send.set_delay_seconds(seconds).send().await?;
            Ok(())
        };
        self.connection.call(step, send).await.map_err(|error| QueueError(Box::new(error)))
    }
}

#[async_trait]
impl Visibility for SqsQueue {
    async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError> {
        let client = self.client.get_or_init(|| self.connection.sqs());
        let seconds = i32::try_from(duration.min(MAX_HIDDEN).as_secs()).unwrap_or_default();
        let step = Step { name: "queue hide", operation: "QUEUE_HIDE", subject: "-" };
        let hide = || async {
            let hide = client.change_message_visibility().queue_url(&self.url).receipt_handle(receipt_handle);
            hide.visibility_timeout(seconds).send().await?;
            Ok(())
        };
        self.connection.call(step, hide).await.map_err(|error| QueueError(Box::new(error)))
    }
}

#[async_trait]
impl UnreadableMessages for SqsQueue {
    async fn put_aside(&self, body: &str) -> Result<(), QueueError> {
        let client = self.client.get_or_init(|| self.connection.sqs());
        let step = Step { name: "dead letter send", operation: "QUEUE_SEND", subject: "-" };
        let send = || async {
            client.send_message().queue_url(&self.url).message_body(body).send().await?;
            Ok(())
        };
        self.connection.call(step, send).await.map_err(|error| QueueError(Box::new(error)))
    }
}
