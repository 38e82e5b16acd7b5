//! The smoke-test function's process.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use runtime::Environment;
use smoke_test::Function;

fn main() -> Result<(), Error> {
    runtime::start(async {
        let function = &Function::from_environment(Environment::of_process())?;
        let handle = |event: LambdaEvent<serde_json::Value>| async move { function.handle(&event.payload).await };
        run(service_fn(handle)).await
    })
}
