//! The verdict function's process.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use runtime::Environment;
use verdict::Function;

fn main() -> Result<(), Error> {
    runtime::start(async {
        let function = &Function::from_environment(&Environment::of_process())?;
        run(service_fn(
            move |event: LambdaEvent<_>| async move { Ok::<_, Error>(function.handle(event.payload).await) },
        ))
        .await
    })
}
