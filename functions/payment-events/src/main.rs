//! The payment-events function's process.

use backend::{Backend, QueueName};
use payment_events::{Ports, handle};
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let (stores, stripe) = (backend.journal()?, backend.stripe()?);
        let ports = Ports {
            journal: stores.journal(),
            ledger: &stripe,
            subscribers: stores.subscriber_journal(),
            subscriptions: &stripe,
            sold_here: backend.sales_period()?,
        };
        let (queue, dead_letters) = (backend.queue(QueueName::Payments)?, backend.queue(QueueName::OwnDeadLetters)?);
        serve::messages(&queue, &dead_letters, |delivery| handle(ports, delivery)).await
    })
}
