//! A small corpus.

use crate::{Active, Index, NOTE, Text};
use domain::{Timestamp, toll::CorpusVersion};
use testkit::World;

pub(crate) fn text(name: &str, content: &str) -> Text {
    Text { name: name.to_owned(), content: content.to_owned() }
}

pub(crate) fn corpus() -> Index {
    let texts = vec![
        text("bakeries.md", "A bakery lives from its morning trade. Ovens are costly to move."),
        text("leases.md", "A lease should say who pays for ovens and repairs.\n\nA lease that ends early is a risk."),
        text("hiring.md", "Hire slowly. Ask for references."),
    ];
    Index::build(texts).unwrap()
}

/// Stores an index in the world and puts it into use.
pub(crate) fn activated(world: &World, index: &Index) -> CorpusVersion {
    let bytes = index.to_bytes();
    let version = Index::version_of(&bytes);
    let active = Active { version: Some(version.clone()), since: Timestamp::from_millis(0), by: "dana".to_owned() };
    let mut state = world.state();
    state.corpora.insert(version.clone(), bytes);
    state.notes.insert(NOTE.to_owned(), (serde_json::to_string(&active).unwrap(), 1));
    version
}
