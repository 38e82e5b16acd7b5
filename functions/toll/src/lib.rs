//! The toll sells verdicts to agents for USDC over HTTP 402 (x402).
//!
//! Without a payment: parse → authority gate → 402. With one: parse → authority gate → our own check of the payment →
//! verification by the facilitator → claim → retrieval → model → crosscheck → content filter → storage of the answer →
//! settlement → reply. No answer is delivered before its settlement is accepted, and only stored answers are settled.

mod answer;
mod fulfil;
mod handle;
mod mcp;
mod named_purchase;
mod narrative;
mod payment_means;
mod ports;
mod rejection_records;
mod reply;
mod request;
mod request_body;
mod sell;
mod settings;
mod transfer_purchase;
mod verify;

pub use handle::handle;
pub use ports::{Corpus, Ports, payments};
pub use settings::{Settings, Terms};
