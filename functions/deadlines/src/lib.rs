//! The deadlines function: every few minutes it looks at what is due, by an index and never by a scan.
//!
//! What machines dropped is sent on its way again; what waits for a human is brought to mind again; what the
//! content filter has held for a day is refunded by policy, where that is switched on. A silent drop is never
//! refunded here (Silent Drop, invariant 6).

mod chase;
mod handle;
mod look;
mod settings;

pub use handle::handle;
pub use look::{Incomplete, Ports, Report, Settings};

use look::run;
