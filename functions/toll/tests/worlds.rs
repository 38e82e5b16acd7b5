//! Worlds of several agents, drawn from a seed: payers with payments and names of their own and of each other, over HTTP and
//! as a tool, with transfers made before, beside the schedule, while effects fail, lose their replies or kill the process.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use alloy_primitives::Address;
use domain::toll::{List, Paid, Stage};
use runtime::http::Request;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use support::*;
use testkit::{Fault, Plan, World};

const SEEDS: u64 = 300;
const ACTIONS: usize = 24;
const FAULTS: [Fault; 5] = [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter, Fault::Refuse(402)];
const QUESTIONS: [&str; 2] = [QUESTION, "Open a third shop?"];
const PAYERS: [(Address, [u8; 32]); 2] = [(PAYER, KEY), OTHER_PAYER];
const NAMES: [Option<&str>; 3] = [None, Some("pay_the_first_name"), Some("pay_the_second_one")];

/// SplitMix64: the same seed draws the same world everywhere.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// What an agent shows to be answered.
#[derive(Clone)]
enum Shown {
    Payment { payment: Value, payer: usize, name: Option<&'static str>, question: &'static str },
    Transfer { transaction: String, question: &'static str },
}

struct Life {
    world: World,
    draw: Draw,
    /// What was shown so far: some of it is shown again.
    shown: Vec<Shown>,
    /// The answers that left, by what was shown and asked for them.
    answers: BTreeMap<String, BTreeSet<String>>,
    /// The answers that left under a name, with its payer and question.
    named: BTreeMap<(usize, &'static str, &'static str), BTreeSet<String>>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut draw = Draw(seed);
        let world = world();
        let mut plan = Plan::none();
        for _ in 0..draw.below(7) {
            let boundary = draw.below(250);
            plan = plan.and_at(boundary, draw.of(&FAULTS));
        }
        world.plan(plan);
        Self { world, draw, shown: Vec::new(), answers: BTreeMap::new(), named: BTreeMap::new() }
    }

    fn fresh(&mut self) -> Shown {
        let question = self.draw.of(&QUESTIONS);
        let number = u8::try_from(self.shown.len() + 1).unwrap();
        if self.draw.below(5) == 0 {
            let transaction = format!("0x{}", format!("{number:02x}").repeat(32));
            self.world.state().chain.transfers.insert(transaction.clone(), ("0x1".to_owned(), 50_000));
            return Shown::Transfer { transaction, question };
        }
        let (payer, name) = (self.draw.below(2), self.draw.of(&NAMES));
        let required = required(&send(&self.world, unpaid("/query", question)).unwrap());
        let now = self.world.state().now / 1000;
        let payment = pay_as(PAYERS[payer], &required, number, now);
        let payment = name.map_or(payment.clone(), |name| called(payment, &name.into()));
        Shown::Payment { payment, payer, name, question }
    }

    /// One request, with what is new or was shown before, now and then for another question.
    fn ask(&mut self) {
        let shown = if self.shown.is_empty() || self.draw.below(2) == 0 {
            let fresh = self.fresh();
            self.shown.push(fresh.clone());
            fresh
        } else {
            self.shown[self.draw.below(self.shown.len())].clone()
        };
        let strays = self.draw.below(8) == 0;
        let as_tool = self.draw.below(3) == 0;
        self.show(&shown, strays, as_tool);
    }

    fn show(&mut self, shown: &Shown, strays: bool, as_tool: bool) {
        let (meant, proof) = match shown {
            Shown::Payment { question, payment, .. } => (*question, payment.to_string()),
            Shown::Transfer { question, transaction } => (*question, transaction.clone()),
        };
        let other = if meant == QUESTIONS[0] { QUESTIONS[1] } else { QUESTIONS[0] };
        let question = if strays { other } else { meant };
        let Some(body) = self.bought(shown, question, as_tool) else { return };
        // A fault of the store may let the stray request be the first one: then it is what the payment bought.
        self.answers.entry(proof).or_default().insert(body.clone());
        if let Shown::Payment { payer, name: Some(name), .. } = shown {
            self.named.entry((*payer, name, question)).or_default().insert(body);
        }
    }

    fn bought(&self, shown: &Shown, question: &str, as_tool: bool) -> Option<String> {
        let request = match shown {
            Shown::Payment { payment, .. } if as_tool => {
                let params = json!({
                    "name": "oracle_query", "arguments": { "query": question }, "_meta": { "x402/payment": payment },
                });
                let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                let reply = send(&self.world, Request::post("/mcp", call.to_string()))?;
                let result: Value = serde_json::from_str(reply.body()).unwrap();
                let text = result["result"]["content"][0]["text"].as_str().map(str::to_owned);
                return text.filter(|_| result["result"]["isError"] == json!(false));
            }
            Shown::Payment { payment, .. } => paid("/query", question, payment),
            Shown::Transfer { transaction, .. } => {
                unpaid("/query", question).with_header("x-payment-transaction", transaction)
            }
        };
        send(&self.world, request).filter(|reply| reply.status() == 200).map(|reply| reply.body().to_owned())
    }

    fn judge(&self, seed: u64) {
        for (proof, answers) in &self.answers {
            assert_eq!(answers.len(), 1, "seed {seed}: two answers for one payment: {proof}");
        }
        for (name, answers) in &self.named {
            assert_eq!(answers.len(), 1, "seed {seed}: two answers under one name: {name:?}");
        }
        let state = self.world.state();
        let purchases: Vec<_> = state.purchases.values().map(|(found, _)| found).collect();
        let answers: BTreeSet<&String> = self.answers.values().flatten().collect();
        let sold: BTreeSet<&String> = purchases
            .iter()
            .filter_map(|found| match found.stage() {
                Stage::Settled { answer, .. } => Some(&answer.body),
                _ => None,
            })
            .collect();
        assert!(answers.is_subset(&sold), "seed {seed}: an answer left that nobody paid for");
        for found in &purchases {
            let is_open = matches!(found.next(), Some((List::Machines, _)));
            assert!(!is_open, "seed {seed}: never ends: {found:?}");
            let is_used = match found.paid() {
                Paid::Signed(signed) => state.chain.used.contains_key(&(signed.payer.clone(), signed.nonce.clone())),
                Paid::Transferred { .. } => true,
            };
            let is_told = matches!(found.stage(), Stage::Settled { confirmed: true, .. } | Stage::Owed { .. });
            assert_eq!(is_told, is_used, "seed {seed}: the money and the answer disagree: {found:?}");
        }
        let signed = purchases.iter().filter(|found| found.signed().is_some());
        let settled =
            signed.filter(|found| matches!(found.stage(), Stage::Settled { .. } | Stage::Owed { .. })).count();
        assert_eq!(settled, state.chain.used.len(), "seed {seed}: money that no purchase knows of");
        let records = state.log.values().filter(|line| line.contains(r#""event":"toll""#));
        let sales = records.filter(|line| line.contains(r#""status":"OK""#)).count();
        assert_eq!(sales, sold.len(), "seed {seed}: each sale has one record that says so");
    }
}

#[test]
fn nobody_pays_twice_and_no_answer_leaves_unpaid_in_any_world() {
    let mut reached = BTreeSet::new();
    let (mut sold, mut repeated) = (0, 0);
    for seed in 0..SEEDS {
        let mut life = Life::new(seed);
        for _ in 0..ACTIONS {
            match life.draw.below(6) {
                0 => drop(look(&life.world)),
                1 => {
                    let seconds = life.draw.below(90);
                    life.world.advance(Duration::from_secs(u64::try_from(seconds).unwrap()));
                }
                _ => life.ask(),
            }
        }
        life.world.plan(Plan::none());
        for _ in 0..75 {
            life.world.advance(Duration::from_secs(61));
            look(&life.world).unwrap();
        }
        for shown in life.shown.clone() {
            life.show(&shown, false, false);
        }
        look(&life.world).unwrap();
        life.judge(seed);
        reached.extend(life.world.state().boundaries.iter().copied());
        sold += life.answers.len();
        repeated += life.shown.len();
    }
    assert!(sold > 1_000 && repeated > sold, "{sold} of {repeated} got an answer");
    for name in ["purchases.name", "purchases.named", "purchases.save", "facilitator.settle", "node.transfer"] {
        assert!(reached.contains(name), "{name}");
    }
}
