//! Clients of AWS.

use crate::{Backend, BackendError, Bucket, QueueName, SecretName, Topic};
use audit::{BridgeJournal, ChatJournal, FunctionJournal, Journal, SubscriberJournal, TollJournal};
use aws::{
    CodeDeploy, DynamoMemoryLogs, DynamoSales, DynamoSubmissions, KmsKey, KmsSubjectKeys, S3Archive, S3AuditLog,
    S3Digests, S3Quarantine, SecretDocument, SnsAlerts, SnsBroadcast, SqsLogNotices, SqsQueue, StoredSaleData,
};
use runtime::System;
use std::sync::Arc;

/// The stores of a journal. Once these alerts are built, the backend's other stores use them when a call fails.
pub struct JournalStores {
    /// The table: sales, cached verdicts, notes.
    pub sales: DynamoSales,
    /// The audit log.
    pub log: S3AuditLog,
    /// The topics.
    pub alerts: SnsAlerts,
}

impl JournalStores {
    /// The journal of sales.
    #[must_use]
    pub const fn journal(&self) -> Journal<'_> {
        Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of purchases in USDC.
    #[must_use]
    pub const fn toll_journal(&self) -> TollJournal<'_> {
        TollJournal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of chat accounts.
    #[must_use]
    pub const fn chat_journal(&self) -> ChatJournal<'_> {
        ChatJournal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of Bridges.
    #[must_use]
    pub const fn bridge_journal(&self) -> BridgeJournal<'_> {
        BridgeJournal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of subscribers.
    #[must_use]
    pub const fn subscriber_journal(&self) -> SubscriberJournal<'_> {
        SubscriberJournal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of a scheduled function.
    #[must_use]
    pub const fn function_journal(&self, function: &'static str) -> FunctionJournal<'_> {
        FunctionJournal { function, notes: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// Operators' submissions for customers, and the texts of follow-ups.
    #[must_use]
    pub const fn submissions(&self) -> DynamoSubmissions<'_> {
        DynamoSubmissions(&self.sales)
    }

    /// The logs of customers' memories.
    #[must_use]
    pub const fn memory_logs(&self) -> DynamoMemoryLogs<'_> {
        DynamoMemoryLogs(&self.sales)
    }
}

impl Backend {
    /// The stores of a journal.
    ///
    /// # Errors
    /// [`BackendError`] when a variable is missing or malformed; likewise for everything below.
    pub fn journal(&self) -> Result<JournalStores, BackendError> {
        Ok(JournalStores { sales: self.sales()?, log: self.audit_log()?, alerts: self.alerts()? })
    }

    /// The table.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn sales(&self) -> Result<DynamoSales, BackendError> {
        Ok(DynamoSales::new(self.connection.clone(), self.required("TABLE_NAME")?, Arc::new(System)))
    }

    /// The audit log.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn audit_log(&self) -> Result<S3AuditLog, BackendError> {
        Ok(S3AuditLog::new(self.connection.clone(), self.bucket(Bucket::Audit)?))
    }

    /// The topics.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn alerts(&self) -> Result<SnsAlerts, BackendError> {
        let (ops, critical) = (self.topic(Topic::Ops)?, self.topic(Topic::Critical)?);
        Ok(SnsAlerts::new(self.connection.clone(), ops, critical))
    }

    /// First verdicts and dead-lettered mails.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn archive(&self) -> Result<S3Archive, BackendError> {
        Ok(S3Archive::new(self.connection.clone(), self.bucket(Bucket::Archive)?))
    }

    /// Indexes of corpora, in the archive's bucket. By this name the test of roles (tests/template/adapters.rs) knows
    /// that a function reads only them.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn corpora(&self) -> Result<S3Archive, BackendError> {
        self.archive()
    }

    /// Payloads that the content filter holds.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn quarantine(&self) -> Result<S3Quarantine, BackendError> {
        Ok(S3Quarantine::new(self.connection.clone(), self.bucket(Bucket::Quarantine)?))
    }

    /// The data of sales in the stores.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn sale_data(&self) -> Result<StoredSaleData, BackendError> {
        Ok(StoredSaleData::new(self.sales()?, self.bucket(Bucket::Archive)?, self.bucket(Bucket::Quarantine)?))
    }

    /// Digests of the audit log.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn digests(&self) -> Result<S3Digests, BackendError> {
        Ok(S3Digests::new(self.connection.clone(), self.bucket(Bucket::Digests)?))
    }

    /// The key that signs digests.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn digest_key(&self) -> Result<KmsKey, BackendError> {
        Ok(KmsKey::new(self.connection.clone(), self.required("DIGEST_KEY_ARN")?))
    }

    /// The keys of customers' memories, which are stored in the table.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn subject_keys<'a>(&self, table: &'a DynamoSales) -> Result<KmsSubjectKeys<'a>, BackendError> {
        Ok(KmsSubjectKeys::new(table, self.connection.clone(), self.required("MEMORY_KEY_ARN")?))
    }

    /// The topic of a message that is no alert of ours.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn broadcast(&self, topic: Topic) -> Result<SnsBroadcast, BackendError> {
        Ok(SnsBroadcast::new(self.connection.clone(), self.topic(topic)?))
    }

    /// The deployments of new versions.
    #[must_use]
    pub fn deployments(&self) -> CodeDeploy {
        CodeDeploy::new(self.connection.clone())
    }

    /// Messages about new objects in the audit log.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn log_notices(&self) -> Result<SqsLogNotices, BackendError> {
        Ok(SqsLogNotices::new(self.connection.clone(), self.required("LOG_NOTICES_QUEUE_URL")?))
    }

    /// A queue.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn queue(&self, queue: QueueName) -> Result<SqsQueue, BackendError> {
        Ok(SqsQueue::new(self.connection.clone(), self.queue_url(queue)?))
    }

    /// A secret, fetched at its first use, and again after ten minutes if only we check it.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn secret(&self, secret: SecretName) -> Result<SecretDocument, BackendError> {
        let document = SecretDocument::new(self.connection.clone(), self.secret_id(secret)?);
        Ok(if secret.is_checked_by_us() { document.rereading() } else { document })
    }
}
