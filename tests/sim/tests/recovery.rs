//! The promise about an outage: 99 % of the sales are delivered within a minute of the vendor's return.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use domain::breaker::{BreakerPolicy, Reopen};
use simulation::{
    recovery::{Recovery, recover},
    settings::breaker,
};
use std::time::Duration;
use testkit::Fault;

const PROMISED: Duration = Duration::from_secs(60);

/// The number of sales delivered within this time after the vendor's return, and of all sales.
fn shares(of: &'static str, how: Fault, time: Duration) -> (usize, usize) {
    shares_with(of, how, time, breaker())
}

fn shares_with(of: &'static str, how: Fault, time: Duration, breaker: BreakerPolicy) -> (usize, usize) {
    let (mut in_time, mut all) = (0, 0);
    for (seed, sales) in [(1, 1), (2, 1), (3, 1), (4, 5), (5, 20), (6, 60), (7, 120), (8, 120)] {
        let Recovery { delays, violation } = recover(seed, of, how, sales, breaker);
        assert_eq!(violation, None, "{of} {how:?}, seed {seed}");
        let late = delays.iter().filter(|delay| delay.is_none_or(|delay| delay > time)).count();
        in_time += delays.len() - late;
        all += delays.len();
    }
    (in_time, all)
}

#[test]
fn sales_are_delivered_within_a_minute_of_the_models_return() {
    for how in [Fault::Refuse(503), Fault::Refuse(429), Fault::Fail] {
        let (in_time, all) = shares("model.", how, PROMISED);
        assert!(all > 250 && in_time * 100 >= all * 99, "{how:?}: {in_time} of {all}");
    }
}

#[test]
fn sales_are_delivered_within_a_minute_of_stripes_return() {
    for how in [Fault::Refuse(503), Fault::Fail] {
        let (in_time, all) = shares("payments.session", how, PROMISED);
        assert!(all > 250 && in_time * 100 >= all * 99, "{how:?}: {in_time} of {all}");
    }
}

/// The measurement can fail: with a circuit that stays open for five minutes most sales are late.
#[test]
fn a_circuit_that_is_slow_to_close_is_noticed() {
    let five_minutes = Duration::from_secs(300);
    let reopen = Reopen { least: five_minutes, most: five_minutes, ..breaker().reopen };
    let (in_time, all) =
        shares_with("model.", Fault::Refuse(503), PROMISED, BreakerPolicy { open: five_minutes, reopen, ..breaker() });
    assert!(all > 250 && in_time * 100 < all * 99, "{in_time} of {all}");
}

#[test]
fn sales_are_delivered_within_a_minute_of_the_mailboxs_return() {
    for how in [Fault::Refuse(503), Fault::Fail] {
        let (in_time, all) = shares("mailbox.", how, PROMISED);
        assert!(all > 250 && in_time * 100 >= all * 99, "{how:?}: {in_time} of {all}");
        println!("{how:?}: within a minute {in_time} of {all}");
        // The rest follows Email Retry's schedule: the attempt 30 minutes after the second failure is the last one that
        // such an outage needs.
        let (in_time, all) = shares("mailbox.", how, Duration::from_secs(31 * 60));
        assert_eq!(in_time, all, "{how:?}");
    }
}
