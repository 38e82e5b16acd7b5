//! The cache-health function: checks that the site answers and that the cached verdicts are present, readable and not
//! too many (Cache Health), and removes entries past their age.
//!
//! One check costs the same at any number of entries: it reads the counters, does three reads of an index, and reads a
//! bounded sample. It scans nothing. On Sundays every entry is read once, in slices.

mod check;
mod cleanup;
mod full_scan;
mod handle;
mod judge;
mod ports;
mod probe;
mod run;
mod sample;
mod second_look;
mod settings;
mod state;
mod unrecorded;

pub use handle::handle;
pub use ports::Ports;
pub use probe::{Service, Site};
pub use settings::Settings;
pub use unrecorded::Unrecorded;

use run::{When, run};
use state::CacheHealthState;

#[cfg(test)]
mod counting;
#[cfg(test)]
mod tests;
