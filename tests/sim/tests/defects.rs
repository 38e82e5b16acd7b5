//! The checker detects every defect of a port or a queue, with a rule that is meant for it.

use simulation::defects::{DEFECTS, hunt};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The number of worlds searched for each defect: at least one world must reveal it.
const WORLDS: u64 = 3000;

#[test]
fn every_defect_is_noticed() {
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let hunt_until_none_is_left = || {
        while let Some(defect) = DEFECTS.get(next.fetch_add(1, Ordering::Relaxed)) {
            match hunt(*defect, WORLDS) {
                Ok(found) => println!("{:42} seed {:5} {}", defect.to_string(), found.seed, found.violation),
                Err(other) => missed.lock().unwrap_or_else(PoisonError::into_inner).push((*defect, other)),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(hunt_until_none_is_left);
        }
    });
    let missed = missed.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(missed.is_empty(), "not noticed by their rules in {WORLDS} worlds: {missed:#?}");
}
