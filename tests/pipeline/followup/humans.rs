//! Follow-ups whose end a human or the payment decides.

use super::*;
use operations::{
    Done, NotDone, Operator,
    quarantine::{self, DecideError, Decided},
    reattempt::ReattemptError,
};

#[test]
fn a_failed_one_is_a_humans_is_tried_again_and_is_never_refunded_by_policy() {
    let mut sim = delivered();
    sim.world.state().model = None;
    posts(&sim, FOLLOWUP).unwrap();
    sim.model_says(&json!({ "verdict": "GREEN" }).to_string());
    sim.drain();
    assert_eq!(child(&sim).open_work().map(|open| open.work), Some(Work::Failed));
    let page = shown(&sim);
    assert_eq!((&page["followup_status"], page.get("followup")), (&json!("failed"), None));
    assert!(page.get("followup_message").is_none(), "a person looks into it");
    assert!(page["verdict"].is_object(), "the first verdict stays");
    assert_eq!(sim.world.state().measured(domain::Metric::FailedSaleShown), 0, "the reply is no 5xx");
    let alerted = |words: &str| sim.world.state().alerts.iter().any(|alert| alert.line.contains(words));
    assert!(alerted("[ORACLE-VERDICT] CRITICAL"), "operators know");

    let by = Operator::parse("dana", Some("the model is back")).unwrap();
    let ports = operations::reattempt::Ports { journal: sim.journal(), submissions: &sim.world, orders: &sim.world };
    sim.model_says(&strategy());
    let followup = sim.session.followup();
    let again = operations::reattempt::reattempt(ports, &by, &followup, None, &[]);
    testkit::run(again).unwrap().unwrap();
    sim.drain();
    assert_eq!(shown(&sim)["followup"]["query"], FOLLOWUP);
    assert_eq!(mails(&sim).len(), 2);
}

/// A follow-up whose verdict the content filter holds.
fn held() -> Simulator {
    let mut sim = delivered();
    sim.world.state().model = None;
    sim.model_says(&strategy().replace("The ground is firm.", "The CSDM says that it is firm."));
    posts(&sim, FOLLOWUP).unwrap();
    sim.drain();
    assert_eq!(shown(&sim)["followup_status"], "in_review");
    sim
}

/// An operator replaces the held verdict by a clean one.
fn replaced(sim: &Simulator) -> Done<Decided, DecideError> {
    let by = Operator::parse("dana", Some("cleaned")).unwrap();
    let cleaned = serde_json::from_str(&strategy()).unwrap();
    testkit::run(quarantine::replace(sim.held_ports(), &by, &sim.session.followup(), &cleaned)).unwrap()
}

/// An operator refunds the session, and Stripe has not made the refund yet.
fn refund_under_way(sim: &Simulator) {
    sim.world.state().refund_status = Some(RefundStatus::Pending);
    let by = Operator::parse("dana", Some("asked for it")).unwrap();
    let ports = refund::Ports { journal: sim.journal(), payments: &sim.world, ledger: &sim.world };
    let issued = testkit::run(operations::refunds::issue(ports, &by, &sim.session, None)).unwrap().unwrap();
    assert_eq!(issued, operations::refunds::Issued::Pending);
}

#[test]
fn a_held_one_waits_for_a_human_and_no_money_goes_back_by_itself() {
    let mut sim = held();
    sim.world.advance(Duration::from_secs(25 * 3600));
    sim.deadlines().unwrap();
    sim.drain();
    assert!(matches!(child(&sim).fulfilment(), Fulfilment::InReview { .. }) && *child(&sim).money() == Money::Kept);
    assert!(sim.world.state().refunds.is_empty());
    let reminded = |line: &str| line.contains("held by the content filter: approve");
    assert!(sim.world.state().alerts.iter().any(|alert| reminded(&alert.line)), "{:?}", sim.world.state().alerts);
    // A follow-up whose verdict an operator corrected keeps its link to the first verdict.
    replaced(&sim).unwrap();
    sim.drain();
    let (_, _, text) = mails(&sim).pop().unwrap();
    assert!(text.contains(FOLLOWUP) && text.contains(QUESTION), "{text}");
}

#[test]
fn a_held_one_is_not_released_without_its_text_its_first_verdict_or_its_sessions_money() {
    let (without_text, without_first, without_money) = (held(), held(), held());
    without_text.world.state().submissions.clear();
    without_first.world.state().cache.clear();
    refund_under_way(&without_money);
    assert!(matches!(replaced(&without_text), Err(NotDone::Refused(DecideError::NoQuestion))));
    assert!(matches!(replaced(&without_first), Err(NotDone::Refused(DecideError::NoFirstVerdict))));
    assert!(matches!(replaced(&without_money), Err(NotDone::Refused(DecideError::MoneyWentBack))));
    for sim in [without_text, without_first, without_money] {
        assert!(matches!(child(&sim).fulfilment(), Fulfilment::InReview { .. }));
    }
}

/// Its first verdict is not made again for it (infra/decisions/verdict-retry.md).
#[test]
fn one_whose_text_or_first_verdict_is_lost_fails_and_is_a_humans() {
    type Loss = fn(&Simulator);
    let losses: [Loss; 2] = [
        |sim| sim.world.state().submissions.clear(),
        |sim| {
            let mut state = sim.world.state();
            state.cache.clear();
            state.archive.clear();
        },
    ];
    for lose in losses {
        let mut sim = delivered();
        posts(&sim, FOLLOWUP).unwrap();
        lose(&sim);
        sim.drain();
        assert_eq!(child(&sim).open_work().map(|open| open.work), Some(Work::Failed));
        assert_eq!((prompts(&sim), mails(&sim).len()), (1, 1), "nothing is made");
        let state = sim.world.state();
        let critical = state.alerts.iter().filter(|alert| alert.line.starts_with("[ORACLE-VERDICT] CRITICAL | "));
        assert_eq!(critical.count(), 1, "{:?}", state.alerts);
    }
}

/// The rules have become stricter since the question was asked.
#[test]
fn a_declined_one_says_who_helps_and_no_money_goes_back_by_itself() {
    let mut sim = delivered();
    posts(&sim, FOLLOWUP).unwrap();
    let query = domain::Query::parse("Can I give my son two of my warfarin tablets?").unwrap();
    sim.world.state().submissions.get_mut(&sim.session.followup()).unwrap().query = query;
    sim.drain();
    assert_eq!(child(&sim).open_work(), None, "nobody may approve it");
    let page = shown(&sim);
    assert_eq!(page["followup_status"], "declined");
    let declined = &page["followup_declined"];
    assert_eq!(declined["error"], domain::texts::DECLINED);
    assert!(!declined["resources"].as_array().unwrap().is_empty() && page["verdict"].is_object());
    for _ in 0..2 {
        sim.world.advance(Duration::from_secs(25 * 3600));
        sim.deadlines().unwrap();
        sim.drain();
    }
    assert!(sim.world.state().refunds.is_empty() && *child(&sim).money() == Money::Kept);
    let alerts = &sim.world.state().alerts;
    let about_followup =
        alerts.iter().filter(|alert| alert.line.contains("| AUTHORITY | ") && alert.line.contains("-followup | "));
    assert_eq!(about_followup.count(), 1, "{alerts:?}");
}

#[test]
fn what_becomes_of_the_payment_becomes_of_the_followup() {
    let mut sim = delivered();
    posts(&sim, FOLLOWUP).unwrap();
    let held = std::mem::take(&mut sim.world.state().queue);
    sim.payment_changes(PaymentChange::Refunded);
    sim.drain();
    sim.world.state().queue = held;
    sim.drain();
    assert!(matches!(child(&sim).money(), Money::Refunded { .. }));
    assert_eq!((mails(&sim).len(), child(&sim).open_work()), (1, None), "nothing is made for money that went back");
    let page = shown(&sim);
    let state_and_message = (&page["followup_status"], &page["followup_message"]);
    assert_eq!(
        state_and_message,
        (&json!("failed"), &json!(domain::texts::FAILED_AND_REFUNDED)),
        "nobody looks into it"
    );
    assert_eq!(posts(&sim, "And in Halifax?").unwrap().status(), 409);
}

/// How often the model was asked.
fn prompts(sim: &Simulator) -> usize {
    sim.world.state().prompts.len()
}

/// The refund is decided on the session alone, and the follow-up's own row learns of it by Stripe's report.
#[test]
fn a_refund_that_stripe_has_not_reported_stops_the_order_and_the_mail_of_the_followup() {
    for (is_made, expected) in [(false, 1), (true, 2)] {
        let mut sim = delivered();
        posts(&sim, FOLLOWUP).unwrap();
        if is_made {
            sim.step();
            assert!(matches!(child(&sim).fulfilment(), Fulfilment::Ready { .. }));
        }
        refund_under_way(&sim);
        for _ in 0..2 {
            sim.drain();
            assert_eq!((prompts(&sim), mails(&sim).len()), (expected, 1), "made: {is_made}");
            sim.world.advance(Duration::from_secs(3600));
            sim.deadlines().unwrap();
        }
        assert_eq!(*child(&sim).money(), Money::Kept);
        let lines: Vec<String> = sim.world.state().alerts.iter().map(|alert| alert.line.clone()).collect();
        let waiting = lines.iter().filter(|line| line.contains("-followup | a follow-up that is not finished waits"));
        assert_eq!(waiting.count(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| !line.contains("message sent again")), "{lines:?}");
        let by = Operator::parse("dana", Some("asked for it")).unwrap();
        let (journal, followup) = (sim.journal(), sim.session.followup());
        let again = operations::reattempt::Ports { journal, submissions: &sim.world, orders: &sim.world };
        let refused = testkit::run(operations::reattempt::reattempt(again, &by, &followup, None, &[])).unwrap();
        assert!(matches!(refused, Err(NotDone::Refused(ReattemptError::MoneyWentBack))), "{refused:?}");
        sim.payment_changes(PaymentChange::Refunded);
        sim.drain();
        assert!(matches!(child(&sim).money(), Money::Refunded { .. }));
        assert_eq!((mails(&sim).len(), child(&sim).open_work()), (1, None));
    }
}

/// The operator's command died between its two decisions, and nobody repeats it.
#[test]
fn an_erased_session_stops_its_followup_and_takes_it_along() {
    let mut sim = delivered();
    posts(&sim, FOLLOWUP).unwrap();
    let by = Operator::parse("dana", Some("asked for it")).unwrap();
    let now = sim.now();
    sim.world.state().sales.get_mut(&sim.session).unwrap().0.erase(&by, now).unwrap();
    sim.drain();
    assert_eq!((prompts(&sim), mails(&sim).len()), (1, 1), "nothing is made");
    let followup = sim.session.followup();
    for _ in 0..2 {
        sim.world.advance(ERASURE_SETTLES_AFTER);
        sim.deadlines().unwrap();
        assert!(child(&sim).is_erased());
    }
    assert_eq!(sim.world.state().traces(&followup, FOLLOWUP), [""; 0]);
    assert_eq!((sim.sale().open_work(), child(&sim).open_work()), (None, None));
    let log: String = sim.world.state().log.values().cloned().collect();
    assert!(log.contains("\"by\":\"policy erasure\""), "{log}");
}
