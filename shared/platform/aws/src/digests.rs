//! Signed digests of the log: their bucket, their signing key, and the queue with messages about new objects.

use crate::{
    Connection,
    attempts::{Failure, Step},
    buckets::{Bucket, Put},
    storage,
};
use async_trait::async_trait;
use aws_sdk_kms::{
    primitives::Blob,
    types::{MessageType, SigningAlgorithmSpec},
};
use domain::ports::{DigestSigner, DigestStore, LogNotice, LogNotices, StorageError};
use std::sync::OnceLock;

/// Digests in a bucket of their own.
#[derive(Debug)]
pub struct S3Digests(Bucket);

impl S3Digests {
    /// The digests in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }
}

const READ: Step<'static> = Step { name: "digest read", operation: "DIGEST_READ", subject: "-" };
const WRITE: Step<'static> = Step { name: "digest write", operation: "DIGEST_WRITE", subject: "-" };

#[async_trait]
impl DigestStore for S3Digests {
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError> {
        if matches!(self.0.put_new(WRITE, key, document).await?, Put::Written) {
            return Ok(document.as_bytes().to_vec());
        }
        let found = self.0.get(READ, key).await?;
        let missing = || storage(WRITE.name, std::io::Error::other("the key is being written by another"));
        found.ok_or_else(missing)
    }

    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        self.0.get(READ, key).await
    }

    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        Ok(self.0.page(READ, prefix, after).await?.into_iter().map(|object| object.key).collect())
    }
}

/// An asymmetric key of the key service.
#[derive(Debug)]
pub struct KmsKey {
    connection: Connection,
    key: String,
    client: OnceLock<aws_sdk_kms::Client>,
}

impl KmsKey {
    /// The key with this ARN.
    #[must_use]
    pub const fn new(connection: Connection, key: String) -> Self {
        Self { connection, key, client: OnceLock::new() }
    }

    fn client(&self) -> &aws_sdk_kms::Client {
        self.client.get_or_init(|| self.connection.kms())
    }

    /// Its public key: a SubjectPublicKeyInfo in DER.
    ///
    /// # Errors
    /// [`StorageError`] when the key service did not reply.
    pub async fn public_key(&self) -> Result<Vec<u8>, StorageError> {
        let step = Step { name: "public key read", operation: "DIGEST_KEY", subject: "-" };
        let get = || async {
            let answer = self.client().get_public_key().key_id(&self.key).send().await?;
            answer.public_key.map(Blob::into_inner).ok_or_else(|| Failure::other(std::io::Error::other("no key")))
        };
        self.connection.call(step, get).await
    }
}

#[async_trait]
impl DigestSigner for KmsKey {
    fn key(&self) -> &str {
        &self.key
    }

    async fn sign(&self, sha256: &[u8; 32]) -> Result<Vec<u8>, StorageError> {
        let step = Step { name: "digest signature", operation: "DIGEST_SIGN", subject: "-" };
        let sign = || async {
            let sign = self.client().sign().key_id(&self.key).message(Blob::new(sha256.as_slice()));
            let sign = sign.message_type(MessageType::Digest).signing_algorithm(SigningAlgorithmSpec::EcdsaSha256);
            let answer = sign.send().await?;
            answer.signature.map(Blob::into_inner).ok_or_else(|| Failure::other(std::io::Error::other("no signature")))
        };
        self.connection.call(step, sign).await
    }
}

/// The queue with the bucket's messages about new objects of the log.
#[derive(Debug)]
pub struct SqsLogNotices {
    connection: Connection,
    url: String,
    client: OnceLock<aws_sdk_sqs::Client>,
}

/// The most messages in one reply of SQS.
const MESSAGES: i32 = 10;

impl SqsLogNotices {
    /// The queue at `url`.
    #[must_use]
    pub const fn new(connection: Connection, url: String) -> Self {
        Self { connection, url, client: OnceLock::new() }
    }

    fn client(&self) -> &aws_sdk_sqs::Client {
        self.client.get_or_init(|| self.connection.sqs())
    }

    /// Sends the message that the bucket would have sent about new objects, but did not. One message can hold a
    /// thousand of the log's keys, or fifty of the longest possible ones.
    ///
    /// # Errors
    /// [`StorageError`] when the queue did not accept it.
    pub async fn announce(&self, bucket: &str, keys: &[String]) -> Result<(), StorageError> {
        let step = Step { name: "log notice", operation: "LOG_NOTICES", subject: "-" };
        let record = |key: &String| {
            let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
            serde_json::json!({ "s3": { "bucket": { "name": bucket }, "object": { "key": key } } })
        };
        let records: Vec<serde_json::Value> = keys.iter().map(record).collect();
        let body = serde_json::json!({ "Records": records }).to_string();
        let send = || async {
            self.client().send_message().queue_url(&self.url).message_body(&body).send().await?;
            Ok(())
        };
        self.connection.call(step, send).await
    }
}

#[async_trait]
impl LogNotices for SqsLogNotices {
    /// Waits up to a second, so that all of SQS's servers are asked: otherwise a reply may be empty although messages
    /// wait.
    async fn receive(&self) -> Result<Vec<LogNotice>, StorageError> {
        let step = Step { name: "log notice read", operation: "LOG_NOTICES", subject: "-" };
        let receive = || async {
            let receive = self.client().receive_message().queue_url(&self.url).wait_time_seconds(1);
            Ok(receive.max_number_of_messages(MESSAGES).send().await?)
        };
        let answer = self.connection.call(step, receive).await?;
        let notice = |message: aws_sdk_sqs::types::Message| {
            Some(LogNotice { handle: message.receipt_handle?, body: message.body.unwrap_or_default() })
        };
        Ok(answer.messages.unwrap_or_default().into_iter().filter_map(notice).collect())
    }

    /// A message that could not be deleted is delivered again, which does no harm.
    async fn remove(&self, handle: &str) -> Result<(), StorageError> {
        let step = Step { name: "log notice removal", operation: "LOG_NOTICES", subject: "-" };
        let remove = || async {
            self.client().delete_message().queue_url(&self.url).receipt_handle(handle).send().await?;
            Ok(())
        };
        self.connection.call(step, remove).await
    }
}
