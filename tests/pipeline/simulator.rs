//! The whole pipeline in one process: the deployed handlers on the testkit's ports, with a queue that redelivers
//! unfinished messages.

use crate::samples::{ADDRESS, paid_session};
use audit::Journal;
use domain::{CheckoutSession, SessionId, Timestamp, message::Message, money::PaymentReport};
use operations::quarantine;
use runtime::{Handled, Redelivery, http::Reply, queue::Delivery};
use serde_json::{Value, json};
use simulation::deployment::{Deployment, SIGNING_SECRET};
use std::{future::Future, time::Duration};
use testkit::{Plan, World};

/// Longer than every lease and every visibility timeout.
const REDELIVERY: Duration = Duration::from_secs(1081);

/// A message becomes a dead letter after this many receives: as few as any queue of the template allows an order, a mail,
/// a notice or a payment.
const MAX_RECEIVES: u32 = 200;

pub(crate) struct Simulator {
    pub(crate) world: World,
    pub(crate) session: SessionId,
    waiting: Vec<Waiting>,
    sequence: u32,
    /// The messages that became dead letters.
    pub(crate) dead: Vec<Message>,
}

/// A message in a queue.
struct Waiting {
    id: String,
    received: u32,
    /// When the message becomes visible.
    visible_at: Timestamp,
    message: Message,
}

impl Simulator {
    /// A world with one paid session of the given tier.
    pub(crate) fn new(tier: &str) -> Self {
        Self::with_session(paid_session("cs_test_simulated_sale_1", tier, Some(ADDRESS)))
    }

    pub(crate) fn with_session(session: CheckoutSession) -> Self {
        let world = World::at(Timestamp::from_seconds(1_800_000_000));
        let id = session.id.clone();
        world.state().sessions.insert(id.clone(), session);
        Self { world, session: id, waiting: Vec::new(), sequence: 0, dead: Vec::new() }
    }

    /// The same, with the model's answer and the paid event.
    pub(crate) fn ordered(tier: &str, answer: &str) -> Self {
        let sim = Self::new(tier);
        sim.model_says(answer);
        sim.stripe_delivers();
        sim
    }

    /// The same, after all messages are handled. The sale is delivered or held.
    pub(crate) fn worked_off(tier: &str, answer: &str) -> Self {
        let mut sim = Self::ordered(tier, answer);
        sim.drain();
        sim
    }

    /// Sets the model's answer for many calls.
    pub(crate) fn model_says(&self, text: &str) {
        self.world.state().answers = (0..64).map(|_| Ok(testkit::reply(text))).collect();
    }

    /// Sets the model's answer for all calls.
    pub(crate) fn model_always_says(&self, text: &str) {
        let reply = testkit::reply(text);
        self.world.state().model = Some(Box::new(move |_, _| Ok(reply.clone())));
    }

    /// Puts a message into its queue.
    pub(crate) fn send(&self, message: Message) {
        self.world.state().queue.push_back((message, Duration::ZERO));
    }

    pub(crate) fn journal(&self) -> Journal<'_> {
        let world = &self.world;
        Journal { store: world, log: world, alerts: world, clock: world }
    }

    /// The ports of an operator's decision about a held verdict.
    pub(crate) fn held_ports(&self) -> quarantine::Ports<'_> {
        let world = &self.world;
        quarantine::Ports {
            journal: self.journal(),
            quarantine: world,
            payments: world,
            submissions: world,
            orders: world,
            retries: world,
            notices: world,
        }
    }

    /// Stripe delivers the paid event, and repeats it until the reply is 2xx.
    pub(crate) fn stripe_delivers(&self) {
        self.repeat_until_taken(|| self.webhook());
    }

    /// Delivers an event, and repeats it until the reply is 2xx.
    pub(crate) fn repeat_until_taken(&self, deliver: impl Fn() -> Option<Reply>) {
        for _ in 0..20 {
            if deliver().is_some_and(|reply| reply.status() == 200) {
                return;
            }
            self.world.advance(Duration::from_secs(60));
        }
        panic!("the webhook never took the event");
    }

    /// The deployed functions.
    pub(crate) fn deployment(&self) -> Deployment<'_> {
        Deployment::new(&self.world)
    }

    /// Runs a handler to its end, or to the planned crash (`None`), and collects the messages that it sent.
    fn run<F: Future>(&self, handler: F) -> Option<F::Output> {
        let output = testkit::run(handler);
        let mut state = self.world.state();
        let sent: Vec<_> = state.outgoing.drain(..).map(|(_, message, delay)| (message, delay)).collect();
        state.queue.extend(sent);
        output
    }

    pub(crate) fn webhook(&self) -> Option<Reply> {
        let (metadata, email) = {
            let state = self.world.state();
            let session = &state.sessions[&self.session];
            (session.metadata.clone(), session.email.as_ref().map(|address| address.expose().to_owned()))
        };
        let event = json!({
            "id": "evt_1", "type": "checkout.session.completed",
            "data": { "object": {
                "id": self.session.as_str(), "object": "checkout.session", "payment_status": "paid",
                "metadata": metadata, "customer_details": { "email": email },
            } },
        });
        self.event(SIGNING_SECRET, event.to_string())
    }

    /// Stripe or the smoke test delivers an event that is signed with this secret.
    pub(crate) fn event(&self, secret: &str, event: String) -> Option<Reply> {
        self.run(self.deployment().webhook(secret, self.now(), event))
    }

    /// The customer's page sends one request.
    pub(crate) fn page(&self) -> Option<Reply> {
        self.run(self.deployment().page(self.session.as_str()))
    }

    /// The page of any session sends one request.
    pub(crate) fn deployment_page(&self, session: &str) -> Option<Reply> {
        self.run(self.deployment().page(session))
    }

    /// The customer posts a follow-up.
    pub(crate) fn followup(&self, body: Value) -> Option<Reply> {
        self.run(self.deployment().followup(body.to_string()))
    }

    /// The inbox-watch function runs once; `None` if the process died.
    pub(crate) fn watch_inbox(&self, request_id: &str) -> Option<()> {
        self.run(self.deployment().watch_inbox(request_id))
    }

    /// Stripe reports a change of the payment.
    pub(crate) fn payment_changes(&self, change: domain::money::PaymentChange) {
        let payment = self.world.state().sessions[&self.session].payment.clone().unwrap();
        let charged = self.world.state().sessions[&self.session].amount_total.unwrap();
        let mut report = testkit::reports::report(change, charged, self.now());
        // The refund that fails is the last one that was made.
        if let (PaymentReport::Refund { id, .. }, Some((_, made))) = (&mut report, self.world.state().refunds.last()) {
            *id = made.id.clone();
        }
        self.send(Message::payment_changed(payment, report, self.now()));
    }

    /// The deadlines function runs once; `None` if the process died.
    pub(crate) fn deadlines(&self) -> Option<domain::due::Report> {
        self.run(self.deployment().deadlines(true))
    }

    /// The reconcile function runs once; `None` if the process died.
    pub(crate) fn reconcile(&self) -> Option<Result<reconcile::Report, domain::StepError>> {
        self.run(self.deployment().reconcile())
    }

    /// The sale as it is stored.
    pub(crate) fn sale(&self) -> domain::Sale {
        self.world.state().sales[&self.session].0.clone()
    }

    /// The queues deliver until they are empty, and redeliver unfinished messages.
    pub(crate) fn drain(&mut self) {
        for _ in 0..2_000 {
            if self.step().is_none() {
                return;
            }
        }
        panic!("the queues never became empty");
    }

    /// Delivers one message, if there is one; returns whether it is finished. An unfinished message goes to the end.
    pub(crate) fn step(&mut self) -> Option<bool> {
        let now = self.now();
        let new: Vec<_> = self.world.state().queue.drain(..).collect();
        for (message, delay) in new {
            self.sequence += 1;
            let id = format!("message-{}", self.sequence);
            self.waiting.push(Waiting { id, received: 0, visible_at: now.plus(delay), message });
        }
        // The message that is visible next; the clock advances to that moment.
        let next = (0..self.waiting.len()).min_by_key(|index| self.waiting[*index].visible_at.max(now))?;
        let mut waiting = self.waiting.remove(next);
        self.world.advance(waiting.visible_at.since(now));
        waiting.received += 1;
        let handled = self.handle(&waiting);
        let world = &self.world;
        let redelivery =
            Redelivery { queue: world, dead_letters: world, clock: world, randomness: world, meter: world };
        let Some(hidden) = handled.map_or(Some(REDELIVERY), |handled| redelivery.wait(handled, waiting.received))
        else {
            return Some(true);
        };
        waiting.visible_at = self.now().plus(hidden);
        if waiting.received >= MAX_RECEIVES {
            self.dead.push(waiting.message);
        } else {
            self.waiting.push(waiting);
        }
        Some(false)
    }

    /// Empties all queues.
    pub(crate) fn lose_messages(&mut self) {
        self.waiting.clear();
    }

    /// Adds another paid session to the same world; it is delivered and requested from now on.
    pub(crate) fn next_session(&mut self, id: &str) {
        let session = paid_session(id, "quick", Some(ADDRESS));
        self.session = session.id.clone();
        self.world.state().sessions.insert(session.id.clone(), session);
    }

    pub(crate) fn now(&self) -> Timestamp {
        domain::ports::Clock::now(&self.world)
    }

    /// Delivers one message once; `None` if the process died.
    fn handle(&self, waiting: &Waiting) -> Option<Handled> {
        let delivery = Delivery {
            message_id: waiting.id.clone(),
            receive_count: waiting.received,
            message: waiting.message.clone(),
        };
        self.run(self.deployment().deliver(Deployment::queue_of(&waiting.message), delivery))
    }

    /// Removes the faults, and runs the customer's page and the queues until nothing is left to do.
    pub(crate) fn recover(&mut self) {
        self.world.plan(Plan::none());
        for _ in 0..4 {
            self.drain();
            self.world.advance(Duration::from_secs(400));
            self.page();
        }
        self.drain();
    }

    /// The parsed lines of the audit log, in order; panics if the chain of hashes is broken.
    pub(crate) fn audit_lines(&self) -> Vec<Value> {
        let log = self.world.state().log.clone();
        let mut previous = audit::hash::sha256(b"");
        let mut lines = Vec::new();
        for (index, (key, text)) in log.iter().enumerate() {
            let line: Value = serde_json::from_str(text).unwrap();
            assert!(key.ends_with(&format!("/{:06}.json", index + 1)), "a gap before {key}");
            assert_eq!(line["seq"], index + 1);
            assert_eq!(line["prev"], previous.as_str(), "the chain is broken at {key}");
            previous = audit::hash::sha256(text.as_bytes());
            lines.push(line);
        }
        lines
    }

    /// The number of audit records with this source and status.
    pub(crate) fn count(&self, source: &str, status: &str) -> usize {
        self.audit_lines().iter().filter(|line| line["source"] == source && line["status"] == status).count()
    }
}
