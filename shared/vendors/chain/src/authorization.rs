//! A transfer that its payer has signed and that anyone may submit (EIP-3009), and the check of its signature
//! (EIP-712).

use crate::network::Network;
use alloy_primitives::{Address, B256, Signature, U256};
use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain};
use std::time::Duration;

#[allow(missing_docs, reason = "the macro's own items")]
mod typed {
    alloy_sol_types::sol! {
        struct TransferWithAuthorization {
            address from;
            address to;
            uint256 value;
            uint256 validAfter;
            uint256 validBefore;
            bytes32 nonce;
        }
    }
}

/// The signed fields. Times are Unix seconds; the value is in millionths of a dollar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The payer.
    pub from: Address,
    /// The recipient.
    pub to: Address,
    /// The amount.
    pub value: U256,
    /// Not valid at or before this time.
    pub valid_after: U256,
    /// Not valid at or after this time.
    pub valid_before: U256,
    /// The nonce, unique per payer.
    pub nonce: B256,
}

/// Why a signature is not the payer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// It does not have 65 bytes, or its last byte is neither 27 nor 28.
    #[error("the signature does not have 65 bytes that end in 27 or 28")]
    Malformed,
    /// Its `s` is in the upper half of the curve's order: the contract refuses it, because every signature has such a
    /// twin.
    #[error("the signature's s is in the upper half of the order")]
    Malleable,
    /// No key can have made it.
    #[error("no key can have made the signature")]
    Impossible,
    /// Another key made it, or the payer made it for another content.
    #[error("the signature is not the payer's")]
    OtherSigner,
}

impl Authorization {
    /// The digest to sign on this network.
    #[must_use]
    pub fn digest(&self, network: Network) -> B256 {
        let Self { from, to, value, valid_after, valid_before, nonce } = self.clone();
        typed::TransferWithAuthorization { from, to, value, validAfter: valid_after, validBefore: valid_before, nonce }
            .eip712_signing_hash(&domain(network))
    }

    /// Checks that the payer signed this for this network. Wallets that are contracts (EIP-1271) are not supported.
    ///
    /// # Errors
    /// [`SignatureError`]
    pub fn check(&self, network: Network, signature: &[u8]) -> Result<(), SignatureError> {
        let signature: &[u8; 65] = signature.try_into().map_err(|_| SignatureError::Malformed)?;
        let [rs @ .., v] = signature;
        let odd = match v {
            27 => false,
            28 => true,
            _ => return Err(SignatureError::Malformed),
        };
        let signature = Signature::from_bytes_and_parity(rs, odd);
        if signature.normalize_s().is_some() {
            return Err(SignatureError::Malleable);
        }
        let signer = signature.recover_address_from_prehash(&self.digest(network));
        let signer = signer.map_err(|_| SignatureError::Impossible)?;
        // No key has the zero address; recovering it means an error elsewhere.
        if signer == Address::ZERO || signer != self.from {
            return Err(SignatureError::OtherSigner);
        }
        Ok(())
    }

    /// Whether the contract would accept it from `now` for at least `margin`, the time that submitting it takes.
    #[must_use]
    pub fn is_valid_for(&self, now: u64, margin: Duration) -> bool {
        let end = now.saturating_add(margin.as_secs());
        U256::from(now) > self.valid_after && U256::from(end) < self.valid_before
    }
}

/// The domain that USDC's contract checks signatures for.
fn domain(network: Network) -> Eip712Domain {
    eip712_domain! {
        name: network.token_name(),
        version: Network::TOKEN_VERSION,
        chain_id: network.chain_id(),
        verifying_contract: network.usdc(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    #[test]
    fn the_type_is_that_of_eip_3009() {
        let authorization = typed::TransferWithAuthorization {
            from: Address::ZERO,
            to: Address::ZERO,
            value: U256::ZERO,
            validAfter: U256::ZERO,
            validBefore: U256::ZERO,
            nonce: B256::ZERO,
        };
        let expected = b256!("7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267");
        assert_eq!(authorization.eip712_type_hash(), expected);
    }

    /// The replies of the deployed contracts to `DOMAIN_SEPARATOR()`.
    #[test]
    fn the_domains_are_those_of_the_contracts() {
        let base = b256!("02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f");
        let sepolia = b256!("71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818");
        assert_eq!(domain(Network::Base).separator(), base);
        assert_eq!(domain(Network::BaseSepolia).separator(), sepolia);
    }
}
