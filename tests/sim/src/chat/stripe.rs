//! The subscriptions of a world at Stripe: the times of payments, and the reports.

use domain::{
    Timestamp,
    chat::{
        BillingReport, PaidPlan,
        billing::{Bill, SubscriptionState, SubscriptionStatus},
    },
    money::{DisputeStatus, ObjectId, PaymentId, PaymentReport, RefundStatus},
};
use std::time::Duration;
use testkit::Random;

pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
pub(super) const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

/// A paid period.
#[derive(Clone, Debug)]
pub(super) struct Period {
    pub(super) plan: PaidPlan,
    pub(super) invoice: ObjectId,
    pub(super) payment: PaymentId,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// The time range in which Stripe or a bank has its money instead of us.
    pub(super) gone: Option<(Timestamp, Timestamp)>,
}

impl Period {
    /// Whether its money was continuously ours until then.
    pub(super) fn was_always_kept(&self, now: Timestamp) -> bool {
        self.gone.is_none_or(|(from, _)| now < from)
    }

    pub(super) fn is_kept(&self, now: Timestamp) -> bool {
        self.gone.is_none_or(|(from, until)| now < from || until <= now)
    }
}

/// A report by Stripe.
#[derive(Clone, Debug)]
pub(super) enum Reported {
    /// About a subscription or an invoice that was created then.
    Billing(Timestamp, BillingReport),
    Payment(PaymentId, PaymentReport),
}

/// One subscription, from its first payment to the end of the world.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    pub(super) periods: Vec<Period>,
    pub(super) reported: Vec<(Timestamp, Reported)>,
}

/// After the end of every world.
const FOR_GOOD: Timestamp = Timestamp::from_seconds(9_000_000_000);

/// How many days after a failed payment Stripe's retry succeeds: within the grace, at its end, and at the end of the
/// dunning, when the access has ended.
const RETRIES: [u32; 3] = [3, 7, 14];

/// Draws the course of a subscription whose first payment is at `start`.
pub(super) fn life(
    random: &mut Random,
    beside: &mut Random,
    number: u64,
    plan: PaidPlan,
    start: Timestamp,
) -> Option<Life> {
    let object = |kind: &str, part: u64| ObjectId::parse(format!("{kind}_{number}_{part}")).ok();
    let (id, customer) = (object("sub", 0)?, object("cus", 0)?);
    let mut life = Life::default();
    let state = |status, ends_at, at| {
        let state = SubscriptionState { customer: customer.clone(), plan, status, ends_at, at };
        Reported::Billing(start, BillingReport::Subscription { id: id.clone(), state })
    };
    life.reported.push((start, state(SubscriptionStatus::Incomplete, None, start)));
    let months = random.between(1, 3);
    let mut from = start;
    for month in 0..months {
        let part = u64::try_from(month).ok()?;
        let (invoice, until) = (object("in", part)?, from.plus(MONTH));
        let payment = PaymentId::parse(format!("pi_{number}_{part}")).ok()?;
        let bill = Bill { until, subscription: id.clone(), plan, amount: i64::from(plan.price_cents_a_month()) };
        let mut paid_at = from;
        if month > 0 && random.chance(400) {
            // A card that initially fails.
            let failed = BillingReport::InvoiceFailed { id: invoice.clone(), bill: bill.clone(), at: from };
            life.reported.push((from, Reported::Billing(from, failed)));
            life.reported.push((from, state(SubscriptionStatus::PastDue, None, from)));
            paid_at = from.plus(DAY * beside.pick(&RETRIES)?);
        }
        let paid = BillingReport::InvoicePaid { id: invoice.clone(), bill: bill.clone(), at: paid_at };
        life.reported.push((paid_at, Reported::Billing(from, paid)));
        let active_at = paid_at.plus(Duration::from_secs(1));
        life.reported.push((active_at, state(SubscriptionStatus::Active, None, active_at)));
        let gone = money(random, &mut life, number * 10 + part, &payment, bill.amount, paid_at);
        life.periods.push(Period { plan, invoice, payment, from: paid_at, until, gone });
        from = until;
    }
    match random.below(3) {
        0 => {
            // The customer cancels five days before the period ends.
            let asked = Timestamp::from_millis(from.as_millis() - i64::try_from((DAY * 5).as_millis()).ok()?);
            life.reported.push((asked, state(SubscriptionStatus::Active, Some(from), asked)));
            life.reported.push((from, state(SubscriptionStatus::Canceled, Some(from), from)));
        }
        1 => {
            let bill = Bill {
                until: from.plus(MONTH),
                subscription: id.clone(),
                plan,
                amount: i64::from(plan.price_cents_a_month()),
            };
            let failed = BillingReport::InvoiceFailed { id: object("in", 99)?, bill, at: from };
            life.reported.push((from, Reported::Billing(from, failed)));
            life.reported.push((from, state(SubscriptionStatus::PastDue, None, from)));
            let stopped = from.plus(DAY * 14);
            life.reported.push((stopped, state(SubscriptionStatus::Canceled, Some(stopped), stopped)));
        }
        _ => {}
    }
    Some(life)
}

/// Draws the refunds and disputes of a payment.
fn money(
    random: &mut Random,
    life: &mut Life,
    number: u64,
    payment: &PaymentId,
    amount: i64,
    paid_at: Timestamp,
) -> Option<(Timestamp, Timestamp)> {
    let at = paid_at.plus(DAY * u32::try_from(random.between(1, 25)).ok()?);
    let mut tell = |at, report| life.reported.push((at, Reported::Payment(payment.clone(), report)));
    match random.below(10) {
        0 => {
            let id = ObjectId::parse(format!("re_{number}")).ok()?;
            tell(at, PaymentReport::Refund { id, amount: Some(amount), status: RefundStatus::Succeeded, at });
            Some((at, FOR_GOOD))
        }
        1 => {
            let id = ObjectId::parse(format!("re_{number}")).ok()?;
            tell(at, PaymentReport::Refund { id, amount: Some(amount / 2), status: RefundStatus::Succeeded, at });
            None
        }
        2 => {
            let id = ObjectId::parse(format!("du_{number}")).ok()?;
            let dispute = |status, at| PaymentReport::Dispute { id: id.clone(), status, respond_by: Some(at), at };
            tell(at, dispute(DisputeStatus::NeedsResponse, at));
            let decided = at.plus(DAY * 4);
            let is_won = random.chance(500);
            tell(decided, dispute(if is_won { DisputeStatus::Won } else { DisputeStatus::Lost }, decided));
            Some((at, if is_won { decided } else { FOR_GOOD }))
        }
        _ => None,
    }
}
