//! The resources that the template passes to functions, each in a variable of its own.

use crate::{Backend, BackendError};

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueName {
    /// Paid sales to fulfil.
    Orders,
    /// Paid sessions that cannot be fulfilled.
    Notices,
    /// Mails to send.
    Mails,
    /// Mails to send again.
    MailRetries,
    /// Refunds, disputes and changes of subscriptions.
    Payments,
    /// The dead letters of a function's own queue.
    OwnDeadLetters,
}

/// A bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// The audit log.
    Audit,
    /// First verdicts and dead letters.
    Archive,
    /// Payloads that the content filter holds.
    Quarantine,
    /// Digests of the audit log.
    Digests,
}

/// A secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretName {
    /// A function's Stripe key, with the permissions of that function.
    Stripe,
    /// The key that creates sessions, to check that it exists.
    StripeCheckout,
    /// The key that makes refunds.
    StripeRefund,
    /// The secrets that Stripe signs its events with.
    StripeWebhook,
    /// The smoke test's key for Stripe's test mode, and the secret that signs its event.
    StripeSmoke,
    /// Gemini's key.
    Gemini,
    /// The mailbox's application.
    Graph,
    /// The mailbox's refresh token.
    GraphToken,
    /// The keys of address tags in the audit log.
    Audit,
    /// The key of subscribers' ids.
    Chat,
}

/// A topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Alerts that can wait for working hours.
    Ops,
    /// Alerts that cannot wait.
    Critical,
}

impl QueueName {
    const fn variable(self) -> &'static str {
        match self {
            Self::Orders => "ORDERS_QUEUE_URL",
            Self::Notices => "NOTICES_QUEUE_URL",
            Self::Mails => "EMAIL_QUEUE_URL",
            Self::MailRetries => "EMAIL_RETRY_QUEUE_URL",
            Self::Payments => "PAYMENTS_QUEUE_URL",
            Self::OwnDeadLetters => "DEAD_LETTERS_QUEUE_URL",
        }
    }
}

impl Bucket {
    const fn variable(self) -> &'static str {
        match self {
            Self::Audit => "AUDIT_BUCKET",
            Self::Archive => "ARCHIVE_BUCKET",
            Self::Quarantine => "QUARANTINE_BUCKET",
            Self::Digests => "DIGESTS_BUCKET",
        }
    }
}

impl SecretName {
    const fn variable(self) -> &'static str {
        match self {
            Self::Stripe => "STRIPE_SECRET_ID",
            Self::StripeCheckout => "STRIPE_CHECKOUT_SECRET_ID",
            Self::StripeRefund => "STRIPE_REFUND_SECRET_ID",
            Self::StripeWebhook => "STRIPE_WEBHOOK_SECRET_ID",
            Self::StripeSmoke => "STRIPE_SMOKE_SECRET_ID",
            Self::Gemini => "GEMINI_SECRET_ID",
            Self::Graph => "GRAPH_SECRET_ID",
            Self::GraphToken => "GRAPH_TOKEN_SECRET_ID",
            Self::Audit => "AUDIT_SECRET_ID",
            Self::Chat => "CHAT_SECRET_ID",
        }
    }
}

impl Topic {
    const fn variable(self) -> &'static str {
        match self {
            Self::Ops => "OPS_TOPIC_ARN",
            Self::Critical => "CRITICAL_TOPIC_ARN",
        }
    }
}

impl Backend {
    /// The address of a queue.
    ///
    /// # Errors
    /// [`BackendError`] when its variable is missing; likewise for the three functions below.
    pub fn queue_url(&self, queue: QueueName) -> Result<String, BackendError> {
        self.required(queue.variable())
    }

    /// The name of a bucket.
    ///
    /// # Errors
    /// As [`Self::queue_url`].
    pub fn bucket(&self, bucket: Bucket) -> Result<String, BackendError> {
        self.required(bucket.variable())
    }

    /// The ARN of a secret.
    ///
    /// # Errors
    /// As [`Self::queue_url`].
    pub fn secret_id(&self, secret: SecretName) -> Result<String, BackendError> {
        self.required(secret.variable())
    }

    /// The ARN of a topic.
    ///
    /// # Errors
    /// As [`Self::queue_url`].
    pub fn topic(&self, topic: Topic) -> Result<String, BackendError> {
        self.required(topic.variable())
    }
}
