//! The sandbox as its callers use it: over HTTP, on a free port, with a clock that tests set.
#![allow(clippy::unwrap_used, reason = "helpers of tests; a panic is their failure")]

mod control;
mod gemini_api;
mod graph_api;
mod graph_lists;
mod graph_preferences;
mod idempotency;
mod login_api;
mod payments;
mod ses_api;
mod stripe_api;
mod subscriptions;
mod support;
