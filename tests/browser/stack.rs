//! The running stack, as every test of the deployed system sees it.

pub(crate) use tests::{Stack, eventually, payment_link_session, poll, target_directory, unique};
