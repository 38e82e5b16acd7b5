//! Splits text into words, features and windows. The build script compiles this too, so that phrases of the data are
//! split like questions.

pub(crate) mod feature;
pub(crate) mod token;
pub(crate) mod windows;
