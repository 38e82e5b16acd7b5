//! Whether what the configuration names is there and may be used: read-only looks that change nothing.

use crate::{Connection, attempts::Step, storage};
use domain::ports::StorageError;

/// Looks at buckets, queues and topics.
#[derive(Debug)]
pub struct Reach(Connection);

const fn step(name: &'static str) -> Step<'static> {
    Step { name, operation: "BOOT_PROBE", subject: "-" }
}

impl Reach {
    /// Looks through this connection.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self(connection)
    }

    /// Whether there is such a bucket.
    ///
    /// # Errors
    /// [`StorageError`] when there is none, or we may not look.
    pub async fn bucket(&self, name: &str) -> Result<(), StorageError> {
        let client = self.0.s3();
        let head = || async {
            client.head_bucket().bucket(name).send().await?;
            Ok(())
        };
        self.0.call(step("bucket look-up"), head).await
    }

    /// Whether there is such a queue.
    ///
    /// # Errors
    /// As [`Self::bucket`].
    pub async fn queue(&self, url: &str) -> Result<(), StorageError> {
        let client = self.0.sqs();
        let get = || async {
            client.get_queue_attributes().queue_url(url).send().await?;
            Ok(())
        };
        self.0.call(step("queue look-up"), get).await
    }

    /// Whether there is such a topic.
    ///
    /// # Errors
    /// As [`Self::bucket`].
    pub async fn topic(&self, arn: &str) -> Result<(), StorageError> {
        let client = self.0.sns();
        let get = || async {
            let found = client.get_topic_attributes().topic_arn(arn).send().await?;
            Ok(found.attributes.and_then(|mut all| all.remove("SubscriptionsConfirmed")))
        };
        // A topic takes every alert, and without a subscriber nobody hears of any.
        match self.0.call(step("topic look-up"), get).await?.as_deref() {
            Some("0") => Err(storage("topic look-up", std::io::Error::other("nobody has subscribed"))),
            _ => Ok(()),
        }
    }
}
