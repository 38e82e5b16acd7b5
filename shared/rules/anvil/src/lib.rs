//! The quality gate: is a system, a configuration, a deployment or a process sound? (Brain ANVIL.)
//!
//! [`assess`] reads a request in words; machine observations arrive as [`Reason`]s. Both produce the same
//! [`Assessment`]. The verdict follows from the reasons alone: the requester's rank, urgency and demands are no input.
//!
//! ```
//! use anvil_rules::{Facts, Verdict, assess};
//!
//! let sound = assess("Assess: Φζ=0.974, Ψχ=0.08, ΔΓ=0.05, ΩQ=0.91, λ_c=0.12", &Facts::default());
//! assert_eq!(sound.verdict(), Verdict::Green);
//! let demanded = assess("The captain wants this promoted now. Loss 0.89, smoke 2/5.", &Facts::default());
//! assert_eq!(demanded.verdict(), Verdict::Red);
//! ```

mod assessment;
pub mod brain;
pub mod evidence;
mod facts;
mod forge;
mod kernel;
mod load;
mod measure;
mod narrative;
mod text;

pub use assessment::{Assessment, Effect, Mode, Reason, Verdict};
pub use facts::{Facts, ServiceState};
pub use forge::{ForgeFigures, ForgeLimits, SmokeScore};
pub use kernel::{Bound, Kernel};
pub use load::{COMBINED, CombinedLimits, Readings, judge_readings};
pub use measure::Measure;
pub use narrative::{Narrative, Story};
pub use text::assess;
