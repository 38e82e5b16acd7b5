//! The networks on which USDC is accepted, and its contract on each.

use alloy_primitives::{Address, address};

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// Base, where USDC has real value.
    Base,
    /// Base Sepolia, the test network, where it has none.
    BaseSepolia,
}

impl Network {
    /// Every network.
    pub const ALL: [Self; 2] = [Self::Base, Self::BaseSepolia];

    /// Its number (EIP-155).
    #[must_use]
    pub const fn chain_id(self) -> u64 {
        match self {
            Self::Base => 8453,
            Self::BaseSepolia => 84532,
        }
    }

    /// Its name in x402 version 2 (CAIP-2).
    #[must_use]
    pub const fn caip2(self) -> &'static str {
        match self {
            Self::Base => "eip155:8453",
            Self::BaseSepolia => "eip155:84532",
        }
    }

    /// Its name in x402 version 1.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::BaseSepolia => "base-sepolia",
        }
    }

    /// The network of this name in either version.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.caip2() == name || network.name() == name)
    }

    /// The contract of USDC.
    #[must_use]
    pub const fn usdc(self) -> Address {
        match self {
            Self::Base => address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            Self::BaseSepolia => address!("036CbD53842c5426634e7929541eC2318f3dCF7e"),
        }
    }

    /// The name under which the contract checks signatures (EIP-712). It differs between the networks.
    #[must_use]
    pub const fn token_name(self) -> &'static str {
        match self {
            Self::Base => "USD Coin",
            Self::BaseSepolia => "USDC",
        }
    }

    /// The version under which the contract checks signatures (EIP-712).
    pub const TOKEN_VERSION: &'static str = "2";
}
