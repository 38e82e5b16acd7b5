//! Checks transactions against prices: valid ones, and every kind of invalid one.
#![allow(clippy::unwrap_used, reason = "tests")]

use alloy_primitives::{Address, B256, address, b256, keccak256};
use chain::{
    Network,
    payment::Price,
    transfer::{Look, Received, Transfer, TransferError, check, submitted},
};
use domain::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

const TRANSACTION: B256 = b256!("8f3b2c1a4d5e00000000000000000000000000000000000000000000000000aa");
const BLOCK: B256 = b256!("00000000000000000000000000000000000000000000000000000000000000b1");
const PAY_TO: Address = address!("209693Bc6afc0C5328bA36FaF03C514EF312287C");
const PAYER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const MADE: u64 = 1_740_672_000;

/// A node's reply about a transaction of 0.05 USDC in block 100, on a chain with ten blocks since.
fn said() -> Value {
    json!({
        "chain_id": "0x2105",
        "head": { "hash": B256::ZERO, "number": "0x6d", "timestamp": "0x67bff000" },
        "receipt": {
            "transactionHash": TRANSACTION, "blockHash": BLOCK, "blockNumber": "0x64", "status": "0x1",
            "logs": [{
                "address": Network::Base.usdc(),
                "topics": [
                    "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
                    PAYER.into_word(), PAY_TO.into_word(),
                ],
                "data": format!("0x{:064x}", 50_000),
            }],
        },
        "block": { "hash": BLOCK, "number": "0x64", "timestamp": format!("{MADE:#x}") },
    })
}

fn look(said: &Value) -> Look {
    Look {
        chain_id: serde_json::from_value(said["chain_id"].clone()).unwrap(),
        head: serde_json::from_value(said["head"].clone()).unwrap(),
        receipt: serde_json::from_value(said["receipt"].clone()).unwrap(),
        block: serde_json::from_value(said["block"].clone()).unwrap(),
    }
}

fn judge(said: &Value, age: u64) -> Result<Transfer, TransferError> {
    let price = Price { network: Network::Base, amount: 50_000, pay_to: PAY_TO, timeout: Duration::from_secs(60) };
    let now = Timestamp::from_millis(i64::try_from((MADE + age) * 1000).unwrap());
    check(&look(said), &TRANSACTION, &price, now)
}

fn received(amount: u64) -> Received {
    Received { from: PAYER, amount }
}

#[test]
fn a_transfer_of_the_price_to_us_pays() {
    let transfer = judge(&said(), 60).unwrap();
    assert_eq!((transfer.transaction(), transfer.from()), (TRANSACTION, PAYER));
    assert!(judge(&said(), 3600).is_ok());
}

#[test]
fn whatever_else_a_transaction_did_is_refused_by_name() {
    let with = |pointer: &str, value: Value| {
        let mut said = said();
        *said.pointer_mut(pointer).unwrap() = value;
        said
    };
    let one_more = |count: u64| json!(format!("{count:#x}"));
    let cases = [
        (with("/chain_id", json!("0x1")), TransferError::Chain),
        (with("/receipt", Value::Null), TransferError::Unknown),
        (with("/receipt/transactionHash", json!(B256::ZERO)), TransferError::Unknown),
        // The chain has another block at that height, or no longer any.
        (with("/block/hash", json!(B256::ZERO)), TransferError::Unknown),
        (with("/block", Value::Null), TransferError::Unknown),
        (with("/receipt/status", json!("0x0")), TransferError::Failed),
        (with("/receipt/logs", json!([])), TransferError::NotToUs),
        (with("/receipt/logs/0/address", json!(PAYER)), TransferError::NotToUs),
        (with("/receipt/logs/0/topics/0", json!(B256::ZERO)), TransferError::NotToUs),
        (with("/receipt/logs/0/topics/2", json!(PAYER.into_word())), TransferError::NotToUs),
        (with("/receipt/logs/0/data", json!("0xc350")), TransferError::NotToUs),
        (with("/receipt/logs/0/data", json!(format!("0x{:064x}", 49_999))), TransferError::Amount(received(49_999))),
        (with("/receipt/logs/0/data", json!(format!("0x{:064x}", 50_001))), TransferError::Amount(received(50_001))),
        (with("/head/number", one_more(108)), TransferError::Unconfirmed(9)),
        (with("/head/number", one_more(100)), TransferError::Unconfirmed(1)),
        (with("/head/number", one_more(99)), TransferError::Unconfirmed(1)),
    ];
    for (said, error) in cases {
        assert_eq!(judge(&said, 60), Err(error), "{said:#}");
    }
    assert_eq!(judge(&said(), 3601), Err(TransferError::TooOld(received(50_000))));
    assert_eq!(judge(&said(), 172_800), Err(TransferError::TooOld(received(50_000))));
    assert_eq!(judge(&said(), 172_801), Err(TransferError::Forgotten));
    let mut late = with("/receipt/logs/0/data", json!(format!("0x{:064x}", 49_999)));
    assert_eq!(judge(&late, 3601), Err(TransferError::TooOld(received(49_999))));
    late["head"]["number"] = one_more(108);
    assert_eq!(judge(&late, 60), Err(TransferError::Unconfirmed(9)), "money that may still go");
    let mut removed = said();
    removed["receipt"]["logs"][0]["removed"] = json!(true);
    assert_eq!(judge(&removed, 60), Err(TransferError::NotToUs));
}

/// A transaction is one purchase. If one of its transfers bought, the others would be lost to their payers; and whoever
/// bundles a transfer with another's must not get the other's money.
#[test]
fn several_transfers_buy_nothing_and_each_payer_keeps_its_own() {
    let mut said = said();
    let paid = |amount: u64, payer: Address| {
        let mut log = said["receipt"]["logs"][0].clone();
        log["data"] = json!(format!("0x{amount:064x}"));
        log["topics"][1] = json!(payer.into_word());
        log
    };
    let (half, exact, other) = (paid(25_000, PAYER), paid(50_000, PAYER), paid(1_000_000, PAY_TO));
    let (small, nothing) = (paid(10_000, PAYER), paid(0, PAY_TO));
    let several = |parts: &[(Address, u64)]| -> Result<Transfer, TransferError> {
        let parts = parts.iter().map(|(from, amount)| Received { from: *from, amount: *amount });
        Err(TransferError::Several(parts.collect()))
    };
    let both = [(PAY_TO, 1_000_000), (PAYER, 10_000)];
    for (logs, age, expected) in [
        (json!([half, half]), 60, several(&[(PAYER, 50_000)])),
        (json!([half, exact]), 60, several(&[(PAYER, 75_000)])),
        (json!([small, other]), 60, several(&both)),
        (json!([other, small]), 3601, several(&both)),
        (json!([exact, other]), 60, several(&[(PAY_TO, 1_000_000), (PAYER, 50_000)])),
        (json!([other, small]), 172_801, Err(TransferError::Forgotten)),
        (json!([nothing]), 60, Err(TransferError::NotToUs)),
    ] {
        said["receipt"]["logs"] = logs;
        assert_eq!(judge(&said, age), expected, "{said:#}");
    }
    said["receipt"]["logs"] = json!([nothing, exact]);
    assert_eq!(judge(&said, 60).unwrap().from(), PAYER, "anybody can transfer nothing in another's name");
}

/// The event that the contract emits before the transfer of an authorization.
fn used(payer: Address, nonce: B256) -> Value {
    let event = keccak256("AuthorizationUsed(address,bytes32)");
    json!({ "address": Network::Base.usdc(), "topics": [event, payer.into_word(), nonce], "data": "0x" })
}

#[test]
fn a_signed_transfer_is_found_by_its_nonce_and_buys_nothing_by_its_transaction() {
    let (nonce, other) = (B256::repeat_byte(7), B256::repeat_byte(8));
    let mut said = said();
    said["receipt"]["logs"].as_array_mut().unwrap().insert(0, used(PAYER, nonce));
    let signed = TransferError::Signed { received: received(50_000), nonce };
    assert_eq!(judge(&said, 60), Err(signed.clone()), "its signature buys");
    assert_eq!(judge(&said, 172_800), Err(signed), "its money is here");
    assert_eq!(judge(&said, 172_801), Err(TransferError::Forgotten));
    let mut beside = said.clone();
    let transfer = beside["receipt"]["logs"][1].clone();
    beside["receipt"]["logs"].as_array_mut().unwrap().push(transfer);
    assert!(judge(&beside, 60).is_ok(), "a transfer beside it buys");
    let price = |pay_to, amount| Price { network: Network::Base, amount, pay_to, timeout: Duration::from_secs(60) };
    let is = |said: &Value, price: &Price, payer, nonce| submitted(&look(said).receipt.unwrap(), price, payer, nonce);
    assert!(is(&said, &price(PAY_TO, 50_000), PAYER, nonce));
    assert!(!is(&said, &price(PAY_TO, 50_000), PAYER, other), "another nonce");
    assert!(!is(&said, &price(PAY_TO, 50_000), PAY_TO, nonce), "another payer");
    assert!(!is(&said, &price(PAY_TO, 50_001), PAYER, nonce), "another amount");
    assert!(!is(&said, &price(PAYER, 50_000), PAYER, nonce), "to somebody else");
    let mut batch = said.clone();
    let logs = batch["receipt"]["logs"].as_array_mut().unwrap();
    logs.insert(1, used(PAYER, other));
    assert!(!is(&batch, &price(PAY_TO, 50_000), PAYER, nonce), "another signed transfer's");
    said["receipt"]["status"] = json!("0x0");
    assert!(!is(&said, &price(PAY_TO, 50_000), PAYER, nonce), "a failed transaction");
}
