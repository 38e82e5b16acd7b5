//! The smoke-test function's process.

use backend::Backend;
use runtime::{Error, System, serve};
use smoke_test::{Configured, Ports, handle};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let deployments = backend.deployments();
        let test = Configured::new(backend);
        let ports = Ports { deployments: &deployments, test: &test, pause: &System };
        serve::events(|event| async move { handle(ports, &event.payload).await }).await
    })
}
