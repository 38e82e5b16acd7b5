//! The deadlines function's process.

use backend::{Backend, QueueName};
use deadlines::{Ports, Settings, handle};
use domain::notebooks;
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = Settings::from_environment(backend.environment())?;
        let (stores, stripe) = (backend.journal()?, backend.stripe()?);
        let (data, mailbox) = (backend.sale_data()?, backend.mailbox()?);
        let clients = backend.settlement_clients()?;
        let (facilitator, node) = (&clients.facilitator, &clients.node);
        let settlements = settlement::Ports { journal: stores.toll_journal(), facilitator, node };
        let logs = stores.memory_logs();
        let keys = backend.subject_keys(&stores.sales)?;
        let memories = forgetting::Ports {
            journal: stores.chat_journal(),
            bridges: stores.bridge_journal(),
            logs: &logs,
            keys: &keys,
        };
        let site = backend.site()?;
        let letters = bridge::Letters {
            bridges: bridge::Ports { journal: stores.bridge_journal(), accounts: &stores.sales, keys: &keys },
            mailbox: &mailbox,
            mails: &mailbox,
            site: &site,
        };
        let notebooks: Vec<_> = notebooks::without_schedule().map(|name| stores.function_journal(name)).collect();
        let ports = Ports {
            settlements,
            notes: &stores.sales,
            memories,
            notebooks: &notebooks,
            letters,
            journal: stores.journal(),
            open: &stores.sales,
            payments: &stripe,
            ledger: &stripe,
            orders: &backend.queue(QueueName::Orders)?,
            notices: &backend.queue(QueueName::Notices)?,
            mails: &backend.queue(QueueName::Mails)?,
            retries: &backend.queue(QueueName::MailRetries)?,
            data: &data,
            stored_mails: &mailbox,
            meter: &System,
            summaries: &backend.alerts()?,
        };
        serve::events(|_| async move { handle(ports, settings).await.map(drop) }).await
    })
}
