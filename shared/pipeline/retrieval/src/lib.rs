//! Retrieval finds the passages of a corpus that share words with a question. The model gets them as reference text.
//!
//! `oracle corpus build` builds an index of a folder of texts and stores it under the hash of its bytes, which is its
//! version. `oracle corpus activate` sets the version in use. A process loads an index once.

mod active;
mod index;
mod library;
mod passages;
mod terms;
#[cfg(test)]
mod testing;

pub use active::{Active, NOTE, activate, active};
pub use index::{BuildError, Index, MOST_BYTES, Passage, UnreadableIndex};
pub use library::{Library, References, RetrievalError, fetch};
pub use passages::Text;
