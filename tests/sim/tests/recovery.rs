//! The promise about an outage: 99 % of the sales are delivered within a minute of the vendor's return.

// A test that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use simulation::recovery::{Recovery, recover};
use std::time::Duration;
use testkit::Fault;

const PROMISED: Duration = Duration::from_secs(60);

/// Delivered within the promised time, and all.
fn shares(of: &'static str, how: Fault) -> (usize, usize) {
    let (mut in_time, mut all) = (0, 0);
    for (seed, sales) in [(1, 1), (2, 1), (3, 1), (4, 5), (5, 20), (6, 60), (7, 120), (8, 120)] {
        let Recovery { delays, violation } = recover(seed, of, how, sales);
        assert_eq!(violation, None, "{of} {how:?}, seed {seed}");
        let late = delays.iter().filter(|delay| delay.is_none_or(|delay| delay > PROMISED)).count();
        in_time += delays.len() - late;
        all += delays.len();
    }
    (in_time, all)
}

#[test]
fn sales_are_delivered_within_a_minute_of_the_models_return() {
    for how in [Fault::Refuse(503), Fault::Refuse(429), Fault::Fail] {
        let (in_time, all) = shares("model.", how);
        assert!(all > 250 && in_time * 100 >= all * 99, "{how:?}: {in_time} of {all}");
    }
}

#[test]
fn sales_are_delivered_within_a_minute_of_stripes_return() {
    for how in [Fault::Refuse(503), Fault::Fail] {
        let (in_time, all) = shares("payments.session", how);
        assert!(all > 250 && in_time * 100 >= all * 99, "{how:?}: {in_time} of {all}");
    }
}
