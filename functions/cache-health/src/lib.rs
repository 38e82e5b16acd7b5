//! The cache-health function: whether the site answers and whether the cached verdicts are there, readable and not too
//! many (Cache Health); what is too old is taken out.
//!
//! One look costs the same however many entries there are: counters, three reads of an index, a bounded sample. Nothing
//! is scanned. On Sundays every entry is read once, in slices.

mod cleanup;
mod full_scan;
mod function;
mod judge;
mod look;
mod memory;
mod probe;
mod run;
mod sample;
mod settings;
mod unrecorded;

pub use function::Function;
pub use memory::Memory;
pub use probe::Service;
pub use run::{Ports, When, run};
pub use settings::Settings;
pub use unrecorded::Unrecorded;

#[cfg(test)]
mod counting;
#[cfg(test)]
mod tests;
