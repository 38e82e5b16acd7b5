//! The paid chat: signing in by a mailed link, three free exchanges, replies from a memory that its owner can read and
//! erase.
//!
//! One exchange: authority gate → claim (a free exchange also reserves one of the three places) → working set → model →
//! check of form → content filter → one write that stores and counts the reply → memory → reply. While the model writes,
//! each whole sentence that passes the checks is readable for the page that waits.

mod account_memory;
mod answer;
mod beginnings;
mod bridge;
mod checks;
mod erasure;
mod exchange;
mod handle;
mod limits;
mod ports;
mod reply;
mod settings;
mod sign_in;
mod subscription;

pub use handle::handle;
pub use ports::Ports;
pub use settings::Settings;
