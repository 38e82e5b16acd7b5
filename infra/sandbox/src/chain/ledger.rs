//! The simulated chain: one token with its balances and transfers, and blocks that follow the clock.

use std::collections::{BTreeMap, VecDeque};

use alloy_primitives::keccak256;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Base Sepolia.
pub(crate) const CHAIN: u64 = 84_532;
pub(crate) const NETWORK: &str = "eip155:84532";
pub(crate) const NETWORK_V1: &str = "base-sepolia";
/// Its USDC, in lower case.
pub(crate) const USDC: &str = "0x036cbd53842c5426634e7929541ec2318f3dcf7e";
/// The first account of every development chain. Its key is public and is useful only in this sandbox.
pub(crate) const WALLET_KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
pub(crate) const WALLET: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET_HOLDS: u64 = 1_000_000_000_000;
/// The recipient of payments on a local stack.
pub(crate) const PAY_TO: &str = "0x209693bc6afc0c5328ba36faf03c514ef312287c";

const FIRST_BLOCK: u64 = 30_000_000;
const BLOCK_SECONDS: u64 = 2;

pub(crate) struct Transfer {
    pub(crate) transaction: String,
    pub(crate) block: u64,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) value: u64,
    /// The nonce, for a signed transfer.
    pub(crate) nonce: Option<String>,
}

pub(crate) struct Ledger {
    begun: Option<Timestamp>,
    mined: u64,
    /// Changes the hash of every later block.
    forks: u64,
    funded: BTreeMap<String, u64>,
    pub(crate) transfers: Vec<Transfer>,
    made: u64,
    faults: VecDeque<String>,
}

impl Default for Ledger {
    fn default() -> Self {
        let funded = BTreeMap::from([(WALLET.to_owned(), WALLET_HOLDS)]);
        Self { begun: None, mined: 0, forks: 0, funded, transfers: Vec::new(), made: 0, faults: VecDeque::new() }
    }
}

/// The names of the faults, in the order of the help text.
pub(crate) const FAULTS: [&str; 5] = ["pending", "lie", "refuse_after", "wrong_chain", "reorg"];

impl Ledger {
    /// The newest block.
    pub(crate) fn head(&mut self, now: Timestamp) -> u64 {
        let begun = *self.begun.get_or_insert(now);
        let seconds = now.as_second().saturating_sub(begun.as_second()).unsigned_abs();
        FIRST_BLOCK + seconds / BLOCK_SECONDS + self.mined
    }

    /// The time of a block. Blocks that were mined at once have times in the future, as if each had taken its
    /// usual time.
    pub(crate) fn time(&self, block: u64) -> u64 {
        let begun = self.begun.map_or(0, |begun| begun.as_second().unsigned_abs());
        (begun + block.saturating_mul(BLOCK_SECONDS)).saturating_sub(FIRST_BLOCK * BLOCK_SECONDS)
    }

    pub(crate) fn hash(&self, block: u64) -> String {
        format!("{:#x}", keccak256(format!("block {block} of fork {}", self.forks)))
    }

    pub(crate) fn mine(&mut self, blocks: u64) {
        self.mined += blocks.min(100_000);
    }

    pub(crate) fn balance(&self, address: &str) -> u64 {
        let moved = |of: fn(&Transfer) -> &str| -> u64 {
            self.transfers.iter().filter(|transfer| of(transfer) == address).map(|transfer| transfer.value).sum()
        };
        let funded = self.funded.get(address).copied().unwrap_or(0);
        (funded + moved(|transfer| &transfer.to)).saturating_sub(moved(|transfer| &transfer.from))
    }

    pub(crate) fn is_used(&self, payer: &str, nonce: &str) -> bool {
        self.used_by(payer, nonce).is_some()
    }

    pub(crate) fn used_by(&self, payer: &str, nonce: &str) -> Option<&Transfer> {
        self.transfers.iter().find(|transfer| transfer.from == payer && transfer.nonce.as_deref() == Some(nonce))
    }

    pub(crate) fn transfer(
        &mut self,
        now: Timestamp,
        from: &str,
        to: &str,
        value: u64,
        nonce: Option<String>,
    ) -> String {
        self.made += 1;
        let transaction = format!("{:#x}", keccak256(format!("transaction {} at {now}", self.made)));
        let block = self.head(now);
        let (from, to) = (from.to_owned(), to.to_owned());
        self.transfers.push(Transfer { transaction: transaction.clone(), block, from, to, value, nonce });
        transaction
    }

    /// Plans a fault. A reorganisation happens at once: it drops the last transfer's block together with the transfer.
    pub(crate) fn plan(&mut self, name: &str) {
        if name == "reorg" {
            self.forks += 1;
            self.transfers.pop();
        } else {
            self.faults.push_back(name.to_owned());
        }
    }

    /// Drops planned faults. The transfers on the chain stay.
    pub(crate) fn calm(&mut self) {
        self.faults.clear();
    }

    pub(crate) fn next_fault(&mut self) -> Option<String> {
        match self.faults.front() {
            Some(name) if name != "wrong_chain" => self.faults.pop_front(),
            _ => None,
        }
    }

    /// Whether the node's next reply is about another chain.
    pub(crate) fn follows_other_chain(&mut self) -> bool {
        let is_planned = self.faults.front().is_some_and(|name| name == "wrong_chain");
        is_planned && self.faults.pop_front().is_some()
    }

    pub(crate) fn value(&mut self, now: Timestamp) -> Value {
        let head = self.head(now);
        let transfer = |transfer: &Transfer| {
            json!({
                "transaction": transfer.transaction, "block": transfer.block, "from": transfer.from,
                "to": transfer.to, "value": transfer.value.to_string(), "nonce": transfer.nonce,
            })
        };
        let (settlements, transfers): (Vec<_>, Vec<_>) =
            self.transfers.iter().partition(|transfer| transfer.nonce.is_some());
        let listed = |list: Vec<&Transfer>| list.into_iter().map(transfer).collect::<Vec<_>>();
        json!({
            "network": NETWORK, "asset": USDC, "pay_to": PAY_TO, "wallet": WALLET, "wallet_key": WALLET_KEY,
            "head": head, "wallet_balance": self.balance(WALLET).to_string(),
            "settlements": listed(settlements), "transfers": listed(transfers), "faults": self.faults,
        })
    }
}
