//! The simulated models, and the phrases of their verdicts.

use serde::Deserialize;

use super::phrases::Phrases;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) sampling: bool,
    pub(crate) thinking: Thinking,
    pub(crate) thought_tokens: usize,
}

/// The control of its thinking that a model supports.
#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Thinking {
    Budget,
    Level,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    model: Vec<Model>,
}

/// The data of the simulated models.
pub(crate) struct Catalogue {
    pub(crate) models: Vec<Model>,
    pub(crate) phrases: Phrases,
}

impl Catalogue {
    pub(crate) fn load() -> Result<Self, toml::de::Error> {
        let file: ModelFile = toml::from_str(include_str!("../../data/models.toml"))?;
        Ok(Self { models: file.model, phrases: toml::from_str(include_str!("../../data/verdicts.toml"))? })
    }
}
