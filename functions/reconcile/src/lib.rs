//! The reconcile function: once a day it compares Stripe's paid sessions with our sales. A paid session that is neither
//! delivered, nor on a list of open work, nor refunded raises an alert and goes back into the pipeline.

mod amounts;
mod compare;
mod handle;
mod ports;
mod progress;
mod reports;

pub use compare::Report;
pub use handle::{FUNCTION, NotReconciled, handle, look_back};
pub use ports::Ports;

use compare::run;
