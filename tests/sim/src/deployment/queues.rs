//! The functions that handle the messages of queues.

use super::Deployment;
use crate::{defects::Defect, ports::Outgoing, settings::SETTINGS};
use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use domain::message::Message;
use runtime::{Handled, Redelivery, each_message, queue::Delivery};

impl<'w> Deployment<'w> {
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
            "email" => email_sender::handle(self.mail_ports(), &SETTINGS.mail, delivery).await,
            "email-retry" => email_retry::handle(self.mail_ports(), &SETTINGS.mail, delivery).await,
            "payments" => {
                let ports = payment_events::Ports {
                    journal: self.journal(),
                    ledger: &self.ports,
                    subscribers: self.subscriber_journal(),
                    subscriptions: self.world,
                    sold_here: domain::SalesPeriod::ALL,
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
            breakers: &self.ports,
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
}
