//! The silent-drop function's process.

use backend::{Backend, QueueName, SecretName};
use runtime::{Error, serve};
use silent_drop::{Ports, handle};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let stores = backend.journal()?;
        let ports = Ports {
            journal: stores.journal(),
            payments: &backend.stripe()?,
            mails: &backend.queue(QueueName::Mails)?,
            audit_keys: &backend.secret(SecretName::Audit)?,
        };
        let (queue, dead_letters) = (backend.queue(QueueName::Notices)?, backend.queue(QueueName::OwnDeadLetters)?);
        serve::messages(&queue, &dead_letters, |delivery| handle(ports, delivery)).await
    })
}
