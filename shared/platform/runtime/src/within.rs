//! Limits the time of one piece of work, and contains its panics.

use domain::ports::Pause;
use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// The time limit was reached.
    #[error("no answer in time")]
    OutOfTime,
    /// The work panicked.
    #[error("the work panicked")]
    Panicked,
}

/// Runs `work` for at most `limit`, and catches a panic in it. Work that is cut off ends between two of its effects, as
/// if the process had crashed there.
///
/// # Errors
/// [`Interrupted`].
pub async fn within<T>(pause: &dyn Pause, limit: Duration, work: impl Future<Output = T>) -> Result<T, Interrupted> {
    let (mut work, mut alarm) = (pin!(work), pause.pause(limit));
    poll_fn(move |context| {
        // The work is polled first, so that a result that is ready at once needs no time. It is not polled again after
        // a panic.
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Ready(answer)) => return Poll::Ready(Ok(answer)),
            Ok(Poll::Pending) => {}
            Err(_) => return Poll::Ready(Err(Interrupted::Panicked)),
        }
        Pin::new(&mut alarm).poll(context).map(|()| Err(Interrupted::OutOfTime))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use std::{
        sync::Mutex,
        task::{Context, Waker},
    };

    /// Time that passes as soon as a task waits.
    #[derive(Default)]
    struct Passing(Mutex<Duration>);

    #[async_trait]
    impl Pause for Passing {
        async fn pause(&self, duration: Duration) {
            *self.0.lock().unwrap() += duration;
        }
    }

    fn outcome<T>(time: &Passing, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        let mut limited = pin!(within(time, Duration::from_secs(30), work));
        match limited.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => panic!("it hangs"),
        }
    }

    #[test]
    fn what_answers_takes_no_time_what_hangs_takes_its_limit_and_what_panics_is_caught() {
        let time = Passing::default();
        assert_eq!(outcome(&time, async { 1 }), Ok(1));
        assert_eq!(*time.0.lock().unwrap(), Duration::ZERO);
        assert_eq!(outcome(&time, std::future::pending::<()>()), Err(Interrupted::OutOfTime));
        assert_eq!(*time.0.lock().unwrap(), Duration::from_secs(30));
        assert_eq!(outcome(&time, async { panic!("planned") }), Err::<(), _>(Interrupted::Panicked));
    }
}
