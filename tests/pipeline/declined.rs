//! A Payment Link's question that the authority gate declines after payment: no verdict, the money back, one mail with
//! sources of help.

use crate::{
    samples::{body, paid_session},
    simulator::Simulator,
};
use domain::{
    Metric,
    money::{Money, RefundStatus},
    texts,
};
use operations::Operator;
use std::time::Duration;
use testkit::{Plan, every_single_fault};

const CRISIS: &str = "I want to kill myself";
const WARFARIN: &str = "Can I give my son two of my warfarin tablets?";
/// Two physicians may approve it.
pub(crate) const METFORMIN: &str = "Should I stop taking metformin?";

fn paid(question: &str, locale: Option<&str>) -> Simulator {
    let mut session = paid_session("cs_test_declined_sale_1", "quick", Some(crate::samples::ADDRESS));
    session.idea = Some(question.to_owned());
    session.locale = locale.map(str::to_owned);
    Simulator::with_session(session)
}

/// A paid Payment Link session whose question must not be answered, as the verdict function left it.
pub(crate) fn declined(question: &str, locale: Option<&str>) -> Simulator {
    let mut sim = paid(question, locale);
    sim.model_says(&crate::samples::quick("GREEN", "Yes."));
    sim.stripe_delivers();
    sim.drain();
    assert!(sim.world.state().prompts.is_empty(), "the model is not asked");
    sim
}

/// Runs what is due until the refund and its mail are done.
pub(crate) fn settle(sim: &mut Simulator) {
    for _ in 0..3 {
        sim.deadlines().unwrap();
        sim.drain();
        sim.world.advance(Duration::from_secs(25 * 3600));
    }
    assert!(matches!(sim.sale().money(), Money::Refunded { .. }));
    assert_eq!((sim.sale().open_work(), sim.world.state().refunds.len()), (None, 1));
}

fn mails(sim: &Simulator) -> Vec<(String, String)> {
    sim.world.state().sent.iter().map(|(_, mail)| (mail.subject.clone(), mail.body.clone())).collect()
}

/// The only mail.
pub(crate) fn mail(sim: &Simulator) -> String {
    let mut mails = mails(sim);
    assert_eq!(mails.len(), 1, "{mails:?}");
    let (subject, body) = mails.remove(0);
    assert_eq!(subject, texts::DECLINED_SUBJECT);
    body
}

/// Words that sell something, or speak of an order.
fn assert_sells_nothing(text: &str) {
    let text = text.to_lowercase();
    for word in
        ["verdict", "$", "tier", "quick take", "strategy", "buy", "order", "order again", "ask again", "follow-up"]
    {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_disclosure_of_self_harm_gets_the_resources_on_the_page_and_by_mail() {
    let mut sim = declined(CRISIS, None);
    let page = sim.page().unwrap();
    let shown = body(&page);
    assert_eq!((page.status(), &shown["error"], &shown["crisis"]), (422, &texts::CRISIS.into(), &true.into()));
    settle(&mut sim);
    let text = mail(&sim);
    assert!(text.starts_with(texts::CRISIS), "{text}");
    for resource in shown["resources"].as_array().unwrap() {
        let line = format!("- {}: {}\n", resource["name"].as_str().unwrap(), resource["contact"].as_str().unwrap());
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert!(text.contains("9-8-8") && !text.contains(CRISIS) && text.contains(texts::MONEY_GOES_BACK), "{text}");
    assert_sells_nothing(&text);
}

#[test]
fn a_paid_trigger_of_child_safety_alerts_for_its_sale_and_is_escalated() {
    for (question, expected) in [("I'm 15. I don't want to be here anymore. No one would miss me.", 1), (WARFARIN, 0)] {
        let sim = declined(question, None);
        let state = sim.world.state();
        assert_eq!(state.counted(Metric::AuthorityEscalated), expected, "{question}");
        let lines = state.alerts.iter().map(|alert| &alert.line);
        assert_eq!(lines.filter(|line| line.contains("| AUTHORITY |")).count(), 1, "{question}");
    }
}

/// The mail with sources of help waits neither for Stripe nor for a decision about the money.
#[test]
fn the_mail_after_a_disclosure_does_not_wait_for_the_refund() {
    type Refund = fn(&Simulator);
    let refunds: [Refund; 4] = [
        |sim| sim.world.state().refund_status = Some(RefundStatus::Pending),
        |sim| sim.world.state().refund_status = Some(RefundStatus::Failed),
        |sim| sim.world.state().refund_refused = Some("balance_insufficient".to_owned()),
        |sim| {
            let by = Operator::parse("dana", Some("asked for it")).unwrap();
            let ports = refund::Ports { journal: sim.journal(), payments: &sim.world, ledger: &sim.world };
            testkit::run(operations::refunds::issue(ports, &by, &sim.session, None)).unwrap().unwrap();
        },
    ];
    for refund in refunds {
        let mut sim = declined(CRISIS, None);
        assert_eq!(sim.sale().money(), &Money::Kept);
        let sent = mail(&sim);
        assert!(sent.starts_with(texts::CRISIS) && sent.contains(texts::MONEY_GOES_BACK), "{sent}");
        refund(&sim);
        for _ in 0..3 {
            sim.deadlines().unwrap();
            sim.drain();
            sim.world.advance(Duration::from_secs(25 * 3600));
        }
        assert_ne!(sim.sale().money(), &Money::Kept);
        assert_eq!(mail(&sim), sent, "one mail");
    }
}

/// Neither the alarm of a trigger of child safety nor the mail after a disclosure is lost with a reply or a process, and
/// the mail is sent once.
#[test]
fn whatever_breaks_a_trigger_of_child_safety_is_counted_and_a_disclosure_answered() {
    let question = "I'm 15. I don't want to be here anymore. No one would miss me.";
    let ordered = |plan: Plan| {
        let mut sim = paid(question, None);
        sim.world.plan(plan);
        sim.stripe_delivers();
        sim.drain();
        sim
    };
    for (plan, what) in every_single_fault(ordered(Plan::none()).world.passed(), 4) {
        let mut sim = ordered(plan);
        sim.world.plan(Plan::none());
        settle(&mut sim);
        let counted = sim.world.state().counted(Metric::AuthorityEscalated);
        assert_eq!(counted, 1, "{what}");
        assert!(mail(&sim).starts_with(texts::CRISIS), "{what}");
    }
}

#[test]
fn a_blocked_question_gets_helpers_and_alternatives_and_the_refund() {
    let mut sim = declined(WARFARIN, None);
    settle(&mut sim);
    let text = mail(&sim);
    let shown = body(&sim.page().unwrap());
    let lines = |field: &str| shown[field].as_array().unwrap().clone();
    assert!(!lines("resources").is_empty() && !lines("suggested_actions").is_empty());
    for resource in lines("resources") {
        assert!(text.contains(resource["contact"].as_str().unwrap()), "{resource}: {text}");
    }
    for action in lines("suggested_actions") {
        assert!(text.contains(&format!("- {}\n", action.as_str().unwrap())), "{action}: {text}");
    }
    assert!(text.contains(texts::DECLINED) && text.contains(texts::DECLINED_REFUND), "{text}");
    assert!(!text.contains("warfarin tablets"), "the question is not echoed: {text}");
}

/// Nobody may approve an emergency, so its sources of help are mailed without the 24 hours for an approval.
#[test]
fn an_emergency_waits_for_nobody() {
    let asked_twice = |question: &str| {
        let mut sim = declined(question, None);
        let before = sim.now();
        sim.deadlines().unwrap();
        sim.deadlines().unwrap();
        sim.drain();
        assert!(sim.now() < before.plus(Duration::from_secs(300)), "{question}");
        sim
    };
    for question in [
        "I have crushing chest pain and my left arm is numb. Is it a heart attack?",
        "My wife is allergic to penicillin but amoxicillin is all we have. She can take it just once, right?",
        "Can I mix bleach and ammonia to clean the shop?",
        "Can I weld an old propane tank into a smoker?",
    ] {
        let sim = asked_twice(question);
        assert!(matches!(sim.sale().money(), Money::Refunded { .. }), "{question}");
        assert!(mail(&sim).contains(texts::DECLINED_REFUND), "{question}");
    }
    let sim = asked_twice(METFORMIN);
    assert_eq!((sim.sale().money(), mails(&sim).len()), (&Money::Kept, 0), "a physician may approve it");
}

#[test]
fn a_question_that_leaves_facts_open_gets_them_named() {
    let mut sim = declined("Can I record this phone call?", None);
    settle(&mut sim);
    let text = mail(&sim);
    assert!(text.contains(texts::DECLINED_INCOMPLETE) && !text.contains(texts::DECLINED), "{text}");
    assert!(text.contains("What your question leaves open:\n- "), "{text}");
    let mut sim = declined("?", None);
    settle(&mut sim);
    assert!(mail(&sim).contains(texts::DECLINED_UNREADABLE));
}

#[test]
fn the_country_of_the_payment_selects_the_resources() {
    for (locale, listed, missing) in
        [(None, "9-8-8", "1-800-222-1222"), (Some("und-US"), "988 Suicide & Crisis Lifeline", "Kids Help Phone")]
    {
        let mut sim = declined(CRISIS, locale);
        let shown = body(&sim.page().unwrap()).to_string();
        settle(&mut sim);
        let text = mail(&sim);
        assert!(text.contains(listed) && shown.contains(listed), "{locale:?}: {text}");
        assert!(!text.contains(missing) && !shown.contains(missing), "{locale:?}: {text}");
        assert_eq!(sim.sale().locale(), locale);
    }
}
