//! The models that the stand-in serves, and the phrases of its verdicts.

use serde::Deserialize;

use super::phrases::Phrases;

/// One model that is served.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) sampling: bool,
    pub(crate) thinking: Thinking,
    pub(crate) thought_tokens: usize,
}

/// Which control of its thinking a model understands.
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

/// What the stand-in needs to answer.
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
