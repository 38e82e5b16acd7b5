//! The pipeline in process: the outcome of a sale if everything works, if the model misbehaves, and if an effect fails,
//! loses its reply, or ends with a crash of the process.

// A test reports a failed precondition with a panic.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod breaker;
mod declined;
mod description;
mod events;
mod faults;
mod filtering;
mod fixed_texts;
mod followup;
mod front_door;
mod golden;
mod heartbeats;
mod human_lock;
mod lost_verdict;
mod mail_retry;
mod model_replies;
mod money;
mod narrative;
mod operators;
mod restored;
mod retry;
mod sales;
mod samples;
mod simulator;
mod smoke;
mod subscriptions;
mod unknown_mail;
mod unreadable;
