//! What commands read from and write to a terminal: times, tables, JSON lines, colours, progress, manual pages.

pub(crate) mod json_lines;
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod progress;
pub(crate) mod style;
pub(crate) mod when;
