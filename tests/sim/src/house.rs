//! The functions with their ports in one world: what each crate's `function.rs` wires on AWS.

use crate::{
    cast::replacement,
    defects::Defect,
    ports::{Outgoing, Ports},
};
use audit::{AuditKey, Journal};
use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use domain::{
    Secret, SessionId, Submission, Tier, Timestamp,
    backoff::Backoff,
    breaker::BreakerPolicy,
    mail::MailSchedule,
    message::Message,
    ports::{Clock, RetryQueue},
};
use email_retry::{Wait, wait};
use operations::{Operator, quarantine, reattempt, redrive, refunds};
use runtime::{Handled, each_message, http::Reply, queue::Delivery};
use std::time::Duration;
use testkit::{World, world::StoredSecret};

const SIGNING_SECRET: &str = "whsec_simulated";
pub(crate) const SITE: &str = "https://oracle.example";

/// The functions of one world.
pub(crate) struct House<'w> {
    pub(crate) world: &'w World,
    pub(crate) ports: Ports<'w>,
    orders: Outgoing<'w>,
    mails: Outgoing<'w>,
    retries: Outgoing<'w>,
    notices: Outgoing<'w>,
    payments: Outgoing<'w>,
    signing: StoredSecret<'w>,
    key: AuditKey,
    verdict: verdict::Settings,
    mail: delivery::Settings,
}

/// What an operator decides about a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Decision {
    Approve,
    Replace,
    Reattempt,
    Resubmit,
    Redrive,
    Refund,
}

/// What came of an operator's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Done,
    /// No, with a reason.
    Refused,
    /// Something broke: the command says that it can be repeated.
    Broken,
}

impl<'w> House<'w> {
    pub(crate) fn new(world: &'w World, defect: Option<Defect>) -> Self {
        let ports = Ports { world, defect };
        Self {
            world,
            ports,
            orders: Outgoing::new(ports, "orders"),
            mails: Outgoing::new(ports, "email"),
            retries: Outgoing::new(ports, "email-retry"),
            notices: Outgoing::new(ports, "notices"),
            payments: Outgoing::new(ports, "payments"),
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
            mail: delivery::Settings {
                site: SITE.to_owned(),
                lease: Duration::from_secs(120),
                schedule: MailSchedule::standard(),
            },
        }
    }

    fn journal(&self) -> Journal<'_> {
        Journal { store: &self.ports, log: &self.ports, alerts: &self.ports, clock: self.world }
    }

    pub(crate) async fn checkout(&self, body: String) -> Reply {
        let ports = checkout::Ports { payments: &self.ports, randomness: self.world };
        checkout::purchase(ports, body.as_bytes()).await
    }

    /// Stripe signs on its own clock, which is right.
    pub(crate) async fn webhook(&self, signed_at: Timestamp, event: String) -> Reply {
        let header = stripe::signature::sign(&Secret::new(SIGNING_SECRET), event.as_bytes(), signed_at);
        let ports = webhook::Ports {
            signing_secrets: &self.signing,
            smoke_secret: &self.signing,
            orders: &self.orders,
            notices: &self.notices,
            payments: &self.payments,
            clock: self.world,
        };
        webhook::receive(ports, Some(&header), event.as_bytes()).await
    }

    pub(crate) async fn page(&self, session: String) -> Reply {
        let ports = result::Ports {
            journal: self.journal(),
            archive: &self.ports,
            quarantine: &self.ports,
            payments: &self.ports,
            orders: &self.orders,
            notices: &self.notices,
        };
        result::retrieve(ports, Some(&session)).await
    }

    /// One invocation for one message, through the loop that every queue function has.
    pub(crate) async fn message(&self, queue: &'static str, id: String, receives: u32, body: String) -> Handled {
        let mut record = SqsMessage::default();
        record.receipt_handle = id.rsplit_once('-').map(|(_, number)| number.to_owned());
        record.message_id = Some(id);
        record.attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
        let acknowledged = match self.ports.defect {
            Some(Defect::FailureAcknowledged(of)) => of == queue,
            Some(Defect::UnreadableAcknowledged) => Message::parse(&body).is_err(),
            _ => false,
        };
        record.body = Some(body);
        let mut batch = SqsEvent::default();
        batch.records.push(record);
        let response = match queue {
            "orders" => each_message(batch, |delivery| self.order(delivery)).await,
            "email" => each_message(batch, |delivery| self.mail(delivery)).await,
            "email-retry" => each_message(batch, |delivery| self.retry(delivery)).await,
            "payments" => each_message(batch, |delivery| self.payment(delivery)).await,
            _ => each_message(batch, |delivery| self.notice(delivery)).await,
        };
        if response.batch_item_failures.is_empty() || acknowledged { Handled::Done } else { Handled::Later }
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
                alerts: &self.ports,
                clock: self.world,
                randomness: self.world,
                pause: self.world,
            },
            archive: &self.ports,
            quarantine: &self.ports,
            mails: &self.mails,
            notices: &self.notices,
            payments: &self.ports,
            smoke: self.world,
            submissions: self.world,
            audit_key: &self.key,
        };
        verdict::fulfil(ports, &self.verdict, &order).await.unwrap_or(Handled::Later)
    }

    async fn mail(&self, delivery: Delivery) -> Handled {
        let Message::Mail { session_id, letter, ordered_at, .. } = delivery.message else { return Handled::Later };
        let order = delivery::MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
        match delivery::deliver(self.delivery_ports(), &self.mail, &order).await {
            Ok(attempt) => {
                email_sender::send(attempt, &order, &self.retries, self.world).await.unwrap_or(Handled::Later)
            }
            Err(_) => Handled::Later,
        }
    }

    async fn retry(&self, delivery: Delivery) -> Handled {
        let Message::MailRetry { session_id, letter, ordered_at, .. } = delivery.message else {
            return Handled::Later;
        };
        let order = delivery::MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
        let attempt = delivery::deliver(self.delivery_ports(), &self.mail, &order).await;
        match attempt.map(|attempt| wait(attempt, self.world.now())) {
            Ok(Wait::Done) => return Handled::Done,
            Ok(Wait::Usual) | Err(_) => {}
            Ok(Wait::For(duration)) => {
                // What could not be hidden comes back after the usual time.
                let _ = self.retries.hide(&delivery.receipt_handle, duration).await;
            }
        }
        Handled::Later
    }

    fn delivery_ports(&self) -> delivery::Ports<'_> {
        delivery::Ports {
            journal: self.journal(),
            archive: &self.ports,
            quarantine: &self.ports,
            dead_letters: &self.ports,
            payments: &self.ports,
            mailbox: &self.ports,
            audit_key: &self.key,
        }
    }

    async fn payment(&self, delivery: Delivery) -> Handled {
        let Message::PaymentChanged { payment, change, received_at, .. } = delivery.message else {
            return Handled::Later;
        };
        let changed = payment_events::Changed { payment, change, received_at };
        let ports = payment_events::Ports { journal: self.journal(), ledger: &self.ports };
        match payment_events::apply(ports, &changed).await {
            Ok(()) => Handled::Done,
            Err(_) => Handled::Later,
        }
    }

    /// What is due, every few minutes.
    pub(crate) async fn deadlines(&self, refund_held: bool) {
        let ports = deadlines::Ports {
            journal: self.journal(),
            open: &self.ports,
            payments: &self.ports,
            ledger: &self.ports,
            orders: &self.orders,
            notices: &self.notices,
            mails: &self.mails,
            retries: &self.retries,
        };
        deadlines::run(ports, deadlines::Settings { refund_held, most: 50, share: std::time::Duration::from_secs(20) })
            .await;
    }

    /// Stripe's paid sessions against ours, once a day.
    pub(crate) async fn reconcile(&self) {
        let ports = reconcile::Ports {
            journal: self.journal(),
            ledger: &self.ports,
            orders: &self.orders,
            notices: &self.notices,
        };
        // What fails is the function's alarm; the next run compares again.
        let _ = reconcile::run(ports, Duration::from_secs(3 * 24 * 3600)).await;
    }

    /// An operator's command.
    pub(crate) async fn decide(
        &self,
        decision: Decision,
        session: SessionId,
        tier: Tier,
        submission: Option<Submission>,
    ) -> Answered {
        let Ok(operator) = Operator::parse("dana", Some("looked at it")) else { return Answered::Refused };
        let held = quarantine::Ports {
            journal: self.journal(),
            quarantine: &self.ports,
            payments: &self.ports,
            submissions: self.world,
            orders: &self.orders,
            retries: &self.retries,
            notices: &self.notices,
        };
        let again = reattempt::Ports { journal: self.journal(), submissions: self.world, orders: &self.orders };
        match decision {
            Decision::Approve => {
                let done = quarantine::approve(held, &operator, &session).await;
                answered(done, quarantine::DecideError::is_refusal)
            }
            Decision::Replace => {
                let done = quarantine::replace(held, &operator, &session, &replacement(tier)).await;
                answered(done, quarantine::DecideError::is_refusal)
            }
            Decision::Reattempt => {
                let done = reattempt::reattempt(again, &operator, &session, None).await;
                answered(done, reattempt::ReattemptError::is_refusal)
            }
            Decision::Resubmit => {
                let done = reattempt::reattempt(again, &operator, &session, submission.as_ref()).await;
                answered(done, reattempt::ReattemptError::is_refusal)
            }
            Decision::Redrive => {
                let ports = redrive::Ports { journal: self.journal(), retries: &self.retries };
                answered(redrive::redrive(ports, &operator, &session).await, redrive::RedriveError::is_refusal)
            }
            Decision::Refund => {
                let ports = refund::Ports { journal: self.journal(), payments: &self.ports, ledger: &self.ports };
                answered(refunds::issue(ports, &operator, &session).await, refunds::IssueError::is_refusal)
            }
        }
    }

    async fn notice(&self, delivery: Delivery) -> Handled {
        let Message::Notice { session_id, received_at, .. } = delivery.message else { return Handled::Later };
        let notice = silent_drop::Notice { session_id, received_at };
        let ports = silent_drop::Ports {
            journal: self.journal(),
            payments: &self.ports,
            mails: &self.mails,
            audit_key: &self.key,
        };
        silent_drop::announce(ports, &notice).await.unwrap_or(Handled::Later)
    }
}

fn answered<T, E>(result: Result<T, E>, is_refusal: impl Fn(&E) -> bool) -> Answered {
    match result {
        Ok(_) => Answered::Done,
        Err(error) if is_refusal(&error) => Answered::Refused,
        Err(_) => Answered::Broken,
    }
}
