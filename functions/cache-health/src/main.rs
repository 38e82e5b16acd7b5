//! The cache-health function's process.

use cache_health::Function;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use runtime::Environment;

fn main() -> Result<(), Error> {
    runtime::start(async {
        let function = &Function::from_environment(&Environment::of_process())?;
        run(service_fn(
            move |event: LambdaEvent<serde_json::Value>| async move { function.handle(&event.payload).await },
        ))
        .await
    })
}
