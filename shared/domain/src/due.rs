//! A scheduled run over due work, which ends in time.

use crate::ports::Clock;
use std::{ops::AddAssign, time::Duration};

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Work that was listed as due.
    pub due: usize,
    /// Work that failed. It stays due.
    pub failed: usize,
    /// Work that the run had no time for. It stays due.
    pub left: usize,
}

/// A run in which work failed, with its report: the function's alarm shows it.
#[derive(Debug, thiserror::Error)]
#[error("{failed} items of work failed")]
pub struct Incomplete<R> {
    failed: usize,
    /// The report of the run.
    pub report: R,
}

impl<R: Copy> Incomplete<R> {
    /// The report, or an error if any work failed.
    ///
    /// # Errors
    /// [`Incomplete`].
    pub const fn unless_all(report: R, failed: usize) -> Result<R, Self> {
        if failed == 0 { Ok(report) } else { Err(Self { failed, report }) }
    }
}

impl Report {
    /// This report, if all due work was handled, or left to the next run for lack of time.
    ///
    /// # Errors
    /// [`Incomplete`].
    pub const fn complete(self) -> Result<Self, Incomplete<Self>> {
        Incomplete::unless_all(self, self.failed)
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.due += other.due;
        self.failed += other.failed;
        self.left += other.left;
    }
}

/// Handles each item with `handle`, and begins with none after `share`. A failure does not stop the others.
pub async fn run<I, E, F>(clock: &dyn Clock, share: Duration, due: Vec<I>, handle: impl Fn(I) -> F) -> Report
where
    F: Future<Output = Result<(), E>>,
{
    let until = clock.now().plus(share);
    let mut report = Report { due: due.len(), ..Report::default() };
    for item in due {
        if clock.now() >= until {
            report.left += 1;
        } else if handle(item).await.is_err() {
            report.failed += 1;
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Timestamp, poll_once::poll_once};
    use std::sync::Mutex;

    #[test]
    fn reports_are_added_up() {
        let mut sum = Report { due: 7, failed: 0, left: 2 };
        assert!(sum.complete().is_ok(), "what is left is the next run's");
        sum += Report { due: 5, failed: 3, left: 1 };
        assert_eq!(sum, Report { due: 12, failed: 3, left: 3 });
        assert_eq!(sum.complete().unwrap_err().to_string(), "3 items of work failed");
    }

    #[test]
    fn every_failure_and_every_item_that_is_left_is_counted() {
        struct Seconds(Mutex<i64>);
        impl Clock for Seconds {
            fn now(&self) -> Timestamp {
                let mut now = self.0.lock().unwrap();
                *now += 1;
                Timestamp::from_seconds(*now)
            }
        }
        let clock = Seconds(Mutex::new(0));
        // The share ends at second 1 + 4: items are handled in the seconds 2, 3 and 4.
        let handle = |item: u32| async move { if item == 1 { Ok(()) } else { Err(()) } };
        let report = poll_once(run(&clock, Duration::from_secs(4), vec![1, 2, 3, 4, 5], handle));
        assert_eq!((report.due, report.failed, report.left), (5, 2, 2));
    }
}
