//! The decisions of operators, and how the functions carry them out.

use crate::{
    samples::{QUESTION, body, paid_session, quick},
    simulator::Simulator,
};
use domain::{
    Query, Submission, Tier,
    message::OrderedBy,
    ports::MailError,
    sale::{Fulfilment, Mail},
};
use operations::{
    Operator, quarantine,
    reattempt::{self, Reattempt},
    redrive::{self, RedriveError},
};
use serde_json::json;
use testkit::{Fault, Plan, run};

fn operator() -> Operator {
    Operator::parse("dana", Some("looked at it")).unwrap()
}

fn redrive(sim: &Simulator) -> Option<Result<usize, RedriveError>> {
    let ports = redrive::Ports { journal: sim.journal(), retries: &sim.world };
    let steps = run(redrive::redrive(ports, &operator(), &sim.session))?;
    Some(steps.map(|steps| steps.len()))
}

fn mail(sim: &Simulator) -> Mail {
    sim.world.state().sales[&sim.session].0.mail().clone()
}

/// A sale whose mail was rejected: before or after its draft was created.
fn dead_letter(drafted: bool) -> Simulator {
    let mut sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "Demand is real and the format fits."));
    sim.stripe_delivers();
    let refusal = Some(MailError::Forbidden(403));
    sim.world.state().mailbox_says = if drafted { vec![None, refusal] } else { vec![refusal] }.into();
    sim.drain();
    assert!(matches!(mail(&sim), Mail::Dead { progress, .. } if progress.draft.is_some() == drafted));
    sim
}

/// There is exactly one mail, whatever fails during the command and however often it is repeated.
#[test]
fn a_redriven_mail_is_sent_once() {
    for drafted in [false, true] {
        let clean = dead_letter(drafted);
        clean.world.plan(Plan::none());
        assert_eq!(redrive(&clean).unwrap().unwrap(), 1);
        for boundary in 0..clean.world.passed() {
            for fault in [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter] {
                let what = format!("drafted {drafted}, {fault:?} at {boundary}");
                let mut sim = dead_letter(drafted);
                sim.world.plan(Plan::at(boundary, fault));
                drop(redrive(&sim));
                sim.world.plan(Plan::none());
                redrive(&sim).unwrap().unwrap();
                redrive(&sim).unwrap().unwrap();
                sim.recover();
                assert!(matches!(mail(&sim), Mail::Sent { .. }), "{what}");
                assert_eq!(sim.world.state().sent.len(), 1, "{what}");
                let records = sim.audit_lines().iter().filter(|line| line["action"] == "redrive verdict").count();
                assert_eq!(records, 1, "{what}");
            }
        }
    }
}

#[test]
fn a_replaced_verdict_reaches_page_mail_and_archive_and_the_held_one_nobody() {
    let mut sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "The CSDM says that demand is real."));
    sim.stripe_delivers();
    sim.drain();
    let world = &sim.world;
    let ports = quarantine::Ports {
        journal: sim.journal(),
        quarantine: world,
        payments: world,
        submissions: world,
        orders: world,
        retries: world,
        notices: world,
    };
    let held = run(quarantine::approve(ports, &operator(), &sim.session)).unwrap();
    assert!(held.unwrap_err().is_refusal(), "the list holds it still");
    let cleaned = json!({ "verdict": "GREEN", "summary": "Demand is real." });
    run(quarantine::replace(ports, &operator(), &sim.session, &cleaned)).unwrap().unwrap();
    sim.recover();
    let page = body(&sim.page().unwrap());
    assert_eq!((&page["verdict"]["summary"], &page["query"]), (&"Demand is real.".into(), &QUESTION.into()));
    let state = sim.world.state();
    assert_eq!(state.sent.len(), 1);
    assert!(state.sent[0].1.body.contains("Demand is real.") && !state.sent[0].1.body.contains("CSDM"));
    assert_eq!(state.archive[&sim.session].verdict.summary, "Demand is real.");
    assert_eq!(state.sales[&sim.session].0.open_work(), None);
}

/// Silent Drop, verification criterion 5: a reply becomes a verdict of the standard pipeline.
#[test]
fn a_reply_becomes_a_verdict_of_the_standard_pipeline() {
    let mut session = paid_session("cs_test_simulated_sale_1", "premium", Some("someone@example.com"));
    session.metadata.remove("q0");
    let mut sim = Simulator::with_session(session);
    sim.stripe_delivers();
    sim.drain();
    assert!(matches!(sim.world.state().sales[&sim.session].0.fulfilment(), Fulfilment::Unusable { .. }));
    sim.model_says(&quick("RED", "Wait a year."));
    let submission = Submission { tier: Tier::Quick, query: Query::parse("Should I move?").unwrap() };
    let world = &sim.world;
    let ports = reattempt::Ports { journal: sim.journal(), submissions: world, orders: world };
    let ordered = run(reattempt::reattempt(ports, &operator(), &sim.session, Some(&submission)));
    assert_eq!(ordered.unwrap().unwrap(), Reattempt::Ordered);
    sim.recover();
    let page = body(&sim.page().unwrap());
    assert_eq!((&page["verdict"]["summary"], &page["query"]), (&"Wait a year.".into(), &"Should I move?".into()));
    let state = sim.world.state();
    assert_eq!(state.sent.len(), 2, "the question to the customer, and the verdict");
    assert!(state.prompts[0].1.content.contains("Should I move?"));
    assert_eq!(state.sales[&sim.session].0.open_work(), None);
    drop(state);
    let operator = json!(OrderedBy::Operator);
    assert!(sim.audit_lines().iter().any(|line| line["details"]["ordered_by"] == operator));
}
