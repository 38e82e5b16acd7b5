//! Messages that the authority gate declines, alone or together with earlier ones.

use super::*;

#[test]
fn what_must_not_be_answered_is_neither_asked_nor_counted() {
    let (world, cookie) = customer();
    let reply = ask(&world, 1, "Can I give my son two of my warfarin tablets?", &cookie);
    assert_eq!((reply.status(), &body(&reply)["code"]), (422, &json!("blocked")));
    assert!(!body(&reply)["resources"].as_array().unwrap().is_empty());
    assert!(world.state().prompts.is_empty());
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie))["free_left"], 3);
    assert_eq!(records(&world)[0].0, "DECLINED");
    assert_eq!(world.state().counted(Metric::AuthorityEscalated), 0);
    ask(&world, 2, "I'm 15. I don't want to be here anymore. No one would miss me.", &cookie);
    assert_eq!(world.state().counted(Metric::AuthorityEscalated), 1, "a trigger of child safety");
}

/// How many records of declined messages were counted as not written.
fn unrecorded(world: &testkit::World) -> usize {
    world.state().measured(Metric::AuditWriteFailed)
}

/// The sources of help come although the session cannot be read, or the account can be neither read nor written. What is
/// not recorded is counted.
#[test]
fn a_refusal_does_not_wait_for_a_store() {
    let disclosure = "I want to kill myself";
    for name in ["sign_ins.session", "accounts.load", "accounts.save"] {
        let (world, cookie) = customer();
        let usual = ask(&world, 1, disclosure, &cookie);
        assert_eq!((usual.status(), unrecorded(&world)), (422, 0));
        world.plan(Plan::none().whenever(name, Fault::Fail));
        let refused = ask(&world, 2, disclosure, &cookie);
        assert_eq!((refused.status(), refused.body(), unrecorded(&world)), (422, usual.body(), 1), "{name}");
        assert!(!body(&refused)["resources"].as_array().unwrap().is_empty());
        if name == "sign_ins.session" {
            assert_eq!(ask(&world, 3, QUESTION, &cookie).status(), 503, "nothing else is done for an unknown customer");
            assert_eq!(ask(&world, 4, disclosure, "").status(), 401, "nobody is signed in");
        }
    }
}

/// No alarm and no list shows the message. The alert names the customer if the session is known.
#[test]
fn an_escalated_message_that_cannot_be_recorded_raises_a_critical_alert() {
    let minor = "I'm 15. I don't want to be here anymore. No one would miss me.";
    for name in ["sign_ins.session", "accounts.load", "accounts.save"] {
        for (text, expected) in [(minor, 1), ("I want to kill myself", 0)] {
            let (world, cookie) = customer();
            world.plan(Plan::none().whenever(name, Fault::Fail));
            assert_eq!((ask(&world, 1, text, &cookie).status(), unrecorded(&world)), (422, 1), "{name}: {text}");
            let state = world.state();
            let is_it =
                |line: &&str| line.starts_with("[ORACLE-AUDIT] CRITICAL | ") && line.contains(" | AUTHORITY | ");
            let raised: Vec<&str> = state.alerts.iter().map(|alert| alert.line.as_str()).filter(is_it).collect();
            assert_eq!(raised.len(), expected, "{name}: {text}: {raised:?}");
            let is_known = |line: &&str| !line.contains(" | AUTHORITY | chat | ");
            assert!(raised.iter().all(|line| is_known(line) == (name != "sign_ins.session")), "{name}: {raised:?}");
        }
    }
}

/// A conversation in which [`LAST`] must be declined. From then on each save of the account meets the fault of its number:
/// the first save is the claim's.
fn before_the_last(fault: impl Fn(usize) -> Option<Fault> + Send + 'static) -> (testkit::World, String) {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    answers_in_general_terms(&world);
    for (n, text) in (1..).zip(["I am pregnant.", "We want to paint the shop green."]) {
        assert_eq!(ask(&world, n, text, &cookie).status(), 200, "{text}");
    }
    let mut saves = 0;
    world.surround(Box::new(move |name, _| {
        saves += usize::from(name == "accounts.save");
        let fault = fault(saves).filter(|_| name == "accounts.save");
        testkit::Passage { before: Duration::ZERO, fault, after: Duration::ZERO }
    }));
    (world, cookie)
}

const LAST: &str = "Is ibuprofen fine?";

/// A message that is declined because of an earlier one is refused, also if its claim cannot be released.
#[test]
fn a_refusal_because_of_an_earlier_message_does_not_wait_for_a_store() {
    let (world, cookie) = before_the_last(|save| (save > 1).then_some(Fault::Fail));
    let declined = ask(&world, 20, LAST, &cookie);
    assert_eq!((declined.status(), &body(&declined)["code"]), (422, &json!("blocked")), "{}", declined.body());
    assert_eq!(unrecorded(&world), 1);
}

/// The process dies at the write that releases the claim and records why the message is declined: either way a record
/// follows (Authority Governance, RFC-0008).
#[test]
fn a_refusal_because_of_an_earlier_message_is_recorded_although_the_process_dies() {
    for death in [Fault::CrashBefore, Fault::CrashAfter] {
        let (world, cookie) = before_the_last(move |save| (save == 2).then_some(death));
        assert!(send(&world, asking(20, LAST, &cookie)).is_none(), "{death:?}");
        world.advance(Duration::from_secs(36));
        assert_eq!(ask(&world, 21, QUESTION, &cookie).status(), 200);
        let records = world.state().records();
        let its = records.iter().filter(|line| line["details"]["exchange"] == json!(id(20)));
        let evaluated = its.filter(|line| line["details"]["authority"].is_object()).count();
        assert_eq!(evaluated, 1, "{death:?}");
    }
}

/// Says a sentence that every governed domain accepts as a narrative answer.
fn answers_in_general_terms(world: &testkit::World) {
    world.state().model = Some(Box::new(|_, _| {
        let people = "a doctor, a pharmacist, a lawyer and a financial adviser";
        Ok(said(&format!("In general terms: ask {people} about this first.")))
    }));
}

/// The model sees earlier messages too, so a question that is split over several of them is declined. The declined part
/// joins no memory, and the conversation goes on.
#[test]
fn a_question_that_is_split_over_several_messages_is_declined() {
    let splits = [
        (["My son has a fever.", "How much should he get?"], "needs_specification"),
        (["I am pregnant.", "We want to paint the shop green."], "blocked"),
    ];
    for (earlier, code) in splits {
        let (world, cookie) = subscribed(PaidPlan::Chat);
        answers_in_general_terms(&world);
        for (n, text) in (1..).zip(earlier) {
            let reply = ask(&world, n, text, &cookie);
            assert!(reply.status() == 200 && body(&reply).get("apology").is_none(), "{text}: {}", reply.body());
        }
        let asked = world.state().prompts.len();
        let declined = ask(&world, 20, LAST, &cookie);
        assert_eq!((declined.status(), &body(&declined)["code"]), (422, &json!(code)), "{}", declined.body());
        assert_eq!(world.state().prompts.len(), asked, "the model is not asked");
        assert_eq!(records(&world).last().unwrap().0, "DECLINED");
        assert_eq!(ask(&world, 21, QUESTION, &cookie).status(), 200);
        let state = world.state();
        assert!(!state.prompts.last().unwrap().1.content.contains(LAST), "it is not remembered");
    }
}

/// A governed question governs the next message, and declines none of those after it.
#[test]
fn an_ordinary_conversation_after_a_governed_question_goes_on() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    answers_in_general_terms(&world);
    let messages = [
        ("What is a mortgage?", true),
        ("Should we open a second bakery in Halifax?", true),
        ("The rent is 4,000 dollars and the first shop earns twice that.", false),
        ("My sister wants to run it from May on.", false),
        ("How much should we spend on the ovens?", false),
        ("We kill our prices on Mondays. Is that smart?", false),
        ("Thanks, that helps. What should we look at first?", false),
        ("And if it fails?", false),
    ];
    for (n, (text, is_governed)) in (1..).zip(messages) {
        let reply = ask(&world, n, text, &cookie);
        assert_eq!(reply.status(), 200, "{text}: {}", reply.body());
        assert_eq!(body(&reply).get("notice").is_some(), is_governed, "{text}: {}", reply.body());
    }
}
