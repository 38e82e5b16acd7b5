//! Every fault at every effect of a follow-up.

use super::*;
use testkit::{Fault, Plan, every_single_fault};

/// Asks the follow-up under every fault at each of its effects, which are more than `least`, and lets `after` go on.
fn sweep(least: usize, ask: impl Fn(&mut Simulator), after: impl Fn(&mut Simulator, &str)) {
    let asked = |plan: Plan| {
        let mut sim = delivered();
        sim.world.plan(plan);
        ask(&mut sim);
        sim.drain();
        sim
    };
    for (plan, what) in every_single_fault(asked(Plan::none()).world.passed(), least) {
        let mut sim = asked(plan);
        sim.world.plan(Plan::none());
        after(&mut sim, &what);
        sim.recover();
        assert_delivered(&sim, &what);
    }
}

/// Every fault at every effect from the post on: one follow-up, one verdict, one mail, or an operator was alerted.
#[test]
fn whatever_breaks_a_posted_followup_is_delivered_once() {
    // A customer who got no answer asks again.
    let again = |sim: &mut Simulator, what: &str| assert_eq!(posts(sim, FOLLOWUP).unwrap().status(), 202, "{what}");
    sweep(30, |sim| drop(posts(sim, FOLLOWUP)), again);
}

/// The same by mail: inbox-watch runs again every two minutes.
#[test]
fn whatever_breaks_a_replied_followup_is_delivered_once() {
    let replied = |sim: &mut Simulator| {
        replies(sim, "m1", ADDRESS, FOLLOWUP);
        sim.watch_inbox("a");
    };
    let later = |sim: &mut Simulator, _: &str| {
        for number in 0..8 {
            sim.world.advance(Duration::from_secs(120));
            sim.watch_inbox(&format!("later {number}"));
        }
    };
    sweep(20, replied, later);
}

/// Neither the sale nor the record of the disclosure is needed for the answer; what fails is recorded or alerted.
#[test]
fn whatever_breaks_a_person_in_a_crisis_sees_who_helps() {
    let discloses = |sim: &Simulator| posts(sim, "I want to kill myself").unwrap();
    let clean = delivered();
    clean.world.plan(Plan::none());
    assert_eq!(discloses(&clean).status(), 422);
    let boundaries = clean.world.passed();
    assert!(boundaries > 3, "{boundaries}");
    for boundary in 0..boundaries {
        for fault in [Fault::Fail, Fault::LoseReply] {
            let what = format!("{fault:?} at {boundary}");
            let sim = delivered();
            sim.world.plan(Plan::at(boundary, fault));
            let reply = discloses(&sim);
            assert_eq!((reply.status(), &body(&reply)["crisis"]), (422, &json!(true)), "{what}");
            let in_outbox = !sim.sale().outbox().is_empty();
            let state = sim.world.state();
            let on_record = state.log.values().any(|line| line.contains("\"ordered_by\":\"followup_page\""));
            assert!(on_record || in_outbox || !state.alerts.is_empty(), "{what}: neither a record nor an alert");
        }
    }
}

fn assert_delivered(sim: &Simulator, what: &str) {
    let mails = mails(sim);
    let own: Vec<_> = mails.iter().filter(|(of, ..)| *of == sim.session.followup()).collect();
    let sale = child(sim);
    assert!(own.len() <= 1, "{what}: {} mails", own.len());
    let at_a_human =
        matches!(sale.open_work().map(|open| open.work), Some(Work::UnknownMail | Work::DeadLetter | Work::Failed));
    assert!(own.len() == 1 || at_a_human, "{what}: {:?} {:?}", sale.fulfilment(), sale.mail());
    if matches!(sale.fulfilment(), Fulfilment::Ready { .. }) {
        assert_eq!(shown(sim)["followup"]["query"], FOLLOWUP, "{what}");
    }
    assert_eq!(sim.world.state().sales.len(), 2, "{what}");
}
