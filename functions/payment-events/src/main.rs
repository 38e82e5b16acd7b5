//! The payment-events function's process.

use backend::Backend;
use payment_events::{Ports, handle};
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let (stores, stripe) = (backend.journal()?, backend.stripe()?);
        let ports = Ports { journal: stores.journal(), ledger: &stripe };
        serve::messages(|delivery| handle(ports, delivery)).await
    })
}
