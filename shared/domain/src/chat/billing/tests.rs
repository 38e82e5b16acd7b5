//! The access that reports of Stripe give, for single months and for every order of the reports.
//! The file has more than 300 lines because the generated reports and the tests of single months are made with the
//! same helpers.

use super::*;
use crate::{
    chat::Plan,
    money::{DisputeStatus, RefundStatus},
};
use proptest::prelude::*;
use std::time::Duration;

const DAY: i64 = 24 * 3600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn id(text: &str) -> ObjectId {
    ObjectId::parse(text).unwrap()
}

fn state(name: &str, status: SubscriptionStatus, ends_at: Option<i64>, seconds: i64) -> BillingReport {
    let (customer, plan) = (id("cus_1"), PaidPlan::Chat);
    let state = SubscriptionState { customer, plan, status, ends_at: ends_at.map(at), at: at(seconds) };
    BillingReport::Subscription { id: id(name), state }
}

fn bill(name: &str, plan: PaidPlan, until: i64) -> Bill {
    Bill { until: at(until), subscription: id(name), plan, amount: 500 }
}

fn paid(invoice: &str, name: &str, until: i64) -> BillingReport {
    BillingReport::InvoicePaid { id: id(invoice), bill: bill(name, PaidPlan::Chat, until), at: at(until - 30 * DAY) }
}

fn failed(invoice: &str, name: &str, until: i64) -> BillingReport {
    BillingReport::InvoiceFailed { id: id(invoice), bill: bill(name, PaidPlan::Chat, until), at: at(until - 30 * DAY) }
}

fn money(invoice: &str, report: PaymentReport) -> BillingReport {
    let payment = PaymentId::parse(format!("pi_{invoice}")).unwrap();
    BillingReport::Payment { invoice: id(invoice), payment, charged: Some(500), report }
}

fn refund(amount: i64, status: RefundStatus, seconds: i64) -> PaymentReport {
    PaymentReport::Refund { id: id("re_1"), amount: Some(amount), status, at: at(seconds) }
}

fn dispute(status: DisputeStatus, seconds: i64) -> PaymentReport {
    PaymentReport::Dispute { id: id("du_1"), status, respond_by: None, at: at(seconds) }
}

fn billing_after(reports: &[BillingReport]) -> Billing {
    let mut billing = Billing::default();
    for report in reports {
        billing.record_report(report);
    }
    billing
}

fn has_access(billing: &Billing, seconds: i64) -> bool {
    billing.access(at(seconds)).plan != Plan::Free
}

/// Bought on day 0, renewed on day 30.
fn bought() -> Vec<BillingReport> {
    vec![
        state("sub_1", SubscriptionStatus::Incomplete, None, 0),
        paid("in_1", "sub_1", 30 * DAY),
        state("sub_1", SubscriptionStatus::Active, None, 0),
    ]
}

#[test]
fn nobody_has_access_without_payment_and_nobody_pays_without_access() {
    assert_eq!(billing_after(&[]).access(at(0)), Access::default());
    let unpaid = billing_after(&[state("sub_1", SubscriptionStatus::Active, None, 0)]);
    assert!(!has_access(&unpaid, 1), "no invoice is paid");
    let first_failed =
        billing_after(&[failed("in_1", "sub_1", 30 * DAY), state("sub_1", SubscriptionStatus::PastDue, None, 1)]);
    assert!(!has_access(&first_failed, 1));
    // The invoice alone is enough, even if all other reports are late.
    let paid_only = billing_after(&[paid("in_1", "sub_1", 30 * DAY)]);
    assert_eq!(paid_only.access(at(1)), Access { plan: Plan::Chat, paid_until: Some(at(30 * DAY)) });
    assert!(has_access(&paid_only, 30 * DAY - 1) && !has_access(&paid_only, 30 * DAY));
}

#[test]
fn a_renewal_is_awaited_for_seven_days_and_no_longer() {
    let grace = i64::try_from(RENEWAL_GRACE.as_secs()).unwrap();
    let mut reports = bought();
    for more in [vec![], vec![failed("in_2", "sub_1", 60 * DAY), state("sub_1", SubscriptionStatus::PastDue, None, 9)]]
    {
        reports.extend(more);
        let billing = billing_after(&reports);
        assert!(has_access(&billing, 30 * DAY + grace - 1) && !has_access(&billing, 30 * DAY + grace));
        assert_eq!(billing.access(at(30 * DAY)).paid_until, Some(at(30 * DAY)), "the grace is not paid for");
    }
    assert!(billing_after(&reports).has_failed_payment());
    reports.push(paid("in_2", "sub_1", 60 * DAY));
    let renewed = billing_after(&reports);
    assert!(has_access(&renewed, 60 * DAY - 1) && !renewed.has_failed_payment());
    for ended in [SubscriptionStatus::Unpaid, SubscriptionStatus::Paused, SubscriptionStatus::Canceled] {
        let mut reports = bought();
        reports.push(state("sub_1", ended, None, 10 * DAY));
        let billing = billing_after(&reports);
        assert!(has_access(&billing, 30 * DAY - 1), "what is paid is theirs: {ended:?}");
        assert!(!has_access(&billing, 30 * DAY), "{ended:?}");
    }
}

/// An operator voids an invoice whose payment failed, which is not reported.
#[test]
fn a_failed_payment_is_no_longer_due_once_a_later_period_is_paid() {
    let mut reports = bought();
    reports.push(failed("in_2", "sub_1", 60 * DAY));
    reports.push(paid("in_9", "sub_2", 90 * DAY));
    assert!(billing_after(&reports).has_failed_payment(), "another subscription's payment says nothing");
    reports.push(paid("in_3", "sub_1", 90 * DAY));
    assert!(!billing_after(&reports).has_failed_payment());
    reports.push(failed("in_4", "sub_1", 120 * DAY));
    assert!(billing_after(&reports).has_failed_payment(), "a later one is due");
}

#[test]
fn a_canceled_subscription_lasts_until_the_end_of_its_period() {
    let mut reports = bought();
    reports.push(state("sub_1", SubscriptionStatus::Active, Some(30 * DAY), 5 * DAY));
    assert!(has_access(&billing_after(&reports), 30 * DAY - 1) && !has_access(&billing_after(&reports), 30 * DAY));
    reports.push(state("sub_1", SubscriptionStatus::Active, None, 6 * DAY));
    assert!(has_access(&billing_after(&reports), 30 * DAY), "resumed");
    // Canceled in the first hour of the next period, whose invoice is not paid yet.
    reports.push(state("sub_1", SubscriptionStatus::Active, Some(60 * DAY), 30 * DAY + 1200));
    assert!(has_access(&billing_after(&reports), 30 * DAY + 1200), "that period is charged");
}

#[test]
fn money_that_is_gone_ends_the_access_and_money_that_comes_back_gives_it_again() {
    let with = |more: &[BillingReport]| billing_after(&[bought().as_slice(), more].concat());
    let partly = with(&[money("in_1", refund(100, RefundStatus::Succeeded, 9))]);
    assert!(has_access(&partly, DAY));
    let whole = money("in_1", refund(500, RefundStatus::Succeeded, 9));
    assert!(!has_access(&with(std::slice::from_ref(&whole)), DAY));
    assert!(has_access(&with(&[whole.clone(), money("in_1", refund(500, RefundStatus::Failed, 10))]), DAY));
    let taken = money("in_1", dispute(DisputeStatus::NeedsResponse, 9));
    assert!(!has_access(&with(std::slice::from_ref(&taken)), DAY));
    assert!(has_access(&with(&[taken, money("in_1", dispute(DisputeStatus::Won, 10))]), DAY));
    assert!(has_access(&with(&[money("in_1", dispute(DisputeStatus::WarningNeedsResponse, 9))]), DAY), "an inquiry");
    // The refund of a renewal leaves no grace on the period before it.
    let renewed = [paid("in_2", "sub_1", 60 * DAY), money("in_2", refund(500, RefundStatus::Succeeded, 9))];
    assert!(!has_access(&with(&renewed), 31 * DAY));
    assert_eq!(with(&renewed).paid_invoices(), (2, 1));
    assert_eq!(with(&[whole]).paid_invoices(), (1, 1));
}

#[test]
fn of_two_subscriptions_the_larger_plan_counts() {
    let pro = BillingReport::InvoicePaid { id: id("in_9"), bill: bill("sub_2", PaidPlan::Pro, 20 * DAY), at: at(0) };
    let second = state("sub_2", SubscriptionStatus::Active, Some(20 * DAY), 0);
    let billing = billing_after(&[bought(), vec![pro, second]].concat());
    assert_eq!(billing.access(at(DAY)), Access { plan: Plan::Pro, paid_until: Some(at(20 * DAY)) });
    assert_eq!(billing.access(at(21 * DAY)).plan, Plan::Chat);
    assert_eq!((billing.going_on().count(), billing.access_until()), (1, Some(at(37 * DAY))));
}

#[test]
fn every_change_has_its_word_and_what_is_known_has_none() {
    let mut billing = Billing::default();
    for (report, word) in [
        (state("sub_1", SubscriptionStatus::Incomplete, None, 0), Some(BillingChange::Opened)),
        (state("sub_1", SubscriptionStatus::Active, None, 0), Some(BillingChange::StatusChanged)),
        (state("sub_1", SubscriptionStatus::Incomplete, None, 0), None),
        (state("sub_1", SubscriptionStatus::Active, None, 1), Some(BillingChange::Detail)),
        (failed("in_1", "sub_1", 30 * DAY), Some(BillingChange::PaymentFailed)),
        (failed("in_1", "sub_1", 30 * DAY), None),
        (paid("in_1", "sub_1", 30 * DAY), Some(BillingChange::Paid)),
        (paid("in_1", "sub_1", 30 * DAY), None),
        (money("in_1", dispute(DisputeStatus::NeedsResponse, 9)), Some(BillingChange::MoneyGone)),
        (money("in_1", dispute(DisputeStatus::Won, 10)), Some(BillingChange::MoneyBack)),
        (money("in_1", dispute(DisputeStatus::Won, 10)), None),
        (state("sub_1", SubscriptionStatus::Active, Some(9), 2), Some(BillingChange::Ending)),
        (state("sub_1", SubscriptionStatus::Active, None, 3), Some(BillingChange::Resumed)),
        (state("sub_1", SubscriptionStatus::Canceled, Some(4), 4), Some(BillingChange::Ended)),
        (state("sub_1", SubscriptionStatus::Active, None, 5), None),
    ] {
        assert_eq!(billing.record_report(&report), word, "{report:?}");
    }
    let stored = serde_json::to_string(&billing).unwrap();
    assert_eq!(serde_json::from_str::<Billing>(&stored).unwrap(), billing);
    assert_eq!(billing.customer(), Some(&id("cus_1")));
}

fn statuses() -> impl Strategy<Value = SubscriptionStatus> {
    use SubscriptionStatus::{Active, Canceled, Incomplete, IncompleteExpired, PastDue, Paused, Trialing, Unpaid};
    prop::sample::select(vec![Incomplete, Trialing, Active, PastDue, Unpaid, Paused, IncompleteExpired, Canceled])
}

fn reports() -> impl Strategy<Value = BillingReport> {
    let names = || prop::sample::select(vec!["sub_1", "sub_2"]);
    let invoices = || prop::sample::select(vec!["in_1", "in_2", "in_3"]);
    let states = (names(), statuses(), prop::option::of(0..4_i64), 0..4_i64)
        .prop_map(|(name, status, ends, seconds)| state(name, status, ends.map(|days| days * DAY), seconds));
    let paid_ones = (invoices(), names(), 1..4_i64).prop_map(|(invoice, name, month)| paid(invoice, name, month * DAY));
    let failures =
        (invoices(), names(), 1..4_i64).prop_map(|(invoice, name, month)| failed(invoice, name, month * DAY));
    let refunds = prop::sample::select(vec![RefundStatus::Pending, RefundStatus::Succeeded, RefundStatus::Failed]);
    let refunds = (refunds, 0..4_i64).prop_map(|(status, seconds)| refund(500, status, seconds));
    let disputes = prop::sample::select(vec![DisputeStatus::NeedsResponse, DisputeStatus::Won, DisputeStatus::Lost]);
    let disputes = (disputes, 0..4_i64).prop_map(|(status, seconds)| dispute(status, seconds));
    let payments = (invoices(), prop_oneof![refunds, disputes]).prop_map(|(invoice, report)| money(invoice, report));
    prop_oneof![states, paid_ones, failures, payments]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_order_and_every_repetition_ends_in_the_same_record(
        once in prop::collection::vec(reports(), 1..12),
        order in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 0..24),
    ) {
        let straight = billing_after(&once);
        // Every report at least once, some repeatedly, in an arbitrary order.
        let mut shuffled: Vec<_> = once.iter().map(|report| (0, report)).collect();
        shuffled.extend(order.iter().map(|(index, _)| (0, index.get(&once))));
        let keys = order.iter().map(|(_, key)| *key).chain(std::iter::successors(Some(7), |x: &u32| Some(x.wrapping_mul(2_654_435_761) ^ 13)));
        for (place, key) in shuffled.iter_mut().zip(keys) {
            place.0 = key;
        }
        shuffled.sort_by_key(|(key, _)| *key);
        let reports: Vec<_> = shuffled.into_iter().map(|(_, report)| report.clone()).collect();
        prop_assert_eq!(billing_after(&reports), straight);
    }

    #[test]
    fn a_paid_period_that_was_not_refunded_gives_access(
        reports in prop::collection::vec(reports(), 1..12),
        now in 0..4 * DAY,
    ) {
        let billing = billing_after(&reports);
        let mut kept = billing.invoices.values().filter(|invoice| !invoice.is_gone()).filter_map(Invoice::paid);
        let covers = kept.any(|bill| bill.until > at(now));
        prop_assert!(!covers || has_access(&billing, now));
        // Without a paid period, access lasts no longer than the grace.
        let paid = billing.invoices.values().filter(|invoice| !invoice.is_gone()).filter_map(Invoice::paid);
        let last = paid.map(|bill| bill.until.plus(RENEWAL_GRACE)).max();
        prop_assert!(last.is_some_and(|last| last > at(now)) || !has_access(&billing, now));
    }
}

/// Tries every order of a month's reports.
#[test]
fn all_permutations_of_a_month_agree() {
    let month = [
        state("sub_1", SubscriptionStatus::Incomplete, None, 0),
        state("sub_1", SubscriptionStatus::Active, None, 0),
        failed("in_1", "sub_1", 30 * DAY),
        paid("in_1", "sub_1", 30 * DAY),
        money("in_1", dispute(DisputeStatus::NeedsResponse, 9)),
        money("in_1", dispute(DisputeStatus::Won, 10)),
        state("sub_1", SubscriptionStatus::Canceled, Some(DAY), DAY),
    ];
    let expected = billing_after(&month);
    assert!(has_access(&expected, 30 * DAY - 1) && !has_access(&expected, 30 * DAY));
    let mut order: Vec<usize> = (0..month.len()).collect();
    let mut seen = 0;
    permute(&mut order, 0, &mut |order| {
        let reports: Vec<_> = order.iter().map(|index| month[*index].clone()).collect();
        assert_eq!(billing_after(&reports), expected, "{order:?}");
        seen += 1;
    });
    assert_eq!(seen, 5_040);
    assert_eq!(expected.access_until(), Some(at(30 * DAY).plus(Duration::ZERO)));
}

fn permute(order: &mut Vec<usize>, from: usize, each: &mut impl FnMut(&[usize])) {
    if from == order.len() {
        return each(order);
    }
    for other in from..order.len() {
        order.swap(from, other);
        permute(order, from + 1, each);
        order.swap(from, other);
    }
}

#[test]
fn of_a_refund_that_is_reported_twice_the_earlier_report_is_kept() {
    let succeeded = |seconds| money("in_1", refund(500, RefundStatus::Succeeded, seconds));
    let mut billing = billing_after(&bought());
    assert_eq!(billing.record_report(&succeeded(20)), Some(BillingChange::MoneyGone));
    assert_eq!(billing.record_report(&succeeded(30)), None, "nothing new");
    assert_eq!(billing.record_report(&succeeded(10)), Some(BillingChange::Detail));
    assert_eq!(billing.record_report(&succeeded(20)), None);
}

#[test]
fn a_payment_fails_once_and_not_after_it_was_made() {
    let mut billing = billing_after(&bought());
    let failed_at = |seconds| BillingReport::InvoiceFailed {
        id: id("in_2"),
        bill: bill("sub_1", PaidPlan::Chat, 60 * DAY),
        at: at(seconds),
    };
    assert_eq!(billing.record_report(&failed_at(30 * DAY)), Some(BillingChange::PaymentFailed));
    assert_eq!(billing.record_report(&failed_at(31 * DAY)), Some(BillingChange::Detail), "it is known to have failed");
    let late =
        BillingReport::InvoiceFailed { id: id("in_1"), bill: bill("sub_1", PaidPlan::Chat, 30 * DAY), at: at(9) };
    assert_eq!(billing.record_report(&late), Some(BillingChange::Detail), "it was paid in the end");
}

#[test]
fn every_reported_subscription_is_there() {
    let mut reports = bought();
    reports.push(state("sub_2", SubscriptionStatus::Canceled, None, 5));
    let mut subscriber = crate::chat::Subscriber::new(crate::chat::SubscriberId::parse("c".repeat(64)).unwrap());
    for report in &reports {
        subscriber.billing_mut().record_report(report);
    }
    let names: Vec<&str> = subscriber.billing().subscriptions().keys().map(ObjectId::as_str).collect();
    assert_eq!(names, ["sub_1", "sub_2"]);
}
