//! The timeline of a world of the chat: schedules events, and chooses the next task to poll.

mod acts;
mod calm;
mod members;
mod payments;
mod tasks;

use super::{
    ChatTally,
    chaos::{Chaos, DAYS, MINUTE, SECOND, millis},
    checker::Checker,
    functions::{Functions, subscriber},
    people::{Act, Person},
    promises::Checked,
    stripe::Reported,
};
use domain::{Timestamp, message::Message};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};
use tasks::{Outcome, Task, Work};
use testkit::Random;

/// An event at a time.
#[derive(Clone, Debug)]
enum What {
    Poll(u64),
    TimeOut(u64),
    Person(usize),
    /// Another tab of a person, beside an erasure.
    Tab(usize, usize),
    /// A person or an operator uses the person's Bridge.
    Bridge(usize),
    /// A person's page reads the beginning of a reply.
    Follow(usize, usize, u64),
    Stripe(usize, Reported),
    Deliver(Message),
    Reconcile,
    Deadlines,
}

/// The simulator of one world.
pub(super) struct Simulator<'h> {
    functions: &'h Functions,
    chaos: Chaos,
    random: Random,
    /// What was added to the worlds later is drawn from a stream of its own, so that the other draws stay the same.
    beside: Random,
    /// So is what was added after that: mails that the mailbox refuses, second subscriptions, declined messages.
    apart: Random,
    /// So are the sign-outs everywhere.
    outs: Random,
    people: Vec<Person>,
    checker: Checker,
    agenda: BinaryHeap<Reverse<(i64, u64, u64)>>,
    happenings: BTreeMap<u64, What>,
    tasks: BTreeMap<u64, Task<'h>>,
    counted: u64,
    exchanges: u64,
    /// Exchanges whose id was also used for a different text.
    others: BTreeSet<u64>,
    subscriptions: u64,
    /// The time of the last comparison that a lost event made necessary.
    compares_at: Option<i64>,
    /// Whether this world's people use the Bridge.
    has_bridges: bool,
    /// Whether this world's people send messages that the authority gate declines, and how many they have sent.
    has_disclosures: bool,
    disclosures: u64,
    /// Whether this world's people sign out everywhere.
    has_sign_outs: bool,
    /// The texts on the Bridges: person, number, and whether the person wrote it.
    texts: Vec<(usize, u64, bool)>,
    is_calm: bool,
    tally: ChatTally,
    trace: Option<Vec<String>>,
    began: i64,
    /// The last reply of the calm part.
    last: Option<(u16, String)>,
}

impl<'h> Simulator<'h> {
    pub(super) fn new(
        functions: &'h Functions,
        chaos: Chaos,
        [random, beside, apart, outs]: [Random; 4],
        people: Vec<Person>,
        traced: bool,
    ) -> Self {
        let ids = people.iter().filter_map(|person| subscriber(person.spellings.first()?)).collect();
        let began = functions.world.state().now;
        Self {
            functions,
            chaos,
            random,
            beside,
            apart,
            outs,
            people,
            checker: Checker::new(ids),
            agenda: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            tasks: BTreeMap::new(),
            counted: 0,
            exchanges: 0,
            others: BTreeSet::new(),
            subscriptions: 0,
            compares_at: None,
            has_bridges: false,
            has_disclosures: false,
            disclosures: 0,
            has_sign_outs: false,
            texts: Vec::new(),
            is_calm: false,
            tally: ChatTally::default(),
            trace: traced.then(Vec::new),
            began,
            last: None,
        }
    }

    pub(super) fn end(mut self) -> (ChatTally, Vec<String>) {
        self.tally.reached.extend(&self.functions.world.state().boundaries);
        (self.tally, self.trace.unwrap_or_default())
    }

    /// Runs the world with faults, and then a calm part in which every person calls again.
    pub(super) fn live(&mut self) -> Checked {
        self.surround();
        self.has_bridges = self.beside.chance(500);
        self.has_disclosures = self.apart.chance(200);
        self.has_sign_outs = self.outs.chance(300);
        let mut at = self.now();
        for _ in 0..self.chaos.bursts {
            for person in 0..self.people.len() {
                for _ in 0..self.random.between(2, 9) {
                    let when = at + self.random.between(0, 40 * SECOND);
                    self.at(when, What::Person(person));
                }
            }
            for _ in 0..self.random.below(3) {
                let when = at + self.random.between(0, 10 * MINUTE);
                self.at(when, What::Deadlines);
            }
            self.bridges(at);
            let most = if self.random.chance(500) { 30 * MINUTE } else { 25 * DAYS };
            at += self.random.between(MINUTE, most);
        }
        if self.random.chance(300) {
            let when = self.now() + self.random.between(0, 40 * DAYS);
            self.at(when, What::Reconcile);
        }
        self.until_quiet()?;
        self.is_calm = true;
        self.calm()
    }

    fn surround(&mut self) {
        let (chaos, mut random) = (self.chaos.clone(), Random::new(self.random.next(), 13));
        let mut slow = Random::new(self.beside.next(), 16);
        let world = &self.functions.world;
        world.surround(Box::new(move |name, _| {
            let mut passage = chaos.passage(&mut random, name, false);
            if name == "memory.make_key" && slow.chance(100) {
                passage.before = millis(slow.between(200, 5 * SECOND));
            }
            passage
        }));
    }

    fn until_quiet(&mut self) -> Checked {
        while let Some(Reverse((at, _, what))) = self.agenda.pop() {
            let Some(what) = self.happenings.remove(&what) else { continue };
            if matches!(&what, What::Poll(task) | What::TimeOut(task) if !self.tasks.contains_key(task)) {
                continue;
            }
            let now = self.now();
            self.functions.world.state().now = at.max(now);
            self.happen(what)?;
        }
        Ok(())
    }

    fn happen(&mut self, what: What) -> Checked {
        match what {
            What::Poll(task) => return self.poll(task),
            What::TimeOut(task) => {
                if let Some(task) = self.tasks.remove(&task) {
                    self.tally.count("time-out");
                    self.ended(&task.work);
                }
            }
            What::Person(person) => self.person(person),
            What::Bridge(person) => self.bridge(person),
            What::Tab(person, browser) => self.tab(person, browser),
            What::Follow(person, browser, exchange) => self.act(person, browser, Act::Look(exchange)),
            What::Stripe(person, reported) => self.stripe(person, reported),
            What::Deliver(message) => self.deliver(message),
            What::Deadlines => self.deadlines(),
            What::Reconcile => self.reconcile(),
        }
        Ok(())
    }

    /// One run of the deadlines function.
    fn deadlines(&mut self) {
        let functions = self.functions;
        self.begin(Work::Schedule, async move {
            functions.deadlines().await;
            Outcome::Ran
        });
    }

    fn at(&mut self, when: i64, what: What) {
        self.counted += 1;
        self.happenings.insert(self.counted, what);
        self.agenda.push(Reverse((when, self.counted, self.counted)));
    }

    fn now(&self) -> i64 {
        self.functions.world.state().now
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(self.now())
    }

    fn trace(&mut self, line: impl FnOnce() -> String) {
        let now = self.now() - self.began;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>8}.{:03} {}", now / 1000, now % 1000, line()));
        }
    }
}
