//! Narrative answers: the prompt carries the grammar, and a reply that breaks it is regenerated once, then held.

use crate::{
    samples::{ADDRESS, body, paid_session, quick},
    simulator::Simulator,
};
use domain::{
    ports::{ModelError, ModelReply},
    sale::Fulfilment,
};

const QUESTION: &str = "What does 'force majeure' mean?";

type Answer = Result<ModelReply, ModelError>;

fn says(text: &str) -> Answer {
    Ok(testkit::reply(quick("GREEN", text)))
}

fn good() -> Answer {
    says("The term names an event that no one could prevent; ask a lawyer what yours covers.")
}

/// A reply that names nobody who should be asked. The notice beside it does, and that does not suffice.
fn without_referral() -> Answer {
    says("The term names an event that no one could prevent.")
}

/// A reply with a phrase that the grammar of the question's domain forbids.
fn breaking() -> Answer {
    let evaluation = authority::evaluate(QUESTION, None);
    assert_eq!(evaluation.state(), authority::State::NarrativeOnly);
    says(&format!("As counsel would say: {} to sign.", evaluation.forbidden_phrases()[0]))
}

fn down() -> Answer {
    Err(ModelError::Unavailable(503))
}

/// The sale of a narrative question after its order was handled once, and the number of model calls.
fn sold(answers: impl IntoIterator<Item = Answer>) -> (Simulator, usize) {
    sold_with(QUESTION, answers)
}

fn sold_with(question: &str, answers: impl IntoIterator<Item = Answer>) -> (Simulator, usize) {
    let mut session = paid_session("cs_test_narrative_sale_1", "quick", Some(ADDRESS));
    session.idea = Some(question.to_owned());
    let mut sim = Simulator::with_session(session);
    sim.world.state().answers = answers.into_iter().collect();
    sim.stripe_delivers();
    sim.step();
    let calls = sim.world.state().prompts.len();
    (sim, calls)
}

fn assert_held(mut sim: Simulator, what: &str) {
    sim.drain();
    let page = sim.page().unwrap();
    assert_eq!((page.status(), &body(&page)["status"]), (202, &"in_review".into()), "{what}");
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::InReview { .. }), "{what}");
    let state = sim.world.state();
    assert!(state.cache.is_empty() && state.archive.is_empty() && state.sent.is_empty(), "{what}");
    assert_eq!(state.quarantine.len(), 1, "{what}: an operator can read it");
}

#[test]
fn a_reply_that_breaks_the_grammar_is_made_once_more() {
    let (mut sim, calls) = sold([breaking(), good()]);
    assert_eq!(calls, 2);
    sim.drain();
    let page = sim.page().unwrap();
    assert_eq!((page.status(), sim.world.state().sent.len()), (200, 1));
    let attempts: Vec<u64> = sim.audit_lines().iter().filter_map(|line| line["details"]["attempts"].as_u64()).collect();
    assert_eq!(attempts, [2], "both calls are on record");
    let notice = authority::evaluate(QUESTION, None).notice().unwrap();
    assert_eq!(body(&page)["notice"], notice);
    assert!(sim.world.state().sent[0].1.body.contains(&notice));
}

#[test]
fn a_second_one_is_held() {
    let (sim, calls) = sold([breaking(), breaking(), good()]);
    assert_eq!(calls, 2);
    assert_held(sim, "two replies");
}

/// The same prompt would give the same reply.
#[test]
fn the_second_prompt_names_the_phrases_to_blame() {
    for (first, blamed) in [(without_referral(), "none of \"lawyer\""), (breaking(), "it contains \"")] {
        let (mut sim, calls) = sold([first, good()]);
        assert_eq!(calls, 2);
        let prompts: Vec<String> =
            sim.world.state().prompts.iter().map(|(_, prompt)| prompt.instruction.clone()).collect();
        assert!(!prompts[0].contains(blamed) && prompts[1].contains(blamed), "{}", prompts[1]);
        sim.drain();
        assert_eq!(sim.page().unwrap().status(), 200);
        let lines = sim.audit_lines();
        let version = lines.iter().find_map(|line| line["details"]["prompt_version"].as_str()).unwrap();
        assert_eq!(version, prompt::corrected_version(&prompt::version(domain::Tier::Quick)));
    }
}

#[test]
fn a_reply_that_states_a_dose_is_made_once_more() {
    let question = "My daughter weighs 14 kg and is 3 years old. How much ibuprofen should I give her?";
    let dose = || says("At 14 kg, 140 mg every six hours is usual; ask a pharmacist.");
    let none = || says("A pharmacist works it out from her weight of 14 kg.");
    let (mut sim, calls) = sold_with(question, [dose(), none()]);
    assert_eq!(calls, 2);
    let second = sim.world.state().prompts[1].1.instruction.clone();
    assert!(second.contains(r#"it states "140 mg""#), "{second}");
    sim.drain();
    assert_eq!(sim.page().unwrap().status(), 200);
    let (sim, calls) = sold_with(question, [dose(), dose(), none()]);
    assert_eq!(calls, 2);
    assert_held(sim, "two doses");
}

/// The grammar binds what customers read. What the filter holds, they do not.
#[test]
fn a_reply_that_the_filter_holds_is_not_made_again() {
    let forbidden = authority::evaluate(QUESTION, None).forbidden_phrases()[0];
    let (sim, calls) = sold([says(&format!("The CSDM says: {forbidden}.")), good()]);
    assert_eq!(calls, 1);
    assert_held(sim, "the filter");
    let (mut sim, calls) = sold([says("TMM shows that a lawyer knows the term.")]);
    assert_eq!(calls, 1);
    sim.drain();
    assert_eq!(sim.page().unwrap().status(), 200, "with a substitute");
}

/// One of the three attempts is kept for the other reply, so failed calls before the first one do not cost it.
#[test]
fn one_attempt_is_left_for_the_other_reply() {
    let (mut sim, calls) = sold([down(), breaking(), good()]);
    assert_eq!(calls, 3);
    sim.drain();
    assert_eq!(sim.page().unwrap().status(), 200);
    let (mut sim, calls) = sold([down(), down(), breaking(), good()]);
    assert_eq!(calls, 2);
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ordered { .. }), "it is tried again later");
    sim.drain();
    assert_eq!((sim.page().unwrap().status(), sim.world.state().prompts.len()), (200, 4));
}

#[test]
fn a_regeneration_that_fails_delivers_nothing() {
    for answers in [vec![breaking(), down(), down()], vec![down(), breaking(), down()]] {
        let (sim, calls) = sold(answers);
        assert_eq!(calls, 3);
        assert_eq!(sim.page().unwrap().status(), 202);
        let state = sim.world.state();
        assert!(state.cache.is_empty() && state.sent.is_empty() && state.drafts.is_empty());
    }
}
