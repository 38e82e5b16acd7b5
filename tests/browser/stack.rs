//! The running stack, shared by all tests of the deployed system.

pub(crate) use tests::{Stack, eventually, payment_link_session, poll, program, target_directory, unique};
