//! The ports of the function.

use crate::Service;
use audit::{FunctionJournal, Journal};
use domain::ports::{CacheEntries, Meter, Pause, Randomness, VerdictArchive};

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: FunctionJournal<'a>,
    pub sales: Journal<'a>,
    pub service: &'a dyn Service,
    pub cache: &'a dyn CacheEntries,
    pub archive: &'a dyn VerdictArchive,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}
