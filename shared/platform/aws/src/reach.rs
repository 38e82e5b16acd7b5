//! Checks that configured resources exist and may be used, with read-only calls.

use crate::{Connection, attempts::Step};
use domain::ports::StorageError;

/// The subscriptions of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscriptions {
    /// Confirmed subscriptions, which get the messages.
    pub confirmed: u64,
    /// Subscriptions that are not confirmed yet.
    pub pending: u64,
}

/// Checks buckets, queues and topics.
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

    /// Checks that a bucket exists.
    ///
    /// # Errors
    /// [`StorageError`] when it does not exist, or we have no access.
    pub async fn bucket(&self, name: &str) -> Result<(), StorageError> {
        let client = self.0.s3();
        let head = || async {
            client.head_bucket().bucket(name).send().await?;
            Ok(())
        };
        self.0.call(step("bucket look-up"), head).await
    }

    /// Checks that a queue exists.
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

    /// The number of subscriptions to a topic, which accepts alerts even without one.
    ///
    /// # Errors
    /// As [`Self::bucket`].
    pub async fn subscriptions(&self, arn: &str) -> Result<Subscriptions, StorageError> {
        let client = self.0.sns();
        let get = || async {
            let found = client.get_topic_attributes().topic_arn(arn).send().await?;
            let attributes = found.attributes.unwrap_or_default();
            let count = |name: &str| attributes.get(name)?.parse().ok();
            Ok((count("SubscriptionsConfirmed"), count("SubscriptionsPending")))
        };
        let (confirmed, pending) = self.0.call(step("topic look-up"), get).await?;
        // A topic whose reply has no number does not count as one without subscriptions.
        Ok(Subscriptions { confirmed: confirmed.unwrap_or(1), pending: pending.unwrap_or(0) })
    }
}
