//! A node of the chain: JSON-RPC.

use crate::{
    http::{CallError, Endpoint},
    network::Network,
    payment::Price,
    transfer::{
        AUTHORIZATION_CANCELED, AUTHORIZATION_USED, Block, CONFIRMATIONS, Look, Receipt, Received, TransferError,
        check, submitted,
    },
};
use alloy_primitives::{Address, B256, U64, U256, hex};
use async_trait::async_trait;
use domain::{
    Timestamp,
    ports::{Clock, Node, StorageError, Transfer, Whereabouts},
    toll::SignedPayment,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// The time-out of one call.
const CALL: Duration = Duration::from_secs(3);

/// `authorizationState(address,bytes32)`
const AUTHORIZATION_STATE: [u8; 4] = hex!("e94a0102");

/// Events are searched in this many blocks per call, which common providers allow.
const BLOCKS_AT_ONCE: u64 = 9_000;

/// The number of such calls, back from the head: together they cover two days of Base.
const LOOKS_BACK: u64 = 10;

/// A node.
pub struct NodeClient {
    endpoint: Endpoint,
    network: Network,
    pay_to: Address,
    clock: Arc<dyn Clock>,
}

impl NodeClient {
    /// The node at this address, for payments to us on this network; `None` when it is not an http or https address.
    #[must_use]
    pub fn new(url: &str, network: Network, pay_to: Address, clock: Arc<dyn Clock>) -> Option<Self> {
        Some(Self { endpoint: Endpoint::new(url, CALL)?, network, pay_to, clock })
    }

    /// Makes a call, and parses `result`; `None` for JSON null.
    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<Option<T>, StorageError> {
        let failed = |why: String| StorageError { operation: "node call", source: format!("{method}: {why}").into() };
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, mut reply) = self.endpoint.post("", &request, None).await.map_err(|error| match error {
            // The path may contain a key, as that of the address does.
            CallError::Redirected { status, host, .. } => failed(format!("status {status}, a redirect to {host}")),
            error => failed(error.to_string()),
        })?;
        if status != 200 || reply.get("result").is_none() {
            // The provider's text may quote the address, and with it a key.
            return Err(failed(format!("status {status}, error {}", reply["error"]["code"])));
        }
        serde_json::from_value(reply["result"].take()).map_err(|error| failed(error.to_string()))
    }

    async fn required<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, StorageError> {
        let nothing = || StorageError { operation: "node call", source: format!("{method}: nothing").into() };
        self.ask(method, params).await?.ok_or_else(nothing)
    }

    async fn chain_id(&self) -> Result<U64, StorageError> {
        self.required("eth_chainId", json!([])).await
    }

    async fn block(&self, number: Value) -> Result<Option<Block>, StorageError> {
        self.ask("eth_getBlockByNumber", json!([number, false])).await
    }

    async fn receipt(&self, transaction: &B256) -> Result<Option<Receipt>, StorageError> {
        self.ask("eth_getTransactionReceipt", json!([transaction])).await
    }

    const fn price(&self, amount: u64) -> Price {
        Price { network: self.network, amount, pay_to: self.pay_to, timeout: CALL }
    }

    /// The newest block with as many blocks after it as we require for a payment.
    async fn settled_head(&self) -> Result<Block, StorageError> {
        let other_chain = || StorageError { operation: "node call", source: "the node follows another chain".into() };
        if self.chain_id().await? != U64::from(self.network.chain_id()) {
            return Err(other_chain());
        }
        let newest: U64 = self.required("eth_blockNumber", json!([])).await?;
        let deep = newest.saturating_sub(U64::from(CONFIRMATIONS - 1));
        let nothing = || StorageError { operation: "node call", source: "the node lacks its own block".into() };
        self.block(json!(deep)).await?.ok_or_else(nothing)
    }

    async fn is_used(&self, payer: Address, nonce: B256, at: &Block) -> Result<bool, StorageError> {
        let data = [AUTHORIZATION_STATE.as_slice(), payer.into_word().as_slice(), nonce.as_slice()].concat();
        let call = json!({ "to": self.network.usdc(), "data": hex::encode_prefixed(data) });
        let word: B256 = self.required("eth_call", json!([call, at.number])).await?;
        Ok(U256::from_be_bytes(word.0) != U256::ZERO)
    }

    /// The transaction that used a nonce, or cancelled it.
    async fn used_in(&self, payer: Address, nonce: B256, head: &Block) -> Result<Option<B256>, StorageError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Found {
            transaction_hash: B256,
        }
        let mut to = head.number;
        for _ in 0..LOOKS_BACK {
            let from = to.saturating_sub(U64::from(BLOCKS_AT_ONCE - 1));
            let topics = json!([[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], payer.into_word(), nonce]);
            let filter = json!({ "address": self.network.usdc(), "topics": topics, "fromBlock": from, "toBlock": to });
            let found: Vec<Found> = self.required("eth_getLogs", json!([filter])).await?;
            if let Some(found) = found.first() {
                return Ok(Some(found.transaction_hash));
            }
            if from == U64::ZERO {
                break;
            }
            to = from.saturating_sub(U64::from(1));
        }
        Ok(None)
    }
}

fn time(block: &Block) -> Timestamp {
    Timestamp::from_seconds(i64::try_from(block.timestamp).unwrap_or(0))
}

fn other(received: Received, is_late: bool) -> Transfer {
    Transfer::Other { payer: format!("{:#x}", received.from), amount: received.amount, is_late }
}

fn malformed(what: &'static str) -> StorageError {
    StorageError { operation: "node call", source: format!("{what} is malformed").into() }
}

#[async_trait]
impl Node for NodeClient {
    async fn whereabouts(&self, payment: &SignedPayment) -> Result<Whereabouts, StorageError> {
        let payer: Address = payment.payer.parse().map_err(|_| malformed("the payer"))?;
        let nonce: B256 = payment.nonce.parse().map_err(|_| malformed("the nonce"))?;
        let head = self.settled_head().await?;
        if !self.is_used(payer, nonce, &head).await? {
            return Ok(Whereabouts::Unused { head: time(&head) });
        }
        let Some(transaction) = self.used_in(payer, nonce, &head).await? else {
            return Ok(Whereabouts::Untraced);
        };
        let Some(receipt) = self.receipt(&transaction).await? else { return Ok(Whereabouts::Unconfirmed) };
        let is_ours = submitted(&receipt, &self.price(payment.amount), payer, nonce);
        Ok(Whereabouts::Used { transaction: format!("{transaction:#x}"), is_ours })
    }

    async fn transfer(&self, transaction: &str, amount: u64) -> Result<Transfer, StorageError> {
        let Ok(hash) = transaction.parse::<B256>() else {
            return Ok(Transfer::Refused("the transaction is not 0x and 64 hexadecimal digits".to_owned()));
        };
        let receipt = self.receipt(&hash).await?;
        let head = self.block(json!("latest")).await?.ok_or_else(|| malformed("the head"))?;
        let block = match &receipt {
            Some(receipt) => self.block(json!(receipt.block_number)).await?,
            None => None,
        };
        let look = Look { chain_id: self.chain_id().await?, head, receipt, block };
        Ok(match check(&look, &hash, &self.price(amount), self.clock.now()) {
            Ok(paid) => Transfer::Paid { payer: format!("{:#x}", paid.from()) },
            Err(error @ TransferError::Chain) => {
                return Err(StorageError { operation: "node call", source: Box::new(error) });
            }
            Err(error @ (TransferError::Unknown | TransferError::Unconfirmed(_))) => {
                Transfer::Unconfirmed(error.to_string())
            }
            Err(TransferError::Amount(received)) => other(received, false),
            Err(TransferError::TooOld(received)) => other(received, true),
            Err(error) => Transfer::Refused(error.to_string()),
        })
    }
}
