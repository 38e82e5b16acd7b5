//! The signature of a transfer (EIP-3009 in EIP-712), computed from the texts of the standards.

use alloy_primitives::{Address, B256, Signature, U256, hex, keccak256};
use serde_json::Value;

use super::ledger::{CHAIN, USDC};

/// A signed transfer, as received. Addresses and the nonce are in lower case.
pub(crate) struct Authorization {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) value: u64,
    pub(crate) valid_after: u64,
    pub(crate) valid_before: u64,
    pub(crate) nonce: String,
    signature: Vec<u8>,
}

fn hex_of(value: &Value, bytes: usize) -> Option<String> {
    let text = value.as_str()?.to_ascii_lowercase();
    let decoded = hex::decode(text.strip_prefix("0x")?).ok()?;
    (decoded.len() == bytes).then_some(text)
}

fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

fn word(address: &str) -> [u8; 32] {
    let bytes = hex::decode(address).unwrap_or_default();
    let mut word = [0; 32];
    word[32 - bytes.len().min(32)..].copy_from_slice(&bytes[..bytes.len().min(32)]);
    word
}

fn numeral(number: u64) -> [u8; 32] {
    U256::from(number).to_be_bytes()
}

fn domain() -> B256 {
    let kind = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    let (name, version) = (keccak256("USDC"), keccak256("2"));
    keccak256([kind.0, name.0, version.0, numeral(CHAIN), word(USDC)].concat())
}

impl Authorization {
    pub(crate) fn read(payload: &Value) -> Option<Self> {
        let fields = &payload["authorization"];
        Some(Self {
            from: hex_of(&fields["from"], 20)?,
            to: hex_of(&fields["to"], 20)?,
            value: number(&fields["value"])?,
            valid_after: number(&fields["validAfter"])?,
            valid_before: number(&fields["validBefore"])?,
            nonce: hex_of(&fields["nonce"], 32)?,
            signature: hex::decode(payload["signature"].as_str()?).ok()?,
        })
    }

    pub(crate) fn digest(&self) -> B256 {
        let kind = keccak256(
            "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)",
        );
        let times = [numeral(self.value), numeral(self.valid_after), numeral(self.valid_before)].concat();
        let said = [kind.as_slice(), &word(&self.from), &word(&self.to), &times, &word(&self.nonce)].concat();
        keccak256([[0x19, 0x01].as_slice(), domain().as_slice(), keccak256(said).as_slice()].concat())
    }

    pub(crate) fn is_signed(&self) -> bool {
        let [rs @ .., v] = self.signature.as_slice() else { return false };
        if rs.len() != 64 || !matches!(v, 27 | 28) {
            return false;
        }
        let signature = Signature::from_bytes_and_parity(rs, *v == 28);
        let signer = signature.recover_address_from_prehash(&self.digest());
        signature.normalize_s().is_none() && signer.is_ok_and(|signer: Address| format!("{signer:#x}") == self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The deployed contract's reply to `DOMAIN_SEPARATOR()`.
    #[test]
    fn the_domain_is_that_of_the_contract() {
        let expected = "0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818";
        assert_eq!(format!("{:#x}", domain()), expected);
    }
}
