//! The deadlines function's process.

use backend::{Backend, QueueName};
use deadlines::{Ports, Settings, handle};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = Settings::from_environment(backend.environment())?;
        let (stores, stripe) = (backend.journal()?, backend.stripe()?);
        let (data, mailbox) = (backend.sale_data()?, backend.mailbox()?);
        let till = backend.till()?;
        let settlements = till.as_ref().map(|till| settlement::Ports {
            journal: stores.toll_journal(),
            facilitator: &till.facilitator,
            node: &till.node,
        });
        let ports = Ports {
            settlements,
            journal: stores.journal(),
            open: &stores.sales,
            payments: &stripe,
            ledger: &stripe,
            orders: &backend.queue(QueueName::Orders)?,
            notices: &backend.queue(QueueName::Notices)?,
            mails: &backend.queue(QueueName::Mails)?,
            retries: &backend.queue(QueueName::MailRetries)?,
            data: &data,
            sale_mails: &mailbox,
            meter: &System,
        };
        serve::events(|_| async move { handle(ports, settings).await.complete() }).await
    })
}
