//! Splits text into words. The build script compiles this too, so that phrases of the data are split like questions.

pub(crate) mod token;
