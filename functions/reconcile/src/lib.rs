//! The reconcile function: once a day Stripe's paid sessions are compared with ours. What was paid and is neither
//! delivered, nor on a list, nor given back, is an alert, and goes back into the pipeline.

mod compare;
mod handle;

pub use compare::{Incomplete, Ports, Report};
pub use handle::{handle, look_back};

use compare::run;
