//! The phrases that verdicts are composed of, read from data/verdicts.toml.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Colour {
    Green,
    Amber,
    Red,
    Null,
}

impl Colour {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Green => "GREEN",
            Self::Amber => "AMBER",
            Self::Red => "RED",
            Self::Null => "NULL",
        }
    }

    /// A neighbouring colour, for dimensions that differ from the verdict.
    pub(super) const fn beside(self, up: bool) -> Self {
        match (self, up) {
            (Self::Amber, true) => Self::Green,
            (Self::Amber, false) => Self::Red,
            (Self::Null, _) => Self::Null,
            _ => Self::Amber,
        }
    }
}

pub(super) type ByColour = BTreeMap<Colour, Vec<String>>;

/// The content of data/verdicts.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phrases {
    /// Names who should be asked.
    pub(super) referral: String,
    pub(super) words: Words,
    pub(super) summary: ByColour,
    pub(super) dimension: BTreeMap<String, ByColour>,
    pub(super) strategy: Strategy,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) green: Vec<String>,
    pub(super) red: Vec<String>,
    pub(super) filler: Vec<String>,
    pub(super) unquotable: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Strategy {
    pub(super) next_step: Vec<String>,
    pub(super) alternative: Vec<String>,
    pub(super) tests: Vec<String>,
}
