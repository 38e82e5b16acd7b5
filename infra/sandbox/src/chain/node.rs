//! A node's JSON-RPC calls for looking up payments.

use alloy_primitives::keccak256;
use serde_json::{Value, json};

use super::ledger::{CHAIN, Ledger, Transfer, USDC};
use crate::http::{Reply, Request};
use crate::state::State;

/// The widest range of blocks in a log query, as at real providers.
const MOST_BLOCKS: u64 = 10_000;

type Answer = Result<Value, (i64, &'static str)>;

pub(crate) fn handle(state: &mut State, request: &Request) -> Reply {
    let body = request.body_value();
    let now = state.now();
    let head = state.chain.head(now);
    let params = &body["params"];
    let chain = &mut state.chain;
    let answer = match body["method"].as_str().unwrap_or_default() {
        "eth_chainId" => Ok(quantity(if chain.follows_other_chain() { 1 } else { CHAIN })),
        "eth_blockNumber" => Ok(quantity(head)),
        "eth_getBlockByNumber" => block(chain, head, &params[0]),
        "eth_getTransactionReceipt" => Ok(receipt(chain, params[0].as_str().unwrap_or_default())),
        "eth_call" => call(chain, head, params),
        "eth_getLogs" => logs(chain, head, &params[0]),
        _ => Err((-32_601, "the method does not exist/is not available")),
    };
    let reply = match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": body["id"], "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": code, "message": message}})
        }
    };
    Reply::json(200, reply)
}

fn quantity(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

fn word(hex: &str) -> String {
    format!("0x{:0>64}", hex.trim_start_matches("0x"))
}

fn number(value: &Value, head: u64) -> Result<u64, (i64, &'static str)> {
    match value.as_str() {
        Some("latest") => Ok(head),
        Some(text) => text
            .strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .ok_or((-32_602, "invalid block number")),
        None => Err((-32_602, "missing block number")),
    }
}

fn block(chain: &Ledger, head: u64, asked: &Value) -> Answer {
    let number = number(asked, head)?;
    if number > head {
        return Ok(Value::Null);
    }
    Ok(json!({
        "number": quantity(number), "hash": chain.hash(number), "timestamp": quantity(chain.time(number)),
        "transactions": [],
    }))
}

/// The events of a transfer; for a signed one, the event of its nonce comes first.
fn events(chain: &Ledger, transfer: &Transfer) -> Vec<Value> {
    let event = |name: &str, topics: [String; 2], data: String| {
        json!({
            "address": USDC, "topics": [format!("{:#x}", keccak256(name)), topics[0], topics[1]], "data": data,
            "blockNumber": quantity(transfer.block), "blockHash": chain.hash(transfer.block),
            "transactionHash": transfer.transaction, "removed": false,
        })
    };
    let used = transfer.nonce.iter().map(|nonce| {
        event("AuthorizationUsed(address,bytes32)", [word(&transfer.from), nonce.clone()], "0x".to_owned())
    });
    let moved = event(
        "Transfer(address,address,uint256)",
        [word(&transfer.from), word(&transfer.to)],
        format!("0x{:064x}", transfer.value),
    );
    used.chain([moved]).collect()
}

fn receipt(chain: &Ledger, transaction: &str) -> Value {
    let found = chain.transfers.iter().find(|transfer| transfer.transaction == transaction);
    found.map_or(Value::Null, |transfer| {
        json!({
            "transactionHash": transfer.transaction, "blockHash": chain.hash(transfer.block),
            "blockNumber": quantity(transfer.block), "status": "0x1", "logs": events(chain, transfer),
        })
    })
}

fn call(chain: &Ledger, head: u64, params: &Value) -> Answer {
    let at = number(&params[1], head)?;
    let data = params[0]["data"].as_str().unwrap_or_default().to_ascii_lowercase();
    let is_usdc = params[0]["to"].as_str().is_some_and(|to| to.eq_ignore_ascii_case(USDC));
    let (selector, arguments) = data.split_at_checked(10).ok_or((-32_602, "no data"))?;
    let argument = |index: usize| arguments.get(index * 64..(index + 1) * 64).map(str::to_owned);
    match (is_usdc, selector, argument(0), argument(1)) {
        (true, "0xe94a0102", Some(payer), Some(nonce)) => {
            let (payer, nonce) = (format!("0x{}", &payer[24..]), format!("0x{nonce}"));
            let is_used = chain.used_by(&payer, &nonce).is_some_and(|transfer| transfer.block <= at);
            Ok(json!(format!("0x{:064x}", u64::from(is_used))))
        }
        (true, "0x70a08231", Some(holder), _) => {
            Ok(json!(format!("0x{:064x}", chain.balance(&format!("0x{}", &holder[24..])))))
        }
        _ => Err((3, "execution reverted")),
    }
}

fn logs(chain: &Ledger, head: u64, filter: &Value) -> Answer {
    let (from, to) = (number(&filter["fromBlock"], head)?, number(&filter["toBlock"], head)?);
    if to.saturating_sub(from) >= MOST_BLOCKS {
        return Err((-32_614, "eth_getLogs is limited to a 10,000 range"));
    }
    let wanted = filter["topics"].as_array().cloned().unwrap_or_default();
    let is_wanted = |event: &Value| {
        let same = |(index, topic): (usize, &Value)| match topic {
            Value::Null => true,
            Value::Array(any) => any.contains(&event["topics"][index]),
            one => event["topics"][index] == *one,
        };
        wanted.iter().enumerate().all(same)
    };
    let within = chain.transfers.iter().filter(|transfer| (from..=to).contains(&transfer.block));
    let found: Vec<Value> = within.flat_map(|transfer| events(chain, transfer)).filter(is_wanted).collect();
    Ok(json!(found))
}
