//! The pipeline in process: what a sale becomes when all goes well, when the model misbehaves, and when any
//! effect fails, loses its reply, or takes the process with it.

// A test that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod breaker;
mod description;
mod events;
mod faults;
mod filtering;
mod followup;
mod front_door;
mod golden;
mod mail_retry;
mod model_replies;
mod money;
mod operators;
mod retry;
mod sales;
mod simulator;
mod smoke;
mod subscriptions;
