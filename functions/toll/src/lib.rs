//! The toll sells verdicts to agents for USDC over HTTP 402 (x402).
//!
//! Without a payment: parse → authority gate → 402. With one: parse → authority gate → our own check of the payment →
//! verification by the facilitator → claim → retrieval → model → crosscheck → content filter → storage of the answer →
//! settlement → reply. No answer is delivered before its settlement is accepted, and only stored answers are settled.

mod answer;
mod ask;
mod fulfil;
mod handle;
mod mcp;
mod means;
mod named;
mod narrative;
mod ports;
mod rejected;
mod reply;
mod request;
mod sell;
mod settings;
mod transferred;
mod verify;

pub use handle::handle;
pub use ports::{Corpus, Ports, payments};
pub use reply::closed;
pub use settings::{Settings, Terms};
