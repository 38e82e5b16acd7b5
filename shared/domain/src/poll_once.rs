//! Futures in tests whose ports answer at once.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

/// The result of a future that waits for nothing.
///
/// # Panics
/// If it waits.
pub(crate) fn poll_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}
