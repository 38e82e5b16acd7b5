//! The e-mail function's process.

use backend::{Backend, QueueName};
use delivery::Clients;
use email_sender::handle;
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let (clients, queue) = (Clients::new(&backend)?, backend.queue(QueueName::Mails)?);
        let (ports, settings) = (clients.ports(), clients.settings());
        serve::messages(&queue, |delivery| handle(ports, settings, delivery)).await
    })
}
