//! The toll: verdicts for agents, paid in USDC over HTTP 402 (x402).
//!
//! parse → authority gate → 402, or: check the payment by ourselves → facilitator verifies → claim → model → crosscheck →
//! content filter → keep the answer → settle → reply. No answer leaves before its settlement is accepted, and none is
//! settled that is not kept.

mod answer;
mod ask;
mod fulfil;
mod handle;
mod mcp;
mod means;
mod named;
mod rejected;
mod reply;
mod sell;
mod settings;

pub use handle::{Ports, handle};
pub use reply::closed;
pub use settings::{Settings, Terms};
