//! The smoke-test function's process.

use aws::CodeDeploy;
use backend::Backend;
use runtime::{Error, System, serve};
use smoke_test::{Configured, Ports, handle};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let deployments = CodeDeploy::new(backend.connection().clone());
        let test = Configured::new(backend);
        let ports = Ports { deployments: &deployments, test: &test, pause: &System };
        serve::events(|event| async move { handle(ports, &event.payload).await }).await
    })
}
