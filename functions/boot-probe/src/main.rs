//! The boot-probe function's process.

use backend::Backend;
use boot_probe::{Targets, handle};
use runtime::{Error, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = &Backend::of_process()?;
        Targets::new(backend)?;
        serve::events(|_| async move {
            // Built anew: a probe must see the secrets as they are now, not as the process read them before.
            let targets = Targets::new(backend)?;
            handle(targets.ports()).await;
            Ok::<(), Error>(())
        })
        .await
    })
}
