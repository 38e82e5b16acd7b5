//! The reconcile function's process.

use backend::{Backend, QueueName};
use reconcile::{FUNCTION, Ports, handle, look_back};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let look_back = look_back(backend.environment())?;
        let (stores, stripe) = (backend.journal()?, backend.stripe()?);
        let ports = Ports {
            journal: stores.journal(),
            notebook: stores.function_journal(FUNCTION),
            ledger: &stripe,
            subscriptions: &stripe,
            orders: &backend.queue(QueueName::Orders)?,
            notices: &backend.queue(QueueName::Notices)?,
            payments: &backend.queue(QueueName::Payments)?,
            meter: &System,
            sold_here: backend.sales_period()?,
        };
        serve::events(|_| async move { handle(ports, look_back).await.map(drop) }).await
    })
}
