//! The inbox-watch function's process.

use inbox_watch::Function;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use runtime::Environment;

fn main() -> Result<(), Error> {
    runtime::start(async {
        let function = &Function::from_environment(&Environment::of_process())?;
        run(service_fn(move |event: LambdaEvent<serde_json::Value>| async move {
            function.handle(&event.context.request_id).await;
            Ok::<(), Error>(())
        }))
        .await
    })
}
