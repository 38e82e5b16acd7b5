//! Reports to CloudWatch that a circuit breaker is open. A breaker that stays closed reports nothing, so that
//! an ordinary sale costs no log line.

use super::Breaker;
use crate::{
    Metric,
    ports::{Breakers, Clock, Meter, SaveError, StorageError, Versioned},
};
use async_trait::async_trait;

/// Breakers whose state is recorded when they are read or saved.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Gauged<'a> {
    pub breakers: &'a dyn Breakers,
    pub metric: Metric,
    pub meter: &'a dyn Meter,
    pub clock: &'a dyn Clock,
}

/// The gauge of a breaker that was read or saved: 1 while it is open, 0 when this save closes it.
fn reading(breaker: &Breaker, saved: bool) -> Option<u64> {
    match (breaker.opened_at.is_some(), saved) {
        (true, _) => Some(1),
        (false, true) => Some(0),
        (false, false) => None,
    }
}

impl Gauged<'_> {
    fn record(&self, breaker: &Breaker, saved: bool) {
        if let Some(value) = reading(breaker, saved) {
            self.meter.record(&[self.metric.of(value)], self.clock.now());
        }
    }
}

#[async_trait]
impl Breakers for Gauged<'_> {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        let row = self.breakers.load(model).await?;
        self.record(&row.value, false);
        Ok(row)
    }

    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError> {
        self.breakers.save(model, breaker, expected).await?;
        self.record(breaker, true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Timestamp, metric::Measurement, poll_once::poll_once};
    use std::sync::Mutex;

    /// One breaker, always at the same time, and what was measured.
    #[derive(Default)]
    struct Row {
        breaker: Mutex<Breaker>,
        measured: Mutex<Vec<Measurement>>,
    }

    #[async_trait]
    impl Breakers for Row {
        async fn load(&self, _model: &str) -> Result<Versioned<Breaker>, StorageError> {
            Ok(Versioned { value: self.breaker.lock().unwrap().clone(), version: 0 })
        }

        async fn save(&self, _model: &str, breaker: &Breaker, _expected: u64) -> Result<(), SaveError> {
            *self.breaker.lock().unwrap() = breaker.clone();
            Ok(())
        }
    }

    impl Meter for Row {
        fn record(&self, measurements: &[Measurement], _at: Timestamp) {
            self.measured.lock().unwrap().extend_from_slice(measurements);
        }
    }

    impl Clock for Row {
        fn now(&self) -> Timestamp {
            Timestamp::from_seconds(1)
        }
    }

    #[test]
    fn what_is_read_and_saved_is_measured() {
        let row = Row::default();
        let gauged = Gauged { breakers: &row, metric: Metric::BreakerOpen, meter: &row, clock: &row };
        let open = Breaker { opened_at: Some(Timestamp::from_seconds(1)), ..Breaker::default() };
        assert_eq!(poll_once(gauged.load("model")).unwrap().value, Breaker::default());
        poll_once(gauged.save("model", &open, 0)).unwrap();
        assert_eq!(poll_once(gauged.load("model")).unwrap().value, open);
        assert_eq!(*row.measured.lock().unwrap(), [Metric::BreakerOpen.of(1), Metric::BreakerOpen.of(1)]);
    }

    #[test]
    fn an_open_breaker_and_one_that_has_just_closed_are_measured() {
        let closed = Breaker::default();
        let open = Breaker { opened_at: Some(Timestamp::from_seconds(1)), ..Breaker::default() };
        assert_eq!((reading(&closed, false), reading(&closed, true)), (None, Some(0)));
        assert_eq!((reading(&open, false), reading(&open, true)), (Some(1), Some(1)));
    }
}
