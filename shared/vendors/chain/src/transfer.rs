//! Checks that a transaction on the chain paid us: the direct way of paying, by its hash.

use crate::{network::Network, payment::Price};
use alloy_primitives::{Address, B256, U64, U256, b256};
use domain::{Timestamp, ports, toll::PaidBy};
use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};

/// The event of an ERC-20 transfer: `Transfer(address,address,uint256)`.
pub(crate) const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// The event of a submitted signed transfer (EIP-3009): `AuthorizationUsed(address,bytes32)`. The contract emits it
/// just before the event of the transfer.
pub(crate) const AUTHORIZATION_USED: B256 = b256!("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5");

/// The event of a signed transfer that its payer cancelled (EIP-3009): `AuthorizationCanceled(address,bytes32)`.
pub(crate) const AUTHORIZATION_CANCELED: B256 =
    b256!("1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81");

/// The number of blocks that must have followed, including the transaction's own.
pub const CONFIRMATIONS: u64 = 10;

/// An older transfer buys nothing: who sent it can no longer be established with confidence.
pub const OLDEST: Duration = Duration::from_secs(3600);

/// A transfer older than this was not made to buy an answer: its money is not owed.
pub const FORGOTTEN: Duration = Duration::from_secs(2 * 24 * 3600);

/// A transaction's receipt, as `eth_getTransactionReceipt` returns it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as the node names them")]
pub struct Receipt {
    pub transaction_hash: B256,
    pub block_hash: B256,
    pub block_number: U64,
    /// 1 for a transaction that succeeded.
    pub status: U64,
    pub logs: Vec<Log>,
}

/// One event of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "named as the node names them")]
pub struct Log {
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: alloy_primitives::Bytes,
    /// Whether a reorganisation removed it.
    #[serde(default)]
    pub removed: bool,
}

/// A block, as `eth_getBlockByNumber` returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "named as the node names them")]
pub struct Block {
    pub hash: B256,
    pub number: U64,
    pub timestamp: U64,
}

/// The node's replies about a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The id of the chain that the node follows.
    pub chain_id: U64,
    /// The newest block.
    pub head: Block,
    /// The transaction's receipt; `None` if the node has none.
    pub receipt: Option<Receipt>,
    /// The chain's block at the receipt's number.
    pub block: Option<Block>,
}

/// A transfer that pays a price. Only [`check`] creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    transaction: B256,
    from: Address,
}

impl Transfer {
    /// The transaction, which may be used once.
    #[must_use]
    pub const fn transaction(&self) -> B256 {
        self.transaction
    }

    /// The payer.
    #[must_use]
    pub const fn from(&self) -> Address {
        self.from
    }
}

/// Money that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Who sent it.
    pub from: Address,
    /// The amount in millionths of a dollar; the sum of this payer's transfers, if there are several.
    pub amount: u64,
}

impl Received {
    fn new(from: Address, amount: U256) -> Self {
        Self { from, amount: u64::try_from(amount).unwrap_or(u64::MAX) }
    }

    /// A payer's part of a transaction with several transfers.
    pub(crate) fn paid_by(&self) -> PaidBy {
        PaidBy { payer: format!("{:#x}", self.from), amount: self.amount }
    }

    /// A transfer that does not pay what was asked for, or came too late.
    pub(crate) fn other(self, is_late: bool) -> ports::Transfer {
        ports::Transfer::Other { payer: format!("{:#x}", self.from), amount: self.amount, is_late }
    }
}

/// Why a transaction does not pay the price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// The node follows another chain.
    #[error("the node follows another chain")]
    Chain,
    /// The node does not have it, or the chain has dropped its block.
    #[error("the transaction is not on the chain")]
    Unknown,
    /// Too few blocks have followed; a later request may succeed.
    #[error("the transaction has {0} of {CONFIRMATIONS} confirmations")]
    Unconfirmed(u64),
    /// It failed.
    #[error("the transaction failed")]
    Failed,
    /// It pays us no USDC.
    #[error("the transaction transfers no USDC to us")]
    NotToUs,
    /// It submits a signed transfer to us, which buys by its signature.
    #[error("the transaction submits a signed payment, which buys by its signature")]
    Signed {
        /// What it pays us.
        received: Received,
        /// The nonce of the signed transfer.
        nonce: B256,
    },
    /// It pays us by several transfers. It has what each payer transferred, because a bundle of operations is one
    /// transaction and its payers may know nothing of each other.
    #[error("the transaction has several transfers to us")]
    Several(Vec<Received>),
    /// It pays another amount.
    #[error("the transaction does not transfer the amount that is asked for")]
    Amount(Received),
    /// It is older than [`OLDEST`].
    #[error("the transaction is too old")]
    TooOld(Received),
    /// It is older than [`FORGOTTEN`].
    #[error("the transaction is too old")]
    Forgotten,
}

/// Checks that this transaction paid this price, by one transfer of exactly the price. A transaction is one purchase,
/// so with several unsigned transfers it buys nothing: all but one would be lost. One beside signed ones buys. Of
/// several signed transfers the error has the first.
///
/// # Errors
/// [`TransferError`], which the payer may see.
pub fn check(look: &Look, transaction: &B256, price: &Price, now: Timestamp) -> Result<Transfer, TransferError> {
    if look.chain_id != U64::from(price.network.chain_id()) {
        return Err(TransferError::Chain);
    }
    let receipt = look.receipt.as_ref().filter(|receipt| receipt.transaction_hash == *transaction);
    let receipt = receipt.ok_or(TransferError::Unknown)?;
    // The receipt may belong to a block that a reorganisation has just dropped.
    let block = look.block.filter(|block| block.hash == receipt.block_hash && block.number == receipt.block_number);
    let block = block.ok_or(TransferError::Unknown)?;
    if receipt.status != U64::from(1) {
        return Err(TransferError::Failed);
    }
    // A signed transfer buys an answer by its signature: its transaction does not buy a second one.
    let nonce_of = |at: usize| {
        let before = receipt.logs.get(at.checked_sub(1)?)?;
        let [event, _, nonce] = before.topics.as_slice() else { return None };
        (before.address == price.network.usdc() && *event == AUTHORIZATION_USED).then_some(*nonce)
    };
    let logs = receipt.logs.iter().enumerate();
    let to_us = logs.filter_map(|(at, log)| Some((nonce_of(at), transfer(log, price.network, price.pay_to)?)));
    let to_us: Vec<_> = to_us.collect();
    let first = to_us.iter().min_by_key(|(nonce, _)| nonce.is_some()).copied();
    let Some((nonce, (from, value))) = first else { return Err(TransferError::NotToUs) };
    let confirmations = look.head.number.saturating_sub(block.number).saturating_add(U64::from(1));
    let confirmations = u64::try_from(confirmations).unwrap_or(u64::MAX);
    if confirmations < CONFIRMATIONS || look.head.number < block.number {
        return Err(TransferError::Unconfirmed(confirmations.min(CONFIRMATIONS - 1)));
    }
    let made = u64::try_from(block.timestamp).unwrap_or(0);
    let now = u64::try_from(now.as_seconds()).unwrap_or(0);
    let age = now.saturating_sub(made);
    if age > FORGOTTEN.as_secs() {
        return Err(TransferError::Forgotten);
    }
    let received = Received::new(from, value);
    if let Some(nonce) = nonce {
        return Err(TransferError::Signed { received, nonce });
    }
    let direct = || to_us.iter().filter(|(nonce, _)| nonce.is_none()).map(|(_, paid)| *paid);
    if direct().count() > 1 {
        return Err(TransferError::Several(by_payer(direct())));
    }
    if age > OLDEST.as_secs() {
        return Err(TransferError::TooOld(received));
    }
    if value != U256::from(price.amount) {
        return Err(TransferError::Amount(received));
    }
    Ok(Transfer { transaction: *transaction, from })
}

/// What each payer transferred, in the order of the addresses.
fn by_payer(transfers: impl Iterator<Item = (Address, U256)>) -> Vec<Received> {
    let mut sums = BTreeMap::<Address, U256>::new();
    for (from, value) in transfers {
        let sum = sums.entry(from).or_default();
        *sum = sum.saturating_add(value);
    }
    sums.into_iter().map(|(from, sum)| Received::new(from, sum)).collect()
}

/// Whether this transaction submitted the payer's signed transfer with this nonce as a payment of the price to us: the
/// contract emits the transfer right after the nonce.
#[must_use]
pub fn submitted(receipt: &Receipt, price: &Price, payer: Address, nonce: B256) -> bool {
    let usdc = price.network.usdc();
    let is_nonce = |log: &Log| {
        log.address == usdc && log.topics.as_slice() == [AUTHORIZATION_USED, payer.into_word(), nonce] && !log.removed
    };
    let followed = receipt.logs.windows(2).filter_map(|pair| match pair {
        [used, follows] if is_nonce(used) => transfer(follows, price.network, price.pay_to),
        _ => None,
    });
    receipt.status == U64::from(1) && followed.into_iter().any(|paid| paid == (payer, U256::from(price.amount)))
}

/// The payer and the value, if this event is a transfer of USDC to `pay_to`. A transfer of nothing is left out, because
/// anybody can make one in another's name.
fn transfer(log: &Log, network: Network, pay_to: Address) -> Option<(Address, U256)> {
    let [event, from, to] = log.topics.as_slice() else { return None };
    let is_ours = log.address == network.usdc() && *event == TRANSFER && !log.removed;
    let is_to_us = *to == pay_to.into_word();
    let value = (is_ours && is_to_us && log.data.len() == 32).then(|| U256::from_be_slice(&log.data))?;
    (!value.is_zero()).then(|| (Address::from_word(*from), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;

    #[test]
    fn the_topics_are_the_hashes_of_their_events() {
        for (topic, event) in [
            (TRANSFER, "Transfer(address,address,uint256)"),
            (AUTHORIZATION_USED, "AuthorizationUsed(address,bytes32)"),
            (AUTHORIZATION_CANCELED, "AuthorizationCanceled(address,bytes32)"),
        ] {
            assert_eq!(topic, keccak256(event), "{event}");
        }
    }
}
