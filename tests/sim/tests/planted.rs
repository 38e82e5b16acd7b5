//! The simulation finds every planted defect.

// A test that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use simulation::planted::{BUGS, hunt};
use std::collections::BTreeSet;

/// Worlds in which a defect must show.
const WORLDS: u64 = 3000;

#[test]
fn every_planted_defect_is_found() {
    let mut missed = Vec::new();
    for bug in BUGS {
        match hunt(bug, WORLDS) {
            Some(found) => println!("{:34} {:24} seed {:5} {}", bug.name, bug.place, found.seed, found.violation),
            None => missed.push(bug.name),
        }
    }
    assert_eq!(missed, Vec::<&str>::new(), "not found in {WORLDS} worlds");
    let listed: BTreeSet<String> = BUGS.iter().map(|bug| bug.name.to_owned()).collect();
    assert_eq!(domain::planted::asked(), listed, "every place that can hold a defect is listed, and was reached");
}
