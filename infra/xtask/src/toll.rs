//! The toll of a local stack: its chain, its recipient, and a funded wallet of the sandbox.

use serde::{Deserialize, Serialize};

/// The recipient of USDC payments on a local stack, and the chain.
pub(crate) const TOLL_PAY_TO: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
pub(crate) const TOLL_NETWORK: &str = "base-sepolia";

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Toll {
    /// The network (CAIP-2).
    pub(crate) network: String,
    /// The contract of USDC.
    pub(crate) asset: String,
    pub(crate) pay_to: String,
    /// The key of a funded wallet, which is useful only in the sandbox.
    pub(crate) wallet_key: String,
    pub(crate) rpc: String,
    pub(crate) facilitator: String,
}

impl Toll {
    pub(crate) fn of(sandbox: &str) -> Self {
        Self {
            network: "eip155:84532".to_owned(),
            asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e".to_owned(),
            pay_to: TOLL_PAY_TO.to_owned(),
            wallet_key: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80".to_owned(),
            rpc: format!("{sandbox}/rpc"),
            facilitator: format!("{sandbox}/facilitator"),
        }
    }
}
