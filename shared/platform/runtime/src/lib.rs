//! What every function does around its decision: configuration, telemetry, the clock, limits of time, the Lambda
//! runtime's loops, HTTP requests and replies.

pub mod configuration;
pub mod http;
pub mod queue;
pub mod serve;
pub mod system;
pub mod telemetry;
mod within;

/// What stops a process or fails an invocation.
pub use lambda_runtime::Error;

pub use configuration::{ConfigurationError, Environment};
pub use queue::{Handled, Redelivery, each_message};
pub use system::{System, start};
pub use within::{Broke, within};
