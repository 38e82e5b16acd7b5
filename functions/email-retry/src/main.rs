//! The e-mail retry function's process.

use backend::{Backend, QueueName};
use delivery::Clients;
use email_retry::handle;
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let (clients, queue) = (Clients::new(&backend)?, backend.queue(QueueName::MailRetries)?);
        let (ports, settings) = (clients.ports(), clients.settings());
        serve::messages(&queue, |delivery| handle(ports, settings, delivery)).await
    })
}
