//! The checkout function's process.

use checkout::Function;
use lambda_http::{Error, Request, run, service_fn};
use runtime::Environment;

fn main() -> Result<(), Error> {
    runtime::start(async {
        let function = &Function::from_environment(&Environment::of_process())?;
        run(service_fn(move |request: Request| async move { Ok::<_, Error>(function.handle(request).await) })).await
    })
}
