//! The ports of the function.

use audit::{FunctionJournal, TollJournal};
use domain::ports::{Breakers, Corpora, Facilitator, Meter, Model, Node, Notes, Pause, Randomness};
use retrieval::Library;

/// The ports of the function.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: TollJournal<'a>,
    /// A journal of any stream; requests without a purchase are recorded in the function's own streams.
    pub rejections: FunctionJournal<'a>,
    pub facilitator: &'a dyn Facilitator,
    pub node: &'a dyn Node,
    pub model: &'a dyn Model,
    pub corpus: Corpus<'a>,
    pub breakers: &'a dyn Breakers,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

/// The corpus that answers draw on.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Corpus<'a> {
    /// The store of the note that names the version in use.
    pub notes: &'a dyn Notes,
    pub corpora: &'a dyn Corpora,
    /// The index that the process has loaded.
    pub library: &'a Library,
}
