//! The ports of the function.

use audit::{FunctionJournal, TollJournal};
use domain::{
    UnknownIdLimiter,
    ports::{Breakers, Corpora, Facilitator, Meter, Model, Node, Notes, Pause, Randomness, UnknownIdCounter},
    unknown_ids::{CountedQuestion, Limits},
};
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
    /// Limits what is asked about payments that bought nothing.
    pub payments: &'a UnknownIdLimiter,
    pub unknown_ids: &'a dyn UnknownIdCounter,
    pub model: &'a dyn Model,
    pub corpus: Corpus<'a>,
    pub breakers: &'a dyn Breakers,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

/// Limits the questions to the facilitator and to the node about new payments: anybody can sign one without funds, or name a
/// transaction that does not exist. A question costs up to four calls, so all networks together cause sixty calls a second.
/// An agent that waits for its transfer asks every five seconds, and a network may have many agents.
#[must_use]
pub fn payments() -> UnknownIdLimiter {
    let free = CountedQuestion::OPEN;
    UnknownIdLimiter::new("payment", Limits { of_group: 300 * free, in_all: 900 * free, free })
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
