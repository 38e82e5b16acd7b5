//! A limit of time and of damage around one stage.

use domain::ports::Pause;
use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broke {
    /// The time is up.
    #[error("no answer in time")]
    OutOfTime,
    /// It panicked.
    #[error("it broke")]
    Panicked,
}

/// Runs `work` for at most `limit`. A panic in it stays in it.
///
/// # Errors
/// [`Broke`].
pub async fn within<T>(pause: &dyn Pause, limit: Duration, work: impl Future<Output = T>) -> Result<T, Broke> {
    let (mut work, mut alarm) = (pin!(work), pause.pause(limit));
    poll_fn(move |context| {
        // The work first: what is ready at once needs no time. It is not polled again once it has panicked.
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Ready(answer)) => return Poll::Ready(Ok(answer)),
            Ok(Poll::Pending) => {}
            Err(_) => return Poll::Ready(Err(Broke::Panicked)),
        }
        Pin::new(&mut alarm).poll(context).map(|()| Err(Broke::OutOfTime))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::{World, run};

    #[test]
    fn what_answers_takes_no_time_what_hangs_takes_its_limit_and_what_panics_is_caught() {
        let world = World::default();
        let limit = Duration::from_secs(30);
        assert_eq!(run(within(&world, limit, async { 1 })), Some(Ok(1)));
        assert_eq!(world.state().now, 0);
        assert_eq!(run(within(&world, limit, std::future::pending::<()>())), Some(Err(Broke::OutOfTime)));
        assert_eq!(world.state().now, 30_000);
        assert_eq!(run(within(&world, limit, async { panic!("planned") })), Some(Err::<(), _>(Broke::Panicked)));
    }
}
