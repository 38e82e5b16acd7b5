//! The checkout function's process.

use backend::Backend;
use checkout::{Ports, handle};
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let payments = Backend::of_process()?.stripe()?;
        let ports = Ports { payments: &payments, randomness: &System, meter: &System, clock: &System };
        serve::requests(|request| handle(ports, request)).await
    })
}
