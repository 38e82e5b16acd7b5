//! Whether a release may go live (Brain ANVIL): the observations of its deployment, the verdict, and overrides by two
//! people.
//!
//! The `anvil` function calls [`judge`] before a deployment ends; `oracle anvil` lists its verdicts and grants
//! overrides.

mod binding;
mod build;
mod entry;
mod gate;
mod overrides;
mod state;

pub use binding::bind;
pub use build::Build;
pub use entry::{Entry, ListedReason};
pub use gate::{SMOKE_TEST_COUNTS_FOR, judge, last_smoke_test, record_rollback, verdicts};
pub use overrides::{InvalidOverride, OVERRIDE_LASTS, Request, grant};
pub use state::{FUNCTION, GateState, Override};
