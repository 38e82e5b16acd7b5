//! A verdict that neither the cache nor the archive holds before its mail is sent: it is made again without the
//! customer's page (infra/decisions/verdict-retry.md).

use crate::{
    mail_retry::until_it_waits,
    samples::{body, quick},
    simulator::Simulator,
};
use domain::{
    open_work::Work,
    ports::MailError,
    sale::{Fulfilment, Mail, VERDICT_LOST},
    texts,
};
use std::{future::Future, pin::Pin, time::Duration};
use testkit::{Fault, Passage, Plan, every_single_fault, in_turns};

const FIRST: &str = "Demand is real and the format fits.";
const SECOND: &str = "Demand is real and the rent is low.";

/// A sale whose verdict is made, and then lost. Not archived: its order is still in the queue, and its mail too.
fn lost(is_archived: bool) -> Simulator {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", FIRST));
    if !is_archived {
        sim.world.plan(Plan::none().whenever("archive.keep", Fault::Fail));
    }
    assert_eq!(sim.step(), Some(is_archived));
    sim.world.plan(Plan::none());
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ready { archived, .. } if *archived == is_archived));
    lose(&sim);
    sim
}

fn lose(sim: &Simulator) {
    sim.model_says(&quick("GREEN", SECOND));
    let mut state = sim.world.state();
    state.cache.clear();
    state.archive.clear();
}

/// Lets the queues and the deadlines function work for an hour.
fn an_hour(sim: &mut Simulator) {
    let until = sim.now().plus(Duration::from_secs(3600));
    let mut deadline = sim.now();
    while sim.now() < until {
        if deadline <= sim.now() {
            let _ = sim.deadlines();
            deadline = sim.now().plus(Duration::from_secs(300));
        }
        if sim.step().is_none() {
            sim.world.advance(Duration::from_secs(60));
        }
    }
}

fn assert_made_again(sim: &mut Simulator, what: &str) {
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ready { archived: true, .. }), "{what}");
    assert!(matches!(sim.sale().mail(), Mail::Sent { .. }), "{what}: {:?}", sim.sale().mail());
    let page = body(&sim.page().unwrap());
    assert_eq!((&page["verdict"]["summary"], &page["regen"]), (&SECOND.into(), &true.into()), "{what}");
    let state = sim.world.state();
    assert_eq!(state.sent.len(), 1, "{what}");
    assert!(state.sent[0].1.body.contains(SECOND), "{what}: the mail shows what the page shows");
    let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
    assert!(alerts.any(|alert| alert.line.contains(VERDICT_LOST)), "{what}: {:?}", state.alerts);
    drop(state);
    assert!(sim.dead.is_empty(), "{what}");
}

#[test]
fn a_verdict_that_is_lost_before_it_is_archived_is_made_again_by_its_order() {
    let mut sim = lost(false);
    let began = sim.now();
    sim.drain();
    assert!(sim.now().since(began) < Duration::from_secs(120), "{:?}", sim.now().since(began));
    assert_made_again(&mut sim, "no fault");
    assert_eq!(sim.world.state().prompts.len(), 2);
}

/// The archive has it, although the reply to its write was lost: nothing is made again.
#[test]
fn a_verdict_that_only_the_archive_holds_is_not_made_again() {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", FIRST));
    sim.world.plan(Plan::none().whenever("archive.keep", Fault::LoseReply));
    assert_eq!(sim.step(), Some(false));
    sim.world.plan(Plan::none());
    sim.world.state().cache.clear();
    sim.drain();
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ready { archived: true, .. }));
    let state = sim.world.state();
    assert_eq!((state.prompts.len(), state.sent.len()), (1, 1));
    assert!(state.sent[0].1.body.contains(FIRST));
    let alerted = |alert: &domain::Alert| alert.line.contains("CACHE_READ") && alert.line.contains("at delivery");
    assert_eq!(state.alerts.iter().filter(|alert| alerted(alert)).count(), 1, "{:?}", state.alerts);
}

/// Cleanup removed the entry, which is no fault and has no alert; the loss of the archived verdict is one.
#[test]
fn a_page_alerts_about_a_removed_verdict_that_the_archive_lost_and_not_about_one_that_it_has() {
    for is_archived in [true, false] {
        let mut sim = Simulator::worked_off("quick", &quick("GREEN", FIRST));
        sim.model_says(&quick("GREEN", SECOND));
        let mut state = sim.world.state();
        state.removed_entries.insert(sim.session.clone());
        state.cache.clear();
        if !is_archived {
            state.archive.clear();
        }
        drop(state);
        assert_eq!(sim.page().unwrap().status(), if is_archived { 200 } else { 202 });
        let alerts = |sim: &Simulator| {
            let state = sim.world.state();
            state.alerts.iter().map(|alert| alert.line.clone()).collect::<Vec<_>>()
        };
        let raised = alerts(&sim);
        assert_eq!(raised.len(), usize::from(!is_archived), "{raised:?}");
        assert!(raised.iter().all(|line| line.contains("ORACLE-RESULT") && line.contains(VERDICT_LOST)), "{raised:?}");
        sim.drain();
        let summary = if is_archived { FIRST } else { SECOND };
        assert_eq!(body(&sim.page().unwrap())["verdict"]["summary"], summary);
        assert_eq!(alerts(&sim), raised);
    }
}

/// The worker archives a verdict after it has saved it, and a page may look in between.
#[test]
fn a_page_does_not_reopen_a_sale_whose_verdict_is_archived_meanwhile() {
    let sim = lost(false);
    let second = Duration::from_secs(1);
    sim.world.surround(Box::new(move |name, _| match name {
        "archive.find" => Passage { after: second, ..Passage::default() },
        _ => Passage::default(),
    }));
    let deployment = sim.deployment();
    let page = async { deployment.page(sim.session.as_str()).await.status() };
    let archived = async {
        let mut state = sim.world.state();
        let (sale, version) = state.sales.get_mut(&sim.session).unwrap();
        let Fulfilment::Ready { at, .. } = *sale.fulfilment() else { panic!("{:?}", sale.fulfilment()) };
        sale.dispatched(at, true).unwrap();
        *version += 1;
        drop(state);
        sim.world.advance(second);
        0_u16
    };
    let handlers: [Pin<Box<dyn Future<Output = u16> + '_>>; 2] = [Box::pin(page), Box::pin(archived)];
    assert_eq!(in_turns(handlers), [0, 202], "the page asks again, and then finds it in the archive");
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ready { archived: true, .. }), "{:?}", sim.sale());
    assert!(sim.world.state().outgoing.is_empty(), "it is not ordered again");
}

#[test]
fn a_mail_whose_archived_verdict_is_lost_reopens_the_sale_and_the_deadlines_function_orders_it() {
    let mut sim = lost(true);
    assert_eq!(sim.step(), Some(false), "the mail waits");
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ordered { .. }));
    assert!(sim.world.state().alerts.iter().any(|alert| alert.line.contains(VERDICT_LOST)));
    let began = sim.now();
    an_hour(&mut sim);
    assert_made_again(&mut sim, "no fault");
    let waited = (sim.world.state().sent_at[0] - began.as_millis()) / 60_000;
    assert!(waited <= 26, "{waited} minutes");
}

/// A sale may wait four hours for the model. Its mail waits as long, and is no dead letter.
#[test]
fn a_mail_waits_for_the_model_as_long_as_its_sale() {
    let mut sim = lost(true);
    sim.world.state().answers.clear();
    for _ in 0..3 {
        an_hour(&mut sim);
    }
    assert!(sim.sale().unavailable_until().is_some() && sim.world.state().sent.is_empty());
    sim.model_says(&quick("GREEN", SECOND));
    an_hour(&mut sim);
    assert_made_again(&mut sim, "after an outage");
}

/// Email Retry, VER-07: a mail that was rendered and never drafted shows the new verdict, and is no dead letter.
#[test]
fn a_mail_that_failed_before_the_loss_shows_the_new_verdict() {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", FIRST));
    sim.world.state().mailbox_says = [Some(MailError::Unavailable(503)), Some(MailError::Unavailable(503))].into();
    until_it_waits(&mut sim);
    lose(&sim);
    an_hour(&mut sim);
    assert_made_again(&mut sim, "after two failures");
}

/// Regen Consistency, invariant 4: a verdict that no mail has shown is not the original.
#[test]
fn a_verdict_that_turns_before_its_mail_is_mailed_and_shown_without_a_note_and_is_the_original_from_then_on() {
    let mut sim = lost(false);
    sim.model_says(&quick("RED", SECOND));
    sim.drain();
    assert_made_again(&mut sim, "turned");
    assert!(sim.world.state().sent[0].1.body.contains("VERDICT: 🔴 RED"));
    assert_eq!(body(&sim.page().unwrap())["notice"], serde_json::Value::Null, "no mail says anything else");
    lose(&sim);
    sim.world.advance(Duration::from_secs(300));
    assert_eq!(sim.page().unwrap().status(), 202);
    sim.drain();
    let page = body(&sim.page().unwrap());
    assert_eq!((&page["verdict"]["verdict"], page["notice"].is_string()), (&"GREEN".into(), true));
    let state = sim.world.state();
    assert_eq!((state.sent.len(), state.sent[1].1.subject.as_str()), (2, texts::DIVERGENCE_SUBJECT));
}

/// Regen Consistency, invariant 5: the draft of the first verdict leaves after the regeneration.
#[test]
fn a_drafted_mail_that_leaves_after_the_regeneration_is_followed_by_the_note() {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", FIRST));
    sim.world.state().mailbox_says =
        [None, Some(MailError::Unavailable(503)), Some(MailError::Unavailable(503))].into();
    until_it_waits(&mut sim);
    lose(&sim);
    sim.model_says(&quick("RED", SECOND));
    assert_eq!(sim.page().unwrap().status(), 202);
    an_hour(&mut sim);
    assert_eq!(body(&sim.page().unwrap())["verdict"]["verdict"], "RED");
    assert!(body(&sim.page().unwrap())["notice"].is_string());
    let state = sim.world.state();
    let sent: Vec<&str> = state.sent.iter().map(|(_, mail)| mail.subject.as_str()).collect();
    assert_eq!(sent, [texts::VERDICT_MAIL_SUBJECT, texts::DIVERGENCE_SUBJECT]);
    assert!(state.sent[0].1.body.contains("VERDICT: 🟢 GREEN"), "the draft of the first verdict");
}

/// The customer has the verdict, so no policy refunds it, and the page promises no refund (infra/decisions/refunds.md).
#[test]
fn a_mailed_verdict_whose_question_is_declined_when_it_is_made_again_waits_for_people_or_has_ended() {
    // They stand for a gate that declines what an earlier one allowed.
    for (question, sentence, work, reminders) in [
        ("Should I stop taking metformin?", texts::DECLINED, Some(Work::Declined), 2),
        ("Can I mix bleach and ammonia to clean the shop?", texts::EMERGENCY, None, 0),
    ] {
        let mut sim = Simulator::worked_off("quick", &quick("GREEN", FIRST));
        lose(&sim);
        sim.world.state().sessions.get_mut(&sim.session).unwrap().idea = Some(question.to_owned());
        assert_eq!(sim.page().unwrap().status(), 202);
        sim.drain();
        assert!(sim.sale().declined().is_some());
        for hours in [0, 25, 25] {
            sim.world.advance(Duration::from_secs(hours * 3600));
            sim.deadlines().unwrap();
            sim.drain();
        }
        assert_eq!(body(&sim.page().unwrap())["error"], sentence);
        assert_eq!(sim.sale().open_work().map(|open| open.work), work, "{question}");
        let state = sim.world.state();
        assert_eq!((state.refunds.len(), state.sent.len()), (0, 1));
        let alerts = |what: &str| state.alerts.iter().filter(|alert| alert.line.contains(what)).count();
        assert_eq!((alerts("| declined |"), alerts("a verdict by mail")), (reminders, 1), "{:?}", state.alerts);
    }
}

#[test]
fn whatever_breaks_a_lost_verdict_is_made_again_and_mailed_once() {
    for is_archived in [false, true] {
        let mut clean = lost(is_archived);
        clean.world.plan(Plan::none());
        an_hour(&mut clean);
        for (plan, what) in every_single_fault(clean.world.passed(), 20) {
            let mut sim = lost(is_archived);
            sim.world.plan(plan);
            an_hour(&mut sim);
            an_hour(&mut sim);
            assert_made_again(&mut sim, &format!("archived {is_archived}, {what}"));
        }
    }
}
