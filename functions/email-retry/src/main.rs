//! The e-mail retry function's process.

use backend::Backend;
use delivery::Clients;
use email_retry::handle;
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let clients = Clients::new(&Backend::of_process()?)?;
        let (ports, settings) = (clients.ports(), clients.settings());
        serve::messages(|delivery| handle(ports, settings, delivery)).await
    })
}
