//! The cache-health function: whether the site answers and whether the cached verdicts are there, readable and not too
//! many (Cache Health); what is too old is taken out.
//!
//! One look costs the same however many entries there are: counters, three reads of an index, a bounded sample. Nothing
//! is scanned. On Sundays every entry is read once, in slices.

mod cleanup;
mod full_scan;
mod handle;
mod judge;
mod look;
mod memory;
mod probe;
mod run;
mod sample;
mod second_look;
mod settings;
mod unrecorded;

pub use handle::handle;
pub use probe::{Service, Site};
pub use run::Ports;
pub use settings::Settings;
pub use unrecorded::Unrecorded;

use memory::Memory;
use run::{When, run};

#[cfg(test)]
mod counting;
#[cfg(test)]
mod tests;
