//! The chat function's process.

use backend::{Backend, SecretName};
use chat::{Ports, Settings, handle};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = Settings::from_environment(backend.environment(), &backend.models()?, backend.site()?)?;
        let stores = backend.journal()?;
        let ports = Ports {
            journal: stores.chat_journal(),
            bridges: stores.bridge_journal(),
            sign_ins: &stores.sales,
            access: &stores.sales,
            subscribers: &stores.sales,
            pages: &backend.stripe()?,
            mailbox: &backend.sending(backend.mailbox()?)?,
            logs: &stores.memory_logs(),
            keys: &backend.subject_keys(&stores.sales)?,
            secret: &backend.secret(SecretName::Chat)?,
            model: &backend.gemini()?,
            beginnings: &stores.sales,
            breakers: &stores.sales,
            randomness: &System,
            pause: &System,
            meter: &System,
        };
        serve::requests(|request| handle(ports, &settings, request)).await
    })
}
