//! The toll function's process.

use backend::Backend;
use domain::notebooks::TOLL_NOT_TAKEN;
use retrieval::Library;
use runtime::{Error, System, serve};
use toll::{Corpus, Ports, Settings, Terms, handle, payments};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let clients = backend.settlement_clients()?;
        let terms = Terms { network: clients.network, pay_to: clients.pay_to, site: backend.site()? };
        let settings = Settings::from_environment(backend.environment(), &backend.models()?, terms)?;
        let stores = backend.journal()?;
        let (corpora, library) = (backend.corpora()?, Library::default());
        let ports = Ports {
            journal: stores.toll_journal(),
            rejections: stores.function_journal(TOLL_NOT_TAKEN[0]),
            facilitator: &clients.facilitator,
            node: &clients.node,
            payments: &payments(),
            unknown_ids: &stores.sales,
            model: &backend.gemini()?,
            corpus: Corpus { notes: &stores.sales, corpora: &corpora, library: &library },
            breakers: &stores.sales,
            randomness: &System,
            pause: &System,
            meter: &System,
        };
        serve::requests(|request| handle(ports, &settings, request)).await
    })
}
