//! What every function does around its decision: configuration, telemetry, the clock, limits of time, the SQS batch
//! loop, HTTP replies.

pub mod configuration;
pub mod http;
pub mod queue;
pub mod system;
pub mod telemetry;
mod within;

pub use configuration::{ConfigurationError, Environment};
pub use queue::{Handled, each_message};
pub use system::{System, start};
pub use within::{Broke, within};
