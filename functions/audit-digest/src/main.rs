//! The audit-digest function's process.

use audit_digest::Function;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use runtime::Environment;

fn main() -> Result<(), Error> {
    runtime::start(async {
        let function = &Function::from_environment(&Environment::of_process())?;
        run(service_fn(move |_: LambdaEvent<serde_json::Value>| async move { function.handle().await })).await
    })
}
