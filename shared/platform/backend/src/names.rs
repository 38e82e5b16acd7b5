//! The resources that the template passes to functions, each in a variable of its own.

use crate::{Backend, BackendError};

domain::enum_with_words! {
    /// A queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum QueueName {
        /// Paid sales to fulfil.
        Orders = "ORDERS_QUEUE_URL",
        /// Paid sessions that cannot be fulfilled.
        Notices = "NOTICES_QUEUE_URL",
        /// Mails to send.
        Mails = "EMAIL_QUEUE_URL",
        /// Mails to send again.
        MailRetries = "EMAIL_RETRY_QUEUE_URL",
        /// Refunds, disputes and changes of subscriptions.
        Payments = "PAYMENTS_QUEUE_URL",
        /// The dead letters of a function's own queue.
        OwnDeadLetters = "DEAD_LETTERS_QUEUE_URL",
    }
    const fn variable;
}

domain::enum_with_words! {
    /// A bucket.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Bucket {
        /// The audit log.
        Audit = "AUDIT_BUCKET",
        /// First verdicts and dead letters.
        Archive = "ARCHIVE_BUCKET",
        /// Payloads that the content filter holds.
        Quarantine = "QUARANTINE_BUCKET",
        /// Digests of the audit log.
        Digests = "DIGESTS_BUCKET",
    }
    const fn variable;
}

domain::enum_with_words! {
    /// A secret.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SecretName {
        /// A function's Stripe key, with the permissions of that function.
        Stripe = "STRIPE_SECRET_ID",
        /// The key that creates sessions, to check that it exists.
        StripeCheckout = "STRIPE_CHECKOUT_SECRET_ID",
        /// The key that makes refunds.
        StripeRefund = "STRIPE_REFUND_SECRET_ID",
        /// The secrets that Stripe signs its events with.
        StripeWebhook = "STRIPE_WEBHOOK_SECRET_ID",
        /// The smoke test's key for Stripe's test mode, and the secret that signs its event.
        StripeSmoke = "STRIPE_SMOKE_SECRET_ID",
        /// Gemini's key.
        Gemini = "GEMINI_SECRET_ID",
        /// The mailbox's application.
        Graph = "GRAPH_SECRET_ID",
        /// The mailbox's refresh token.
        GraphToken = "GRAPH_TOKEN_SECRET_ID",
        /// The keys of address tags in the audit log.
        Audit = "AUDIT_SECRET_ID",
        /// The key of subscribers' ids.
        Chat = "CHAT_SECRET_ID",
    }
    const fn variable;
}

domain::enum_with_words! {
    /// A topic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Topic {
        /// Alerts that can wait for working hours.
        Ops = "OPS_TOPIC_ARN",
        /// Alerts that cannot wait.
        Critical = "CRITICAL_TOPIC_ARN",
    }
    const fn variable;
}

impl SecretName {
    /// Whether only we check this secret. No service refuses its old value, so a running process learns of a new one
    /// only by reading it again.
    pub(crate) const fn is_checked_by_us(self) -> bool {
        matches!(self, Self::StripeWebhook | Self::StripeSmoke | Self::Audit)
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
