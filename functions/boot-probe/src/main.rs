//! The boot-probe function's process.

use backend::Backend;
use boot_probe::{Targets, handle};
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = &Backend::of_process()?;
        Targets::new(backend)?;
        serve::events(|_| async move {
            // Built for every run: a probe must see the current secrets, not those that the process read earlier.
            let targets = Targets::new(backend)?;
            handle(targets.ports()).await;
            Ok::<(), Error>(())
        })
        .await
    })
}
