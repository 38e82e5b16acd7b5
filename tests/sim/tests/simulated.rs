//! A short simulation: a thousand worlds in which no promise is broken.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use simulation::{
    End, Tally, simulate,
    sweep::{scenarios, sweep, trace},
};
use std::collections::BTreeSet;
use testkit::BOUNDARIES;

/// The scenario in which people allow an answer to a declined question.
const ALLOWED: &str = "a declined question that people allow";

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
    for fault in [
        "failed",
        "reply lost after the work was done",
        "crash before the effect",
        "crash after the effect",
        "refused by a vendor",
        "function time-out",
        "wrong clock",
        "delayed message",
        "duplicate delivery",
        "duplicate event",
        "unreadable message",
        "forged order",
        "payment changed",
        "payment event lost",
        "cache entry lost",
        "cache entry corrupt",
        "cache entry contaminated",
        "cache entry and archive lost",
    ] {
        assert!(tally.faults.contains_key(fault), "{fault}: {tally}");
    }
    for end in [
        End::Delivered,
        End::PageOnly,
        End::Held,
        End::Failed,
        End::Declined,
        End::Unusable,
        End::MailUndecided,
        End::Refunded,
        End::RefundFailed,
        End::Disputed,
        End::Erased,
        End::NotPaid,
        End::NotOrdered,
    ] {
        assert!(tally.ends.contains_key(&end), "{end:?}: {tally}");
    }
    for work in [
        "checkout",
        "webhook",
        "page",
        "follow-up",
        "inbox",
        "deadlines",
        "reconcile",
        "operator",
        "order",
        "mail",
        "retry",
        "notice",
        "payment",
    ] {
        assert!(tally.invocations.contains_key(work), "{work}: {tally}");
    }
    // No approval of a held text passes while the list has its term; the sweep approves after a change of the list.
    for decision in ["replace", "reattempt", "resubmit", "redrive", "refund", "erase", "allow", "reject", "send again"]
    {
        assert!(tally.decisions.contains_key(decision), "{decision}: {tally}");
    }
    for way in ["on the site", "by a Payment Link"] {
        let states = tally.governed.iter().filter(|((_, of), times)| *of == way && **times > 5).count();
        assert_eq!(states, 6, "questions of every state {way}: {tally}");
    }
    for what in ["ordered on the page", "ordered by a reply"] {
        assert!(tally.follow_ups.get(what).is_some_and(|times| *times > 100), "{what}: {tally}");
    }
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
    for name in ["accounts.erasures_due", "accounts.unpublished", "bridges.letters_due", "purchases.listed"] {
        assert!(reached.remove(name), "{name}");
    }
    let of_a_function = |name: &str| of_functions.iter().any(|start| name.starts_with(start));
    let is_of_a_sale = |name: &&str| !not_of_sales.contains(name) && !of_no_sale.contains(name) && !of_a_function(name);
    let sales_have = BOUNDARIES.into_iter().filter(is_of_a_sale);
    assert_eq!(reached, sales_have.collect::<BTreeSet<_>>(), "boundaries that no sale of the sweep reaches");
    assert!(runs > 5000, "{runs} lives");
}

/// Otherwise the sweep of a decision would be one of refusals. The model is asked for a declined question only once
/// people have allowed an answer.
#[test]
fn the_decisions_of_the_sweep_are_carried_out() {
    for decision in
        ["a held verdict that an operator approves", ALLOWED, "a delivered mail that an operator sends again"]
    {
        let scenario = scenarios().into_iter().find(|scenario| scenario.name == decision).unwrap();
        let trace = trace(&scenario, &[]);
        assert!(trace.iter().any(|line| line.ends_with("operator of customer 0: Done")), "{}", trace.join("\n"));
        let is_asked = trace.iter().any(|line| line.ends_with(" model.ask"));
        assert!(is_asked || decision != ALLOWED, "{}", trace.join("\n"));
    }
}

#[test]
fn a_scenario_leaves_the_same_trace_whenever_it_is_lived_through() {
    for scenario in scenarios() {
        assert_eq!(trace(&scenario, &[]), trace(&scenario, &[]), "{}", scenario.name);
    }
}
