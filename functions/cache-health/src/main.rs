//! The cache-health function's process.

use backend::Backend;
use cache_health::{Ports, Settings, Site, Unrecorded, handle};
use domain::cache_health::FUNCTION;
use runtime::{Error, System, serve};

fn main() -> Result<(), Error> {
    runtime::start(async {
        let backend = Backend::of_process()?;
        let settings = Settings::from_environment(backend.environment())?;
        let unrecorded = &Unrecorded::default();
        let mut stores = backend.journal()?;
        // Silent, because the journal itself reports once that the log fails and once that it works again.
        stores.log = backend.silent().audit_log()?;
        let ports = Ports {
            journal: stores.function_journal(FUNCTION),
            sales: stores.journal(),
            service: &Site::new(&backend.site()?)?,
            cache: &stores.sales,
            archive: &backend.archive()?,
            randomness: &System,
            pause: &System,
            meter: &System,
        };
        serve::events(|event| async move { handle(ports, settings, unrecorded, &event.payload).await }).await
    })
}
