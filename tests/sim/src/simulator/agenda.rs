//! The events of a world, and its invocations.

use crate::{
    checker::Invocation,
    faults::SECOND,
    follow_up::Said,
    operator::{Answered, Decision},
};
use domain::money::PaymentChange;
use runtime::{Handled, http::Reply};
use std::{future::Future, pin::Pin};
use testkit::Fault;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// An invocation is polled.
    Poll(u64),
    /// Its time is up.
    TimeOut(u64),
    /// A customer comes, for the `attempt`th time.
    Arrive { customer: usize, attempt: u32 },
    /// A customer pays.
    Pay { customer: usize, late: bool },
    /// Stripe delivers an event, for the `attempt`th time.
    Event { customer: usize, kind: &'static str, paid: bool, attempt: u32 },
    /// A customer looks at the page.
    Look { customer: usize },
    /// A request for a session that does not exist.
    Stranger,
    /// A message becomes visible.
    Due { queue: usize, id: u64 },
    /// A queue delivers a message although nothing is due.
    Again { queue: usize, id: u64, body: String, customer: Option<usize>, hops: u32, skew: i64 },
    /// Data is lost or changed outside the functions.
    Mishap { kind: Mishap, customer: usize },
    /// An unreadable body comes into a queue.
    Garbage { queue: usize },
    /// An order for an unpaid session comes into the queue.
    Forged { customer: usize },
    /// The deadlines function runs.
    Deadlines,
    /// The daily comparison runs.
    Reconcile,
    /// Operators look at their lists.
    OperatorsLook,
    /// An operator decides, for the `attempt`th time.
    Decide { customer: usize, decision: Decision, attempt: u32 },
    /// A payment changes on Stripe's side: a refund, a dispute, an inquiry.
    PaymentChanges { customer: usize, change: PaymentChange },
    /// Stripe delivers an event about a payment, for the `attempt`th time.
    PaymentEvent { customer: usize, reported: Reported, attempt: u32 },
    /// A customer orders a follow-up on the page with the text of this number, for the `attempt`th time.
    Post { customer: usize, text: usize, attempt: u32 },
    /// A customer's message comes into the inbox.
    Write { customer: usize, said: Said },
    /// Inbox-watch runs.
    Inbox,
    /// The promise to a customer is due.
    Promise { customer: usize },
}

/// A payment event of Stripe's, and when the change happened, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reported {
    pub(super) change: PaymentChange,
    pub(super) at: i64,
}

/// Losses and changes of a sale's data outside the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mishap {
    CacheLost,
    CacheCorrupt,
    CacheContaminated,
    CacheAndArchiveLost,
    DraftRemoved,
    /// The block list no longer has the term of the held texts.
    ListChanged,
}

impl Mishap {
    /// The mishaps of drawn worlds.
    pub(super) const DRAWN: [Self; 5] =
        [Self::CacheLost, Self::CacheCorrupt, Self::CacheContaminated, Self::CacheAndArchiveLost, Self::DraftRemoved];
}

/// The purpose of an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Checkout { attempt: u32 },
    Webhook { kind: &'static str, paid: bool, attempt: u32 },
    PaymentWebhook { reported: Reported, attempt: u32 },
    Page,
    FollowUp { text: usize, attempt: u32 },
    Inbox,
    Deadlines,
    Reconcile,
    Operator { decision: Decision, attempt: u32 },
    Message { queue: usize, id: u64 },
}

impl Work {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Checkout { .. } => "checkout",
            Self::Webhook { .. } | Self::PaymentWebhook { .. } => "webhook",
            Self::Page => "page",
            Self::FollowUp { .. } => "follow-up",
            Self::Inbox => "inbox",
            Self::Deadlines => "deadlines",
            Self::Reconcile => "reconcile",
            Self::Operator { .. } => "operator",
            Self::Message { queue: 0, .. } => "order",
            Self::Message { queue: 1, .. } => "mail",
            Self::Message { queue: 2, .. } => "retry",
            Self::Message { queue: 3, .. } => "notice",
            Self::Message { .. } => "payment",
        }
    }

    /// The functions' time-outs, as in the template.
    pub(super) const fn time_out(&self) -> i64 {
        match self {
            Self::Checkout { .. }
            | Self::Webhook { .. }
            | Self::PaymentWebhook { .. }
            | Self::Page
            | Self::FollowUp { .. } => 20 * SECOND,
            Self::Inbox => 100 * SECOND,
            Self::Deadlines => 270 * SECOND,
            Self::Reconcile | Self::Operator { .. } => 900 * SECOND,
            Self::Message { queue: 0, .. } => 180 * SECOND,
            Self::Message { queue: 1 | 2, .. } => 90 * SECOND,
            Self::Message { .. } => 60 * SECOND,
        }
    }
}

/// How an invocation ended.
pub(super) enum Outcome {
    Replied(Reply),
    Handled(Handled),
    Answered(Answered),
    /// A scheduled run is over.
    Ran,
}

/// An invocation under way.
pub(super) struct Task<'h> {
    pub(super) future: Pin<Box<dyn Future<Output = Outcome> + 'h>>,
    pub(super) work: Work,
    pub(super) customer: Option<usize>,
    pub(super) skew: i64,
    pub(super) hops: u32,
    pub(super) invocation: Invocation,
}

/// The events of a world that are given instead of drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Customers arrive evenly within this time; all at once if it is zero.
    pub(crate) arrivals: i64,
    /// When the customer opens the page, counted from the creation of the session.
    pub(crate) looks: Vec<i64>,
    pub(crate) mishap: Option<(Mishap, i64)>,
    /// Whether the first mail order is delivered twice, to a worker whose clock is far ahead.
    pub(crate) rival: bool,
    /// What an operator decides as soon as there is something to decide.
    pub(crate) decision: Option<(Decision, i64)>,
    /// When the daily comparison runs.
    pub(crate) reconcile: Option<i64>,
}

pub(super) fn message_id(queue: &str, id: u64) -> String {
    format!("{queue}-{id}")
}

pub(super) fn label(task: &Task<'_>) -> String {
    let who = task.customer.map_or_else(|| "-".to_owned(), |number| number.to_string());
    match &task.work {
        Work::Message { id, .. } => format!("{} {id} of customer {who}:", task.work.name()),
        work => format!("{} of customer {who}:", work.name()),
    }
}

pub(super) const fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Fail => "failed",
        Fault::LoseReply => "reply lost after the work was done",
        Fault::CrashBefore => "crash before the effect",
        Fault::CrashAfter => "crash after the effect",
        Fault::Refuse(_) => "refused by a vendor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_outs_are_those_of_the_template() {
        let template = include_str!("../../../../template.yaml");
        let message = |queue| Work::Message { queue, id: 1 };
        for (function, work) in [
            ("Checkout", Work::Checkout { attempt: 1 }),
            ("Webhook", Work::Webhook { kind: "x", paid: true, attempt: 1 }),
            ("Result", Work::Page),
            ("Result", Work::FollowUp { text: 0, attempt: 1 }),
            ("InboxWatch", Work::Inbox),
            ("Deadlines", Work::Deadlines),
            ("Reconcile", Work::Reconcile),
            ("Verdict", message(0)),
            ("EmailSender", message(1)),
            ("EmailRetry", message(2)),
            ("SilentDrop", message(3)),
            ("PaymentEvents", message(4)),
        ] {
            let at = template.find(&format!("\n  {function}Function:\n")).unwrap();
            let (_, after) = template[at..].split_once("\n      Timeout: ").unwrap();
            let seconds: i64 = after.lines().next().unwrap().parse().unwrap();
            assert_eq!(work.time_out(), seconds * SECOND, "{function}");
        }
    }
}
