//! Random walks over the product of all steps: what no single exhaustive walk combines.

use super::*;
use std::sync::OnceLock;

const WALKS: u64 = 20_000;
const LENGTH: usize = 60;

/// What the walks found.
pub(super) struct Found {
    pub(super) rows: Rows,
    /// For every step, by its place in the list: the steps that some walk took before it, one bit each.
    before: Vec<u128>,
}

/// A splitmix64 generator: the same seed gives the same walk.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

/// All walks, made once for all tests.
pub(super) fn walks() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| {
        let threads = 2;
        let [mut found, other] = std::thread::scope(|scope| {
            [0, 1].map(|first| scope.spawn(move || some_walks(first, threads))).map(|thread| thread.join().unwrap())
        });
        for (name, pairs) in other.rows {
            found.rows.entry(name).or_default().extend(pairs);
        }
        found.before.iter_mut().zip(other.before).for_each(|(all, more)| *all |= more);
        found
    })
}

fn some_walks(first: u64, every: usize) -> Found {
    let steps = steps();
    let mut found = Found { rows: Rows::new(), before: vec![0; steps.len()] };
    for seed in (first..WALKS).step_by(every) {
        walk(seed, &steps, &mut found);
    }
    found
}

fn walk(seed: u64, steps: &[Step], found: &mut Found) {
    let mut random = Random(seed << 32);
    let mut sale = normal(firsts()[random.below(2)].clone(), Walk::Attention);
    let mut taken = 0;
    for _ in 0..LENGTH {
        check(&sale, steps, random.below(8) == 0);
        let step;
        (sale, step) = next(&sale, steps, &mut random, &mut found.rows);
        if let Some(step) = step {
            found.before[step] |= taken;
            taken |= 1_u128 << step;
        }
    }
    // Whatever happened, some path leads to an end.
    let ended = (0..1_000).any(|_| {
        sale = next(&sale, steps, &mut random, &mut Rows::new()).0;
        has_ended(&sale)
    });
    assert!(ended, "no end follows: {sale:?}");
}

/// Takes any step that changes the sale, or lets time pass. Returns the place of the step.
fn next(sale: &Sale, steps: &[Step], random: &mut Random, rows: &mut Rows) -> (Sale, Option<usize>) {
    let mut after = sale.clone();
    for _ in 0..10_000 {
        let Some((index, step)) = steps.iter().enumerate().nth(random.below(steps.len() + 4)) else { break };
        // These stop most other steps, so they are rarer.
        if matches!(step.name, "erase" | "refund_authorised" | "refund_authorised (by policy)" | "payment_reported")
            && random.below(8) > 0
        {
            continue;
        }
        if take(step, sale, &mut after) {
            add_transitions(rows.entry((step.actor, step.name)).or_default(), sale, &after);
            after = normal(after, Walk::Attention);
            if after != *sale {
                return (after, Some(index));
            }
        }
    }
    time_passes(&mut after);
    (after, None)
}

/// Checks that the state is an end or somebody's work, and that machines can end theirs.
fn check(sale: &Sale, steps: &[Step], is_driven: bool) {
    assert!(has_ended(sale) || sale.open_work().is_some(), "nobody's work: {sale:?}");
    if is_driven {
        assert!(can_end_work(sale.clone(), steps), "machines cannot end their work: {sale:?}");
    }
}

/// Whether functions, taking every step that they can in the order of the list, end their work.
fn can_end_work(mut sale: Sale, steps: &[Step]) -> bool {
    let mut rounds = 0;
    while is_machines_work(&sale) && rounds < 8 {
        let mut after = sale.clone();
        for step in steps.iter().filter(|step| step.is_by_machine()) {
            if !(step.take)(&mut after, HOLDER) {
                continue;
            }
            if !is_sent_unordered(&sale, &after) {
                sale = normal(after, Walk::Attention);
                if !is_machines_work(&sale) {
                    return true;
                }
            }
            after = sale.clone();
        }
        time_passes(&mut sale);
        rounds += 1;
    }
    !is_machines_work(&sale)
}

#[test]
fn random_walks_over_all_steps_find_no_dead_end_and_combine_the_steps() {
    let steps = steps();
    assert!(steps.len() <= 128, "one bit for each");
    let before = &walks().before;
    let met = |one: &str, other: &str| {
        let is = |index: usize, name: &str| steps[index].name == name;
        let after = (0..steps.len()).filter(|index| is(*index, other));
        after
            .flat_map(|after| (0..steps.len()).filter(move |index| (before[after] >> index) & 1 == 1))
            .any(|at| is(at, one))
    };
    for (one, other) in [
        ("payment_reported", "record_drop"),
        ("record_drop", "payment_reported"),
        ("send_again", "payment_reported"),
        ("replied", "payment_reported"),
        ("found_again", "payment_reported"),
        ("decline", "payment_reported"),
        ("reopen", "unusable"),
        ("chase", "refund_answered"),
    ] {
        assert!(met(one, other), "{one} was never followed by {other}");
    }
    let pairs: u32 = before.iter().map(|steps| steps.count_ones()).sum();
    println!("{pairs} of {} pairs of steps", steps.len() * steps.len());
    assert!(pairs > 8_000, "{pairs} pairs of steps");
}
