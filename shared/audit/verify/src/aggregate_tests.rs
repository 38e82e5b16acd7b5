//! Reports of generated sales.
//! The file has more than 300 lines because each figure of the report has a test of its own, and all of them build
//! their sales with one type.

use crate::{
    Aggregate, Period,
    report::{Counted, Crosschecked, Filtered, Mails, Report, Retrievals, Step},
};
use audit::{Body, Record, RefundStep, Source, Status, TollStatus, chain};
use domain::{
    CallerIdentity, Colour, Sale, SessionId, Tier, Timestamp,
    audit_trail::Audited,
    money::{PaymentChange, PaymentId},
    toll::{Offer, Paid, Purchase, purchase_id},
};
use serde_json::json;
use testkit::sale::WithField;

const DAY: i64 = 86_400_000;
const START: i64 = 1_776_349_384_565;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis)
}

/// A sale under construction, as the functions write it.
struct RecordedSale(Sale);

impl RecordedSale {
    fn new(tier: Option<Tier>) -> Self {
        Self::of(SessionId::parse("cs_test_1").unwrap(), tier)
    }

    fn followup() -> Self {
        Self::of(SessionId::parse("cs_test_1").unwrap().followup(), Some(Tier::Strategy))
    }

    fn of(id: SessionId, tier: Option<Tier>) -> Self {
        Self(Sale::ordered(id, at(0)).with("tier", tier))
    }

    /// An event that ended this long after it began.
    fn event(mut self, day: i64, latency: i64, source: Source, status: Status, detail: Option<&str>) -> Self {
        let begun = day * DAY;
        chain::append(&mut self.0, &Record::pipeline(at(begun + latency), at(begun), source, status, detail));
        self
    }

    fn verdict(self, day: i64, latency: i64) -> Self {
        self.event(day, latency, Source::Webhook, Status::Ok, None)
    }

    /// A failed attempt that is tried again.
    fn attempt(mut self, latency: i64) -> Self {
        let record = Record::pipeline(at(latency), at(0), Source::Webhook, Status::Error, Some("time-out"));
        let next = at(latency + 60_000).to_iso();
        chain::append(&mut self.0, &record.with_detail("failures", 1).with_detail("next_attempt_at", next));
        self
    }

    fn by_operator(mut self, latency: i64) -> Self {
        let record = Record::pipeline(at(latency), at(0), Source::Webhook, Status::Ok, None);
        chain::append(&mut self.0, &record.with_details(json!({ "ordered_by": "operator", "decision": "replace" })));
        self
    }

    fn body(mut self, day: i64, body: Body) -> Self {
        chain::append(&mut self.0, &Record::new(at(day * DAY), at(day * DAY), body));
        self
    }

    fn refund(self, day: i64, step: RefundStep) -> Self {
        let (amount_total, currency) = (Some(500), Some("cad".to_owned()));
        let (by, reason) = ("policy".to_owned(), "late".to_owned());
        // Earlier records have no identity, and count all the same.
        let arn = "arn:aws:iam::123456789012:user/dana";
        let identity = (step == RefundStep::Confirmed).then(|| CallerIdentity::parse(arn).unwrap());
        self.body(day, Body::Refund { step, by, reason, identity, amount_total, currency, error: None })
    }

    fn change(self, day: i64, change: PaymentChange) -> Self {
        self.returned(day, change, None)
    }

    /// A change after which so much has gone back.
    fn returned(self, day: i64, change: PaymentChange, amount_returned: Option<i64>) -> Self {
        let payment = PaymentId::parse("pi_1").unwrap();
        let (object, amount_total, currency) = (None, Some(500), Some("cad".to_owned()));
        self.body(day, Body::PaymentChange { payment, change, object, amount_returned, amount_total, currency })
    }

    fn by_hand(self, day: i64) -> Self {
        let operator = domain::Operator::parse("dana", Some("bank transfer")).unwrap();
        self.body(day, Body::operator(&operator, "refunded by hand"))
    }
}

fn report(sales: impl IntoIterator<Item = RecordedSale>) -> Report {
    let mut aggregate = Aggregate::default();
    for RecordedSale(sale) in sales {
        aggregate.add_sale(sale.outbox().iter().map(|entry| entry.line.as_bytes()));
    }
    aggregate.finish()
}

/// Day, tier, sold, gross, refunds, net.
fn revenue(report: &Report) -> Vec<(&str, Tier, u64, i64, u64, i64)> {
    let row = |row: &'_ crate::report::Revenue| (row.tier, row.sold, row.gross_cents, row.refunds, row.net_cents);
    let rows = report.revenue.iter().map(|each| (each.day.as_str(), row(each)));
    rows.map(|(day, (tier, sold, gross, refunds, net))| (day, tier, sold, gross, refunds, net)).collect()
}

#[test]
fn revenue_is_the_price_of_each_delivered_sale_once() {
    let found = report([
        RecordedSale::new(Some(Tier::Quick)).verdict(0, 1).verdict(1, 1),
        RecordedSale::new(Some(Tier::Quick)).verdict(0, 1),
        RecordedSale::new(Some(Tier::Strategy)).verdict(1, 1),
        RecordedSale::new(Some(Tier::Full)).event(0, 1, Source::Webhook, Status::Error, Some("held")).verdict(2, 1),
        RecordedSale::new(Some(Tier::Full)).event(0, 1, Source::Webhook, Status::Error, Some("gave up")),
    ]);
    let expected = [
        ("2026-04-16", Tier::Quick, 2, 200, 0, 200),
        ("2026-04-17", Tier::Strategy, 1, 2500, 0, 2500),
        ("2026-04-18", Tier::Full, 1, 500, 0, 500),
    ];
    assert_eq!(revenue(&found), expected);
    assert_eq!((found.sales, found.records, found.without_verdict), (5, 7, 1));
}

#[test]
fn a_refund_takes_back_what_was_counted_once_and_on_its_day() {
    use RefundStep::{Authorised, Confirmed, Failed, Issued};
    let sale = || RecordedSale::new(Some(Tier::Full)).verdict(0, 1);
    let whole =
        || sale().refund(1, Authorised).refund(1, Issued).refund(2, Confirmed).change(3, PaymentChange::Refunded);
    let only = |recorded: RecordedSale| {
        revenue(&report([recorded])).iter().map(|row| (row.2, row.4, row.5)).collect::<Vec<_>>()
    };
    assert_eq!(only(whole()), [(1, 0, 500), (0, 1, -500)]);
    assert_eq!(report([whole()]).revenue[1].day, "2026-04-17");
    assert_eq!(only(sale().refund(0, Authorised)), [(1, 0, 500)], "decided is not done");
    assert_eq!(only(sale().refund(0, Issued).refund(1, Failed)), [(1, 0, 500)], "the money stayed");
    assert_eq!(only(sale().change(0, PaymentChange::Refunded)), [(1, 1, 0)], "by hand, at Stripe");
    assert_eq!(only(sale().change(0, PaymentChange::DisputeOpened)), [(1, 0, 500)]);
    assert_eq!(only(sale().change(0, PaymentChange::DisputeLost)), [(1, 1, 0)]);
    let undelivered = RecordedSale::new(Some(Tier::Full)).event(0, 1, Source::Webhook, Status::Error, Some("gave up"));
    let found = report([undelivered.refund(1, Issued)]);
    assert_eq!((found.revenue.len(), found.without_verdict, found.refunds_without_verdict), (0, 1, 1));
}

/// Part of the money can go back several times before the rest does, and a bounced refund is given back by other means.
#[test]
fn parts_and_what_is_given_back_by_hand_are_deducted_once() {
    let sale = || RecordedSale::new(Some(Tier::Full)).verdict(0, 1);
    let part = |recorded: RecordedSale, day, change, cents| recorded.returned(day, change, Some(cents));
    let (partly, bounced) = (PaymentChange::PartlyRefunded, PaymentChange::RefundFailed);
    let net =
        |recorded: RecordedSale| revenue(&report([recorded])).iter().map(|row| (row.4, row.5)).collect::<Vec<_>>();
    assert_eq!(net(part(sale(), 0, partly, 200)), [(0, 300)]);
    assert_eq!(net(part(part(sale(), 0, partly, 200), 1, partly, 300)), [(0, 300), (0, -100)]);
    let whole = part(part(sale(), 0, partly, 200), 1, PaymentChange::Refunded, 500);
    assert_eq!(net(whole), [(0, 300), (1, -300)], "the rest");
    assert_eq!(net(part(part(sale(), 0, partly, 200), 1, bounced, 0)), [(0, 500)]);
    let first_bounced = part(part(part(sale(), 0, partly, 200), 1, partly, 300), 2, bounced, 100);
    assert_eq!(net(first_bounced), [(0, 500), (0, -100)]);
    let failed = sale().refund(0, RefundStep::Issued).refund(0, RefundStep::Failed);
    assert_eq!(net(failed.by_hand(1)), [(0, 500), (1, -500)]);
}

/// Each month's report stays as it was, and their sum is what really went back.
#[test]
fn a_refund_that_fails_in_a_later_month_counts_in_its_own_and_is_added_again_in_the_later_one() {
    let sale = || RecordedSale::new(Some(Tier::Full)).verdict(0, 1);
    let over = |month: &str, RecordedSale(sale): RecordedSale| {
        let mut aggregate = Aggregate::over(Period::month(month).unwrap());
        aggregate.add_sale(sale.outbox().iter().map(|entry| entry.line.as_bytes()));
        let rows = aggregate.finish().revenue.into_iter();
        rows.map(|row| (row.day[5..].to_owned(), row.refunds, row.net_cents)).collect::<Vec<_>>()
    };
    let rows = |rows: &[(&str, u64, i64)]| {
        rows.iter().map(|(day, refunds, net)| ((*day).to_owned(), *refunds, *net)).collect::<Vec<_>>()
    };
    let failed = || sale().refund(1, RefundStep::Confirmed).change(40, PaymentChange::RefundFailed);
    assert_eq!(over("2026-04", failed()), rows(&[("04-16", 0, 500), ("04-17", 1, -500)]));
    assert_eq!(over("2026-05", failed()), rows(&[("05-26", 0, 500)]));
    assert_eq!(over("2026-06", failed()), rows(&[]));
    assert_eq!(over("2026-05", failed().by_hand(41)), rows(&[("05-26", 0, 500), ("05-27", 1, -500)]));
    let (partly, bounced) = (PaymentChange::PartlyRefunded, PaymentChange::RefundFailed);
    let part = || sale().returned(1, partly, Some(200)).returned(40, bounced, None);
    assert_eq!(over("2026-04", part()), rows(&[("04-16", 0, 500), ("04-17", 0, -200)]));
    assert_eq!(over("2026-05", part()), rows(&[("05-26", 0, 200)]));
    // After a dispute the money stays away, whatever becomes of the refund, and goes once.
    for lost in [PaymentChange::DisputeLost, PaymentChange::DisputePrevented] {
        let whole = || sale().refund(1, RefundStep::Confirmed).change(10, lost).change(40, bounced);
        assert_eq!(over("2026-04", whole()), rows(&[("04-16", 0, 500), ("04-17", 1, -500)]), "{lost:?}");
        assert_eq!(over("2026-05", whole()), rows(&[]), "{lost:?}");
        let part = || sale().returned(1, partly, Some(200)).change(10, lost).returned(40, bounced, None);
        assert_eq!(over("2026-04", part()), rows(&[("04-16", 0, 500), ("04-17", 0, -200), ("04-26", 1, -300)]));
        assert_eq!(over("2026-05", part()), rows(&[]), "{lost:?}");
        let refused = || sale().change(10, lost).refund(11, RefundStep::Failed).returned(40, partly, Some(200));
        assert_eq!(over("2026-04", refused()), rows(&[("04-16", 0, 500), ("04-26", 1, -500)]), "{lost:?}");
        assert_eq!(over("2026-05", refused()), rows(&[]), "{lost:?}");
    }
}

/// A Strategy Session includes its follow-up. A refund of the session is recorded on both.
#[test]
fn a_followup_is_neither_sold_nor_refunded() {
    let session = || RecordedSale::new(Some(Tier::Strategy)).verdict(0, 1);
    let followup = || RecordedSale::followup().verdict(0, 1).event(0, 7, Source::EmailService, Status::EmailSent, None);
    let found = report([session(), followup()]);
    assert_eq!(revenue(&found), [("2026-04-16", Tier::Strategy, 1, 2500, 0, 2500)]);
    assert_eq!((found.sales, found.records, found.latency[0].count, found.mails.sent), (1, 3, 2, 1));
    let without_amount = Body::PaymentChange {
        payment: PaymentId::parse("pi_1").unwrap(),
        change: PaymentChange::Refunded,
        object: None,
        amount_returned: None,
        amount_total: None,
        currency: None,
    };
    let failed = RecordedSale::followup().event(0, 1, Source::Webhook, Status::Error, Some("gave up"));
    let found = report([session(), followup().body(0, without_amount.clone()), failed.body(0, without_amount)]);
    assert_eq!(revenue(&found), [("2026-04-16", Tier::Strategy, 1, 2500, 0, 2500)]);
    assert_eq!((found.without_verdict, found.refunds_without_verdict), (0, 0));
}

/// A sale on the 16th that is refunded on the 17th: each counts on its own day, in any period.
#[test]
fn each_record_counts_in_the_time_of_its_own() {
    let over = |since: &str, until: &str| {
        let day = |text: &str| Timestamp::parse(&format!("{text}T00:00:00Z"));
        let mut aggregate = Aggregate::over(Period::new(day(since), day(until)));
        let recorded = || RecordedSale::new(Some(Tier::Full)).verdict(0, 1);
        for RecordedSale(sale) in [recorded().refund(1, RefundStep::Issued), recorded(), recorded()] {
            aggregate.add_sale(sale.outbox().iter().map(|entry| entry.line.as_bytes()));
        }
        let found = aggregate.finish();
        (found.sales, found.records, revenue(&found).iter().map(|row| (row.2, row.4, row.5)).collect::<Vec<_>>())
    };
    assert_eq!(over("2026-04-16", "2026-04-17"), (3, 3, vec![(3, 0, 1500)]));
    assert_eq!(over("2026-04-17", "2026-04-18"), (1, 1, vec![(0, 1, -500)]));
    assert_eq!(over("2026-04-16", "2026-04-18"), (3, 4, vec![(3, 0, 1500), (0, 1, -500)]));
    assert_eq!(over("2026-04-18", "2026-04-19"), (0, 0, vec![]));
}

#[test]
fn money_is_counted_as_it_was_charged() {
    let paid = |cents: i64, currency: &str| Body::AmountDiffers {
        amount_total: Some(cents),
        currency: Some(currency.into()),
        price: 500,
    };
    let sale = || RecordedSale::new(Some(Tier::Full)).verdict(0, 1);
    let found = report([sale().body(1, paid(400, "cad")), sale(), sale().body(1, paid(1, "usd"))]);
    assert_eq!(revenue(&found).iter().map(|row| (row.2, row.3, row.5)).collect::<Vec<_>>(), [(3, 900, 900)]);
    let dropped = |currency: &str| Body::SilentDrop {
        amount_total: Some(2500),
        currency: Some(currency.into()),
        reason: "no tier".into(),
    };
    let resubmitted = |currency| RecordedSale::new(Some(Tier::Full)).body(0, dropped(currency)).verdict(0, 1);
    let found = report([resubmitted("cad"), resubmitted("usd")]);
    assert_eq!(revenue(&found)[0], ("2026-04-16", Tier::Full, 2, 2500, 0, 2500), "another currency enters no sum");
    assert_eq!((found.other_amounts, found.other_amounts_cents), (2, 2000), "nothing else names them");
    let fits = RecordedSale::new(Some(Tier::Strategy)).body(0, dropped("cad")).verdict(0, 1);
    let undelivered = RecordedSale::new(Some(Tier::Full)).body(0, dropped("cad"));
    let recorded = resubmitted("cad").body(1, paid(2500, "cad"));
    assert_eq!(report([fits, undelivered, recorded]).other_amounts, 1, "once");
    let given_back =
        revenue(&report([resubmitted("usd").by_hand(1)])).iter().map(|row| (row.4, row.5)).collect::<Vec<_>>();
    assert_eq!(given_back, [(0, 0), (1, 0)]);
}

#[test]
fn latency_is_reported_by_tier_and_step() {
    let sales = (1..=100).map(|index| {
        let recorded = RecordedSale::new(Some(Tier::Quick)).verdict(0, index * 100);
        recorded.event(0, 7, Source::EmailService, Status::EmailSent, Some("sent"))
    });
    let found =
        report(sales.chain([RecordedSale::new(None).event(0, 3, Source::Webhook, Status::Error, Some("unusable"))]));
    let steps: Vec<_> = found.latency.iter().map(|row| (row.tier, row.step, row.count)).collect();
    let quick = Some(Tier::Quick);
    assert_eq!(steps, [(None, Step::VerdictFailed, 1), (quick, Step::Verdict, 100), (quick, Step::Mail, 100)]);
    let verdict = &found.latency[1];
    for (estimate, exact) in [(verdict.p50_ms, 5000), (verdict.p95_ms, 9500), (verdict.p99_ms, 9900)] {
        assert!(estimate.abs_diff(exact) <= exact / 100 + 1, "{estimate} for {exact}");
    }
    assert_eq!((verdict.greatest_ms, found.latency[2].p99_ms), (10_000, 7));
}

#[test]
fn an_attempt_that_is_tried_again_is_an_error_and_no_end_without_a_verdict() {
    let quick = || RecordedSale::new(Some(Tier::Quick)).attempt(15_000).attempt(45_000);
    let found = report([
        quick().verdict(0, 110_000),
        quick(),
        quick().event(0, 200_000, Source::Webhook, Status::Error, Some("gave up")),
    ]);
    let steps: Vec<_> = found.latency.iter().map(|row| (row.step, row.count, row.greatest_ms)).collect();
    assert_eq!(steps, [(Step::Verdict, 1, 110_000), (Step::VerdictFailed, 1, 200_000)]);
    let counted = |detail: &str, count| Counted { detail: detail.into(), count };
    assert_eq!(found.errors, [counted("time-out", 6), counted("gave up", 1)]);
    assert_eq!((found.without_verdict, found.slow_verdicts), (1, 1), "one still waits for its next attempt");
}

#[test]
fn cache_and_mail_and_errors_are_counted() {
    let mut recorded = RecordedSale::new(Some(Tier::Quick)).verdict(0, 1);
    for _ in 0..3 {
        recorded = recorded.event(0, 1, Source::CacheHit, Status::Cached, Some("cache_hit"));
    }
    recorded = recorded.event(0, 1, Source::ResultPage, Status::Cached, Some("restored from the archive"));
    recorded = recorded.event(0, 1, Source::ResultPage, Status::Regenerated, Some("cache_miss"));
    for detail in ["Graph API returned 503", "Graph API returned 503", "time-out"] {
        recorded = recorded.event(0, 1, Source::EmailService, Status::EmailFailed, Some(detail));
    }
    recorded = recorded.event(0, 1, Source::EmailService, Status::EmailSent, Some("sent"));
    let found = report([recorded]);
    assert_eq!(found.retrievals, Retrievals { cache: 3, archive: 1, regenerated: 1 });
    assert_eq!(found.mails, Mails { sent: 1, failed: 3 });
    let counted = |detail: &str, count| Counted { detail: detail.into(), count };
    assert_eq!(found.errors, [counted("Graph API returned 503", 2), counted("time-out", 1)]);
}

#[test]
fn however_many_errors_there_are_the_most_frequent_are_named() {
    let mut recorded = RecordedSale::new(None);
    for index in 0..1200 {
        let detail = format!("error {index}");
        recorded = recorded.event(0, 1, Source::Webhook, Status::Error, Some(&detail));
        recorded = recorded.event(0, 1, Source::Webhook, Status::Error, Some("error 7"));
    }
    let found = report([recorded]);
    assert_eq!((found.errors.len(), found.errors[0].count), (20, 1201));
    assert_eq!(found.errors.iter().map(|error| error.count).sum::<u64>() + found.other_errors, 2400);
}

#[test]
fn filter_crosscheck_and_other_amounts_are_counted() {
    let run = |gate, outcome: &str| Body::ContentFilter {
        gate,
        outcome: outcome.into(),
        list_version: "1".into(),
        list_hash: "h".into(),
        hits: json!([]),
    };
    let check = |approved, reason: &str| Body::TmmCrosscheck {
        phi: 0.042,
        decision: json!({
            "approved": approved, "coherence_score": 0.5, "threshold": 0.4, "verdict_label": "RED", "flags": ["x"],
            "crosscheck_reason": reason,
        }),
    };
    let paid = |cents: i64, currency: &str| Body::AmountDiffers {
        amount_total: Some(cents),
        currency: Some(currency.into()),
        price: 500,
    };
    let recorded =
        RecordedSale::new(Some(Tier::Full)).body(0, check(false, "low_coherence")).body(0, check(true, "pass"));
    let recorded =
        recorded.body(0, run(1, "PASS")).body(0, run(2, "PASS")).body(0, run(2, "PASS")).body(0, run(2, "REPLACE"));
    let found = report([recorded.body(0, paid(400, "cad")).body(0, paid(1, "usd"))]);
    let filtered = |gate, outcome: &str, count| Filtered { gate, outcome: outcome.into(), count };
    assert_eq!(found.filter, [filtered(1, "PASS", 1), filtered(2, "PASS", 2), filtered(2, "REPLACE", 1)]);
    let checked = |approved, reason: &str| Crosschecked { approved, reason: reason.into(), count: 1 };
    assert_eq!(found.crosscheck, [checked(false, "low_coherence"), checked(true, "pass")]);
    assert_eq!((found.other_amounts, found.other_amounts_cents, found.unreadable), (2, -100, 0));
}

#[test]
fn regenerated_verdicts_are_counted_by_their_difference() {
    let check = Body::regen_divergence_check;
    let recorded = RecordedSale::new(Some(Tier::Full))
        .body(0, check(Some(Colour::Green), Colour::Red))
        .body(0, check(Some(Colour::Green), Colour::Green))
        .body(0, check(Some(Colour::Red), Colour::Red))
        .body(0, check(None, Colour::Red));
    let found = report([recorded]);
    let counts: Vec<_> = found.divergences.iter().map(|of| (of.level.as_str(), of.count)).collect();
    assert_eq!(counts, [("none", 2), ("significant", 1), ("unknown", 1)]);
    assert_eq!(found.unreadable, 0);
}

#[test]
fn what_cannot_be_read_is_counted_and_stops_nothing() {
    let mut aggregate = Aggregate::default();
    let RecordedSale(sale) = RecordedSale::new(Some(Tier::Quick)).verdict(0, 1);
    aggregate.add_sale([&b"nonsense"[..], b"\xff", sale.outbox()[0].line.as_bytes()]);
    aggregate.add_sale([]);
    let found = aggregate.finish();
    assert_eq!((found.sales, found.records, found.unreadable, found.revenue.len()), (1, 3, 2, 1));
}

#[test]
fn double_work_and_slow_verdicts_are_counted() {
    let found = report([
        RecordedSale::new(Some(Tier::Quick)).verdict(0, 60_000),
        RecordedSale::new(Some(Tier::Quick)).verdict(0, 60_001),
        RecordedSale::new(Some(Tier::Quick)).verdict(0, 1).verdict(0, 2),
        RecordedSale::new(Some(Tier::Quick)).verdict(0, 1).by_operator(70_000),
    ]);
    assert_eq!((found.processed_twice, found.slow_verdicts), (1, 1));
}

/// A payment's record, as the toll writes it.
fn toll_line(day: i64, status: TollStatus, offer: Offer) -> Vec<u8> {
    let paid = Paid::Transferred { transaction: "0x1".to_owned(), payer: "0x2".to_owned(), network: "n".to_owned() };
    let id = purchase_id(&"a".repeat(64)).unwrap();
    let mut purchase = Purchase::new(id, offer, "f".to_owned(), "h".to_owned(), paid, at(day * DAY));
    chain::append(&mut purchase, &Record::toll(at(day * DAY + 2_000), at(day * DAY), status, "why"));
    purchase.trail().outbox()[0].line.clone().into_bytes()
}

/// What the chain says later of a sale is no second sale.
#[test]
fn a_check_of_a_settlement_is_no_revenue() {
    let paid = Paid::Transferred { transaction: "0x1".to_owned(), payer: "0x2".to_owned(), network: "n".to_owned() };
    let id = purchase_id(&"a".repeat(64)).unwrap();
    let mut purchase = Purchase::new(id, Offer::Query, "f".to_owned(), "h".to_owned(), paid, at(0));
    chain::append(&mut purchase, &Record::toll(at(0), at(0), TollStatus::Ok, ""));
    chain::append(&mut purchase, &Record::toll_check(at(1), at(0), json!({ "reported": "0x1...", "on_chain": null })));
    let mut aggregate = Aggregate::default();
    aggregate.add_payments(purchase.trail().outbox().iter().map(|entry| entry.line.as_bytes()));
    let found = aggregate.finish();
    assert_eq!((found.records, found.unreadable), (2, 0));
    assert_eq!((found.toll.revenue[0].sold, found.toll.outcomes[0].count), (1, 1));
}

#[test]
fn payments_in_usdc_are_counted_by_their_status_and_are_no_sales() {
    let lines = [
        toll_line(0, TollStatus::Ok, Offer::Query),
        toll_line(0, TollStatus::Ok, Offer::Query),
        toll_line(0, TollStatus::Ok, Offer::QueryPremium),
        toll_line(1, TollStatus::Ok, Offer::Query),
        toll_line(0, TollStatus::Replay, Offer::Query),
        toll_line(0, TollStatus::RagFail, Offer::Query),
        toll_line(0, TollStatus::RpcUnreachable, Offer::Query),
        // Written like a record of the function's own stream.
        json!({ "timestamp": at(0).to_iso(), "function": "toll", "event": "payment_not_taken", "details": {
            "tx_hash": null, "endpoint": "/query", "query_hash": "h", "amount_usdc": 0.05, "latency_ms": 3,
            "status": "PAYMENT_REJECTED", "source": "oracle_toll", "error_detail": "why" } })
        .to_string()
        .into_bytes(),
        b"nonsense".to_vec(),
        json!({ "timestamp": at(0).to_iso(), "event": "toll", "status": "NEW" }).to_string().into_bytes(),
    ];
    let mut aggregate = Aggregate::default();
    aggregate.add_payments(lines.iter().map(Vec::as_slice));
    let found = aggregate.finish();
    let sold: Vec<_> = found
        .toll
        .revenue
        .iter()
        .map(|row| (row.day.as_str(), row.endpoint.as_str(), row.sold, row.usdc_millionths))
        .collect();
    let expected = [
        ("2026-04-16", "/query", 2, 100_000),
        ("2026-04-16", "/query/premium", 1, 1_000_000),
        ("2026-04-17", "/query", 1, 50_000),
    ];
    assert_eq!(sold, expected);
    let outcomes: Vec<_> = found.toll.outcomes.iter().map(|outcome| (outcome.status, outcome.count)).collect();
    let each = [("OK", 4), ("PAYMENT_REJECTED", 1), ("RAG_FAIL", 1), ("REPLAY", 1), ("RPC_UNREACHABLE", 1)];
    assert_eq!(outcomes, each);
    assert_eq!((found.toll.latency[0].count, found.toll.latency[0].greatest_ms), (3, 2_000));
    assert_eq!((found.sales, found.records, found.unreadable, found.revenue.len()), (0, 10, 2, 0));
}
