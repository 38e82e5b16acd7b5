//! The anvil function's process.

use anvil::{Ports, Settings, Watched, handle};
use backend::Backend;
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = &Settings::from_environment(backend.environment())?;
        let stores = backend.journal()?;
        let ports = Ports {
            journal: stores.function_journal(release::FUNCTION),
            deployments: &backend.deployments(),
            stack: &Watched::new(backend.silent().connection().clone(), settings),
            pause: &System,
        };
        serve::events(|event| async move { handle(ports, settings, &event.payload).await }).await
    })
}
