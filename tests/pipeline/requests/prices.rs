//! The prices and limits in infra/prices.toml.

use serde::Deserialize;
use std::collections::BTreeMap;

/// List prices and limits, with their date.
#[derive(Deserialize)]
pub(crate) struct Prices {
    pub(crate) as_of: String,
    usd: BTreeMap<String, f64>,
    pub(crate) quota: Vec<Quota>,
}

/// A limit of a service.
#[derive(Deserialize)]
pub(crate) struct Quota {
    pub(crate) name: String,
    pub(crate) per_second: f64,
    /// What counts against the limit.
    pub(crate) of: String,
    /// Whether the limit applies to a whole day, so that peaks do not matter.
    #[serde(default)]
    pub(crate) even: bool,
    /// What to do when the limit is reached.
    pub(crate) then: String,
}

impl Prices {
    pub(crate) fn read() -> Self {
        toml::from_str(include_str!("../../../infra/prices.toml")).expect("prices.toml is read")
    }

    pub(crate) fn usd(&self, name: &str) -> f64 {
        *self.usd.get(name).unwrap_or_else(|| panic!("prices.toml has no {name}"))
    }
}
