//! A queue on SQS.

use crate::{Connection, attempts::Step};
use async_trait::async_trait;
use domain::{
    message::Message,
    ports::{Queue, QueueError},
};
use std::sync::OnceLock;

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
    async fn send(&self, message: &Message) -> Result<(), QueueError> {
        let body = serde_json::to_string(message).map_err(|error| QueueError(Box::new(error)))?;
        let client = self.client.get_or_init(|| self.connection.sqs());
        let step = Step { name: "queue send", operation: "QUEUE_SEND", subject: message.session_id().prefix() };
        // A lost reply makes a second message of it, which the claim makes one sale of.
        let send = || async {
            client.send_message().queue_url(&self.url).message_body(&body).send().await?;
            Ok(())
        };
        self.connection.call(step, send).await.map_err(|error| QueueError(Box::new(error)))
    }
}
