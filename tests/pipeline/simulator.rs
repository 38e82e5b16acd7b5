//! The whole pipeline in one process: the functions' own decisions on the testkit's ports, with a queue that
//! redelivers what was not finished.

use audit::{AuditKey, Journal};
use domain::{
    CheckoutSession, EmailAddress, PaymentStatus, Secret, SessionId, Timestamp,
    backoff::Backoff,
    breaker::BreakerPolicy,
    mail::{Letter, MailSchedule},
    message::Message,
    money::PaymentId,
    ports::{ModelReply, SecretSource, StorageError},
};
use email_retry::Wait;
use runtime::{Handled, http::Reply};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Plan, World, run};

pub(crate) const SIGNING_SECRET: &str = "whsec_test";
/// The smoke test's own secret.
pub(crate) const SMOKE_SECRET: &str = r#"{"secret_key":"sk_test_smoke","signing_secret":"whsec_smoke"}"#;
pub(crate) const ADDRESS: &str = "someone@example.com";
pub(crate) const QUESTION: &str = "Should I open a second shop next spring?";

/// Longer than any lease and any visibility time-out.
const REDELIVERY: Duration = Duration::from_secs(1081);

pub(crate) struct Document(&'static str);

#[async_trait::async_trait]
impl SecretSource for Document {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(Secret::new(self.0))
    }
}

impl domain::RenewableSecret for Document {}

pub(crate) struct Simulator {
    pub(crate) world: World,
    pub(crate) session: SessionId,
    key: AuditKey,
    waiting: Vec<Waiting>,
    sequence: u32,
    /// Messages that came back so often that the queue gave them up.
    pub(crate) dead: Vec<Message>,
}

/// A message in a queue.
struct Waiting {
    id: String,
    received: u32,
    /// When the queue shows it.
    visible_at: Timestamp,
    message: Message,
}

/// A paid session as Stripe would return it.
pub(crate) fn paid_session(id: &str, tier: &str, email: Option<&str>) -> CheckoutSession {
    CheckoutSession {
        id: SessionId::parse(id).unwrap(),
        payment_status: PaymentStatus::Paid,
        open: false,
        metadata: [("tier", tier), ("q0", QUESTION), ("qn", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        idea: None,
        email: email.map(|address| EmailAddress::parse(address).unwrap()),
        amount_total: Some(500),
        currency: Some("cad".to_owned()),
        payment: Some(PaymentId::parse(format!("pi_{id}")).unwrap()),
        created: Some(Timestamp::from_seconds(1_800_000_000)),
    }
}

pub(crate) fn quick(colour: &str, summary: &str) -> String {
    json!({ "verdict": colour, "summary": summary }).to_string()
}

pub(crate) fn strategy() -> String {
    let dimension = |text: &str| json!({ "verdict": "GREEN", "analysis": text });
    json!({
        "verdict": "GREEN", "summary": "Demand is real and the format fits the audience.",
        "breakdown": {
            "Stability": dimension("The ground is firm."), "Turbulence": dimension("Competition is mild."),
            "Change Rate": dimension("Things move slowly."), "Completion": dimension("The plan is whole."),
            "Curvature": dimension("Effort pays off."),
        },
        "strategy": {
            "next_step": "Sign the lease.", "alternative": "Sell online only.",
            "tests": ["Ask ten customers.", "Run a stall for a week.", "Price it twice."],
        },
    })
    .to_string()
}

impl Simulator {
    /// A world with one paid session of the given tier.
    pub(crate) fn new(tier: &str) -> Self {
        Self::with_session(paid_session("cs_test_simulated_1", tier, Some(ADDRESS)))
    }

    pub(crate) fn with_session(session: CheckoutSession) -> Self {
        let world = World::at(Timestamp::from_seconds(1_800_000_000));
        let id = session.id.clone();
        world.state().sessions.insert(id.clone(), session);
        let key = AuditKey::new("v1", Secret::new("k".repeat(32)));
        Self { world, session: id, key, waiting: Vec::new(), sequence: 0, dead: Vec::new() }
    }

    /// What the model answers, over and over.
    pub(crate) fn model_says(&self, text: &str) {
        let reply = || Ok(ModelReply { text: text.to_owned(), model_version: "m-1".to_owned(), status_warning: None });
        self.world.state().answers = (0..64).map(|_| reply()).collect();
    }

    pub(crate) fn journal(&self) -> Journal<'_> {
        let world = &self.world;
        Journal { store: world, log: world, alerts: world, clock: world }
    }

    /// Stripe delivers the paid event, and again until it is answered with 2xx.
    pub(crate) fn stripe_delivers(&self) {
        for _ in 0..20 {
            if self.webhook().is_some_and(|reply| reply.status() == 200) {
                return;
            }
            self.world.advance(Duration::from_secs(60));
        }
        panic!("the webhook never took the event");
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
        })
        .to_string();
        let now = domain::ports::Clock::now(&self.world);
        let header = stripe::signature::sign(&Secret::new(SIGNING_SECRET), event.as_bytes(), now);
        let document = Document(r#"{"signing_secrets":["whsec_test"]}"#);
        let ports = webhook::Ports {
            signing_secrets: &document,
            smoke_secret: &Document(SMOKE_SECRET),
            orders: &self.world,
            notices: &self.world,
            payments: &self.world,
            clock: &self.world,
        };
        run(webhook::receive(ports, Some(&header), event.as_bytes()))
    }

    /// The customer's page asks once.
    pub(crate) fn page(&self) -> Option<Reply> {
        let world = &self.world;
        let ports = result::Ports {
            journal: self.journal(),
            archive: world,
            quarantine: world,
            payments: world,
            orders: world,
            notices: world,
        };
        run(result::retrieve(ports, Some(self.session.as_str())))
    }

    /// Stripe says that the payment has changed.
    pub(crate) fn payment_changes(&self, change: domain::money::PaymentChange) {
        let payment = self.world.state().sessions[&self.session].payment.clone().unwrap();
        let message = Message::PaymentChanged { v: 1, payment, change, received_at: self.now() };
        self.world.state().queue.push_back((message, Duration::ZERO));
    }

    /// The deadlines function runs once; nothing when the process died.
    pub(crate) fn deadlines(&self) -> Option<deadlines::Report> {
        let world = &self.world;
        let ports = deadlines::Ports {
            journal: self.journal(),
            open: world,
            payments: world,
            ledger: world,
            orders: world,
            notices: world,
            mails: world,
            retries: world,
        };
        run(deadlines::run(
            ports,
            deadlines::Settings { refund_held: true, most: 50, share: std::time::Duration::from_secs(20) },
        ))
    }

    /// The reconcile function runs once; nothing when the process died.
    pub(crate) fn reconcile(&self) -> Option<Result<reconcile::Report, reconcile::CompareError>> {
        let world = &self.world;
        let ports = reconcile::Ports { journal: self.journal(), ledger: world, orders: world, notices: world };
        run(reconcile::run(ports, Duration::from_secs(3 * 24 * 3600)))
    }

    /// The sale as it is stored.
    pub(crate) fn sale(&self) -> domain::Sale {
        self.world.state().sales[&self.session].0.clone()
    }

    /// The queues deliver until nothing is left, redelivering what was not finished.
    pub(crate) fn drain(&mut self) {
        for _ in 0..200 {
            if self.step().is_none() {
                return;
            }
        }
        panic!("the queues never became empty");
    }

    /// One delivery, if anything is queued: whether the message is finished. An unfinished one goes to the end.
    pub(crate) fn step(&mut self) -> Option<bool> {
        let now = self.now();
        let new: Vec<_> = self.world.state().queue.drain(..).collect();
        for (message, delay) in new {
            self.sequence += 1;
            let id = format!("message-{}", self.sequence);
            self.waiting.push(Waiting { id, received: 0, visible_at: now.plus(delay), message });
        }
        // The next one that anybody can see; time passes until there is one.
        let next = (0..self.waiting.len()).min_by_key(|index| self.waiting[*index].visible_at.max(now))?;
        let mut waiting = self.waiting.remove(next);
        self.world.advance(waiting.visible_at.since(now));
        waiting.received += 1;
        let hidden = match self.handle(&waiting.id, &waiting.message) {
            Some(Wait::Done) => return Some(true),
            Some(Wait::For(hidden)) => hidden,
            Some(Wait::Usual) | None => REDELIVERY,
        };
        waiting.visible_at = self.now().plus(hidden);
        if waiting.received >= 10 {
            self.dead.push(waiting.message);
        } else {
            self.waiting.push(waiting);
        }
        Some(false)
    }

    /// Another paid session in the same world becomes the one that is delivered and asked for.
    pub(crate) fn next_session(&mut self, id: &str) {
        let session = paid_session(id, "quick", Some(ADDRESS));
        self.session = session.id.clone();
        self.world.state().sessions.insert(session.id.clone(), session);
    }

    pub(crate) fn now(&self) -> Timestamp {
        domain::ports::Clock::now(&self.world)
    }

    /// One delivery of one message; nothing when the process died, later when it failed.
    fn handle(&self, id: &str, message: &Message) -> Option<Wait> {
        let usual =
            |handled: Option<Handled>| handled.map(|it| if it == Handled::Done { Wait::Done } else { Wait::Usual });
        let world = &self.world;
        match message {
            Message::Order { session_id, received_at, ordered_by, .. } => {
                let order = verdict::Order {
                    session_id: session_id.clone(),
                    received_at: *received_at,
                    ordered_by: *ordered_by,
                    message_id: id.to_owned(),
                };
                let handled = run(verdict::fulfil(self.verdict_ports(), &verdict_settings(), &order));
                usual(handled.map(|result| result.unwrap_or(Handled::Later)))
            }
            Message::Mail { session_id, ordered_at, letter, .. } => {
                let order = mail_order(session_id, *letter, *ordered_at, id);
                let handled = run(async {
                    let attempt = self.deliver(&order).await?;
                    email_sender::send(attempt, &order, world, world).await.map_err(|_| ())
                });
                usual(handled.map(|result| result.unwrap_or(Handled::Later)))
            }
            Message::MailRetry { session_id, ordered_at, letter, .. } => {
                let order = mail_order(session_id, *letter, *ordered_at, id);
                let attempt = run(self.deliver(&order));
                attempt.map(|result| result.map_or(Wait::Usual, |attempt| email_retry::wait(attempt, self.now())))
            }
            Message::PaymentChanged { payment, change, received_at, .. } => {
                let changed =
                    payment_events::Changed { payment: payment.clone(), change: *change, received_at: *received_at };
                let ports = payment_events::Ports { journal: self.journal(), ledger: world };
                let applied = run(payment_events::apply(ports, &changed));
                usual(applied.map(|result| if result.is_ok() { Handled::Done } else { Handled::Later }))
            }
            Message::Notice { session_id, received_at, .. } => {
                let notice = silent_drop::Notice { session_id: session_id.clone(), received_at: *received_at };
                let ports =
                    silent_drop::Ports { journal: self.journal(), payments: world, mails: world, audit_key: &self.key };
                usual(run(silent_drop::announce(ports, &notice)).map(|result| result.unwrap_or(Handled::Later)))
            }
        }
    }

    async fn deliver(&self, order: &delivery::MailOrder) -> Result<delivery::Attempt, ()> {
        let world = &self.world;
        let ports = delivery::Ports {
            journal: self.journal(),
            archive: world,
            quarantine: world,
            dead_letters: world,
            payments: world,
            mailbox: world,
            audit_key: &self.key,
        };
        let settings = delivery::Settings {
            site: "https://oracle.example".to_owned(),
            lease: Duration::from_secs(90),
            schedule: MailSchedule::standard(),
        };
        delivery::deliver(ports, &settings, order).await.map_err(|_| ())
    }

    fn verdict_ports(&self) -> verdict::Ports<'_> {
        let world = &self.world;
        verdict::Ports {
            journal: self.journal(),
            generate: verdict::GeneratePorts {
                model: world,
                breakers: world,
                alerts: world,
                clock: world,
                randomness: world,
                pause: world,
            },
            archive: world,
            quarantine: world,
            mails: world,
            notices: world,
            payments: world,
            smoke: world,
            submissions: world,
            audit_key: &self.key,
        }
    }

    /// Takes the faults away, and lets the customer's page and the queues do what they do until all is quiet.
    pub(crate) fn recover(&mut self) {
        self.world.plan(Plan::none());
        for _ in 0..4 {
            self.drain();
            self.world.advance(Duration::from_secs(400));
            self.page();
        }
        self.drain();
    }

    /// The audit log, in order, each line parsed; panics where the chain of hashes is broken.
    pub(crate) fn audit_lines(&self) -> Vec<Value> {
        let log = self.world.state().log.clone();
        let mut previous = audit::digest::sha256(b"");
        let mut lines = Vec::new();
        for (index, (key, text)) in log.iter().enumerate() {
            let line: Value = serde_json::from_str(text).unwrap();
            assert!(key.ends_with(&format!("/{:06}.json", index + 1)), "a gap before {key}");
            assert_eq!(line["seq"], index + 1);
            assert_eq!(line["prev"], previous.as_str(), "the chain is broken at {key}");
            previous = audit::digest::sha256(text.as_bytes());
            lines.push(line);
        }
        lines
    }

    /// How many audit records have this source and status.
    pub(crate) fn count(&self, source: &str, status: &str) -> usize {
        self.audit_lines().iter().filter(|line| line["source"] == source && line["status"] == status).count()
    }
}

fn mail_order(session: &SessionId, letter: Letter, ordered_at: Timestamp, id: &str) -> delivery::MailOrder {
    delivery::MailOrder { session_id: session.clone(), letter, ordered_at, message_id: id.to_owned() }
}

pub(crate) fn verdict_settings() -> verdict::Settings {
    verdict::Settings {
        policy: verdict::Policy {
            models: vec!["model-a".to_owned(), "model-b".to_owned()],
            backoff: Backoff { attempts: 3, base: Duration::from_secs(1), cap: Duration::from_secs(8) },
            breaker: BreakerPolicy {
                failures: 5,
                slow_successes: 10,
                slow: Duration::from_secs(40),
                open: Duration::from_secs(60),
            },
        },
        lease: Duration::from_secs(200),
    }
}

/// The JSON of a reply.
pub(crate) fn body(reply: &Reply) -> Value {
    serde_json::from_str(reply.body()).unwrap()
}
