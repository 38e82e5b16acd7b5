//! Text to words. The build script compiles this too, so that a phrase of the data is split as a question is.

pub(crate) mod token;
