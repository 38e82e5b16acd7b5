//! The verdict function's process.

use backend::{Backend, QueueName, SecretName};
use runtime::{Error, System, serve};
use verdict::{Ports, Settings, handle};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = Settings::from_environment(backend.environment(), &backend.models()?)?;
        let stores = backend.journal()?;
        let ports = Ports {
            journal: stores.journal(),
            model: &backend.gemini()?,
            breakers: &stores.sales,
            archive: &backend.archive()?,
            quarantine: &backend.quarantine()?,
            mails: &backend.queue(QueueName::Mails)?,
            notices: &backend.queue(QueueName::Notices)?,
            payments: &backend.stripe()?,
            smoke: &backend.stripe_test_mode()?,
            submissions: &stores.submissions(),
            audit_keys: &backend.secret(SecretName::Audit)?,
            randomness: &System,
            pause: &System,
            meter: &System,
        };
        let (queue, dead_letters) = (backend.queue(QueueName::Orders)?, backend.queue(QueueName::OwnDeadLetters)?);
        serve::messages(&queue, &dead_letters, |delivery| handle(ports, &settings, delivery)).await
    })
}
