//! The common parts of every function: configuration, telemetry, the clock, time limits, the Lambda runtime's loops,
//! HTTP requests and replies.

pub mod configuration;
pub mod http;
pub mod queue;
pub mod serve;
pub mod system;
pub mod telemetry;
mod within;

/// An error that stops a process or fails an invocation.
pub use lambda_runtime::Error;

pub use configuration::{ConfigurationError, Environment};
pub use queue::{Handled, Redelivery, each_message};
pub use system::{System, start};
pub use within::{Interrupted, within};
