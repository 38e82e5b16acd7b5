//! Public keys of digests. Signatures are checked with them on this machine.

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

/// The bytes before the point in every SubjectPublicKeyInfo of a P-256 key, in DER (RFC 5480).
const BEFORE_POINT: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The length of an uncompressed point.
const POINT: usize = 65;

/// The bytes are not a public key on P-256.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a public key on P-256 (SubjectPublicKeyInfo, as PEM or DER)")]
pub(crate) struct InvalidPublicKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey([u8; POINT]);

impl PublicKey {
    /// Reads PEM or DER.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, InvalidPublicKey> {
        let point = |der: &[u8]| der.strip_prefix(&BEFORE_POINT).and_then(|point| point.try_into().ok()).map(Self);
        point(bytes).or_else(|| point(&from_pem(bytes)?)).ok_or(InvalidPublicKey)
    }

    /// Whether this is a signature (DER, in base64) of the document by this key.
    pub(crate) fn verifies(&self, document: &[u8], signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else { return false };
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0).verify(document, &signature).is_ok()
    }
}

fn from_pem(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let body = text.strip_prefix("-----BEGIN PUBLIC KEY-----")?.strip_suffix("-----END PUBLIC KEY-----")?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
}

/// A key pair for tests, in place of the key service's.
#[cfg(test)]
pub(crate) struct KeyPair(ring::signature::EcdsaKeyPair);

#[cfg(test)]
impl KeyPair {
    pub(crate) fn new() -> Self {
        use ring::{rand::SystemRandom, signature};
        let random = SystemRandom::new();
        let algorithm = &signature::ECDSA_P256_SHA256_ASN1_SIGNING;
        let document = signature::EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self(signature::EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap())
    }

    pub(crate) fn sign(&self, document: &[u8]) -> String {
        STANDARD.encode(self.0.sign(&ring::rand::SystemRandom::new(), document).unwrap())
    }

    pub(crate) fn der(&self) -> Vec<u8> {
        use ring::signature::KeyPair as _;
        [BEFORE_POINT.as_slice(), self.0.public_key().as_ref()].concat()
    }

    pub(crate) fn public(&self) -> PublicKey {
        PublicKey::parse(&self.der()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_its_keys_and_its_documents() {
        let (ours, theirs) = (KeyPair::new(), KeyPair::new());
        let signature = ours.sign(b"document");
        assert!(ours.public().verifies(b"document", &signature));
        assert!(!ours.public().verifies(b"Document", &signature));
        assert!(!theirs.public().verifies(b"document", &signature));
        for broken in ["", "?", &signature[4..], "AAAA"] {
            assert!(!ours.public().verifies(b"document", broken), "{broken}");
        }
    }

    #[test]
    fn keys_are_read_from_pem_and_der_and_nothing_else() {
        let der = KeyPair::new().der();
        let text = STANDARD.encode(&der);
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n{}\n-----END PUBLIC KEY-----\n", &text[..64], &text[64..]);
        assert_eq!(PublicKey::parse(pem.as_bytes()), PublicKey::parse(&der));
        assert!(PublicKey::parse(&der).is_ok());
        for broken in [&der[1..], &der[..90], b"", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"] {
            assert_eq!(PublicKey::parse(broken), Err(InvalidPublicKey));
        }
    }
}
