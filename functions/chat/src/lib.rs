//! The paid chat: signing in by a mailed link, three free exchanges, replies from a memory that its owner can read and
//! erase.
//!
//! One exchange: authority gate → claim (and, of the free ones, a reserved place) → working set → model → form → content
//! filter → the reply is kept and counted in one write → memory → reply.

mod answer;
mod exchange;
mod handle;
mod limits;
mod recollection;
mod reply;
mod settings;
mod sign_in;
mod subscription;

pub use handle::{NotDone, Ports, handle};
pub use settings::Settings;
