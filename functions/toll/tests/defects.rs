//! The worlds notice every broken contract of a port. A checker that reports nothing proves nothing unless it reports
//! these.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::panic::{catch_unwind, set_hook};
use support::{life::live, site::Defect};

/// At least one of so many worlds must reveal a defect. All of them are sound without one (`worlds.rs`).
const WORLDS: u64 = 200;

/// Whether the judge of a world finds a promise broken. A panic without the judge's message is one of the test itself.
fn condemns(seed: u64, defect: Defect) -> bool {
    let Err(panic) = catch_unwind(|| live(seed, Some(defect))) else { return false };
    panic.downcast_ref::<String>().is_some_and(|message| message.contains(&format!("seed {seed}: ")))
}

#[test]
fn every_defect_is_noticed() {
    set_hook(Box::new(|_| {}));
    let is_noticed = |defect: Defect| (0..WORLDS).find(|seed| condemns(*seed, defect));
    let found: Vec<_> = Defect::ALL.into_iter().map(|defect| (defect, is_noticed(defect))).collect();
    println!("{found:?}");
    let missed: Vec<_> = found.into_iter().filter(|(_, seed)| seed.is_none()).collect();
    assert!(missed.is_empty(), "not noticed in {WORLDS} worlds: {missed:?}");
}
