//! The smoke-test function: the daily run at 07:00 UTC, and the run that a deployment waits for (Smoke Test, execution
//! schedule).

mod configured;
mod handle;
mod hook;

pub use configured::Configured;
pub use handle::{Ports, SmokeTest, handle};
