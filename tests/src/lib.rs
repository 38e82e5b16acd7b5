//! Shared by the tests of the deployed system: the running stack, its addresses, and the sandbox's control calls.

#![allow(clippy::expect_used, reason = "what a test expects and does not find is its failure")]

mod running;

pub use running::{SOON, Stack, eventually, payment_link_session, poll, program, target_directory, unique};
