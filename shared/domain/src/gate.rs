//! The two gates at which the content filter checks what a customer gets.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A gate of the content filter. Rows, records and held payloads have its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Gate {
    /// Before the cache.
    BeforeCache,
    /// Before the mail or the page.
    BeforeDelivery,
}

/// The number is not that of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the content filter has the gates 1 and 2")]
pub struct InvalidGate;

impl Gate {
    /// The gate's number in the specs.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::BeforeCache => 1,
            Self::BeforeDelivery => 2,
        }
    }
}

impl TryFrom<u8> for Gate {
    type Error = InvalidGate;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        [Self::BeforeCache, Self::BeforeDelivery].into_iter().find(|gate| gate.number() == number).ok_or(InvalidGate)
    }
}

impl From<Gate> for u8 {
    fn from(gate: Gate) -> Self {
        gate.number()
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_stored_as_its_number() {
        let stored = serde_json::to_string(&[Gate::BeforeCache, Gate::BeforeDelivery]).unwrap();
        assert_eq!(stored, "[1,2]");
        assert_eq!(serde_json::from_str::<[Gate; 2]>(&stored).unwrap(), [Gate::BeforeCache, Gate::BeforeDelivery]);
        assert!(["0", "3", "\"1\""].iter().all(|other| serde_json::from_str::<Gate>(other).is_err()));
        assert_eq!(Gate::BeforeDelivery.to_string(), "2");
    }
}
