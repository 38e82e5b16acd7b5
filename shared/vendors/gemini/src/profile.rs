//! The settings that each family of models supports, as data: `profiles.json`. The 2.5 family gets the settings that
//! Regen Consistency (invariant 1) requires; newer ones ignore or refuse them. A model of an unknown family gets only
//! the schema and the limit, which all of them support.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The settings of one family.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name of the family.
    pub family: String,
    /// The prefixes of its models' names.
    pub prefixes: Vec<String>,
    /// Its part of `generationConfig`, verbatim.
    pub generation_config: Map<String, Value>,
}

/// Every known family.
#[derive(Clone, Debug)]
pub struct Profiles(Vec<Profile>);

/// Why the data cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidProfiles {
    /// The text is not the JSON of profiles.
    #[error("the profiles are malformed")]
    Malformed(#[from] serde_json::Error),
    /// A family without a prefix would never, or always, be selected.
    #[error("the profile of {0} has an empty prefix or none")]
    Prefix(String),
    /// A profile of a family from version 3 on has a sampling setting.
    #[error("the profile of {0} sets {1}, which these models do not take")]
    Sampling(String, &'static str),
    /// A profile has a setting that every call sets itself.
    #[error("the profile of {0} sets {1}, which the prompt decides")]
    Reserved(String, &'static str),
}

/// Sampling settings, which the families from 3 on ignore or refuse.
const SAMPLING: [&str; 4] = ["temperature", "topP", "topK", "candidateCount"];

/// The settings that the prompt decides.
const RESERVED: [&str; 3] = ["responseMimeType", "responseJsonSchema", "maxOutputTokens"];

impl Profiles {
    /// The profiles in this crate.
    ///
    /// # Errors
    /// [`InvalidProfiles`] when the file is invalid.
    pub fn built_in() -> Result<Self, InvalidProfiles> {
        Self::parse(include_str!("profiles.json"))
    }

    /// Parses profiles.
    ///
    /// # Errors
    /// [`InvalidProfiles`] names the family.
    pub fn parse(json: &str) -> Result<Self, InvalidProfiles> {
        let profiles: Vec<Profile> = serde_json::from_str(json)?;
        for profile in &profiles {
            let family = || profile.family.clone();
            if profile.prefixes.is_empty() || profile.prefixes.iter().any(String::is_empty) {
                return Err(InvalidProfiles::Prefix(family()));
            }
            if let Some(name) = RESERVED.into_iter().find(|name| profile.generation_config.contains_key(*name)) {
                return Err(InvalidProfiles::Reserved(family(), name));
            }
            let takes_sampling = profile.prefixes.iter().all(|prefix| takes_sampling(prefix));
            let sampling = SAMPLING.into_iter().find(|name| profile.generation_config.contains_key(*name));
            if let Some(name) = sampling.filter(|_| !takes_sampling) {
                return Err(InvalidProfiles::Sampling(family(), name));
            }
        }
        Ok(Self(profiles))
    }

    /// The settings for a model; empty for an unknown family.
    #[must_use]
    pub fn generation_config(&self, model: &str) -> Map<String, Value> {
        let profile = self.0.iter().find(|profile| profile.prefixes.iter().any(|prefix| model.starts_with(prefix)));
        profile.map(|profile| profile.generation_config.clone()).unwrap_or_default()
    }
}

/// Whether names with this prefix belong to a family before version 3.
fn takes_sampling(prefix: &str) -> bool {
    let version = prefix.strip_prefix("gemini-").and_then(|rest| rest.split(['.', '-']).next());
    version.and_then(|version| version.parse::<u32>().ok()).is_some_and(|version| version < 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_family_gets_its_own_settings() {
        let profiles = Profiles::built_in().unwrap();
        let settings = |model: &str| Value::Object(profiles.generation_config(model));
        let greedy = json!({"temperature": 0, "topP": 1, "topK": 1, "candidateCount": 1,
                            "thinkingConfig": {"thinkingBudget": 1024}});
        for model in ["gemini-2.5-flash", "gemini-2.5-pro", "gemini-2.5-flash-lite"] {
            assert_eq!(settings(model), greedy, "{model}");
        }
        for model in ["gemini-3-flash", "gemini-3.5-flash-lite", "gemini-3.8-flash"] {
            assert_eq!(settings(model), json!({"thinkingConfig": {"thinkingLevel": "LOW"}}), "{model}");
        }
        for model in ["gemini-4-flash", "gemini-30-pro", "gemini-2.0-flash", "gemma-3", ""] {
            assert_eq!(settings(model), json!({}), "{model}");
        }
    }

    #[test]
    fn broken_data_is_named() {
        let parse = |json: &str| Profiles::parse(json).unwrap_err().to_string();
        assert_eq!(parse("{"), "the profiles are malformed");
        assert_eq!(parse(r#"[{"family":"A","prefixes":["a"]}]"#), "the profiles are malformed");
        assert_eq!(
            parse(r#"[{"family":"A","prefixes":[""],"generation_config":{}}]"#),
            "the profile of A has an empty prefix or none"
        );
        assert_eq!(
            parse(r#"[{"family":"A","prefixes":["a"],"generation_config":{"maxOutputTokens":1}}]"#),
            "the profile of A sets maxOutputTokens, which the prompt decides"
        );
        for prefix in ["gemini-3.5-", "gemini-4-", "gemma-"] {
            let profile = format!(r#"[{{"family":"A","prefixes":["{prefix}"],"generation_config":{{"topK":1}}}}]"#);
            assert_eq!(parse(&profile), "the profile of A sets topK, which these models do not take");
        }
    }
}
