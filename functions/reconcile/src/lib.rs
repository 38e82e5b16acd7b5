//! The reconcile function: once a day Stripe's paid sessions are compared with ours. What was paid and is neither
//! delivered, nor on a list, nor given back, is an alert, and goes back into the pipeline.

mod compare;
mod function;

pub use compare::{CompareError, Ports, Report, run};
pub use function::Function;
