//! Clients of the toll: the facilitator and a node.

use crate::{Backend, BackendError};
use chain::{Address, FacilitatorClient, Network, NodeClient};
use runtime::{ConfigurationError, System};
use std::sync::Arc;

/// The network on which USDC is accepted, with the clients for it.
pub struct TollClients {
    /// The network.
    pub network: Network,
    /// The recipient of payments; `None` if nothing is sold.
    pub pay_to: Option<Address>,
    /// The facilitator, which submits payments.
    pub facilitator: FacilitatorClient,
    /// A node of the network.
    pub node: NodeClient,
}

impl Backend {
    /// The toll's clients, also if nothing is sold: they finish the purchases that are open.
    ///
    /// # Errors
    /// [`BackendError`] when a variable is missing or malformed.
    pub fn settlement_clients(&self) -> Result<TollClients, BackendError> {
        let (network, pay_to) = self.toll_terms()?;
        let (facilitator, node) = (self.required("TOLL_FACILITATOR_URL")?, self.required("TOLL_RPC_URL")?);
        let url = "an http or https URL";
        Ok(TollClients {
            network,
            pay_to,
            facilitator: FacilitatorClient::new(&facilitator).ok_or_else(|| malformed("TOLL_FACILITATOR_URL", url))?,
            node: NodeClient::new(&node, network, pay_to.unwrap_or(Address::ZERO), Arc::new(System))
                .ok_or_else(|| malformed("TOLL_RPC_URL", url))?,
        })
    }

    /// The network on which USDC is accepted, in words for customers; `None` if nothing is sold for USDC.
    ///
    /// # Errors
    /// [`BackendError`] when a variable is missing or malformed.
    pub fn sells_on(&self) -> Result<Option<&'static str>, BackendError> {
        let (network, pay_to) = self.toll_terms()?;
        let words = match network {
            Network::Base => "Base",
            Network::BaseSepolia => "Base Sepolia (a test network, on which it has no value)",
        };
        Ok(pay_to.map(|_| words))
    }

    fn toll_terms(&self) -> Result<(Network, Option<Address>), BackendError> {
        let parse = |pay_to: String| {
            let parsed = pay_to.trim().parse::<Address>().ok().filter(|address| *address != Address::ZERO);
            parsed.ok_or_else(|| malformed("TOLL_PAY_TO", "an address of 0x and 40 hexadecimal digits"))
        };
        let pay_to = self.environment.optional("TOLL_PAY_TO").map(parse).transpose()?;
        let network = Network::parse(&self.required("TOLL_NETWORK")?)
            .ok_or_else(|| malformed("TOLL_NETWORK", "base or base-sepolia"))?;
        Ok((network, pay_to))
    }
}

fn malformed(name: &'static str, expected: &str) -> ConfigurationError {
    ConfigurationError::Malformed { name, expected: expected.to_owned() }
}
