//! The content filter: keeps internal vocabulary out of everything that a customer reads.
//!
//! The specification (content filter) defines the blocked terms and the outcomes. `data/blocklist.toml` is the list,
//! and its comments explain its format. Checking is a pure function of the text and the list.
//!
//! ```
//! use filter::{Filter, Outcome};
//!
//! let checked = Filter::embedded().check("Your coherence score is high.");
//! assert_eq!(checked.outcome, Outcome::Replace);
//! assert_eq!(checked.text, "Your assessment is high.");
//! ```
//!
//! It checks the written text. It does not detect a paraphrase, a translation or a picture.

use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;

#[cfg(test)]
mod compile;
mod engine;
mod outcome;
#[cfg(test)]
mod tests;
mod watch;

pub use outcome::{
    Action, Checked, CheckedField, CheckedPayload, Explanation, Hit, Outcome, Sighting, View, ViewExplanation,
};
pub use watch::Watchlist;

use engine::character_tables::CharacterTables;
use engine::numbers::Numbers;
pub use engine::reading::Reading;
use engine::tables::Tables;

/// A compiled block list. Immutable, and stateless per call (content filter, invariant 7).
#[derive(Debug)]
pub struct Filter {
    tables: Tables,
}

/// The text as its reader sees it, for other rules about texts: as it is, after every round of decoding that changes it,
/// and as control characters show it. Never empty. It uses the tables of characters alone: a program that checks nothing
/// embeds no block list.
pub fn readings(text: &str) -> Vec<Reading> {
    engine::reading::readings(embedded_characters(), text)
}

/// The tables of characters that this build embeds, prepared at the first call.
fn embedded_characters() -> &'static Arc<CharacterTables> {
    static EMBEDDED: OnceLock<Arc<CharacterTables>> = OnceLock::new();
    EMBEDDED.get_or_init(|| {
        Arc::new(CharacterTables::new(
            embedded_json(include_bytes!(concat!(env!("OUT_DIR"), "/characters.json"))),
            Numbers::embedded(include_bytes!(concat!(env!("OUT_DIR"), "/pages.bin"))),
            Numbers::embedded(include_bytes!(concat!(env!("OUT_DIR"), "/folds.bin"))),
        ))
    })
}

fn embedded_json<T: DeserializeOwned>(bytes: &[u8]) -> T {
    match serde_json::from_slice(bytes) {
        Ok(value) => value,
        // The build script wrote these bytes from this very type.
        Err(error) => unreachable!("the embedded tables cannot be read: {error}"),
    }
}

impl Filter {
    /// The filter with the list that this build embeds, prepared at the first call.
    pub fn embedded() -> &'static Filter {
        static EMBEDDED: OnceLock<Filter> = OnceLock::new();
        EMBEDDED.get_or_init(|| Filter {
            tables: Tables::new(
                embedded_json(include_bytes!(concat!(env!("OUT_DIR"), "/lists.json"))),
                embedded_characters().clone(),
                Numbers::embedded(include_bytes!(concat!(env!("OUT_DIR"), "/transitions.bin"))),
            ),
        })
    }

    /// The version that the list states, for example `2026-11-21.1`.
    pub fn list_version(&self) -> &str {
        &self.tables.lists.version
    }

    /// SHA-256 of the list file's bytes, in hexadecimal.
    pub fn list_hash(&self) -> &str {
        &self.tables.lists.hash
    }

    /// Checks one text.
    pub fn check(&self, text: &str) -> Checked {
        engine::check::check(&self.tables, text)
    }

    /// Checks several fields as one payload: replacements are counted over all of them, and a term that is split over
    /// two adjacent fields is found.
    pub fn check_payload<'a>(&self, fields: impl IntoIterator<Item = &'a str>) -> CheckedPayload {
        let fields: Vec<&str> = fields.into_iter().collect();
        engine::check::check_payload(&self.tables, &fields)
    }

    /// Explains the sightings in each view of a text, and why each passes or not.
    pub fn explain(&self, text: &str) -> Explanation {
        engine::explain::explain(&self.tables, text)
    }
}
