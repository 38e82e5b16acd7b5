//! The anvil function: no deployment goes on without a verdict (Brain ANVIL). It looks at the smoke test that has just
//! run, the alarms, what the update does to resources with data, and the new version's traffic, and answers CodeDeploy.

mod handle;
mod observe;
mod settings;

pub use handle::{Ports, handle};
pub use observe::{DeployedStack, Watched};
pub use settings::Settings;
