//! The chat's worlds: no promise is broken, and the checker detects every defect of a port.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use simulation::chat::{ChatTally, DEFECTS, hunt, simulate_chat};
use testkit::BOUNDARIES;

/// The worlds of a run without `CHAT_WORLDS`, as `first..end`.
const WORLDS: std::ops::Range<u64> = 1..251;

/// The number of worlds searched for each defect: at least one world must reveal it.
const HUNTED: u64 = 200;

fn worlds() -> std::ops::Range<u64> {
    let Some(range) = runtime::Environment::of_process().optional("CHAT_WORLDS") else { return WORLDS };
    let (first, end) = range.split_once("..").expect("CHAT_WORLDS is FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

#[test]
fn no_promise_of_the_chat_is_broken_in_any_world() {
    let mut tally = ChatTally::default();
    for seed in worlds() {
        let report = simulate_chat(seed, false, None);
        tally.add(&report.tally);
        let Some(broken) = report.broken else { continue };
        let trace = simulate_chat(seed, true, None).trace.join("\n");
        panic!(
            "{trace}\n\nseed {seed}: {broken}\nagain: CHAT_WORLDS={seed}..{} cargo test -p simulation --test chat_worlds",
            seed + 1
        );
    }
    println!("{tally:#?}");
    if worlds() != WORLDS {
        return;
    }
    for what in [
        "POST exchange 200",
        "POST exchange 202",
        "POST exchange 402",
        "POST exchange 410",
        "POST exchange 503",
        "POST other 409",
        "POST declined 422",
        "GET exchange 200",
        "beginning",
        "GET memory 200",
        "DELETE memory 202",
        "POST session 200",
        "POST session 401",
        "DELETE session 200",
        "DELETE sessions 200",
        "POST portal 200",
        "subscription",
        "Stripe: billing",
        "Stripe: payment",
        "POST acceptance 200",
        "POST message 200",
        "POST message 403",
        "GET messages 200",
        "mail about a Bridge",
        "alert BRIDGE_ACCEPTED",
        "alert BRIDGE_MESSAGE",
        "alert BRIDGE_LETTER",
        "alert MONEY_BACK",
        "alert MONEY_GONE",
        "alert TWO_SUBSCRIPTIONS",
        "event lost",
        "old report repeated",
        "beside an erasure",
        "Fail",
        "LoseReply",
        "CrashBefore",
        "CrashAfter",
        "time-out",
    ] {
        assert!(tally.of(what) > 0, "no world has: {what}");
    }
    let of_the_chat =
        ["accounts.", "beginnings.", "bridges.", "memory.", "sign_ins.", "subscribers.", "subscriptions."];
    let own = BOUNDARIES.into_iter().filter(|name| of_the_chat.iter().any(|of| name.starts_with(of)));
    let missing: Vec<_> = own.filter(|name| !tally.reached.contains(name)).collect();
    assert_eq!(missing, ["bridges.listed", "subscribers.ending_after"], "only operators' lists read these");
}

#[test]
fn every_defect_of_a_port_is_noticed() {
    let mut missed = Vec::new();
    for defect in DEFECTS {
        match hunt(defect, HUNTED) {
            Ok((seed, broken)) => println!("{defect:?}: seed {seed}: {broken}"),
            Err(other) => missed.push((defect, other)),
        }
    }
    assert!(missed.is_empty(), "not noticed by their promises in {HUNTED} worlds: {missed:#?}");
}

#[test]
fn the_same_seed_leaves_the_same_trace() {
    for seed in [1, 7, 42] {
        let (one, other) = (simulate_chat(seed, true, None), simulate_chat(seed, true, None));
        assert!(one.trace.len() > 50, "{}", one.trace.len());
        assert_eq!(one.trace, other.trace);
        assert_eq!(one.tally, other.tally);
    }
}
