//! The inbox-watch function's process.

use aws::{DynamoSubmissions, KmsSubjectKeys, SnsBroadcast};
use backend::{Backend, QueueName, SecretName, Topic};
use inbox_watch::{FUNCTION, Ports, Settings, handle};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = &Settings::from_environment(backend.environment())?;
        let stores = backend.journal()?;
        let mailbox = backend.mailbox_storing_tokens(stores.alerts.clone())?;
        let wrapping_key = backend.environment().required("MEMORY_KEY_ARN")?;
        let keys = KmsSubjectKeys::new(&stores.sales, backend.connection().clone(), wrapping_key);
        let ports = Ports {
            journal: stores.function_journal(FUNCTION),
            store: &stores.sales,
            submissions: &DynamoSubmissions(&stores.sales),
            orders: &backend.queue(QueueName::Orders)?,
            bridges: bridge::Ports { journal: stores.bridge_journal(), accounts: &stores.sales, keys: &keys },
            inbox: &mailbox,
            relayed: &stores.sales,
            mailbox: &mailbox,
            broadcast: &SnsBroadcast::new(backend.connection().clone(), backend.topic(Topic::Ops)?),
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
