//! The anvil function: no deployment continues without a verdict (Brain ANVIL). It reads the result of the latest smoke
//! test, the alarms, the update's replacements and deletions of resources with data, and the new version's traffic, and
//! answers CodeDeploy.

mod handle;
mod observe;
mod settings;

pub use handle::{Ports, handle};
pub use observe::{DeployedStack, Watched};
pub use settings::Settings;
