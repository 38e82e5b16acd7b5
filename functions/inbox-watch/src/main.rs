//! The inbox-watch function's process.

use backend::{Backend, QueueName, SecretName, Topic};
use inbox_watch::{FUNCTION, Ports, Settings, handle};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = &Settings::from_environment(backend.environment())?;
        let stores = backend.journal()?;
        let mailbox = backend.mailbox_storing_tokens(stores.alerts.clone())?;
        let keys = backend.subject_keys(&stores.sales)?;
        let ports = Ports {
            journal: stores.function_journal(FUNCTION),
            store: &stores.sales,
            submissions: &stores.submissions(),
            orders: &backend.queue(QueueName::Orders)?,
            bridges: bridge::Ports { journal: stores.bridge_journal(), accounts: &stores.sales, keys: &keys },
            inbox: &mailbox,
            relayed: &stores.sales,
            mailbox: &mailbox,
            broadcast: &backend.broadcast(Topic::Ops)?,
            pause: &System,
            audit_keys: &backend.secret(SecretName::Audit)?,
            meter: &System,
        };
        serve::events(|event| async move {
            handle(ports, settings, &event.context.request_id).await;
            Ok::<(), Error>(())
        })
        .await
    })
}
