//! The faults in a world of the chat, and the duration of its effects.

use std::time::Duration;
use testkit::{Fault, Passage, Random};

pub(super) const SECOND: i64 = 1000;
pub(super) const MINUTE: i64 = 60 * SECOND;
pub(super) const DAYS: i64 = 24 * 60 * MINUTE;

/// The faults of one world.
#[derive(Clone, Debug)]
pub(super) struct Chaos {
    pub(super) rates: [(Fault, u64); 4],
    pub(super) hangs: u64,
    /// How often an invocation's clock is wrong, in thousandths.
    pub(super) wrong_clocks: u64,
    /// How often Stripe's events are delivered twice, late, or not at all.
    pub(super) duplicates: u64,
    pub(super) late: u64,
    pub(super) lost: u64,
    pub(super) bursts: i64,
}

impl Chaos {
    pub(super) fn draw(random: &mut Random) -> Self {
        let calm = random.chance(100);
        let most = if random.chance(200) { 60 } else { 15 };
        let mut often = |most: u64| if calm { 0 } else { random.below(most + 1) };
        let rates = [
            (Fault::Fail, often(most)),
            (Fault::LoseReply, often(most)),
            (Fault::CrashBefore, often(most)),
            (Fault::CrashAfter, often(most)),
        ];
        let (hangs, duplicates, late, lost) = (often(10), often(300), often(400), often(150));
        let wrong_clocks = if random.chance(150) { 200 } else { 0 };
        Self { rates, hangs, wrong_clocks, duplicates, late, lost, bursts: random.between(2, 5) }
    }

    pub(super) fn passage(&self, random: &mut Random, name: &str, is_over: bool) -> Passage {
        // The deadlines function reads this list, which is empty in these worlds. The toll has worlds of its own.
        if name == "purchases.listed" {
            return Passage::default();
        }
        let before = match name {
            "model.ask" => random.between(400, 6000),
            _ => random.between(1, 30),
        };
        let mut passage = Passage { before: millis(before), fault: None, after: millis(random.between(0, 10)) };
        if is_over {
            return passage;
        }
        passage.fault = self.rates.iter().find(|(_, rate)| random.chance(*rate)).map(|(fault, _)| *fault);
        if random.chance(self.hangs) {
            passage.before = millis(40 * SECOND);
        }
        passage
    }
}

pub(super) fn millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
