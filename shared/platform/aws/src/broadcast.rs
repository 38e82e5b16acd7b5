//! Lines for the ops topic that may name a sender. An alert is logged first, so that it is not lost; these lines are
//! not logged at all, and the caller keeps the data to send them again.

use crate::{Connection, attempts::Step};
use async_trait::async_trait;
use domain::ports::{Broadcast, StorageError};
use std::sync::OnceLock;

/// The topic.
#[derive(Debug)]
pub struct SnsBroadcast {
    connection: Connection,
    topic: String,
    client: OnceLock<aws_sdk_sns::Client>,
}

impl SnsBroadcast {
    /// Publishes to this topic.
    #[must_use]
    pub const fn new(connection: Connection, topic: String) -> Self {
        Self { connection, topic, client: OnceLock::new() }
    }
}

#[async_trait]
impl Broadcast for SnsBroadcast {
    async fn announce(&self, line: &str) -> Result<(), StorageError> {
        let client = self.client.get_or_init(|| self.connection.sns());
        let publish = || async {
            client.publish().topic_arn(&self.topic).subject("Oracle: inbox").message(line).send().await?;
            Ok(())
        };
        self.connection.call(Step { name: "broadcast", operation: "BROADCAST", subject: "-" }, publish).await
    }
}
