//! The duration and the faults of a world's effects, drawn from the seed.

use std::time::Duration;
use testkit::{Fault, Passage, Random};

pub(crate) const SECOND: i64 = 1000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;

/// A vendor or service that is down for a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    /// The beginning of its boundaries' names.
    pub(crate) of: &'static str,
    pub(crate) from: i64,
    pub(crate) until: i64,
    pub(crate) how: Fault,
}

/// The faults of one world. Times are in milliseconds since its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    /// The end of the first period of faults.
    pub(crate) faults_until: i64,
    /// How often each fault strikes, in thousandths.
    rates: [(Fault, u64); 4],
    /// How often a vendor refuses, and how often an effect hangs.
    refusals: u64,
    hangs: u64,
    pub(crate) outage: Option<Outage>,
    /// The beginning and the end of a second period of faults, a day later, when work for humans becomes due.
    second: Option<(i64, i64)>,
    /// How often the clock of an invocation is wrong, in thousandths.
    pub(crate) wrong_clocks: u64,
    /// The largest error of a wrong clock.
    pub(crate) clock_error: i64,
    /// How often a queue delivers a message once more.
    pub(crate) duplicates: u64,
    /// The longest delay of a message.
    pub(crate) delay: i64,
    pub(crate) sent_items_lag: i64,
}

/// What vendors answer when they refuse.
const VENDORS: [(&str, &[u16]); 6] = [
    ("mailbox.create_draft", &[429, 503, 500, 400, 403]),
    ("mailbox.send_draft", &[429, 503, 500, 403]),
    ("mailbox.hand_over", &[429, 503, 400, 403]),
    ("model.ask", &[429, 503, 500, 404, 400, 401]),
    ("payments.", &[429, 500, 503]),
    ("ledger.", &[429, 500, 503]),
];

const OUTAGES: [&str; 10] =
    ["mailbox.", "model.", "payments.", "ledger.", "store.", "log.", "archive.", "queue.", "alerts.", "secrets."];

impl Faults {
    pub(crate) fn draw(random: &mut Random) -> Self {
        let calm = random.chance(100);
        let wild = random.chance(150);
        let mut often = |most: u64| if calm { 0 } else { random.below(most * if wild { 4 } else { 1 } + 1) };
        let rates = [
            (Fault::Fail, often(40)),
            (Fault::LoseReply, often(40)),
            (Fault::CrashBefore, often(30)),
            (Fault::CrashAfter, often(30)),
        ];
        let (refusals, hangs, duplicates) = (often(60), often(15), often(250));
        let long = random.chance(60);
        let outage = random.chance(120).then(|| {
            let from = random.between(0, 20 * MINUTE);
            let lasts = if long { random.between(HOUR, 5 * HOUR) } else { random.between(MINUTE, 30 * MINUTE) };
            let how = random.pick(&[Fault::Fail, Fault::LoseReply, Fault::Refuse(503)]).unwrap_or(Fault::Fail);
            Outage { of: random.pick(&OUTAGES).unwrap_or("mailbox."), from, until: from + lasts, how }
        });
        let second = random.chance(150).then(|| (23 * HOUR, random.between(24 * HOUR, 30 * HOUR)));
        let jumps = random.chance(180);
        let duplicates = if jumps { duplicates.max(600) } else { duplicates };
        Self {
            faults_until: random.between(5 * MINUTE, 55 * MINUTE),
            rates,
            refusals,
            hangs,
            outage,
            second,
            wrong_clocks: if jumps { 150 + random.below(400) } else { 0 },
            clock_error: random.between(30 * SECOND, 15 * MINUTE),
            duplicates,
            delay: random.pick(&[0, SECOND, 30 * SECOND, 8 * MINUTE]).unwrap_or(0),
            sent_items_lag: if random.chance(300) { random.between(0, 12 * MINUTE) } else { 0 },
        }
    }

    /// No faults, except wrong clocks if wanted.
    pub(crate) const fn none(wrong_clocks: bool) -> Self {
        Self {
            faults_until: 0,
            rates: [(Fault::Fail, 0), (Fault::LoseReply, 0), (Fault::CrashBefore, 0), (Fault::CrashAfter, 0)],
            refusals: 0,
            hangs: 0,
            outage: None,
            second: None,
            wrong_clocks: if wrong_clocks { 1 } else { 0 },
            clock_error: 0,
            duplicates: 0,
            delay: 0,
            sent_items_lag: 0,
        }
    }

    /// One outage and no other fault.
    pub(crate) const fn only(outage: Outage) -> Self {
        Self { outage: Some(outage), ..Self::none(false) }
    }

    /// The end of the first period of faults and of the outage.
    pub(crate) fn over(&self) -> i64 {
        self.outage.map_or(0, |outage| outage.until).max(self.faults_until)
    }

    /// The end of the long period of faults that contains this time, if there is one. The second period is always long.
    pub(crate) fn long_until(&self, at: i64) -> Option<i64> {
        let second = self.second.filter(|(from, until)| (*from..*until).contains(&at)).map(|(_, until)| until);
        second.or_else(|| (self.is_long() && at < self.over()).then(|| self.over()))
    }

    /// Whether an outage lasts longer than the queues redeliver: a dead letter is then not the code's fault.
    pub(crate) fn is_long(&self) -> bool {
        self.over() > HOUR
    }

    /// Draws the duration and the fault of one effect.
    pub(crate) fn passage(&self, random: &mut Random, name: &'static str, now: i64) -> Passage {
        let usual = if name == "model.ask" { random.between(800, 9000) } else { random.between(1, 40) };
        let mut passage = Passage { before: time(usual), fault: None, after: time(random.between(1, 10)) };
        if let Some(outage) = self.outage
            && name.starts_with(outage.of)
            && (outage.from..outage.until).contains(&now)
        {
            passage.fault = Some(outage.how);
            return passage;
        }
        let again = self.second.is_some_and(|(from, until)| (from..until).contains(&now));
        if now >= self.faults_until && !again {
            return passage;
        }
        if random.chance(self.hangs) {
            // Clients give up by themselves; a model's after 45 s.
            let most = if name == "model.ask" { 45 * SECOND } else { 30 * SECOND };
            passage.before = time(random.between(5 * SECOND, most));
            passage.fault = random.chance(700).then_some(Fault::LoseReply);
            return passage;
        }
        let refused = VENDORS.iter().find(|(vendor, _)| name.starts_with(vendor)).map(|(_, statuses)| *statuses);
        if let Some(statuses) = refused.filter(|_| random.chance(self.refusals)) {
            passage.fault = random.pick(statuses).map(Fault::Refuse);
            return passage;
        }
        passage.fault = self.rates.iter().find(|(_, thousandths)| random.chance(*thousandths)).map(|(fault, _)| *fault);
        passage
    }
}

fn time(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
