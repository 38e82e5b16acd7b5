//! The audit-digest function's process.

use audit_digest::{FUNCTION, Ports, handle};
use backend::{Backend, Bucket};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let stores = backend.journal()?;
        let ports = Ports {
            journal: stores.function_journal(FUNCTION),
            bucket: &backend.bucket(Bucket::Audit)?,
            log: &stores.log,
            notices: &backend.log_notices()?,
            digests: &backend.digests()?,
            signer: &backend.digest_key()?,
            meter: &System,
        };
        serve::events(|_| handle(ports)).await
    })
}
