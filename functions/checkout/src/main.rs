//! The checkout function's process.

use backend::{Backend, SecretName};
use checkout::{Ports, Records, STREAMS, codes, handle};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let payments = backend.stripe()?;
        let stores = backend.journal()?;
        let ports = Ports {
            payments: &payments,
            randomness: &System,
            meter: &System,
            clock: &System,
            codes: &codes(backend.unknown_id_limits()?),
            unknown_ids: &stores.sales,
            records: Records {
                journal: stores.function_journal(STREAMS[0]),
                audit_keys: &backend.secret(SecretName::Audit)?,
                randomness: &System,
                meter: &System,
            },
        };
        serve::requests(|request| handle(ports, request)).await
    })
}
