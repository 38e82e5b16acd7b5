//! Payments in USDC over HTTP 402 (x402, versions 1 and 2, scheme `exact`) on Base and Base Sepolia.
//!
//! [`wire`] has the contents of headers and bodies. [`payment`] decides on its own whether a payment pays what we asked
//! for: it compares every field with our own requirements and recovers the signer, so that no facilitator has to be
//! trusted. [`transfer`] does the same for a transfer that is already on the chain. None of these does I/O or reads a
//! clock. [`FacilitatorClient`] and [`NodeClient`] call the facilitator and a node.

mod authorization;
mod facilitator;
mod http;
mod network;
mod node;
mod outage;
pub mod payment;
pub mod transfer;
pub mod wire;

pub use alloy_primitives::{Address, B256};
pub use authorization::Authorization;
pub use facilitator::FacilitatorClient;
pub use network::Network;
pub use node::NodeClient;
pub use outage::is_outage;
