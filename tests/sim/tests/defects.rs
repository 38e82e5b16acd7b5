//! The checker notices every defect of a port or a queue.

use simulation::defects::{DEFECTS, Defect, hunt};

/// Worlds among which one must show a defect.
const WORLDS: u64 = 3000;

#[test]
fn every_defect_is_noticed() {
    let mut missed = Vec::new();
    for defect in DEFECTS {
        match hunt(defect, WORLDS) {
            Some(found) => println!("{:42} seed {:5} {}", defect.to_string(), found.seed, found.violation),
            None => missed.push(defect),
        }
    }
    assert_eq!(missed, Vec::<Defect>::new(), "not noticed in {WORLDS} worlds");
}
