//! The human lock: people with the required role approve a declined question, and it is answered as a narrative.

use crate::{
    declined::{METFORMIN, declined, mail, settle},
    samples::{body, quick},
    simulator::Simulator,
};
use domain::{
    Timestamp,
    money::Money,
    ports::ModelError,
    sale::{Authority, AuthorityDecision, Fulfilment},
    texts,
};
use operations::{
    Done, Operator,
    authority_gate::{self, DecideError, HumanDecision},
};
use std::time::Duration;
use testkit::{Plan, every_single_fault};

const PHYSICIANS: [(&str, &str); 2] = [("dana", "npi_registry:1234567893"), ("eve", "npi_registry:1987654320")];

/// A physician approves the question whose refusal they have read; `None` if the command's process died.
fn approve(
    sim: &Simulator,
    (name, credential): (&str, &str),
    read: Timestamp,
) -> Option<Done<AuthorityDecision, DecideError>> {
    let operator = Operator::parse(name, Some("read it")).unwrap();
    let by = Authority { operator: &operator, role: "physician", credential, identity: None };
    let ports = authority_gate::Ports { journal: sim.journal(), orders: &sim.world };
    testkit::run(authority_gate::approve(ports, HumanDecision { by, session: &sim.session, read }))
}

/// A declined question after both physicians have approved it once, under a plan of faults, and its messages are
/// handled. Also returns when the gate declined it.
fn approved(plan: Plan) -> (Simulator, Timestamp) {
    let mut sim = declined(METFORMIN, None);
    sim.model_says(&quick("GREEN", "Change it once a physician has agreed."));
    let read = sim.sale().declined().unwrap().at;
    sim.world.plan(plan);
    for physician in PHYSICIANS {
        drop(approve(&sim, physician, read));
    }
    sim.drain();
    (sim, read)
}

/// The verdict is on the page and in the mailbox, and the money is not given back either, however long it lasts.
fn assert_answered(sim: &mut Simulator, what: &str) {
    for _ in 0..3 {
        let page = sim.page().unwrap();
        assert_eq!(page.status(), 200, "{what}: {}", page.body());
        assert!(body(&page)["notice"].is_string(), "{what}: a narrative answer: {}", page.body());
        sim.deadlines().unwrap();
        sim.drain();
        sim.world.advance(Duration::from_secs(25 * 3600));
    }
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ready { .. }), "{what}: {:?}", sim.sale().fulfilment());
    assert_eq!(sim.sale().money(), &Money::Kept, "{what}");
    let state = sim.world.state();
    assert_eq!((state.sent.len(), state.refunds.len()), (1, 0), "{what}: verdict or money, never both");
    assert_eq!(state.sent[0].1.subject, texts::VERDICT_MAIL_SUBJECT, "{what}");
}

#[test]
fn what_two_physicians_allow_is_answered_as_a_narrative_and_delivered_once() {
    let (mut clean, _) = approved(Plan::none());
    let passed = clean.world.passed();
    assert_answered(&mut clean, "no fault");
    for (plan, what) in every_single_fault(passed, 25) {
        let (mut sim, read) = approved(plan);
        sim.world.plan(Plan::none());
        // Whose command did not say that it was done repeats it; the other one's is refused.
        for physician in PHYSICIANS {
            drop(approve(&sim, physician, read));
        }
        for _ in 0..4 {
            sim.drain();
            sim.world.advance(Duration::from_secs(1200));
            sim.deadlines().unwrap();
        }
        sim.drain();
        assert_answered(&mut sim, &what);
    }
}

/// One approval of two changes nothing: the question is not answered, and the money goes back after the day.
#[test]
fn what_only_one_physician_allows_is_refunded() {
    let mut sim = declined(METFORMIN, None);
    let read = sim.sale().declined().unwrap().at;
    let counted = approve(&sim, PHYSICIANS[0], read).unwrap().unwrap();
    assert_eq!(counted, AuthorityDecision::Approved { count: 1, needed: 2 });
    sim.drain();
    sim.world.advance(Duration::from_secs(25 * 3600));
    settle(&mut sim);
    assert!(sim.world.state().prompts.is_empty());
    assert!(mail(&sim).contains(texts::DECLINED_REFUND));
    let late = approve(&sim, PHYSICIANS[1], read).unwrap();
    assert!(late.is_err(), "{late:?}");
}

/// The model refuses what two physicians allow. Once their approvals are over, the money goes back as for any other
/// declined question.
#[test]
fn an_approved_question_without_a_verdict_is_refunded_once_the_approvals_are_over() {
    let mut sim = declined(METFORMIN, None);
    let read = sim.sale().declined().unwrap().at;
    sim.world.state().answers = (0..64).map(|_| Err(ModelError::NoVerdict("SAFETY".to_owned()))).collect();
    for physician in PHYSICIANS {
        approve(&sim, physician, read).unwrap().unwrap();
    }
    sim.drain();
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Failed { .. }), "{:?}", sim.sale().fulfilment());
    assert_eq!(sim.page().unwrap().status(), 500, "it failed, and may be tried again while the approvals are valid");
    for hour in 1..=49 {
        sim.world.advance(Duration::from_secs(3600));
        sim.deadlines().unwrap();
        sim.drain();
        if hour < 23 {
            assert!(sim.sale().declined().is_none() && sim.world.state().refunds.is_empty(), "after {hour} h");
        }
    }
    assert!(matches!(sim.sale().money(), Money::Refunded { .. }), "{:?}", sim.sale().money());
    assert_eq!((sim.sale().open_work(), sim.world.state().refunds.len()), (None, 1));
    assert!(mail(&sim).contains(texts::DECLINED_REFUND));
    let page = sim.page().unwrap();
    assert_eq!((page.status(), &body(&page)["code"]), (422, &"declined".into()));
}

/// The approvals lasted a day. Who has the verdict by mail is promised no money.
#[test]
fn an_approved_verdict_that_is_lost_a_day_later_is_not_made_again() {
    let (mut sim, _) = approved(Plan::none());
    assert_answered(&mut sim, "approved");
    let asked = sim.world.state().prompts.len();
    sim.world.state().cache.clear();
    sim.world.state().archive.clear();
    assert_eq!(sim.page().unwrap().status(), 202);
    sim.drain();
    assert!(sim.sale().declined().is_some(), "{:?}", sim.sale().fulfilment());
    for _ in 0..3 {
        sim.deadlines().unwrap();
        sim.drain();
        sim.world.advance(Duration::from_secs(25 * 3600));
    }
    let page = sim.page().unwrap();
    assert_eq!((page.status(), &body(&page)["error"]), (422, &texts::DECLINED.into()));
    let state = sim.world.state();
    assert_eq!((state.prompts.len(), state.sent.len(), state.refunds.len()), (asked, 1, 0));
}
