//! In-memory ports for tests: every one of them can fail, lose its reply, or make the process crash around it.
//!
//! A [`World`] contains everything outside a function: tables, buckets, queues, the mailbox, the model, the clock. Each
//! effect on it is a *boundary* with a number and a name, and a [`faults::Plan`] decides what happens there. All ports
//! reply at once, so a handler's future is either ready when it is polled, or it reached a planned crash: [`run`] polls
//! it once and returns which. A simulation puts a world into [`world::Surroundings`] instead: then effects take time,
//! and overlapping handlers are polled in turn.

mod boundaries;
mod cache;
pub mod faults;
pub mod golden;
pub mod inbox;
mod log_damage;
pub mod memory;
mod ports;
mod random;
pub mod reports;
pub mod sale;
pub mod session;
mod state;
mod traces;
mod turns;
mod unread;
pub mod world;

pub use boundaries::BOUNDARIES;
pub use faults::{FAULTS, Fault, Passage, Plan, every_single_fault, every_two_faults, pairs_of_faults};
pub use ports::{MODEL_DELAY, NoLimit};
pub use random::Random;
pub use turns::{SlowNotes, in_turns};
pub use world::World;

use domain::ports::ModelReply;
use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// A reply of the model with this text.
#[must_use]
pub fn reply(text: impl Into<String>) -> ModelReply {
    ModelReply { text: text.into(), model_version: "m-1".to_owned(), status_warning: None }
}

/// Runs a handler to its end, or to the planned crash (`None`).
pub fn run<F: Future>(handler: F) -> Option<F::Output> {
    let mut handler = pin!(handler);
    let mut context = Context::from_waker(Waker::noop());
    match handler.as_mut().poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
