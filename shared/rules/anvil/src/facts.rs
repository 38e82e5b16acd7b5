//! Facts observed beside the request. They take precedence over claims in the text.

use serde::{Deserialize, Deserializer, Serialize, de};
use std::{collections::BTreeMap, fmt};

/// Whether a service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// It answers.
    Alive,
    /// It does not answer.
    Dead,
    /// The state is unknown. Any unrecognised state reads as this one.
    #[serde(other)]
    Unknown,
}

/// Observations that come with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Services by name. A duplicate name is an error: the second would hide the first.
    #[serde(default, deserialize_with = "services")]
    pub services: BTreeMap<String, ServiceState>,
}

impl Facts {
    /// Whether nothing was observed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }
}

fn services<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, ServiceState>, D::Error> {
    struct Services;
    impl<'de> de::Visitor<'de> for Services {
        type Value = BTreeMap<String, ServiceState>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("services by name")
        }

        fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut services = BTreeMap::new();
            while let Some((name, state)) = map.next_entry::<String, ServiceState>()? {
                if services.contains_key(&name) {
                    return Err(de::Error::custom(format!("the service {name} is given twice")));
                }
                services.insert(name, state);
            }
            Ok(services)
        }
    }
    deserializer.deserialize_map(Services)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_refused_where_one_would_be_lost() {
        let read = |text: &str| serde_json::from_str::<Facts>(text).is_ok();
        assert!(read(r#"{"services":{"ROUTX":"dead"}}"#) && read("{}"));
        assert!(!read(r#"{"services":{"ROUTX":"dead","ROUTX":"alive"}}"#));
        assert!(!read(r#"{"service":{"ROUTX":"dead"}}"#));
        assert!(!read(r#"{"services":["ROUTX"]}"#));
    }
}
