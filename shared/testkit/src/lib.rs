//! In-memory ports for tests: every one of them can fail, lose its reply, or have the process die around it.
//!
//! A [`World`] holds everything outside a function: tables, buckets, queues, the mailbox, the model, the clock.
//! Each effect on it is a *boundary* with a number and a name, and a [`faults::Plan`] says what happens there.
//! All ports answer at once, so a handler's future is either ready when polled, or it hit a planned crash:
//! [`run`] polls it once and tells which. A simulation puts a world into [`world::Surroundings`] instead: effects
//! then take time, and handlers that overlap are polled in turn.

mod cache;
pub mod faults;
pub mod golden;
pub mod inbox;
pub mod memory;
mod ports;
pub mod reports;
pub mod sale;
mod traces;
mod unread;
pub mod world;

pub use faults::{Fault, Passage, Plan};
pub use world::{BOUNDARIES, World};

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// Runs a handler to its end, or to the planned crash (`None`).
pub fn run<F: Future>(handler: F) -> Option<F::Output> {
    let mut handler = pin!(handler);
    let mut context = Context::from_waker(Waker::noop());
    match handler.as_mut().poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
