//! The functions with their ports in one world: what each crate's `function.rs` wires on AWS.

use audit::{AuditKey, Journal};
use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use domain::{Secret, Timestamp, backoff::Backoff, breaker::BreakerPolicy, message::Message};
use runtime::{Handled, each_message, http::Reply, queue::Delivery};
use std::time::Duration;
use testkit::{
    World,
    world::{NamedQueue, StoredSecret},
};

const SIGNING_SECRET: &str = "whsec_simulated";
pub(crate) const SITE: &str = "https://oracle.example";

/// The functions of one world.
pub(crate) struct House<'w> {
    pub(crate) world: &'w World,
    orders: NamedQueue<'w>,
    mails: NamedQueue<'w>,
    notices: NamedQueue<'w>,
    signing: StoredSecret<'w>,
    key: AuditKey,
    verdict: verdict::Settings,
    mail: email_sender::Settings,
}

impl<'w> House<'w> {
    pub(crate) fn new(world: &'w World) -> Self {
        Self {
            world,
            orders: world.queue("orders"),
            mails: world.queue("email"),
            notices: world.queue("notices"),
            signing: world.secret(&format!(r#"{{"signing_secrets":["{SIGNING_SECRET}"]}}"#)),
            key: AuditKey::new("v1", Secret::new("k".repeat(32))),
            verdict: verdict::Settings {
                policy: verdict::Policy {
                    models: vec!["model-a".to_owned(), "model-b".to_owned()],
                    backoff: Backoff { attempts: 3, base: Duration::from_secs(1), cap: Duration::from_secs(8) },
                    breaker: BreakerPolicy {
                        // Fewer than in the template, so that it opens in worlds of a few sales.
                        failures: 2,
                        slow_successes: 3,
                        slow: Duration::from_secs(40),
                        open: Duration::from_secs(60),
                    },
                },
                lease: Duration::from_secs(200),
            },
            mail: email_sender::Settings { site: SITE.to_owned(), lease: Duration::from_secs(120), patience: 5 },
        }
    }

    fn journal(&self) -> Journal<'_> {
        Journal { store: self.world, log: self.world, alerts: self.world, clock: self.world }
    }

    pub(crate) async fn checkout(&self, body: String) -> Reply {
        let ports = checkout::Ports { payments: self.world, randomness: self.world };
        checkout::purchase(ports, body.as_bytes()).await
    }

    /// Stripe signs on its own clock, which is right.
    pub(crate) async fn webhook(&self, signed_at: Timestamp, event: String) -> Reply {
        let header = stripe::signature::sign(&Secret::new(SIGNING_SECRET), event.as_bytes(), signed_at);
        let ports = webhook::Ports {
            signing_secrets: &self.signing,
            orders: &self.orders,
            notices: &self.notices,
            clock: self.world,
        };
        webhook::receive(ports, Some(&header), event.as_bytes()).await
    }

    pub(crate) async fn page(&self, session: String) -> Reply {
        let ports = result::Ports {
            journal: self.journal(),
            archive: self.world,
            quarantine: self.world,
            payments: self.world,
            orders: &self.orders,
            notices: &self.notices,
        };
        result::retrieve(ports, Some(&session)).await
    }

    /// One invocation for one message, through the loop that every queue function has.
    pub(crate) async fn message(&self, queue: &'static str, id: String, receives: u32, body: String) -> Handled {
        let mut record = SqsMessage::default();
        record.message_id = Some(id);
        record.body = Some(body);
        record.attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
        let mut batch = SqsEvent::default();
        batch.records.push(record);
        let response = match queue {
            "orders" => each_message(batch, |delivery| self.order(delivery)).await,
            "email" => each_message(batch, |delivery| self.mail(delivery)).await,
            _ => each_message(batch, |delivery| self.notice(delivery)).await,
        };
        if response.batch_item_failures.is_empty() { Handled::Done } else { Handled::Later }
    }

    async fn order(&self, delivery: Delivery) -> Handled {
        let Message::Order { session_id, received_at, ordered_by, .. } = delivery.message else {
            return Handled::Later;
        };
        let order = verdict::Order { session_id, received_at, ordered_by, message_id: delivery.message_id };
        let ports = verdict::Ports {
            journal: self.journal(),
            generate: verdict::GeneratePorts {
                model: self.world,
                breakers: self.world,
                alerts: self.world,
                clock: self.world,
                randomness: self.world,
                pause: self.world,
            },
            archive: self.world,
            quarantine: self.world,
            mails: &self.mails,
            notices: &self.notices,
            payments: self.world,
            audit_key: &self.key,
        };
        verdict::fulfil(ports, &self.verdict, &order).await.unwrap_or(Handled::Later)
    }

    async fn mail(&self, delivery: Delivery) -> Handled {
        let Delivery { message_id, receive_count, message } = delivery;
        let Message::Mail { session_id, ordered_at, .. } = message else { return Handled::Later };
        let order = email_sender::MailOrder { session_id, ordered_at, message_id, receive_count };
        let ports = email_sender::Ports {
            journal: self.journal(),
            archive: self.world,
            quarantine: self.world,
            payments: self.world,
            mailbox: self.world,
            audit_key: &self.key,
        };
        email_sender::deliver(ports, &self.mail, &order).await.unwrap_or(Handled::Later)
    }

    async fn notice(&self, delivery: Delivery) -> Handled {
        let Message::Notice { session_id, received_at, .. } = delivery.message else { return Handled::Later };
        let notice = silent_drop::Notice { session_id, received_at };
        let ports = silent_drop::Ports {
            journal: self.journal(),
            payments: self.world,
            mails: &self.mails,
            audit_key: &self.key,
        };
        silent_drop::announce(ports, &notice).await.unwrap_or(Handled::Later)
    }
}
