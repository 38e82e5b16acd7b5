//! The webhook function's process.

use backend::{Backend, QueueName, SecretName};
use runtime::{Error, System, serve};
use webhook::{Ports, handle};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let ports = Ports {
            signing_secrets: &backend.secret(SecretName::StripeWebhook)?,
            smoke_secret: &backend.secret(SecretName::StripeSmoke)?,
            orders: &backend.queue(QueueName::Orders)?,
            notices: &backend.queue(QueueName::Notices)?,
            payments: &backend.queue(QueueName::Payments)?,
            meter: &System,
            clock: &System,
        };
        serve::requests(|request| handle(ports, request)).await
    })
}
