//! Reads the private tables of characters that look alike (`data/lookalikes.toml`).

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InOrder {
    #[serde(rename = "why")]
    _why: String,
    from: String,
    to: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pairs {
    #[serde(rename = "why")]
    _why: String,
    pairs: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    #[serde(rename = "why")]
    _why: String,
    first: u32,
    to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lookalikes {
    in_order: Vec<InOrder>,
    turned: Vec<InOrder>,
    any_of: Vec<Pairs>,
    letters: Vec<Pairs>,
    symbols: Vec<Pairs>,
    leet: Vec<Pairs>,
    punctuation: Vec<Pairs>,
    run: Vec<Run>,
}

/// The private tables, indexed by character.
pub(crate) struct Private {
    pub(crate) letters: HashMap<char, String>,
    pub(crate) any_of: HashMap<char, String>,
    pub(crate) symbols: HashMap<char, char>,
    pub(crate) leet: HashMap<char, String>,
    pub(crate) punctuation: HashMap<char, char>,
    pub(crate) turned: HashSet<char>,
    pub(crate) special: HashMap<char, u8>,
}

/// The only character of a text.
pub(crate) fn only_char(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(format!("lookalikes: {text:?} is not one character")),
    }
}

impl Private {
    /// Reads the tables; `special` numbers the listed non-ASCII characters.
    pub(crate) fn parse(text: &str, special: HashMap<char, u8>) -> Result<Self, String> {
        let raw: Lookalikes = toml::from_str(text).map_err(|e| format!("lookalikes: {e}"))?;
        let mut letters = HashMap::new();
        for list in raw.in_order.iter().chain(&raw.turned) {
            if list.from.chars().count() != list.to.chars().count() {
                return Err(format!("lookalikes: {:?} and {:?} differ in length", list.from, list.to));
            }
            letters.extend(list.from.chars().zip(list.to.chars().map(String::from)));
        }
        for run in &raw.run {
            for (offset, to) in run.to.chars().enumerate() {
                let c = char::from_u32(run.first + offset as u32)
                    .ok_or_else(|| format!("lookalikes: a run leaves Unicode at {:X}", run.first))?;
                letters.insert(c, to.to_string());
            }
        }
        let texts = |lists: &[Pairs]| -> Result<HashMap<char, String>, String> {
            lists.iter().flat_map(|l| &l.pairs).map(|(k, v)| Ok((only_char(k)?, v.clone()))).collect()
        };
        let chars = |lists: &[Pairs]| -> Result<HashMap<char, char>, String> {
            lists.iter().flat_map(|l| &l.pairs).map(|(k, v)| Ok((only_char(k)?, only_char(v)?))).collect()
        };
        letters.extend(texts(&raw.letters)?);
        Ok(Private {
            letters,
            any_of: texts(&raw.any_of)?,
            symbols: chars(&raw.symbols)?,
            leet: texts(&raw.leet)?,
            punctuation: chars(&raw.punctuation)?,
            turned: raw.turned.iter().flat_map(|list| list.from.chars()).collect(),
            special,
        })
    }
}
