//! One trial of each property, by seed. The suite runs some, the benchmark all of them.

use super::{Table, code, disguised, handle, history, locked, sentence, unlocked};
use lens::canonical::Value;
use memory::{
    EventLog,
    event::{PointerKind, StoryPointerChanged},
    log::{BootError, Unsealed},
    truncate::{Candidate, Rank, Slice, truncate},
};
use std::cmp::Reverse;
use testkit::Random;

/// Whether a random history that is read back from its records gives the same log, state and working set.
pub(crate) fn rebuilds_equal(seed: u64) -> bool {
    let table = history(seed, 40);
    let records = table.log.records().to_vec();
    let Ok(log) = EventLog::boot(table.log.campaign_id().clone(), records, &Unsealed) else { return false };
    let rebuilt = Table { log };
    let query = sentence(&mut Random::seeded(seed), 3);
    let bytes = |table: &Table| table.try_build(None, &query, 4000).map(|built| built.set.bytes().to_vec()).ok();
    rebuilt.log == table.log
        && rebuilt.log.state().hash().ok() == table.log.state().hash().ok()
        && bytes(&rebuilt) == bytes(&table)
}

/// How many of `renderings` texts with a locked token, disguised or not, reach a working set. The texts are facts and
/// pointers that a careless or hostile author commits beside the locked clue.
pub(crate) fn leaks(seed: u64, renderings: u64) -> u64 {
    let mut draw = Random::seeded(seed);
    let mut table = Table::new();
    let token = code(&mut draw);
    let gist = sentence(&mut draw, 5);
    table.add(locked("detail", &format!("It is {token}."), &gist, &[&token]));
    for number in 0..renderings {
        let (before, after) = (sentence(&mut draw, 2), sentence(&mut draw, 2));
        let shown = disguised(&mut draw, &token);
        // A word for a number is found as a word only.
        let is_glued = draw.below(4) == 0 && !is_in_words(&shown);
        let text = if is_glued { format!("{before}{shown}{after}") } else { format!("{before} {shown} {after}") };
        match draw.below(3) {
            0 => {
                let handle = handle(&format!("thread-{number}"));
                table.add(StoryPointerChanged { pointer: PointerKind::Thread, handle, value: Value::Text(text) });
            }
            // A gist with a locked token is refused at its commit; a plain fact with one is withheld from the working
            // set.
            1 => {
                let detail = format!("other-{number}");
                let _ = table.try_add(locked(&detail, "Nothing of interest", &text, &[&token, "Nothing of interest"]));
            }
            _ => {
                let _ = table.try_add(unlocked(&format!("key-{number}"), &text));
            }
        }
    }
    let content = table.build(&gist).set.content().clone();
    let others = content.slices.facts_slice.iter().filter(|fact| fact.detail_handle.as_deref() != Some("detail"));
    let bytes = String::from_utf8_lossy(table.build("").set.bytes()).to_lowercase();
    (others.count() + content.slices.state_slice.len()) as u64 + u64::from(bytes.contains(&token.to_lowercase()))
}

fn is_in_words(shown: &str) -> bool {
    shown.split([' ', '-']).any(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Changes one thing in the records of a log and returns whether reading it back detects the change.
pub(crate) fn finds_tampering(table: &Table, seed: u64) -> bool {
    let mut draw = Random::seeded(seed);
    let mut records = table.log.records().to_vec();
    let head = table.log.head();
    let at = draw.below(records.len() as u64) as usize;
    match draw.below(7) {
        0 => {
            let byte = draw.below(records[at].body.len() as u64) as usize;
            records[at].body[byte] ^= 1 << draw.below(8);
        }
        1 => {
            records.remove(at);
        }
        2 => {
            let copy = records[at].clone();
            records.insert(at, copy);
        }
        3 => {
            let other = (at + 1) % records.len();
            records.swap(at, other);
        }
        4 => records[at].seq ^= 1 << draw.below(8),
        5 => records[at].hash = records[(at + 1) % records.len()].hash,
        _ => records[at].prev = records[at].hash,
    }
    match EventLog::boot(table.log.campaign_id().clone(), records, &Unsealed) {
        Err(BootError::Tampered { .. }) => true,
        Err(_) => false,
        // A log without its last records verifies, but has another head, which the store keeps separately.
        Ok(log) => log.head() != head,
    }
}

/// Whether the truncator respects a random budget, keeps a prefix of the order, and writes a receipt for the rest.
pub(crate) fn keeps_to_budget(seed: u64) -> bool {
    let mut draw = Random::seeded(seed);
    let candidates: Vec<Candidate<u64>> = (0..draw.below(30))
        .map(|number| Candidate {
            rank: Rank {
                group: draw.below(3) as u8,
                shared: Reverse(draw.below(3) as u32),
                event: Reverse(draw.below(5)),
                slice: draw.pick(&[Slice::FactsSlice, Slice::StateSlice, Slice::CompactionsSlice]).unwrap(),
                id: format!("id-{number}"),
            },
            bytes: draw.below(300),
            item: number,
        })
        .collect();
    let room = draw.below(4000);
    let mut shuffled = candidates.clone();
    for index in (1..shuffled.len()).rev() {
        shuffled.swap(index, draw.below(index as u64 + 1) as usize);
    }
    let mut order = candidates.clone();
    order.sort_by(|a, b| a.rank.cmp(&b.rank));
    let (kept, receipts) = truncate(candidates, room);
    let (again, _) = truncate(shuffled, room);
    let items = |kept: &[Candidate<u64>]| kept.iter().map(|it| it.item).collect::<Vec<_>>();
    let used: u64 = kept.iter().map(|it| it.bytes).sum();
    let is_longest = order.get(kept.len()).is_none_or(|next| used + next.bytes > room);
    used <= room
        && is_longest
        && items(&kept) == items(&order[..kept.len()])
        && items(&kept) == items(&again)
        && kept.len() + receipts.len() == order.len()
}

/// Whether a whole working set respects a random budget, or the builder refuses the budget.
pub(crate) fn set_keeps_to_budget(table: &Table, seed: u64) -> bool {
    let mut draw = Random::seeded(seed);
    let (budget, query) = (draw.below(6000), sentence(&mut draw, 2));
    match table.try_build(None, &query, budget) {
        Ok(built) => built.set.bytes().len() as u64 <= budget,
        Err(error) => error.to_string().contains("too small") && budget < 1800,
    }
}
