//! infra/prices.toml.

use serde::Deserialize;
use std::collections::BTreeMap;

/// List prices and limits, with their date.
#[derive(Deserialize)]
pub(crate) struct Prices {
    pub(crate) as_of: String,
    usd: BTreeMap<String, f64>,
    pub(crate) quota: Vec<Quota>,
}

/// What something lets through.
#[derive(Deserialize)]
pub(crate) struct Quota {
    pub(crate) name: String,
    pub(crate) per_second: f64,
    /// What counts against it.
    pub(crate) of: String,
    /// Whether it is over a day, so that no peak matters.
    #[serde(default)]
    pub(crate) even: bool,
    /// What to do once it is reached.
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
