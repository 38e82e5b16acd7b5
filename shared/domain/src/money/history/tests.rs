use super::*;
use proptest::prelude::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn id(text: &str) -> ObjectId {
    ObjectId::parse(text).unwrap()
}

fn refund(number: u32, amount: i64, status: RefundStatus, seconds: i64) -> PaymentReport {
    PaymentReport::Refund { id: id(&format!("re_{number}")), amount: Some(amount), status, at: at(seconds) }
}

fn charge(returned: i64, whole: bool, seconds: i64) -> PaymentReport {
    PaymentReport::Charge { returned, whole, at: at(seconds) }
}

fn dispute(number: u32, status: DisputeStatus, seconds: i64) -> PaymentReport {
    PaymentReport::Dispute { id: id(&format!("du_{number}")), status, respond_by: Some(at(999)), at: at(seconds) }
}

fn history_of<'r>(reports: impl IntoIterator<Item = &'r PaymentReport>) -> PaymentHistory {
    let mut history = PaymentHistory::default();
    for report in reports {
        history.record_report(report, Some(500));
    }
    history
}

fn returned(reports: &[PaymentReport]) -> (i64, bool) {
    let Returned { amount, whole } = history_of(reports).returned(Some(500));
    (amount, whole)
}

#[test]
fn what_went_back_is_the_sum_of_what_arrived_and_did_not_bounce() {
    use RefundStatus::{Canceled, Failed, Pending, Succeeded};
    for (reports, expected) in [
        (vec![], (0, false)),
        (vec![refund(1, 500, Pending, 1)], (0, false)),
        (vec![refund(1, 500, Succeeded, 1)], (500, true)),
        (vec![refund(1, 100, Succeeded, 1), refund(2, 400, Succeeded, 2)], (500, true)),
        (vec![refund(1, 100, Succeeded, 1), refund(2, 300, Succeeded, 2)], (400, false)),
        (vec![charge(100, false, 1), charge(250, false, 2)], (250, false)),
        (vec![charge(500, true, 1)], (500, true)),
        (vec![charge(500, true, 1), refund(1, 500, Succeeded, 1)], (500, true)),
        (vec![charge(500, true, 1), refund(1, 500, Failed, 1)], (0, false)),
        (vec![charge(500, true, 1), refund(1, 500, Canceled, 9)], (0, false)),
        (vec![charge(500, true, 1), refund(1, 200, Failed, 9)], (300, false)),
        // Issued again after it bounced: the later report of the charge includes it.
        (vec![charge(500, true, 1), refund(1, 500, Failed, 5), charge(500, true, 6)], (500, true)),
        (vec![charge(500, true, 1), refund(1, 500, Failed, 5), refund(2, 500, Succeeded, 6)], (500, true)),
    ] {
        assert_eq!(returned(&reports), expected, "{reports:?}");
    }
}

#[test]
fn a_dispute_goes_forward_only() {
    let mut history = PaymentHistory::default();
    for (status, noted) in [
        (DisputeStatus::WarningNeedsResponse, ReportEffect::Change(PaymentChange::InquiryOpened)),
        (DisputeStatus::WarningNeedsResponse, ReportEffect::Nothing),
        (DisputeStatus::NeedsResponse, ReportEffect::Change(PaymentChange::DisputeOpened)),
        (DisputeStatus::WarningClosed, ReportEffect::Nothing),
        (DisputeStatus::UnderReview, ReportEffect::Change(PaymentChange::DisputeAnswered)),
        (DisputeStatus::Lost, ReportEffect::Change(PaymentChange::DisputeLost)),
        (DisputeStatus::NeedsResponse, ReportEffect::Nothing),
    ] {
        assert_eq!(history.record_report(&dispute(1, status, 1), Some(500)), noted, "{status:?}");
    }
    assert_eq!((history.is_taken(), history.to_answer()), (true, None));
}

#[test]
fn what_waits_for_an_answer_is_the_dispute_before_the_inquiry_with_its_deadline() {
    let mut history = history_of(&[dispute(1, DisputeStatus::WarningNeedsResponse, 1)]);
    assert_eq!(history.to_answer().unwrap().id.as_str(), "du_1");
    history.record_report(&dispute(2, DisputeStatus::NeedsResponse, 2), Some(500));
    assert_eq!(history.to_answer().unwrap().id.as_str(), "du_2");
    let later =
        PaymentReport::Dispute { id: id("du_2"), status: DisputeStatus::NeedsResponse, respond_by: None, at: at(3) };
    assert_eq!(history.record_report(&later, Some(500)), ReportEffect::Change(PaymentChange::DeadlineChanged));
}

/// Rows and messages of earlier versions name kinds, not objects.
#[test]
fn what_was_stored_as_words_is_read_and_taken_over_by_the_first_object() {
    let stored = |text: &str| serde_json::from_str::<PaymentHistory>(text).unwrap();
    assert!(stored(r#"["refunded"]"#).returned(Some(500)).whole);
    assert!(stored("[]").is_empty() && stored("{}").is_empty());
    let bounced = stored(r#"["refunded","refund_failed"]"#);
    assert_eq!(bounced.returned(Some(500)), Returned { amount: 0, whole: false });
    for (words, status, noted, taken) in [
        (r#"["dispute_opened"]"#, DisputeStatus::Won, ReportEffect::Change(PaymentChange::DisputeWon), false),
        (r#"["dispute_opened"]"#, DisputeStatus::NeedsResponse, ReportEffect::Detail, true),
        // The stored dispute was an inquiry.
        (
            r#"["dispute_opened"]"#,
            DisputeStatus::WarningClosed,
            ReportEffect::Change(PaymentChange::InquiryClosed),
            false,
        ),
        (r#"["dispute_opened","dispute_won"]"#, DisputeStatus::NeedsResponse, ReportEffect::Detail, false),
        (r#"["dispute_lost"]"#, DisputeStatus::NeedsResponse, ReportEffect::Detail, true),
    ] {
        let mut history = stored(words);
        assert_eq!(history.to_answer(), None, "{words}: who knows until when");
        assert_eq!(history.record_report(&dispute(1, status, 5), Some(500)), noted, "{words} {status:?}");
        assert_eq!((history.is_taken(), history.disputes().len()), (taken, 1), "{words} {status:?}");
        history.record_report(&dispute(2, DisputeStatus::NeedsResponse, 6), Some(500));
        assert!(history.is_taken() && history.disputes().len() == 2, "another dispute is another one");
    }
    let word: PaymentReport = crate::money::report::deserialize(&serde_json::json!("refunded")).unwrap();
    assert_eq!(word, charge(0, true, 0));
}

fn any_report() -> impl Strategy<Value = PaymentReport> {
    use DisputeStatus as D;
    let refund_status =
        prop::sample::select(vec![RefundStatus::Pending, RefundStatus::Succeeded, RefundStatus::Failed]);
    let dispute_status = prop::sample::select(vec![
        D::WarningNeedsResponse,
        D::WarningClosed,
        D::NeedsResponse,
        D::UnderReview,
        D::Won,
        D::Lost,
        D::Prevented,
    ]);
    prop_oneof![
        (0..=5_i64, 0..9_i64).prop_map(|(parts, seconds)| charge(parts * 100, parts == 5, seconds)),
        // A refund's amount never changes.
        (1..=3_u32, refund_status, 0..9_i64).prop_map(|(number, status, seconds)| refund(
            number,
            i64::from(number) * 100,
            status,
            seconds
        )),
        (1..=2_u32, dispute_status, 0..9_i64).prop_map(|(number, status, seconds)| dispute(number, status, seconds)),
    ]
}

proptest! {
    /// Queues deliver at least once and in any order.
    #[test]
    fn every_order_and_repetition_of_the_same_reports_leads_to_the_same_history(
        (reports, other) in prop::collection::vec(any_report(), 0..8)
            .prop_flat_map(|reports| (Just(reports.clone()), Just(reports).prop_shuffle()))
    ) {
        let sorted = |mut history: PaymentHistory| {
            history.refunds.sort_by(|a, b| a.id.cmp(&b.id));
            history.disputes.sort_by(|a, b| a.id.cmp(&b.id));
            history
        };
        let one = history_of(&reports);
        let again = history_of(other.iter().chain(&reports));
        prop_assert_eq!(one.returned(Some(500)), again.returned(Some(500)));
        let stored = serde_json::to_string(&one).unwrap();
        prop_assert_eq!(&serde_json::from_str::<PaymentHistory>(&stored).unwrap(), &one);
        prop_assert_eq!(sorted(one), sorted(again));
    }
}

#[test]
fn a_change_is_reported_when_more_went_back_than_before_and_only_then() {
    use RefundStatus::{Failed, Succeeded};
    let changes = |reports: &[PaymentReport]| {
        let mut history = PaymentHistory::new();
        assert!(history.is_empty());
        let effects: Vec<ReportEffect> =
            reports.iter().map(|report| history.record_report(report, Some(500))).collect();
        assert!(!history.is_empty());
        effects
    };
    let (partly, whole) =
        (ReportEffect::Change(PaymentChange::PartlyRefunded), ReportEffect::Change(PaymentChange::Refunded));
    for (reports, expected) in [
        (vec![charge(100, false, 1), charge(100, false, 1)], vec![partly, ReportEffect::Nothing]),
        (vec![charge(100, false, 1), charge(100, false, 2)], vec![partly, ReportEffect::Detail]),
        (vec![charge(100, false, 1), charge(300, false, 2)], vec![partly, partly]),
        (vec![charge(100, false, 1), charge(500, true, 2)], vec![partly, whole]),
        (vec![charge(500, true, 1), charge(500, true, 2)], vec![whole, ReportEffect::Detail]),
        // A part whose amount is not known.
        (vec![charge(0, false, 1), charge(0, false, 2)], vec![partly, ReportEffect::Detail]),
        (vec![refund(1, 100, Succeeded, 1), charge(100, false, 2)], vec![partly, ReportEffect::Detail]),
        (vec![refund(1, 100, Succeeded, 1), refund(1, 100, Succeeded, 1)], vec![partly, ReportEffect::Nothing]),
        (
            vec![refund(1, 100, Succeeded, 1), refund(1, 100, Failed, 2)],
            vec![partly, ReportEffect::Change(PaymentChange::RefundFailed)],
        ),
        (
            vec![refund(1, 100, Failed, 1), refund(1, 100, Failed, 2)],
            vec![ReportEffect::Change(PaymentChange::RefundFailed), ReportEffect::Nothing],
        ),
    ] {
        assert_eq!(changes(&reports), expected, "{reports:?}");
    }
}

#[test]
fn a_payment_of_nothing_never_went_back() {
    let history = history_of(&[refund(1, 0, RefundStatus::Succeeded, 1)]);
    assert!(!history.returned(Some(0)).whole);
    assert_eq!(history.refunds().len(), 1);
}
