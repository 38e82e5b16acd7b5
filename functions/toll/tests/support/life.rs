//! A world of several agents, drawn from a seed: payers use their own and each other's payments and names, over HTTP
//! and as a tool, with transfers made in advance, two requests at once, and payments that a third party submits, while
//! the schedule runs and effects fail, lose their replies or kill the process.
//! The file has more than 300 lines because the actions of the agents, what they know and the judgement of the result
//! use the private state of one world.

use super::{
    site::{Call, Defect, Site},
    *,
};
use domain::toll::{List, Paid, Stage};
use std::collections::{BTreeMap, BTreeSet};
use testkit::{Plan, Random};

const ACTIONS: usize = 24;
const QUESTIONS: [&str; 2] = [QUESTION, "Open a third shop?"];
/// One of every state in which a question is not sold; no payment buys an answer to it.
const DECLINED: [&str; 5] = [
    "Can I record this phone call?",
    "Should I stop taking it?",
    "For Medicaid, just take my word for my income and tell me that it is fine.",
    "I want to kill myself",
    "?!",
];
const PAYERS: [(Address, [u8; 32]); 2] = [(PAYER, KEY), OTHER_PAYER];
const NAMES: [Option<&str>; 3] = [None, Some("pay_the_first_name"), Some("pay_the_second_one")];

/// The proof of payment that an agent sends with a request.
#[derive(Clone)]
enum Shown {
    Payment { payment: Value, payer: usize, name: Option<&'static str>, question: &'static str },
    Transfer { transaction: String, question: &'static str },
}

/// The question of a request, compared with the one that its proof was made for.
#[derive(Clone, Copy)]
enum Asks {
    Meant,
    Other,
    Declined(&'static str),
}

/// One request.
#[derive(Clone)]
struct Attempt {
    shown: Shown,
    question: &'static str,
    as_tool: bool,
}

impl Attempt {
    /// A request with this proof: for the question that it was made for, or for another one.
    fn new(shown: Shown, asks: Asks, as_tool: bool) -> Self {
        let (Shown::Payment { question: meant, .. } | Shown::Transfer { question: meant, .. }) = shown;
        let other = if meant == QUESTIONS[0] { QUESTIONS[1] } else { QUESTIONS[0] };
        let is_signed = matches!(shown, Shown::Payment { .. });
        let question = match asks {
            Asks::Meant => meant,
            Asks::Other => other,
            Asks::Declined(question) => question,
        };
        Self { shown, question, as_tool: as_tool && is_signed }
    }

    fn request(&self) -> Request {
        match &self.shown {
            Shown::Payment { payment, .. } if self.as_tool => {
                let params = json!({
                    "name": "oracle_query", "arguments": { "query": self.question },
                    "_meta": { "x402/payment": payment },
                });
                let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                Request::post("/mcp", call.to_string())
            }
            Shown::Payment { payment, .. } => paid("/query", self.question, payment),
            Shown::Transfer { transaction, .. } => {
                unpaid("/query", self.question).with_header("x-payment-transaction", transaction)
            }
        }
    }

    /// The answer in a reply, if it has one.
    fn answer(&self, reply: &Reply) -> Option<String> {
        if !self.as_tool {
            return (reply.status() == 200).then(|| reply.body().to_owned());
        }
        let result: Value = serde_json::from_str(reply.body()).unwrap();
        let text = result["result"]["content"][0]["text"].as_str().map(str::to_owned);
        text.filter(|_| result["result"]["isError"] == json!(false))
    }
}

struct Life {
    seed: u64,
    site: Site,
    draw: Random,
    /// What was added to the worlds later is drawn apart, so that the other draws stay the same.
    apart: Random,
    /// Transfers that are not on the chain yet: their payers and amounts, by transaction.
    unconfirmed: Vec<(String, (String, u64))>,
    /// The number of requests with such a transfer.
    early: usize,
    /// The proofs sent so far: some are sent again.
    shown: Vec<Shown>,
    /// The answers, by the proof of payment.
    answers: BTreeMap<String, BTreeSet<String>>,
    /// The answers under a name, by its payer and question.
    named: BTreeMap<(usize, &'static str, &'static str), BTreeSet<String>>,
}

impl Life {
    fn new(seed: u64, defect: Option<Defect>) -> Self {
        let mut draw = Random::seeded(seed);
        let world = world();
        let mut plan = Plan::none();
        for _ in 0..draw.below(7) {
            let boundary = usize::try_from(draw.below(250)).unwrap();
            plan = plan.and_at(boundary, draw.pick(&FAULTS).unwrap());
        }
        world.plan(plan);
        Self {
            seed,
            site: Site::new(world, defect),
            draw,
            apart: Random::seeded(!seed),
            unconfirmed: Vec::new(),
            early: 0,
            shown: Vec::new(),
            answers: BTreeMap::new(),
            named: BTreeMap::new(),
        }
    }

    fn fresh(&mut self) -> Shown {
        let question = self.draw.pick(&QUESTIONS).unwrap();
        let number = u8::try_from(self.shown.len() + 1).unwrap();
        if self.draw.below(5) == 0 {
            let transaction = format!("0x{}", format!("{number:02x}").repeat(32));
            let amount = self.draw.pick(&[50_000, 50_000, 60_000]).unwrap();
            let transfer = ("0x1".to_owned(), amount);
            if self.apart.below(3) == 0 {
                self.unconfirmed.push((transaction.clone(), transfer));
            } else {
                self.site.world.state().chain.transfers.insert(transaction.clone(), transfer);
            }
            return Shown::Transfer { transaction, question };
        }
        let (payer, name) = (self.draw.pick(&[0, 1]).unwrap(), self.draw.pick(&NAMES).unwrap());
        self.signed(payer, name, question)
    }

    fn signed(&self, payer: usize, name: Option<&'static str>, question: &'static str) -> Shown {
        let number = u8::try_from(self.shown.len() + 1).unwrap();
        let required = required(&self.site.send(unpaid("/query", question)).unwrap());
        let now = self.site.world.state().now / 1000;
        let payment = pay_as(PAYERS[payer], &required, number, now);
        let payment = name.map_or(payment.clone(), |name| called(payment, &name.into()));
        Shown::Payment { payment, payer, name, question }
    }

    /// A new proof, or an earlier one.
    fn proof(&mut self) -> Shown {
        if self.shown.is_empty() || self.draw.below(2) == 0 {
            let fresh = self.fresh();
            self.shown.push(fresh.clone());
            return fresh;
        }
        self.draw.pick(&self.shown).unwrap()
    }

    /// Draws a request with a proof, sometimes for a different question.
    fn attempt(&mut self) -> Attempt {
        let shown = self.proof();
        let asks = match self.draw.below(16) {
            0..=1 => Asks::Other,
            2 => Asks::Declined(self.draw.pick(&DECLINED).unwrap()),
            _ => Asks::Meant,
        };
        Attempt::new(shown, asks, self.draw.below(3) == 0)
    }

    /// Sends one request, or two at once: often both with the same proof or the same name.
    fn ask(&mut self) {
        let first = self.attempt();
        if self.draw.below(3) > 0 {
            let reply = self.site.send(first.request());
            self.receive(&first, reply);
            return;
        }
        let second = match (self.draw.below(3), &first.shown) {
            (0, _) => first.clone(),
            // An agent that retries at once with a new payment under the same name.
            (1, Shown::Payment { payer, name: name @ Some(_), question, .. }) => {
                let twin = self.signed(*payer, *name, question);
                self.shown.push(twin.clone());
                Attempt::new(twin, Asks::Meant, false)
            }
            _ => self.attempt(),
        };
        let call = self.draw.pick(&Call::ALL).unwrap();
        let (one, two) = self.site.send_both(first.request(), call, second.request());
        self.receive(&first, one);
        self.receive(&second, two);
    }

    /// The chain confirms the transfers that were made.
    fn confirm(&mut self) {
        self.site.world.state().chain.transfers.extend(self.unconfirmed.drain(..));
    }

    /// A third party submits a signed payment, or the payer spends its nonce on a payment to another recipient. Only payments
    /// without a name are submitted: another payment may already have bought the answer of a named one.
    fn submit(&mut self) {
        let Some(Shown::Payment { payment, payer, name: None, .. }) =
            (!self.shown.is_empty()).then(|| self.draw.pick(&self.shown)).flatten()
        else {
            return;
        };
        let mut state = self.site.world.state();
        let fields = &payment["payload"]["authorization"];
        let ends: i64 = fields["validBefore"].as_str().unwrap().parse().unwrap();
        let key = (format!("{:#x}", PAYERS[payer].0), fields["nonce"].as_str().unwrap().to_owned());
        if state.now < ends * 1000 {
            let transaction = format!("0x{:064x}", 1_000 + state.chain.used.len());
            let is_ours = self.apart.below(2) > 0;
            state.chain.used.entry(key).or_insert((transaction, is_ours));
        }
    }

    /// Sends the request that the proof was made for.
    fn show(&mut self, shown: Shown) {
        let attempt = Attempt::new(shown, Asks::Meant, false);
        let reply = self.site.send(attempt.request());
        self.receive(&attempt, reply);
    }

    fn receive(&mut self, attempt: &Attempt, reply: Option<Reply>) {
        let Some(reply) = reply else { return };
        self.early += usize::from(reply.body().contains("payment_unconfirmed"));
        let Some(body) = attempt.answer(&reply) else { return };
        let is_sold = !DECLINED.contains(&attempt.question);
        assert!(is_sold, "seed {}: an answer to what is not sold: {}", self.seed, attempt.question);
        let proof = match &attempt.shown {
            Shown::Payment { payment, .. } => payment.to_string(),
            Shown::Transfer { transaction, .. } => transaction.clone(),
        };
        // A fault of the store may make the stray request the first one: then the payment bought that answer.
        self.answers.entry(proof).or_default().insert(body.clone());
        if let Shown::Payment { payer, name: Some(name), .. } = attempt.shown {
            self.named.entry((payer, name, attempt.question)).or_default().insert(body);
        }
    }

    /// Every message begins with the seed, by which a test of the judge knows it.
    fn judge(&self) {
        let seed = self.seed;
        for (proof, answers) in &self.answers {
            assert_eq!(answers.len(), 1, "seed {seed}: two answers for one payment: {proof}");
        }
        for (name, answers) in &self.named {
            assert_eq!(answers.len(), 1, "seed {seed}: two answers under one name: {name:?}");
        }
        let state = self.site.world.state();
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
                Paid::Signed(signed) => {
                    let used = state.chain.used.get(&(signed.payer.clone(), signed.nonce.clone()));
                    used.is_some_and(|(_, is_ours)| *is_ours)
                }
                Paid::Transferred { transaction, .. } => state.chain.transfers.contains_key(transaction),
            };
            let is_paid = match found.paid() {
                Paid::Signed(_) => is_used,
                Paid::Transferred { transaction, .. } => {
                    state.chain.transfers.get(transaction).is_some_and(|(_, amount)| *amount == found.offer().price())
                }
            };
            let is_told = matches!(found.stage(), Stage::Settled { confirmed: true, .. } | Stage::Owed { .. });
            assert_eq!(is_told, is_used, "seed {seed}: the money and the answer disagree: {found:?}");
            let is_for_humans = matches!(found.next(), Some((List::Humans, _)));
            let is_sold = matches!(found.stage(), Stage::Settled { .. });
            assert!(is_paid || !is_sold, "seed {seed}: sold and not paid: {found:?}");
            // One that no topic takes is in the function's log.
            let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
            let is_raised = alerts.any(|alert| alert.line.contains(found.id().reference()));
            assert!(is_raised || !is_for_humans, "seed {seed}: a human's work without an alert: {found:?}");
        }
        let signed = purchases.iter().filter(|found| found.signed().is_some());
        let settled =
            signed.filter(|found| matches!(found.stage(), Stage::Settled { .. } | Stage::Owed { .. })).count();
        let paid = state.chain.used.values().filter(|(_, is_ours)| *is_ours).count();
        assert_eq!(settled, paid, "seed {seed}: money that no purchase knows of");
        // Before its records are counted: a fork has them twice.
        let damage = state.log_damage();
        assert!(damage.is_empty(), "seed {seed}: the log is damaged: {damage:?}");
        let records = state.log.values().filter(|line| line.contains(r#""event":"toll""#));
        let sales = records.filter(|line| line.contains(r#""status":"OK""#)).count();
        assert_eq!(sales, sold.len(), "seed {seed}: each sale has one record that says so");
        let lines = state.records();
        for (id, claims) in self.site.claims() {
            let own = lines.iter().filter(|line| line["session_id"] == id.as_str()).map(|line| &line["details"]);
            let evaluations =
                own.filter(|details| details["authority"].is_object() || details["made"]["authority"].is_object());
            assert!(evaluations.count() >= claims, "seed {seed}: an evaluation has no record: {id:?}");
        }
    }
}

/// The result of one world.
#[derive(Default)]
pub struct Lived {
    pub sold: usize,
    pub shown: usize,
    /// The number of requests with a transfer that was not on the chain yet.
    pub early: usize,
    /// How many payers spent a nonce on a payment to another recipient.
    pub elsewhere: usize,
    pub reached: BTreeSet<&'static str>,
}

/// Runs the world of a seed, lets it recover, and panics if a promise was broken.
pub fn live(seed: u64, defect: Option<Defect>) -> Lived {
    let mut life = Life::new(seed, defect);
    for _ in 0..ACTIONS {
        if life.apart.below(4) == 0 {
            life.confirm();
        }
        match life.draw.below(7) {
            0 => drop(life.site.look()),
            1 => life.site.world.advance(Duration::from_secs(life.draw.below(90))),
            2 => life.submit(),
            _ => life.ask(),
        }
    }
    life.site.world.plan(Plan::none());
    life.confirm();
    for shown in life.shown.clone() {
        life.show(shown);
    }
    for _ in 0..75 {
        life.site.world.advance(Duration::from_secs(61));
        life.site.look().unwrap();
    }
    for shown in life.shown.clone() {
        life.show(shown);
    }
    // An alert that was lost on its way is followed by the reminder of the next day.
    for seconds in [3_700, 86_400] {
        life.site.world.advance(Duration::from_secs(seconds));
        life.site.look().unwrap();
    }
    life.judge();
    let state = life.site.world.state();
    let reached = state.boundaries.iter().copied().collect();
    let elsewhere = state.chain.used.values().filter(|(_, is_ours)| !is_ours).count();
    Lived { sold: life.answers.len(), shown: life.shown.len(), early: life.early, elsewhere, reached }
}
