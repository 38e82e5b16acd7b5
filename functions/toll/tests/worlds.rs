//! Worlds of several agents. `cargo xtask sim` runs other worlds.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use support::life::live;
use testkit::BOUNDARIES;

const SEEDS: u64 = 300;

#[test]
fn nobody_pays_twice_and_no_answer_leaves_unpaid_in_any_world() {
    let mut reached = BTreeSet::new();
    let (mut sold, mut shown, mut early, mut elsewhere) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let lived = live(seed, None);
        reached.extend(lived.reached);
        sold += lived.sold;
        shown += lived.shown;
        early += lived.early;
        elsewhere += lived.elsewhere;
    }
    assert!(sold > 1_000 && shown > sold, "{sold} of {shown} got an answer");
    assert!(early > 0 && elsewhere > 0, "{early} transfers came early, {elsewhere} payments went elsewhere");
    let of_the_toll = ["purchases.", "facilitator.", "node.", "corpora."];
    let own = BOUNDARIES.into_iter().filter(|name| of_the_toll.iter().any(|of| name.starts_with(of)));
    let missing: Vec<_> = own.filter(|name| !reached.contains(name)).collect();
    assert_eq!(missing, ["corpora.keep", "corpora.listed"], "operators publish corpora");
}
