//! The e-mail function's process.

use backend::{Backend, QueueName};
use delivery::Clients;
use email_sender::handle;
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let clients = Clients::new(&backend)?;
        let (queue, dead_letters) = (backend.queue(QueueName::Mails)?, backend.queue(QueueName::OwnDeadLetters)?);
        let (ports, settings) = (clients.ports(), clients.settings());
        serve::messages(&queue, &dead_letters, |delivery| handle(ports, settings, delivery)).await
    })
}
