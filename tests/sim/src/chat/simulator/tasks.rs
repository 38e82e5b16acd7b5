//! The tasks of a world of the chat: starts them, polls them, and handles their ends.

use super::{Simulator, What};
use crate::chat::{
    asked::Asked,
    chaos::{MINUTE, SECOND},
    checker::Checker,
    promises::Checked,
};
use domain::{Timestamp, chat::PaidPlan, message::Message};
use runtime::http::Reply;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use testkit::Fault;

/// The time limit of a chat invocation (template.yaml).
const TIME_OUT: i64 = 28 * SECOND;

/// The result of a task.
pub(super) enum Outcome {
    Replied(Reply),
    Handled(bool),
    Ran,
}

/// The purpose of a task.
#[derive(Clone, Debug)]
pub(super) enum Work {
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

/// A task under way.
pub(super) struct Task<'h> {
    pub(super) future: Pin<Box<dyn Future<Output = Outcome> + 'h>>,
    pub(super) work: Work,
    pub(super) skew: i64,
    pub(super) began: Timestamp,
}

impl<'h> Simulator<'h> {
    pub(super) fn begin(&mut self, work: Work, future: impl Future<Output = Outcome> + 'h) {
        let wrong = !self.is_calm && self.random.chance(self.chaos.wrong_clocks);
        let skew = if wrong { self.random.between(-10 * MINUTE, 10 * MINUTE) } else { 0 };
        self.counted += 1;
        let (id, now) = (self.counted, self.now());
        self.trace(|| format!("task {id} begins: {work:?}"));
        let began = Timestamp::from_millis(now);
        self.tasks.insert(id, Task { future: Box::pin(future), work, skew, began });
        self.at(now, What::Poll(id));
        self.at(now + TIME_OUT, What::TimeOut(id));
    }

    pub(super) fn poll(&mut self, id: u64) -> Checked {
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
            self.checker.alerted.step(&state);
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
            self.trace(|| {
                let fault = crossing.fault.map_or_else(String::new, |fault| format!(" [{fault:?}]"));
                format!("task {id} {}{fault}", crossing.name)
            });
        }
        if let Work::Request { asked, .. } = &task.work {
            for (_, prompt) in prompts {
                self.checker.prompted(id, asked, &format!("{}\n{}", prompt.instruction, prompt.content))?;
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
    pub(super) fn ended(&mut self, work: &Work) {
        self.trace(|| format!("ended: {work:?}"));
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
