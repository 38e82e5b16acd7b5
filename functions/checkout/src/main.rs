//! The checkout function's process.

use backend::Backend;
use checkout::{Ports, handle, unknown_codes};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let payments = Backend::of_process()?.stripe()?;
        let unknown_codes = &unknown_codes();
        let ports = Ports { payments: &payments, randomness: &System, meter: &System, clock: &System, unknown_codes };
        serve::requests(|request| handle(ports, request)).await
    })
}
