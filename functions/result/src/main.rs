//! The result function's process.

use backend::{Backend, QueueName};
use result::{Ports, RecentAnswers, handle};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let stores = backend.journal()?;
        let ports = Ports {
            journal: stores.journal(),
            notes: &stores.sales,
            archive: &backend.archive()?,
            quarantine: &backend.quarantine()?,
            payments: &backend.stripe()?,
            orders: &backend.queue(QueueName::Orders)?,
            notices: &backend.queue(QueueName::Notices)?,
            meter: &System,
            recent_answers: &RecentAnswers::new(backend.unknown_id_limits()?),
            unknown_ids: &stores.sales,
            submissions: &stores.submissions(),
            site: &backend.site()?,
            sells_on: backend.sells_on()?,
            contact: &backend.sender()?,
        };
        serve::requests(|request| handle(ports, request)).await
    })
}
