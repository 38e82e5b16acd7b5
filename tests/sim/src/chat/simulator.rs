//! The timeline of a world of the chat: schedules events, and chooses the next task to poll.

mod acts;
mod calm;
mod members;
mod payments;

use super::{
    ChatTally,
    chaos::{Chaos, DAYS, MINUTE, SECOND, millis},
    checker::{Asked, Checker},
    functions::{Functions, subscriber},
    people::{Act, Person},
    promises::Checked,
    stripe::Reported,
};
use crate::random::Random;
use domain::{Timestamp, chat::PaidPlan, message::Message};
use runtime::http::Reply;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use testkit::Fault;

/// The time limit of a chat invocation (template.yaml).
const TIME_OUT: i64 = 28 * SECOND;

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
    /// The schedule mails the Bridges' letters.
    Letters,
    /// A person's page reads the beginning of a reply.
    Follow(usize, usize, u64),
    Stripe(usize, Reported),
    Deliver(Message),
    Reconcile,
    Deadlines,
}

/// The result of a task.
enum Outcome {
    Replied(Reply),
    Handled(bool),
    Ran,
}

/// The purpose of a task.
#[derive(Clone, Debug)]
enum Work {
    Request {
        asked: Asked,
        browser: usize,
        token: Option<(String, bool)>,
        buys: Option<PaidPlan>,
    },
    Event(Message),
    /// The daily comparison with Stripe.
    Comparison,
    Schedule,
}

struct Task<'h> {
    future: Pin<Box<dyn Future<Output = Outcome> + 'h>>,
    work: Work,
    skew: i64,
    began: Timestamp,
}

/// The simulator of one world.
pub(super) struct Simulator<'h> {
    functions: &'h Functions,
    chaos: Chaos,
    random: Random,
    /// What was added to the worlds later is drawn from a stream of its own, so that the other draws stay the same.
    beside: Random,
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
        random: Random,
        beside: Random,
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
            texts: Vec::new(),
            is_calm: false,
            tally: ChatTally::default(),
            trace: traced.then(Vec::new),
            began,
            last: None,
        }
    }

    pub(super) fn end(self) -> (ChatTally, Vec<String>) {
        (self.tally, self.trace.unwrap_or_default())
    }

    /// Runs the world with faults, and then a calm part in which every person calls again.
    pub(super) fn live(&mut self) -> Checked {
        self.surround();
        self.has_bridges = self.beside.chance(500);
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
            What::Letters => self.letters(),
            What::Tab(person, browser) => self.tab(person, browser),
            What::Follow(person, browser, exchange) => self.act(person, browser, Act::Look(exchange)),
            What::Stripe(person, reported) => self.stripe(person, reported),
            What::Deliver(message) => self.deliver(message),
            What::Deadlines => {
                let functions = self.functions;
                self.begin(Work::Schedule, async move {
                    functions.finish_erasures().await;
                    Outcome::Ran
                });
            }
            What::Reconcile => self.reconcile(),
        }
        Ok(())
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

    fn note(&mut self, line: impl FnOnce() -> String) {
        let now = self.now() - self.began;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>8}.{:03} {}", now / 1000, now % 1000, line()));
        }
    }

    fn begin(&mut self, work: Work, future: impl Future<Output = Outcome> + 'h) {
        let wrong = !self.is_calm && self.random.chance(self.chaos.wrong_clocks);
        let skew = if wrong { self.random.between(-10 * MINUTE, 10 * MINUTE) } else { 0 };
        self.counted += 1;
        let (id, now) = (self.counted, self.now());
        self.note(|| format!("task {id} begins: {work:?}"));
        let began = Timestamp::from_millis(now);
        self.tasks.insert(id, Task { future: Box::pin(future), work, skew, began });
        self.at(now, What::Poll(id));
        self.at(now + TIME_OUT, What::TimeOut(id));
    }

    fn poll(&mut self, id: u64) -> Checked {
        let Some(mut task) = self.tasks.remove(&id) else { return Ok(()) };
        self.functions.world.state().skew = task.skew;
        let polled = task.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let wake = self.functions.wake();
        let (crossings, outgoing, prompts) = {
            let mut state = self.functions.world.state();
            state.skew = 0;
            (
                std::mem::take(&mut state.crossings),
                std::mem::take(&mut state.outgoing),
                std::mem::take(&mut state.prompts),
            )
        };
        let now = self.timestamp();
        {
            let state = self.functions.world.state();
            Checker::keys(&state)?;
            self.checker.threads.step(&state, task.began, now)?;
        }
        let mut has_died = false;
        for crossing in crossings {
            if let Some(fault) = crossing.fault {
                self.tally.count(format!("{fault:?}"));
                has_died |= matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
            }
            if crossing.name == "mailbox.send_draft" && matches!(task.work, Work::Schedule) {
                self.tally.count("mail about a Bridge");
            }
            self.note(|| {
                let fault = crossing.fault.map_or_else(String::new, |fault| format!(" [{fault:?}]"));
                format!("task {id} {}{fault}", crossing.name)
            });
        }
        if let Work::Request { asked, .. } = &task.work {
            for (_, prompt) in prompts {
                self.checker.prompted(asked, &format!("{}\n{}", prompt.instruction, prompt.content))?;
            }
        }
        let now = self.now();
        for (_, message, _) in outgoing {
            self.at(now + SECOND, What::Deliver(message));
        }
        match polled {
            Poll::Ready(outcome) => self.finished(task.work, outcome, task.began),
            Poll::Pending if has_died => {
                self.ended(&task.work);
                Ok(())
            }
            Poll::Pending => {
                self.tasks.insert(id, task);
                if let Some(wake) = wake {
                    self.at(wake, What::Poll(id));
                }
                Ok(())
            }
        }
    }

    /// Handles a process that ended before its work: its message is delivered again, and its comparison runs the next
    /// day.
    fn ended(&mut self, work: &Work) {
        self.note(|| format!("ended: {work:?}"));
        match work {
            Work::Event(message) => {
                let again = self.now() + MINUTE;
                self.at(again, What::Deliver(message.clone()));
            }
            Work::Comparison => self.compare_tomorrow(),
            Work::Request { .. } | Work::Schedule => {}
        }
        self.last = None;
    }

    fn finished(&mut self, work: Work, outcome: Outcome, began: Timestamp) -> Checked {
        match (work, outcome) {
            (Work::Request { asked, browser, token, buys }, Outcome::Replied(reply)) => {
                self.replied(&asked, browser, token, buys, &reply)
            }
            (Work::Event(message), Outcome::Handled(done)) => {
                if !done {
                    let again = self.now() + MINUTE;
                    self.at(again, What::Deliver(message));
                } else if let Message::SubscriptionChanged { subscriber, report, .. } = &message {
                    Checker::reported(&self.functions.world.state(), subscriber, report)?;
                    self.checker.known.insert(report.id().as_str().to_owned());
                }
                Ok(())
            }
            (Work::Comparison, Outcome::Handled(done)) => {
                if done {
                    self.checker.compared(began);
                } else {
                    self.compare_tomorrow();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
