//! A node of the chain: JSON-RPC.

use crate::{
    http::{CallError, Endpoint},
    network::Network,
    payment::{LONGEST, Price},
    transfer::{
        AUTHORIZATION_CANCELED, AUTHORIZATION_USED, Block, CONFIRMATIONS, Look, Receipt, Received, TransferError,
        check, submitted,
    },
};
use alloy_primitives::{Address, B256, U64, U256, hex};
use async_trait::async_trait;
use domain::{
    Timestamp,
    ports::{Clock, Node, PaymentUse, StorageError, Transfer},
    toll::SignedPayment,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{error::Error, sync::Arc, time::Duration};

/// The time-out of one call.
const CALL: Duration = Duration::from_secs(3);

/// `authorizationState(address,bytes32)`
const AUTHORIZATION_STATE: [u8; 4] = hex!("e94a0102");

/// The seconds from one block of Base to the next.
const BLOCK_SECONDS: u64 = 2;

/// The blocks of the first search, which ends when the payment expires. No payment that we accept is valid for longer,
/// so nearly every one is found there.
const FIRST_BLOCKS: u64 = LONGEST.as_secs() / BLOCK_SECONDS;

/// The blocks of each further search, if the node allows as many.
const MOST_BLOCKS: u64 = 9_000;

/// How many blocks back from the head a payment is searched, besides those of the first search: two days and two hours.
const LOOKS_BACK: u64 = 90_000;

/// The most searches for one payment. They cover [`LOOKS_BACK`] on a node that allows 1,800 blocks at once. On one that
/// allows five, they cover the five minutes before the expiry: our price asks payments to be valid for that long.
const MOST_SEARCHES: u32 = 64;

/// The time after which no further search for a payment begins. The functions that wait for it have time-outs of 28 and
/// 270 seconds.
const SEARCH: Duration = Duration::from_secs(10);

/// The operation in the errors of a node.
const OPERATION: &str = "node call";

/// The status 413.
const TOO_LARGE: u16 = 413;

/// The transactions of a block.
#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    transactions: Vec<B256>,
}

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

    /// Checks that the node follows the network, searches an hour of blocks at once, and has a receipt of their oldest.
    /// Then one search nearly always finds a payment whose settlement got no reply, and every sale can be confirmed.
    ///
    /// # Errors
    /// [`StorageError`], whose source names the call that failed.
    pub async fn check(&self) -> Result<(), StorageError> {
        let newest = u64::try_from(self.settled_head().await?.number).unwrap_or(0);
        let from = newest.saturating_sub(FIRST_BLOCKS - 1);
        self.used_within(Address::ZERO, B256::ZERO, from, newest).await?;
        let oldest: Listed = self.required("eth_getBlockByNumber", json!([U64::from(from), false])).await?;
        let Some(transaction) = oldest.transactions.first() else { return Ok(()) };
        self.receipt(transaction).await?.map(drop).ok_or_else(|| failed("eth_getTransactionReceipt: nothing"))
    }

    /// Makes a call, and parses `result`; `None` for JSON null. The source of the error is [`Refused`] if the node has
    /// replied without a result.
    async fn ask<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<Option<T>, StorageError> {
        let failed = |why: String| failed(format!("{method}: {why}"));
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, mut reply) = match self.endpoint.post("", &request, None).await {
            Ok(answered) => answered,
            Err(CallError::NotJson(TOO_LARGE)) => (TOO_LARGE, Value::Null),
            // The path may contain a key, as that of the address does.
            Err(CallError::Redirected { status, host, .. }) => {
                return Err(failed(format!("status {status}, a redirect to {host}")));
            }
            Err(error) => {
                return Err(StorageError { operation: OPERATION, source: Box::new(NoReply { method, error }) });
            }
        };
        if status != 200 || reply.get("result").is_none() {
            let code = reply["error"]["code"].clone();
            return Err(StorageError { operation: OPERATION, source: Box::new(Refused { method, status, code }) });
        }
        serde_json::from_value(reply["result"].take()).map_err(|error| failed(error.to_string()))
    }

    async fn required<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, StorageError> {
        self.ask(method, params).await?.ok_or_else(|| failed(format!("{method}: nothing")))
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
        if self.chain_id().await? != U64::from(self.network.chain_id()) {
            return Err(failed("the node follows another chain"));
        }
        let newest: U64 = self.required("eth_blockNumber", json!([])).await?;
        let deep = newest.saturating_sub(U64::from(CONFIRMATIONS - 1));
        self.block(json!(deep)).await?.ok_or_else(|| failed("the node lacks its own block"))
    }

    async fn is_used(&self, payer: Address, nonce: B256, at: &Block) -> Result<bool, StorageError> {
        let data = [AUTHORIZATION_STATE.as_slice(), payer.into_word().as_slice(), nonce.as_slice()].concat();
        let call = json!({ "to": self.network.usdc(), "data": hex::encode_prefixed(data) });
        let word: B256 = self.required("eth_call", json!([call, at.number])).await?;
        Ok(U256::from_be_bytes(word.0) != U256::ZERO)
    }

    /// The transaction that used a nonce, or cancelled it. The search goes back from the time at which the payment
    /// expires, and then from the head to that time, because another payment with the same nonce may be valid for
    /// longer. How many blocks a node searches at once differs by provider, from five to any number.
    ///
    /// An error also if the node allows so few blocks or is so slow that the search ends early: nothing is known then.
    async fn used_in(
        &self,
        payer: Address,
        nonce: B256,
        expires: Timestamp,
        head: &Block,
    ) -> Result<Option<B256>, StorageError> {
        let newest = u64::try_from(head.number).unwrap_or(0);
        let recent = newest.saturating_sub(LOOKS_BACK - 1);
        let since = time(head).since(expires).as_secs() / BLOCK_SECONDS;
        let expired = newest.saturating_sub(since);
        let first = recent.min(expired.saturating_sub(FIRST_BLOCKS - 1));
        let until = self.clock.now().plus(SEARCH);
        let (mut width, mut widest, mut searches) = (FIRST_BLOCKS, MOST_BLOCKS, 0);
        for (oldest, mut to) in [(first, expired), (recent.max(expired.saturating_add(1)), newest)] {
            while oldest <= to {
                searches += 1;
                if searches > MOST_SEARCHES {
                    return Err(failed(format!("eth_getLogs: {width} blocks at once are too few")));
                }
                if self.clock.now() >= until {
                    return Err(failed("eth_getLogs: the searches take too long"));
                }
                let from = to.saturating_sub(width - 1).max(oldest);
                match self.used_within(payer, nonce, from, to).await {
                    Ok(Some(transaction)) => return Ok(Some(transaction)),
                    Ok(None) if from == oldest => break,
                    Ok(None) => (to, width) = (from - 1, widest),
                    Err(error) if width > 1 && may_be_too_wide(&error) => {
                        width = if width > FIRST_BLOCKS { FIRST_BLOCKS } else { width / 2 };
                        widest = width;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(None)
    }

    /// The transaction that used a nonce in these blocks, or cancelled it.
    async fn used_within(&self, payer: Address, nonce: B256, from: u64, to: u64) -> Result<Option<B256>, StorageError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Found {
            transaction_hash: B256,
        }
        let topics = json!([[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], payer.into_word(), nonce]);
        let (from, to) = (U64::from(from), U64::from(to));
        let filter = json!({ "address": self.network.usdc(), "topics": topics, "fromBlock": from, "toBlock": to });
        let found: Vec<Found> = self.required("eth_getLogs", json!([filter])).await?;
        Ok(found.first().map(|found| found.transaction_hash))
    }
}

/// The node replied without a result. The provider's text is left out: it may quote the address, and with it a key.
#[derive(Debug, thiserror::Error)]
#[error("{method}: status {status}, error {code}")]
pub(crate) struct Refused {
    method: &'static str,
    pub(crate) status: u16,
    code: Value,
}

/// No reply of the node arrived that could be read.
#[derive(Debug, thiserror::Error)]
#[error("{method}: {error}")]
pub(crate) struct NoReply {
    method: &'static str,
    pub(crate) error: CallError,
}

/// Whether fewer blocks may succeed. Providers refuse a range with different codes, and use the same codes for other
/// reasons, so every error of JSON-RPC counts.
fn may_be_too_wide(error: &StorageError) -> bool {
    let refused = error.source.downcast_ref::<Refused>();
    refused.is_some_and(|Refused { status, code, .. }| match *status {
        TOO_LARGE => true,
        200 | 400 => !code.is_null(),
        _ => false,
    })
}

fn failed(why: impl Into<Box<dyn Error + Send + Sync>>) -> StorageError {
    StorageError { operation: OPERATION, source: why.into() }
}

fn time(block: &Block) -> Timestamp {
    Timestamp::from_seconds(i64::try_from(block.timestamp).unwrap_or(0))
}

fn malformed(what: &'static str) -> StorageError {
    failed(format!("{what} is malformed"))
}

#[async_trait]
impl Node for NodeClient {
    async fn payment_use(&self, payment: &SignedPayment) -> Result<PaymentUse, StorageError> {
        let payer: Address = payment.payer.parse().map_err(|_| malformed("the payer"))?;
        let nonce: B256 = payment.nonce.parse().map_err(|_| malformed("the nonce"))?;
        let head = self.settled_head().await?;
        if !self.is_used(payer, nonce, &head).await? {
            return Ok(PaymentUse::Unused { head: time(&head) });
        }
        let Some(transaction) = self.used_in(payer, nonce, payment.valid_before, &head).await? else {
            return Ok(PaymentUse::Untraced);
        };
        let Some(receipt) = self.receipt(&transaction).await? else { return Ok(PaymentUse::Unconfirmed) };
        let price = self.price(payment.amount).of_stored(payment);
        let is_ours = submitted(&receipt, &price, payer, nonce);
        Ok(PaymentUse::Used { transaction: format!("{transaction:#x}"), is_ours })
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
            Err(error @ TransferError::Chain) => return Err(failed(error)),
            Err(error @ (TransferError::Unknown | TransferError::Unconfirmed(_))) => {
                Transfer::Unconfirmed(error.to_string())
            }
            Err(TransferError::Several(received)) => {
                Transfer::Several(received.iter().map(Received::paid_by).collect())
            }
            Err(TransferError::Amount(received)) => received.other(false),
            Err(TransferError::TooOld(received)) => received.other(true),
            Err(TransferError::Signed { received: Received { from, amount }, nonce }) => {
                Transfer::Signed { payer: format!("{from:#x}"), nonce: format!("{nonce:#x}"), amount }
            }
            Err(error) => Transfer::Refused(error.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::TRANSFER;
    use std::{
        cell::Cell,
        sync::atomic::{AtomicI64, Ordering},
    };
    use test_server::{Reply, Request, with_server};

    const HEAD: u64 = 30_000_000;
    /// The time of [`HEAD`] in Unix seconds.
    const NOW: u64 = 1_790_000_000;
    /// The payment expires in this block, if a test names no other.
    const EXPIRED: u64 = HEAD - 300;
    const TRANSACTION: B256 = B256::repeat_byte(7);
    const REFUSAL: (u16, &str) = (413, r#"{"error":{"code":-32614}}"#);

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::from_seconds(i64::try_from(NOW).unwrap())
        }
    }

    /// Goes on by a second whenever it is read.
    struct Ticking(AtomicI64);

    impl Clock for Ticking {
        fn now(&self) -> Timestamp {
            Timestamp::from_seconds(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    /// A node on whose chain the nonce was used.
    struct Chain {
        /// The block in which the payment expired.
        expired: u64,
        /// The block in which it was used.
        used: u64,
        /// The most blocks of a search.
        most: u64,
        /// The reply to a search of more.
        refusal: (u16, &'static str),
        keeps_receipts: bool,
        /// The events of the transaction that used it.
        logs: Value,
        /// What was asked for when the payment was signed.
        requirements: Value,
        searches: Cell<u32>,
    }

    impl Chain {
        fn new(used: u64, most: u64) -> Self {
            Self {
                expired: EXPIRED,
                used,
                most,
                refusal: REFUSAL,
                keeps_receipts: true,
                logs: json!([]),
                requirements: Value::Null,
                searches: Cell::new(0),
            }
        }

        fn answer(&self, request: &Request) -> Reply {
            let call: Value = serde_json::from_str(request.text()).unwrap();
            let params = &call["params"];
            let number = |value: &Value| u64::try_from(serde_json::from_value::<U64>(value.clone()).unwrap()).unwrap();
            let result = match call["method"].as_str().unwrap() {
                "eth_chainId" => json!(U64::from(84_532)),
                "eth_blockNumber" => json!(U64::from(HEAD + CONFIRMATIONS - 1)),
                "eth_getBlockByNumber" => json!({
                    "hash": B256::ZERO, "number": params[0], "timestamp": U64::from(NOW), "transactions": [TRANSACTION],
                }),
                "eth_call" => json!(B256::with_last_byte(1)),
                "eth_getLogs" => {
                    self.searches.set(self.searches.get() + 1);
                    let blocks = number(&params[0]["fromBlock"])..=number(&params[0]["toBlock"]);
                    if blocks.end() - blocks.start() >= self.most {
                        let (status, body) = self.refusal;
                        return test_server::json(status, body);
                    }
                    let found = blocks.contains(&self.used).then(|| json!({ "transactionHash": TRANSACTION }));
                    Value::from_iter(found)
                }
                "eth_getTransactionReceipt" if !self.keeps_receipts => Value::Null,
                "eth_getTransactionReceipt" => json!({
                    "transactionHash": TRANSACTION, "blockHash": B256::ZERO, "blockNumber": U64::from(self.used),
                    "status": "0x1", "logs": self.logs,
                }),
                method => panic!("{method}"),
            };
            test_server::json(200, json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
        }

        async fn payment_use(&self) -> Result<PaymentUse, StorageError> {
            self.payment_use_by(Arc::new(Still)).await
        }

        async fn payment_use_by(&self, clock: Arc<dyn Clock>) -> Result<PaymentUse, StorageError> {
            let payment = SignedPayment {
                version: 2,
                payload: Value::Null,
                requirements: self.requirements.clone(),
                network: "eip155:84532".to_owned(),
                amount: 50_000,
                payer: format!("{:#x}", Address::ZERO),
                nonce: format!("{:#x}", B256::ZERO),
                valid_before: Timestamp::from_seconds(i64::try_from(NOW - 2 * (HEAD - self.expired)).unwrap()),
            };
            let ask = async |url: String| {
                let clock = Arc::clone(&clock);
                let client = NodeClient::new(&url, Network::BaseSepolia, Address::ZERO, clock).unwrap();
                client.payment_use(&payment).await
            };
            with_server(|request| self.answer(request), ask).await
        }
    }

    fn client(url: &str) -> NodeClient {
        NodeClient::new(url, Network::BaseSepolia, Address::ZERO, Arc::new(Still)).unwrap()
    }

    fn found() -> PaymentUse {
        PaymentUse::Used { transaction: format!("{TRANSACTION:#x}"), is_ours: false }
    }

    #[tokio::test]
    async fn a_used_payment_is_found_whatever_number_of_blocks_the_node_allows() {
        for (most, searches) in [(10_000, 1), (2_000, 1), (1_024, 2), (10, 23), (5, 43)] {
            let chain = Chain::new(EXPIRED - 100, most);
            assert_eq!(chain.payment_use().await.unwrap(), found(), "{most}");
            assert_eq!(chain.searches.get(), searches, "{most}");
        }
    }

    /// A deployment may change the address while payments to the earlier one are open.
    #[tokio::test]
    async fn a_payment_is_ours_by_the_address_that_it_was_signed_for() {
        let (usdc, earlier) = (Network::BaseSepolia.usdc(), Address::repeat_byte(9));
        let value = format!("0x{:064x}", 50_000);
        let logs = json!([
            { "address": usdc, "topics": [AUTHORIZATION_USED, B256::ZERO, B256::ZERO], "data": "0x" },
            { "address": usdc, "topics": [TRANSFER, B256::ZERO, earlier.into_word()], "data": value },
        ]);
        for (requirements, ours) in [(json!({ "payTo": earlier }), true), (Value::Null, false)] {
            let chain = Chain { logs: logs.clone(), requirements, ..Chain::new(EXPIRED - 100, 10_000) };
            let transaction = format!("{TRANSACTION:#x}");
            assert_eq!(chain.payment_use().await.unwrap(), PaymentUse::Used { transaction, is_ours: ours });
        }
    }

    /// Another payment with the same nonce is used at any time.
    #[tokio::test]
    async fn what_used_the_nonce_is_found_within_two_days() {
        for most in [10_000, 1_800] {
            for used in [HEAD - 89_999, EXPIRED - 50_000, EXPIRED + 1, HEAD] {
                assert_eq!(Chain::new(used, most).payment_use().await.unwrap(), found(), "{used} of {most}");
            }
            assert_eq!(Chain::new(HEAD - 90_000, most).payment_use().await.unwrap(), PaymentUse::Untraced);
        }
        let narrow = Chain::new(HEAD - 50_000, 10);
        let error = narrow.payment_use().await.unwrap_err().source.to_string();
        assert_eq!(error, "eth_getLogs: 7 blocks at once are too few", "it is not called untraced");
        assert_eq!(narrow.searches.get(), MOST_SEARCHES);
    }

    /// A sale waits for its node for days.
    #[tokio::test]
    async fn a_payment_that_expired_long_ago_is_found_where_it_expired() {
        let expired = HEAD - 200_000;
        let chain = Chain { expired, ..Chain::new(expired - 100, 10_000) };
        assert_eq!(chain.payment_use().await.unwrap(), found());
        assert_eq!(chain.searches.get(), 1);
        let recently = Chain { expired, ..Chain::new(HEAD - 89_999, 10_000) };
        assert_eq!(recently.payment_use().await.unwrap(), found(), "another payment with its nonce");
    }

    /// What waits for the search has a time-out of its own.
    #[tokio::test]
    async fn a_search_of_a_slow_node_ends_after_ten_seconds() {
        let chain = Chain::new(HEAD - 50_000, 10);
        let error = chain.payment_use_by(Arc::new(Ticking(AtomicI64::new(0)))).await.unwrap_err().source.to_string();
        assert_eq!(error, "eth_getLogs: the searches take too long", "it is not called untraced");
        assert_eq!(chain.searches.get(), 9);
    }

    #[tokio::test]
    async fn a_refusal_of_a_range_differs_from_a_node_that_does_not_answer() {
        for (refusal, is_narrower) in [
            ((200, r#"{"error":{"code":-32005}}"#), true),
            ((400, r#"{"error":{"code":-32600}}"#), true),
            ((413, "Payload Too Large"), true),
            ((200, "{}"), false),
            ((400, "{}"), false),
            ((429, r#"{"error":{"code":-32005}}"#), false),
            ((503, "no backend"), false),
        ] {
            let chain = Chain { refusal, ..Chain::new(EXPIRED, 1_000) };
            assert_eq!(chain.payment_use().await.is_ok(), is_narrower, "{refusal:?}");
            assert_eq!(chain.searches.get(), 1 + u32::from(is_narrower), "{refusal:?}");
        }
    }

    #[tokio::test]
    async fn a_node_is_checked_for_its_chain_and_for_an_hour_of_blocks_with_their_receipts() {
        let check = async |chain: &Chain, network: Network| {
            let client = |url: String| NodeClient::new(&url, network, Address::ZERO, Arc::new(Still)).unwrap();
            with_server(|request| chain.answer(request), async |url: String| client(url).check().await).await
        };
        let why = |checked: Result<(), StorageError>| checked.unwrap_err().source.to_string();
        assert!(check(&Chain::new(0, 1_800), Network::BaseSepolia).await.is_ok());
        let narrow = check(&Chain::new(0, 1_799), Network::BaseSepolia).await;
        assert_eq!(why(narrow), "eth_getLogs: status 413, error -32614");
        let other = check(&Chain::new(0, 1_800), Network::Base).await;
        assert_eq!(why(other), "the node follows another chain");
        let without = Chain { keeps_receipts: false, ..Chain::new(0, 1_800) };
        assert_eq!(why(check(&without, Network::BaseSepolia).await), "eth_getTransactionReceipt: nothing");
        assert_eq!(Chain { used: EXPIRED, ..without }.payment_use().await.unwrap(), PaymentUse::Unconfirmed);
    }

    /// The path of a node's address may contain a key.
    #[tokio::test]
    async fn a_redirect_of_a_node_is_named_by_its_host() {
        let answer = |_: &Request| test_server::reply(301, "location: https://node.example/key\r\n", "");
        let error = with_server(answer, async |url: String| client(&url).chain_id().await.unwrap_err()).await;
        assert_eq!(error.source.to_string(), "eth_chainId: status 301, a redirect to node.example");
    }
}
