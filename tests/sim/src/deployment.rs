//! The functions on the ports of one world: what each function's `main` does with the clients of AWS and the vendors.

use crate::{
    defects::Defect,
    ports::{KeptSecret, Outgoing, Ports},
};
use async_trait::async_trait;
use audit::{BridgeJournal, FunctionJournal, Journal, SubscriberJournal};
use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use domain::{
    EmailAddress, Guessing, Secret, StepError, Timestamp,
    backoff::Backoff,
    breaker::{BreakerPolicy, Reopen},
    mail::MailSchedule,
    message::Message,
    ports::Pause,
    retry::RetryTable,
};
use runtime::{
    Handled, Redelivery, each_message,
    http::{Reply, Request},
    queue::Delivery,
};
use std::time::Duration;
use testkit::World;

/// What Stripe signs its events with.
pub const SIGNING_SECRET: &str = "whsec_simulated";
/// What the smoke test signs its event with.
pub const SMOKE_SIGNING_SECRET: &str = "whsec_smoke";
/// The address of the site.
pub const SITE: &str = "https://oracle.example";

/// When the model is left alone, as in the template.
pub const BREAKER: BreakerPolicy = BreakerPolicy {
    failures: 5,
    slow_successes: 10,
    slow: Duration::from_secs(40),
    open: Duration::from_secs(60),
    reopen: Reopen::STANDARD,
};

const SMOKE_SECRET: &str = r#"{"secret_key":"sk_test_smoke","signing_secret":"whsec_smoke"}"#;
const AUDIT_KEYS: &str = r#"{"current":"v1","keys":{"v1":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}}"#;

/// The functions of one world.
pub struct Deployment<'w> {
    /// The world.
    pub world: &'w World,
    pub(crate) ports: Ports<'w>,
    pub(crate) orders: Outgoing<'w>,
    mails: Outgoing<'w>,
    pub(crate) retries: Outgoing<'w>,
    pub(crate) notices: Outgoing<'w>,
    payments: Outgoing<'w>,
    signing: KeptSecret<'w>,
    smoke: KeptSecret<'w>,
    audit_keys: KeptSecret<'w>,
    /// The settings of the verdict function.
    pub verdict: verdict::Settings,
    mail: delivery::Settings,
    asked: result::Asked,
    codes: Guessing,
    watching: Option<inbox_watch::Settings>,
    contact: Option<EmailAddress>,
}

/// No time is ever up: a process that died is not polled again.
struct NoLimit;

#[async_trait]
impl Pause for NoLimit {
    async fn pause(&self, _duration: Duration) {
        std::future::pending().await
    }
}

impl<'w> Deployment<'w> {
    /// The functions with the template's settings.
    #[must_use]
    pub fn new(world: &'w World) -> Self {
        Self::with_defect(world, None)
    }

    /// The same; a port or a queue may have a defect.
    #[must_use]
    pub fn with_defect(world: &'w World, defect: Option<Defect>) -> Self {
        let ports = Ports { world, defect };
        Self {
            world,
            ports,
            orders: Outgoing::new(ports, "orders"),
            mails: Outgoing::new(ports, "email"),
            retries: Outgoing::new(ports, "email-retry"),
            notices: Outgoing::new(ports, "notices"),
            payments: Outgoing::new(ports, "payments"),
            signing: KeptSecret::new(world, &format!(r#"{{"signing_secrets":["{SIGNING_SECRET}"]}}"#)),
            smoke: KeptSecret::new(world, SMOKE_SECRET),
            audit_keys: KeptSecret::new(world, AUDIT_KEYS),
            verdict: verdict::Settings {
                policy: verdict::Policy {
                    models: vec!["model-a".to_owned(), "model-b".to_owned()],
                    backoff: Backoff { attempts: 3, base: Duration::from_secs(1), cap: Duration::from_secs(8) },
                    breaker: BREAKER,
                },
                retries: RetryTable::standard(),
                lease: Duration::from_secs(200),
            },
            mail: delivery::Settings {
                site: SITE.to_owned(),
                lease: Duration::from_secs(120),
                schedule: MailSchedule::standard(),
            },
            asked: result::Asked::default(),
            codes: checkout::codes(),
            watching: EmailAddress::parse("oracle@42sisters.ai").ok().map(inbox_watch::Settings::of),
            contact: EmailAddress::parse("oracle@42sisters.ai").ok(),
        }
    }

    /// The journal of sales.
    #[must_use]
    pub const fn journal(&self) -> Journal<'_> {
        Journal { store: &self.ports, log: &self.ports, alerts: &self.ports, clock: self.world }
    }

    /// The journal of subscribers.
    #[must_use]
    pub const fn subscriber_journal(&self) -> SubscriberJournal<'_> {
        SubscriberJournal { store: self.world, log: &self.ports, alerts: &self.ports, clock: self.world }
    }

    /// The journal of Bridges.
    const fn bridge_journal(&self) -> BridgeJournal<'_> {
        BridgeJournal { store: self.world, log: &self.ports, alerts: &self.ports, clock: self.world }
    }

    /// POST /api/checkout.
    pub async fn checkout(&self, body: String) -> Reply {
        self.purchase(Request::post("/api/checkout", body)).await
    }

    /// Any request to the checkout function.
    pub async fn purchase(&self, request: Request) -> Reply {
        let world = self.world;
        let journal = FunctionJournal {
            function: checkout::STREAMS[0],
            notes: world,
            log: &self.ports,
            alerts: &self.ports,
            clock: world,
        };
        let ports = checkout::Ports {
            payments: &self.ports,
            randomness: world,
            meter: world,
            clock: world,
            codes: &self.codes,
            guesses: world,
            records: checkout::Records { journal, audit_keys: &self.audit_keys, meter: world },
        };
        checkout::handle(ports, request).await
    }

    /// POST /api/webhook, signed at `signed_at` with `secret`.
    pub async fn webhook(&self, secret: &str, signed_at: Timestamp, event: String) -> Reply {
        let signature = stripe::signature::sign(&Secret::new(secret), event.as_bytes(), signed_at);
        self.receive(Request::post("/api/webhook", event).with_header("stripe-signature", &signature)).await
    }

    /// Any request to the webhook function.
    pub async fn receive(&self, request: Request) -> Reply {
        let ports = webhook::Ports {
            signing_secrets: &self.signing,
            smoke_secret: &self.smoke,
            orders: &self.orders,
            notices: &self.notices,
            payments: &self.payments,
            meter: self.world,
            clock: self.world,
        };
        webhook::handle(ports, request).await
    }

    /// GET /api/verdict.
    pub async fn page(&self, session: &str) -> Reply {
        self.result(Request::get("/api/verdict").with_query("session_id", session)).await
    }

    /// POST /api/followup.
    pub async fn followup(&self, body: String) -> Reply {
        self.result(Request::post("/api/followup", body)).await
    }

    /// Any request to the result function.
    pub async fn result(&self, request: Request) -> Reply {
        let Some(contact) = &self.contact else { return Reply::error(500, "no_contact", "") };
        let ports = result::Ports {
            journal: self.journal(),
            notes: self.world,
            archive: &self.ports,
            quarantine: &self.ports,
            payments: &self.ports,
            orders: &self.orders,
            notices: &self.notices,
            meter: self.world,
            asked: &self.asked,
            guesses: self.world,
            submissions: self.world,
            site: "https://oracle.example",
            contact,
        };
        result::handle(ports, request).await
    }

    /// One run of inbox-watch, as the schedule starts it.
    pub async fn watch_inbox(&self, request_id: &str) {
        let (world, Some(watching)) = (self.world, &self.watching) else { return };
        let ports = inbox_watch::Ports {
            journal: FunctionJournal {
                function: inbox_watch::FUNCTION,
                notes: world,
                log: &self.ports,
                alerts: &self.ports,
                clock: world,
            },
            store: &self.ports,
            submissions: world,
            orders: &self.orders,
            bridges: bridge::Ports { journal: self.bridge_journal(), accounts: world, keys: world },
            inbox: world,
            relayed: &self.ports,
            mailbox: &self.ports,
            broadcast: world,
            pause: &NoLimit,
            audit_keys: &self.audit_keys,
            meter: world,
        };
        inbox_watch::handle(ports, watching, request_id).await;
    }

    /// One invocation for one message of a queue, as Lambda delivers it.
    pub async fn message(&self, queue: &str, id: String, receives: u32, body: String) -> Handled {
        let mut record = SqsMessage::default();
        record.receipt_handle = id.rsplit_once('-').map(|(_, number)| number.to_owned());
        record.message_id = Some(id);
        let acknowledged = matches!(self.ports.defect, Some(Defect::FailureAcknowledged(of)) if of == queue);
        record.body = Some(body);
        record.attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
        let mut batch = SqsEvent::default();
        batch.records.push(record);
        let outgoing = self.queue_named(queue);
        let world = self.world;
        let redelivery =
            Redelivery { queue: outgoing, dead_letters: outgoing, clock: world, randomness: world, meter: world };
        let response = each_message(batch, redelivery, |delivery| self.deliver(queue, delivery)).await;
        if response.batch_item_failures.is_empty() || acknowledged { Handled::Done } else { Handled::Later }
    }

    const fn queue_named(&self, name: &str) -> &Outgoing<'w> {
        match name.as_bytes() {
            b"orders" => &self.orders,
            b"email" => &self.mails,
            b"email-retry" => &self.retries,
            b"payments" => &self.payments,
            _ => &self.notices,
        }
    }

    /// The queue that a message belongs into.
    #[must_use]
    pub const fn queue_of(message: &Message) -> &'static str {
        match message {
            Message::Order { .. } => "orders",
            Message::Mail { .. } => "email",
            Message::MailRetry { .. } => "email-retry",
            Message::Notice { .. } => "notices",
            Message::PaymentChanged { .. } | Message::SubscriptionChanged { .. } => "payments",
        }
    }

    /// The handler of a queue's function, for one message.
    pub async fn deliver(&self, queue: &str, delivery: Delivery) -> Handled {
        match queue {
            "orders" => verdict::handle(self.verdict_ports(), &self.verdict, delivery).await,
            "email" => email_sender::handle(self.mail_ports(), &self.mail, delivery).await,
            "email-retry" => email_retry::handle(self.mail_ports(), &self.mail, delivery).await,
            "payments" => {
                let ports = payment_events::Ports {
                    journal: self.journal(),
                    ledger: &self.ports,
                    subscribers: self.subscriber_journal(),
                    subscriptions: self.world,
                };
                payment_events::handle(ports, delivery).await
            }
            _ => {
                let ports = silent_drop::Ports {
                    journal: self.journal(),
                    payments: &self.ports,
                    mails: &self.mails,
                    audit_keys: &self.audit_keys,
                };
                silent_drop::handle(ports, delivery).await
            }
        }
    }

    fn verdict_ports(&self) -> verdict::Ports<'_> {
        verdict::Ports {
            journal: self.journal(),
            model: self.world,
            breakers: self.world,
            archive: &self.ports,
            quarantine: &self.ports,
            mails: &self.mails,
            notices: &self.notices,
            payments: &self.ports,
            smoke: self.world,
            submissions: self.world,
            audit_keys: &self.audit_keys,
            randomness: self.world,
            pause: self.world,
            meter: self.world,
        }
    }

    fn mail_ports(&self) -> delivery::Ports<'_> {
        delivery::Ports {
            journal: self.journal(),
            archive: &self.ports,
            quarantine: &self.ports,
            dead_letters: &self.ports,
            payments: &self.ports,
            mailbox: &self.ports,
            audit_keys: &self.audit_keys,
            retries: &self.retries,
            breakers: self.world,
            meter: self.world,
        }
    }

    /// One run of the deadlines function.
    pub async fn deadlines(&self, refund_held: bool) -> domain::due::Report {
        let ports = deadlines::Ports {
            journal: self.journal(),
            open: &self.ports,
            payments: &self.ports,
            ledger: &self.ports,
            orders: &self.orders,
            notices: &self.notices,
            mails: &self.mails,
            retries: &self.retries,
            data: self.world,
            sale_mails: self.world,
            settlements: None,
            memories: None,
            letters: None,
            meter: self.world,
            summaries: self.world,
        };
        let settings = deadlines::Settings { refund_held, most: 50, share: Duration::from_secs(20) };
        deadlines::handle(ports, settings).await
    }

    /// One run of the reconcile function.
    ///
    /// # Errors
    /// [`StepError`], as the function.
    pub async fn reconcile(&self) -> Result<reconcile::Report, StepError> {
        let ports = reconcile::Ports {
            journal: self.journal(),
            ledger: &self.ports,
            subscriptions: self.world,
            orders: &self.orders,
            notices: &self.notices,
            payments: &self.payments,
            meter: self.world,
        };
        reconcile::handle(ports, Duration::from_secs(3 * 24 * 3600)).await
    }
}
