//! The smoke-test function: the daily run at 07:00 UTC, and the run that a deployment waits for (Smoke Test, execution
//! schedule).

mod function;
mod hook;

pub use function::Function;
