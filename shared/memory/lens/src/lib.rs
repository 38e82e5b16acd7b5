//! The read-only view of the memory for models and renderers: a [`WorkingSet`] and a [`Pvib`].
//!
//! Memory Contract, section 1: "No backflow: Spark and Immersion cannot write Oracle or influence selection".
//! Model-facing crates depend on this crate and not on `memory`. It has no event, log, store or port, and nothing in it
//! writes. A working set can be read and wrapped:
//!
//! ```
//! fn read(set: &lens::WorkingSet) -> String {
//!     set.wrap("Answer from these facts alone.")
//! }
//! ```
//!
//! It cannot be changed:
//!
//! ```compile_fail
//! fn change(set: &mut lens::WorkingSet) {
//!     set.text.clear();
//! }
//! ```
//!
//! ```compile_fail
//! fn reorder(set: &mut lens::WorkingSet) {
//!     set.content_mut().allowmention_handles.sort();
//! }
//! ```
//!
//! This crate has no type that writes:
//!
//! ```compile_fail
//! use lens::EventLog;
//! ```
//!
//! ```compile_fail
//! use memory::EventLog;
//! ```
//!
//! ```compile_fail
//! fn append(set: &lens::WorkingSet) {
//!     set.append("EV-013");
//! }
//! ```

pub mod canonical;
mod digest;
mod pvib;
mod working_set;

#[cfg(test)]
mod tests;

pub use digest::{Digest, Domain};
pub use pvib::{Pvib, PvibError, PvibLine};
pub use working_set::{
    CompactionItem, Directives, FactItem, Mode, PolicyIds, Precision, SCHEMA as WORKING_SET_SCHEMA, Slices, StateItem,
    Truncation, WorkingSet, WorkingSetContent, WorkingSetError,
};

/// The JSON schema of a [`Pvib`], with an example. A brief that the schema accepts is still compared with its working set.
pub const PVIB_SCHEMA: &str = include_str!("../data/pvib.schema.json");
