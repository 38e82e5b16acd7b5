//! The smoke test: ten stages through the deployed pipeline, from a session in Stripe's test mode to the mail, ending
//! with a clean cache (the Smoke Test spec). The smoke-test function and `oracle smoke` both run it.

mod environment;
mod log_records;
mod ports;
mod record;
mod report;
mod run;
mod stage;
mod stages;
mod wiring;

pub use report::{Ending, Report, Trigger};
pub use wiring::Wired;
