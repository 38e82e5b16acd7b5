//! Keys of the memory's subjects: created and wrapped by the key service, stored wrapped in the table; and the seal
//! that uses them. `pk` MEMORYKEY#{subject}, `sk` KEY. The item of a destroyed key stays without the key, so that no late
//! write can create another.

use crate::{
    Connection, DynamoSales,
    attempts::{Failure, Step},
    items::{Item, item, string},
    sales::Conditional,
    storage,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_kms::{primitives::Blob, types::DataKeySpec};
use domain::ports::{SaveError, Seal, StorageError, SubjectKey, SubjectKeys};
use ring::{aead, hmac};
use std::sync::OnceLock;

/// Keys wrapped with a symmetric key of the key service. The subject's id is the encryption context, so a wrapped key
/// that is moved to another subject cannot be opened.
pub struct KmsSubjectKeys<'a> {
    sales: &'a DynamoSales,
    connection: Connection,
    wrapping_key: String,
    client: OnceLock<aws_sdk_kms::Client>,
}

const READ: Step<'static> = Step { name: "subject key read", operation: "MEMORY_KEY", subject: "-" };
const WRITE: Step<'static> = Step { name: "subject key write", operation: "MEMORY_KEY", subject: "-" };
const DESTROYED: &str = "destroyed";
const CONTEXT: &str = "memory-subject";

impl<'a> KmsSubjectKeys<'a> {
    /// The keys in the table of sales, wrapped under the key with this ARN.
    #[must_use]
    pub const fn new(sales: &'a DynamoSales, connection: Connection, wrapping_key: String) -> Self {
        Self { sales, connection, wrapping_key, client: OnceLock::new() }
    }

    fn client(&self) -> &aws_sdk_kms::Client {
        self.client.get_or_init(|| self.connection.kms())
    }

    async fn unwrap(&self, subject: &str, wrapped: Vec<u8>) -> Result<SubjectKey, StorageError> {
        let decrypt = || async {
            let decrypt = self.client().decrypt().key_id(&self.wrapping_key).encryption_context(CONTEXT, subject);
            let answer = decrypt.ciphertext_blob(Blob::new(wrapped.clone())).send().await?;
            answer.plaintext.map(Blob::into_inner).ok_or_else(|| Failure::other(std::io::Error::other("no key")))
        };
        subject_key(self.connection.call(READ, decrypt).await?)
    }
}

fn key_of(subject: &str) -> Item {
    item([("pk", string(format!("MEMORYKEY#{subject}"))), ("sk", string("KEY"))])
}

fn subject_key(bytes: Vec<u8>) -> Result<SubjectKey, StorageError> {
    let key: Result<[u8; 32], _> = bytes.try_into();
    key.map(SubjectKey).map_err(|_| storage(READ.name, std::io::Error::other("the key has not 32 bytes")))
}

#[async_trait]
impl SubjectKeys for KmsSubjectKeys<'_> {
    async fn find(&self, subject: &str) -> Result<Option<SubjectKey>, StorageError> {
        let found = self.sales.get(READ, &key_of(subject)).await?;
        let Some(found) = found.filter(|found| !found.contains_key(DESTROYED)) else { return Ok(None) };
        let wrapped = found.get("wrapped").and_then(|value| value.as_b().ok()).map(|blob| blob.as_ref().to_vec());
        let wrapped = wrapped.ok_or_else(|| storage(READ.name, std::io::Error::other("the item has no key")))?;
        self.unwrap(subject, wrapped).await.map(Some)
    }

    async fn find_or_create(&self, subject: &str) -> Result<SubjectKey, StorageError> {
        if let Some(found) = self.find(subject).await? {
            return Ok(found);
        }
        let generate = || async {
            let generate = self.client().generate_data_key().key_id(&self.wrapping_key);
            let generate = generate.key_spec(DataKeySpec::Aes256).encryption_context(CONTEXT, subject);
            let answer = generate.send().await?;
            answer.plaintext.zip(answer.ciphertext_blob).ok_or_else(|| Failure::other(std::io::Error::other("no key")))
        };
        let (plain, wrapped) = self.connection.call(WRITE, generate).await?;
        let mut stored = key_of(subject);
        stored.insert(
            "wrapped".to_owned(),
            AttributeValue::B(aws_sdk_dynamodb::primitives::Blob::new(wrapped.into_inner())),
        );
        let first = Conditional { item: stored, condition: "attribute_not_exists(pk)", values: None, token: "" };
        match self.sales.put(WRITE, &first).await {
            Ok(()) => subject_key(plain.into_inner()),
            // Another call created one first, or the reply to our own write was lost: the stored key is the right one. Or
            // the key is destroyed.
            Err(SaveError::Conflict) => {
                let found = self.find(subject).await?;
                found.ok_or_else(|| storage(WRITE.name, std::io::Error::other("the key is destroyed")))
            }
            Err(SaveError::Storage(error)) => Err(error),
        }
    }

    async fn destroy(&self, subject: &str) -> Result<(), StorageError> {
        let replace = || async {
            let mut destroyed = key_of(subject);
            destroyed.insert(DESTROYED.to_owned(), AttributeValue::Bool(true));
            self.sales.client().put_item().table_name(self.sales.table()).set_item(Some(destroyed)).send().await?;
            Ok(())
        };
        self.connection.call(Step { name: "subject key destruction", ..WRITE }, replace).await
    }
}

/// Seals with AES-256-GCM. The nonce is a keyed hash of place and content: the same content at the same place gives the
/// same bytes, so that a retry is recognised, and two contents never share a nonce.
pub struct SubjectSeal {
    sealing: aead::LessSafeKey,
    nonces: hmac::Key,
    log: String,
}

impl SubjectSeal {
    /// The seal of a log under its subject's key. `None` when the library refuses the key, which it never does for 32
    /// bytes.
    #[must_use]
    pub fn new(key: &SubjectKey, log: &str) -> Option<Self> {
        let derive = hmac::Key::new(hmac::HMAC_SHA256, &key.0);
        let sealing = hmac::sign(&derive, b"oracle.memory.seal.v1");
        let nonces = hmac::sign(&derive, b"oracle.memory.nonce.v1");
        let sealing = aead::UnboundKey::new(&aead::AES_256_GCM, sealing.as_ref()).ok()?;
        let nonces = hmac::Key::new(hmac::HMAC_SHA256, nonces.as_ref());
        Some(Self { sealing: aead::LessSafeKey::new(sealing), nonces, log: log.to_owned() })
    }

    fn place(&self, seq: u64) -> Vec<u8> {
        [self.log.as_bytes(), &[0], &seq.to_be_bytes()].concat()
    }
}

impl Seal for SubjectSeal {
    fn seal(&self, seq: u64, plain: &[u8]) -> Vec<u8> {
        let place = self.place(seq);
        let tag = hmac::sign(&self.nonces, &[&place[..], plain].concat());
        let mut nonce = [0; aead::NONCE_LEN];
        nonce.copy_from_slice(&tag.as_ref()[..aead::NONCE_LEN]);
        let mut sealed = plain.to_vec();
        let tag = self.sealing.seal_in_place_separate_tag(
            aead::Nonce::assume_unique_for_key(nonce),
            aead::Aad::from(&place),
            &mut sealed,
        );
        match tag {
            Ok(tag) => [&nonce, &sealed[..], tag.as_ref()].concat(),
            // Only a content of 64 GB is refused, and no record is that large.
            Err(_) => Vec::new(),
        }
    }

    fn open(&self, seq: u64, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(aead::NONCE_LEN)?;
        let nonce = aead::Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut content = sealed.to_vec();
        let plain = self.sealing.open_in_place(nonce, aead::Aad::from(self.place(seq)), &mut content).ok()?;
        Some(plain.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(key: u8, log: &str) -> SubjectSeal {
        SubjectSeal::new(&SubjectKey([key; 32]), log).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_with_its_key_at_its_place_alone() {
        let sealed = seal(1, "log-a").seal(7, b"the vault opens with 4471-ZX");
        assert!(!sealed.windows(4).any(|window| window == b"4471"));
        assert_eq!(seal(1, "log-a").open(7, &sealed).unwrap(), b"the vault opens with 4471-ZX");
        assert_eq!(seal(1, "log-a").seal(7, b"the vault opens with 4471-ZX"), sealed, "a retry gives the same bytes");
        assert_ne!(seal(1, "log-a").seal(8, b"the vault opens with 4471-ZX")[..12], sealed[..12]);
        for (key, log, seq) in [(2, "log-a", 7), (1, "log-b", 7), (1, "log-a", 8)] {
            assert_eq!(seal(key, log).open(seq, &sealed), None, "{key} {log} {seq}");
        }
        for byte in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[byte] ^= 1;
            assert_eq!(seal(1, "log-a").open(7, &changed), None, "byte {byte}");
        }
        assert_eq!(seal(1, "log-a").open(7, b"short"), None);
    }
}
