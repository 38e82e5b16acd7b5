//! A short simulation: a thousand worlds in which no promise is broken.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use simulation::{
    Tally, simulate,
    sweep::{scenarios, sweep, trace},
};
use std::collections::BTreeSet;
use testkit::BOUNDARIES;

#[test]
fn no_promise_is_broken_in_a_thousand_worlds() {
    let mut tally = Tally::default();
    for seed in 1..=1000 {
        let report = simulate(seed, false);
        tally.add(&report.tally);
        let Some(violation) = report.violation else { continue };
        let trace = simulate(seed, true).trace.join("\n");
        panic!("{trace}\n\nseed {seed}: {violation}\nagain: cargo xtask sim --seed {seed}");
    }
    println!("{tally}");
    assert!(tally.sales > 4000 && tally.faults.values().sum::<u64>() > 10_000, "{tally}");
    assert!(tally.faults.len() >= 17, "every kind of fault struck: {tally}");
    for way in ["on the site", "by a Payment Link"] {
        let states = tally.governed.iter().filter(|((_, of), times)| *of == way && **times > 5).count();
        assert_eq!(states, 6, "questions of every state {way}: {tally}");
    }
    for what in ["ordered on the page", "ordered by a reply"] {
        assert!(tally.follow_ups.get(what).is_some_and(|times| *times > 100), "{what}: {tally}");
    }
}

/// The mail's second worker finds that the first has abandoned it and died before it kept the dead letter.
#[test]
fn a_dead_letter_is_kept_by_the_last_worker_too() {
    assert_eq!(simulate(52_038_209, false).violation, None);
}

#[test]
fn the_same_seed_leaves_the_same_trace() {
    for seed in [1, 7, 42, 1001] {
        let (one, other) = (simulate(seed, true), simulate(seed, true));
        assert!(one.trace.len() > 20, "{}", one.trace.len());
        assert_eq!(one.trace.join("\n"), other.trace.join("\n"));
        assert_eq!((one.tally, one.violation), (other.tally, other.violation));
    }
}

/// The sweep reaches every effect of a port. At each effect it injects every fault and kills the process; it also kills
/// the process at every pair of effects.
#[test]
fn every_boundary_is_swept() {
    let mut reached = BTreeSet::new();
    let mut runs = 0;
    for scenario in scenarios() {
        let swept = sweep(&scenario, true);
        println!("{}: {} effects, {} lives", scenario.name, swept.boundaries, swept.runs);
        runs += swept.runs;
        reached.extend(swept.names);
        if let Some((faults, violation)) = swept.broken.first() {
            panic!("{faults}: {violation}");
        }
    }
    // Only the thousand worlds send unreadable messages.
    let of_no_sale = ["queue.put_aside"];
    // Only a human reads the log, the whole table, and the data that an erasure would remove. Digests and the cache as
    // a whole belong to scheduled functions, which have separate sweeps.
    let not_of_sales = [
        "archive.listed",
        "log.keys",
        "log.lines",
        "log.object",
        "log.originals",
        "sale_data.kept",
        "store.all",
        "store.streams",
        "subscriptions.invoice_of",
        "subscriptions.portal",
        "subscriptions.subscribe",
    ];
    let of_functions = [
        "digests.",
        "log_notices.",
        "cache.",
        "purchases.",
        "facilitator.",
        "node.",
        "accounts.",
        "beginnings.",
        "bridges.",
        "corpora.",
        "sign_ins.",
        "memory.",
        "subscribers.",
    ];
    // The deadlines function reads these lists, which are empty.
    for name in ["accounts.erasures_due", "accounts.unpublished", "bridges.letters_due"] {
        assert!(reached.remove(name), "{name}");
    }
    let of_a_function = |name: &str| of_functions.iter().any(|start| name.starts_with(start));
    let is_of_a_sale = |name: &&str| !not_of_sales.contains(name) && !of_no_sale.contains(name) && !of_a_function(name);
    let sales_have = BOUNDARIES.into_iter().filter(is_of_a_sale);
    assert_eq!(reached, sales_have.collect::<BTreeSet<_>>(), "boundaries that no sale of the sweep reaches");
    assert!(runs > 5000, "{runs} lives");
}

#[test]
fn a_scenario_leaves_the_same_trace_whenever_it_is_lived_through() {
    for scenario in scenarios() {
        assert_eq!(trace(&scenario, &[]), trace(&scenario, &[]), "{}", scenario.name);
    }
}
