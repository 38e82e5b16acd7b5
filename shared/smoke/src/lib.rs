//! The smoke test: ten stages through the deployed pipeline, from a session of Stripe's test mode to the mail and back
//! to a clean cache (the Smoke Test spec). The smoke-test function and `oracle smoke` both run it.

mod environment;
mod record;
mod report;
mod run;
mod stage;
mod wiring;
mod within;

pub use graph::{GRAPH_URL, LOGIN_URL};
pub use record::{FUNCTION, Memory, leftovers, record};
pub use report::{Ending, Report, Trigger};
pub use run::{Entries, Network, Ports, Reply, Settings, Site, Till, Unreachable, run};
pub use stage::{Failure, Outcome, Stage};
pub use stripe::BASE_URL as STRIPE_URL;
pub use wiring::{Names, Wired};
pub use within::{Broke, within};
