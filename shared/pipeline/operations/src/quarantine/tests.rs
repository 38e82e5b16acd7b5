//! Decisions about held sales, with faults at every effect.
//! The file has more than 300 lines because each check of an approval and of a replacement has a short test of its own
//! on the same held sales.

use super::*;
use crate::NotDone::Refused;
use crate::testing::{
    at, decisions, declined, journal, operator, people, sale, session, stored, whatever_breaks, world_with,
};
use domain::{
    Colour, Submission,
    mail::{Draft, Progress},
    money::Money,
    sale::Declined,
    texts,
};
use serde_json::json;
use testkit::{World, run, sale::WithField};

const CLEAN: &str = "Sign the lease.";
/// Two physicians or pharmacists may approve it.
const METFORMIN: &str = "Should I stop taking metformin?";
const BLOCKED: &str = "The CSDM says sign.";

fn quick(summary: &str) -> Value {
    json!({ "verdict": "GREEN", "summary": summary })
}

fn held_at_gate_1() -> Sale {
    sale()
        .with("fulfilment", Fulfilment::InReview { gate: Gate::BeforeCache, at: at(-100) })
        .with("mail", Mail::NotOrdered)
}

fn held_at_gate_2() -> Sale {
    sale()
        .with("fulfilment", Fulfilment::InReview { gate: Gate::BeforeDelivery, at: at(-100) })
        .with("mail", Mail::Held)
}

fn payload(gate: u8, seconds: i64, payload: &Value) -> String {
    json!({ "session_id": session(), "held_at": at(seconds).to_iso(), "gate": gate, "payload": payload }).to_string()
}

/// A world in which the sale is held with these payloads; those of older holds come first.
fn world_holding(sale: Sale, payloads: &[String]) -> World {
    let world = world_with(sale);
    world.state().quarantine = payloads.iter().map(|payload| (session(), payload.clone())).collect();
    world
}

fn cache(world: &World, summary: &str) {
    let verdict: Verdict = serde_json::from_value(quick(summary)).unwrap();
    let query = Query::parse("Kept question?").unwrap();
    let cached = CachedVerdict::first(domain::Tier::Quick, &query, verdict, at(-300));
    world.state().cache.insert(session(), cached);
}

/// The sale after the required people approved this question at this second.
fn approved(sale: Sale, question: &str, seconds: i64) -> Sale {
    let declined = declined(people(2), false, -26 * 3600);
    let reason = authority::evaluate(question, None).reason_code().to_owned();
    let approved_at = Some(at(seconds));
    let declined = declined.declined().map(|declined| Declined { reason, approved_at, ..declined.clone() });
    let query_hash = hash::query_hash(&Query::parse(question).unwrap());
    sale.with("declined", declined).with("query_hash", query_hash)
}

/// Makes this the question that the customer paid for.
fn ask(world: &World, question: &str) {
    let mut state = world.state();
    let paid = state.sessions.get_mut(&session()).unwrap();
    paid.metadata.insert("q0".to_owned(), question.to_owned());
}

fn ports(world: &World) -> Ports<'_> {
    Ports {
        journal: journal(world),
        quarantine: world,
        payments: world,
        submissions: world,
        orders: world,
        retries: world,
        notices: world,
    }
}

async fn approve_it(world: &World) -> Done<Decided, DecideError> {
    approve(ports(world), &operator(), &session()).await
}

async fn replace_it(world: &World, verdict: &Value) -> Done<Decided, DecideError> {
    replace(ports(world), &operator(), &session(), verdict).await
}

fn untouched(world: &World, before: &Sale) {
    assert_eq!(&stored(world), before);
    let state = world.state();
    assert!(state.queue.is_empty() && state.log.is_empty() && !state.cache.contains_key(&session()));
}

#[test]
fn a_verdict_that_passes_now_is_cached_recorded_and_ordered() {
    let older = payload(1, -200, &quick(BLOCKED));
    let world = world_holding(held_at_gate_1(), &[older, payload(1, -100, &quick(CLEAN))]);
    assert_eq!(run(approve_it(&world)).unwrap().unwrap(), Decided::Freed);
    let sale = stored(&world);
    assert_eq!(*sale.fulfilment(), Fulfilment::Ready { at: at(0), archived: false });
    assert_eq!((sale.mail(), sale.colour()), (&Mail::NotOrdered, Some(Colour::Green)));
    let state = world.state();
    let cached = &state.cache[&session()];
    assert_eq!((cached.verdict.summary.as_str(), cached.query.as_str()), (CLEAN, "Open a shop?"));
    assert_eq!(sale.verdict_hash(), Some(hash::verdict_hash(&cached.verdict).as_str()));
    assert!(matches!(state.queue[0].0, Message::Order { ordered_by: OrderedBy::Operator, .. }));
    let events: Vec<Value> = state.records().iter().map(|record| record["event"].clone()).collect();
    assert_eq!(events, ["tmm_crosscheck", "content_filter", "operator", "pipeline"]);
    assert!(!state.log.values().any(|line| line.contains(CLEAN)), "no text in the log");
}

#[test]
fn what_the_filter_still_holds_stays_held() {
    let world = world_holding(held_at_gate_1(), &[payload(1, -100, &quick(BLOCKED))]);
    let error = run(approve_it(&world)).unwrap().unwrap_err();
    assert!(
        matches!(&error, Refused(DecideError::Refused(Refusal::Blocked { gate: Gate::BeforeCache, terms: 1, .. }))),
        "{error}"
    );
    assert!(error.is_refusal() && !error.to_string().contains("CSDM"));
    untouched(&world, &held_at_gate_1());
}

#[test]
fn a_hold_without_its_payload_stays_held() {
    for payloads in [vec![], vec![payload(1, -200, &quick(CLEAN))], vec![payload(2, -100, &quick(CLEAN))]] {
        let world = world_holding(held_at_gate_1(), &payloads);
        let error = run(approve_it(&world)).unwrap().unwrap_err();
        assert!(matches!(error, Refused(DecideError::Refused(Refusal::NoPayload))));
        untouched(&world, &held_at_gate_1());
    }
}

#[test]
fn a_held_mail_is_ordered_again_if_it_and_its_verdict_pass_now() {
    let mail = |body: &str| json!({ "subject": "Your verdict", "body": format!("Hello.\n{body}") });
    for (body, summary, passes) in [(CLEAN, CLEAN, true), (BLOCKED, CLEAN, false), (CLEAN, BLOCKED, false)] {
        let world = world_holding(held_at_gate_2(), &[payload(2, -100, &mail(body))]);
        cache(&world, summary);
        let decided = run(approve_it(&world)).unwrap();
        assert_eq!(decided.is_ok(), passes, "{body} {summary}");
        let sale = stored(&world);
        assert_eq!(*sale.mail(), if passes { Mail::NotOrdered } else { Mail::Held });
        assert_eq!(world.state().queue.len(), usize::from(passes));
        assert_eq!(decisions(&world).len(), usize::from(passes));
    }
}

#[test]
fn a_page_that_was_held_after_its_mail_went_opens_again_without_another_mail() {
    let sent = held_at_gate_2().with("mail", Mail::Sent { at: at(-400) });
    let world = world_holding(sent, &[payload(2, -100, &quick(CLEAN))]);
    cache(&world, CLEAN);
    run(approve_it(&world)).unwrap().unwrap();
    assert_eq!(*stored(&world).mail(), Mail::Sent { at: at(-400) });
}

#[test]
fn a_cleaned_verdict_replaces_a_held_one_with_its_substitutes() {
    let world = world_holding(held_at_gate_1(), &[payload(1, -100, &quick(BLOCKED))]);
    let cleaned = quick("TMM says sign the lease.");
    assert_eq!(run(replace_it(&world, &cleaned)).unwrap().unwrap(), Decided::Freed);
    let state = world.state();
    let summary = &state.cache[&session()].verdict.summary;
    assert!(!summary.contains("TMM") && summary.contains("sign the lease"), "{summary}");
}

#[test]
fn a_replacement_is_no_way_around_the_checks() {
    let conflict = json!({ "verdict": "PURPLE", "summary": CLEAN });
    let structural = [conflict, json!({ "summary": CLEAN }), json!("Sign."), json!({ "verdict": "GREEN" })];
    for cleaned in structural {
        let world = world_holding(held_at_gate_1(), &[payload(1, -100, &quick(BLOCKED))]);
        let error = run(replace_it(&world, &cleaned)).unwrap().unwrap_err();
        let refused = matches!(error, Refused(DecideError::Refused(Refusal::Crosscheck(_) | Refusal::Structure(_))));
        assert!(refused, "{cleaned}: {error}");
        untouched(&world, &held_at_gate_1());
    }
    let world = world_holding(held_at_gate_1(), &[payload(1, -100, &quick(BLOCKED))]);
    let error = run(replace_it(&world, &quick("The C S D M says sign."))).unwrap().unwrap_err();
    assert!(matches!(error, Refused(DecideError::Refused(Refusal::Blocked { .. }))), "{error}");
    untouched(&world, &held_at_gate_1());
    // The verdict lacks the fields of a dearer tier.
    let full = held_at_gate_1().with("tier", Some(domain::Tier::Full));
    let world = world_holding(full.clone(), &[payload(1, -100, &quick(BLOCKED))]);
    assert!(run(replace_it(&world, &quick(CLEAN))).unwrap().unwrap_err().is_refusal());
    untouched(&world, &full);
}

/// The operator cut the blocked sentence and left nothing, or took one of the three tests out.
#[test]
fn a_replacement_has_everything_that_its_tier_sells() {
    let dimension = |name: &str| json!({ "verdict": "GREEN", "analysis": format!("{name}: buyers pay in advance.") });
    let breakdown: serde_json::Map<String, Value> =
        domain::verdict::DIMENSIONS.iter().map(|name| ((*name).to_owned(), dimension(name))).collect();
    let tests = json!(["Ask ten.", "Sell one.", "Wait a week."]);
    let strategy = json!({ "next_step": "Sign one buyer.", "alternative": "License it.", "tests": tests });
    let whole = json!({ "verdict": "GREEN", "summary": CLEAN, "breakdown": breakdown, "strategy": strategy });
    let held = held_at_gate_1().with("tier", Some(domain::Tier::Strategy));
    for (path, left, code) in [
        ("/breakdown/Stability/analysis", json!(""), "empty:breakdown.Stability.analysis"),
        ("/strategy/tests", json!(["Ask ten.", "Sell one."]), "missing:strategy.tests"),
    ] {
        let world = world_holding(held.clone(), &[payload(1, -100, &quick(BLOCKED))]);
        let mut cut = whole.clone();
        *cut.pointer_mut(path).unwrap() = left;
        let error = run(replace_it(&world, &cut)).unwrap().unwrap_err();
        let Refused(DecideError::Refused(Refusal::Hollow(found))) = &error else { panic!("{error}") };
        assert_eq!(*found, [code]);
        untouched(&world, &held);
        assert_eq!(run(replace_it(&world, &whole)).unwrap().unwrap(), Decided::Freed);
    }
}

#[test]
fn a_mail_that_may_be_on_its_way_is_not_overtaken_by_another_text() {
    let draft = Some(Draft { id: "d1".into(), internet_message_id: "<1@x>".into() });
    let drafted = Progress { draft, ..Progress::default() };
    let rendered = Progress { body_hash: Some("h".into()), ..Progress::default() };
    let working = |progress, lease| Mail::Sending { owner: "w".into(), lease_until: at(lease), progress };
    for (mail, refused) in [
        (Mail::Retrying { due: at(60), progress: drafted.clone() }, true),
        (Mail::Dead { at: at(-60), progress: drafted.clone() }, true),
        (working(drafted, -60), true),
        (working(rendered.clone(), 60), true),
        (working(rendered.clone(), -60), false),
        (Mail::Retrying { due: at(60), progress: rendered }, false),
    ] {
        let held = held_at_gate_2().with("mail", mail.clone());
        let world = world_holding(held.clone(), &[payload(2, -100, &quick(BLOCKED))]);
        cache(&world, BLOCKED);
        let decided = run(replace_it(&world, &quick(CLEAN))).unwrap();
        assert_eq!(matches!(decided, Err(Refused(DecideError::DraftExists))), refused, "{mail:?}");
        let sale = stored(&world);
        if refused {
            assert_eq!(sale, held);
        } else {
            let Mail::Retrying { progress, .. } = sale.mail() else { panic!("{mail:?}") };
            assert_eq!(progress.body_hash, None, "the new text renders anew");
            let state = world.state();
            let kinds: Vec<_> = state.queue.iter().map(|(message, _)| message.clone()).collect();
            assert!(matches!(kinds[..], [Message::MailRetry { .. }, Message::Order { .. }]), "{kinds:?}");
            assert_eq!(state.cache[&session()].query, "Kept question?");
        }
    }
}

#[test]
fn a_regenerated_verdict_keeps_its_comparison_with_the_first() {
    let regenerated = held_at_gate_1()
        .with("regenerated_at", Some(at(-150)))
        .with("colour", Some(Colour::Red))
        .with("mail", Mail::Sent { at: at(-400) });
    let world = world_holding(regenerated, &[payload(1, -100, &quick(CLEAN))]);
    run(approve_it(&world)).unwrap().unwrap();
    let sale = stored(&world);
    assert_eq!((sale.colour(), sale.divergence()), (Some(Colour::Red), &Mail::Ordered));
    let state = world.state();
    assert_eq!(state.cache[&session()].notice.as_deref(), Some(texts::REGENERATED_NOTICE));
    assert!(state.log.values().any(|line| line.contains("regen_divergence_check")));
}

/// Whether an operator approves the held text or replaces it (Authority Governance, RFC-0009: the referral of a
/// narrative answer).
#[test]
fn a_narrative_answer_keeps_its_notice_and_its_grammar() {
    let question = "What does 'force majeure' mean?";
    let notice = authority::evaluate(question, None).notice().expect("a narrative question");
    let referring = "Sign the lease once a lawyer has read it.";
    for (held, replacement) in [(referring, None), (BLOCKED, Some(quick(referring)))] {
        let world = world_holding(held_at_gate_1(), &[payload(1, -100, &quick(held))]);
        ask(&world, question);
        match replacement {
            None => run(approve_it(&world)).unwrap().unwrap(),
            Some(verdict) => run(replace_it(&world, &verdict)).unwrap().unwrap(),
        };
        assert_eq!(world.state().cache[&session()].notice.as_ref(), Some(&notice));
    }
    let forbidden = authority::evaluate(question, None).forbidden_phrases()[0];
    let breaking = quick(&format!("Well, {forbidden}."));
    let world = world_holding(held_at_gate_1(), &[payload(1, -100, &breaking)]);
    ask(&world, question);
    // The notice beside a text does not replace the referral in it.
    for decided in [run(approve_it(&world)), run(replace_it(&world, &breaking)), run(replace_it(&world, &quick(CLEAN)))]
    {
        let error = decided.unwrap().unwrap_err();
        assert!(matches!(error, Refused(DecideError::Refused(Refusal::Grammar(_)))), "{error}");
        untouched(&world, &held_at_gate_1());
    }
    // At gate 2 the question is the one of the cache.
    let world = world_holding(held_at_gate_2(), &[payload(2, -100, &quick(BLOCKED))]);
    cache(&world, BLOCKED);
    world.state().cache.get_mut(&session()).unwrap().query = question.to_owned();
    let error = run(replace_it(&world, &breaking)).unwrap().unwrap_err();
    assert!(matches!(error, Refused(DecideError::Refused(Refusal::Grammar(_)))), "{error}");
    // The held verdict is older than the rule: the replacement has the notice that it was checked with.
    world.state().cache.get_mut(&session()).unwrap().notice = Some(texts::REGENERATED_NOTICE.to_owned());
    run(replace_it(&world, &quick(referring))).unwrap().unwrap();
    let expected = format!("{} {notice}", texts::REGENERATED_NOTICE);
    assert_eq!(world.state().cache[&session()].notice.as_deref(), Some(expected.as_str()));
}

/// Whether an operator approves the held text or replaces it: the rules may have changed since the question was asked.
#[test]
fn a_question_that_nobody_may_approve_stays_held() {
    for question in ["Can I mix bleach and ammonia to clean the shop?", "How much ibuprofen should I give my son?"] {
        let referring = quick("Sign the lease once a lawyer has read it.");
        let world = world_holding(held_at_gate_1(), &[payload(1, -100, &referring)]);
        ask(&world, question);
        for decided in [run(approve_it(&world)), run(replace_it(&world, &referring))] {
            let error = decided.unwrap().unwrap_err();
            assert!(matches!(error, Refused(DecideError::Refused(Refusal::Question(_)))), "{question}: {error}");
            untouched(&world, &held_at_gate_1());
        }
    }
}

/// Another question was handed in since, or the one that was answered is lost and Stripe has the one before it.
#[test]
fn a_verdict_whose_question_is_not_found_stays_held() {
    let held = approved(held_at_gate_1(), METFORMIN, -150).with("query_hash", "another");
    let world = world_holding(held.clone(), &[payload(1, -100, &quick("Change it once a physician has agreed."))]);
    for question in [METFORMIN, "Open a shop?"] {
        ask(&world, question);
        let error = run(approve_it(&world)).unwrap().unwrap_err();
        assert!(matches!(error, Refused(DecideError::NoQuestion)), "{error}");
        untouched(&world, &held);
    }
}

/// What two people must approve, one person without a role does not release. A deployment may have made it so after the
/// question was sold.
#[test]
fn a_question_that_people_may_approve_stays_held_until_they_have() {
    let referring = quick("Change it once a physician has agreed.");
    let approved_at = |seconds| approved(held_at_gate_1(), METFORMIN, seconds);
    for (held, passes) in [(held_at_gate_1(), false), (approved_at(-150), true), (approved_at(-25 * 3600), false)] {
        for decide in [true, false] {
            let world = world_holding(held.clone(), &[payload(1, -100, &referring)]);
            ask(&world, METFORMIN);
            let decided = if decide { run(approve_it(&world)) } else { run(replace_it(&world, &referring)) };
            match decided.unwrap() {
                Ok(decided) => assert!(passes && decided == Decided::Freed),
                Err(error) => {
                    let is_refused = matches!(error, Refused(DecideError::Refused(Refusal::Question(_))));
                    assert!(!passes && is_refused, "{error}");
                    untouched(&world, &held);
                }
            }
        }
    }
}

/// The deployed rules may have changed since the verdict was made (Authority Governance, Appendix F).
#[test]
fn a_question_that_is_locked_today_stays_held_and_each_attempt_is_on_record() {
    // Whatever the text says.
    for text in [CLEAN, BLOCKED] {
        let verdict = quick(text);
        let world = world_holding(held_at_gate_1(), &[payload(1, -100, &verdict)]);
        ask(&world, "I want to kill myself");
        assert!(run(plan_approval(ports(&world), &session())).unwrap().is_err());
        untouched(&world, &held_at_gate_1());
        for decided in [run(approve_it(&world)), run(replace_it(&world, &verdict))] {
            let error = decided.unwrap().unwrap_err();
            assert!(matches!(error, Refused(DecideError::Refused(Refusal::Locked(_)))), "{error}");
        }
        assert_eq!(decisions(&world).len(), 2);
        let refused = |record: &Value| record["action"].as_str().unwrap().starts_with("authority override refused");
        assert!(decisions(&world).iter().all(refused));
        assert_eq!(stored(&world).fulfilment(), held_at_gate_1().fulfilment());
        let state = world.state();
        assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains("OVERRIDE")).count(), 2);
        assert!(state.queue.is_empty() && !state.cache.contains_key(&session()));
    }
}

/// Before the mail and the page. What went by mail is with the customer; a regenerated verdict may not be what went.
#[test]
fn a_cached_verdict_whose_question_nobody_has_approved_stays_held_unless_it_was_mailed() {
    let question = "Can I mix bleach and ammonia to clean the shop?";
    let referring = "Change it once a physician has agreed.";
    for (question, summary, is_approved, sent, regen, passes) in [
        (question, CLEAN, false, false, false, false),
        (question, CLEAN, false, true, false, true),
        (question, CLEAN, false, true, true, false),
        (METFORMIN, referring, true, false, false, true),
        (METFORMIN, referring, false, false, false, false),
        (METFORMIN, referring, false, true, true, false),
        // The grammar is that of today too.
        (METFORMIN, CLEAN, true, false, false, false),
        (METFORMIN, CLEAN, true, true, true, false),
    ] {
        let mail = if sent { Mail::Sent { at: at(-400) } } else { Mail::Held };
        let held = held_at_gate_2().with("mail", mail);
        let held = if is_approved { approved(held, question, -150) } else { held };
        let world = world_holding(held.clone(), &[payload(2, -100, &quick(summary))]);
        cache(&world, summary);
        let cached = world.state().cache[&session()].clone();
        let cached = CachedVerdict { query: question.to_owned(), regen, ..cached };
        world.state().cache.insert(session(), cached);
        match run(approve_it(&world)).unwrap() {
            Ok(decided) => assert!(passes && decided == Decided::Freed, "{question} {summary}"),
            Err(error) => {
                // A refund or an erasure is the only end: the replacement has the same question.
                let replaced = run(replace_it(&world, &quick(summary))).unwrap().unwrap_err();
                for error in [error, replaced] {
                    let is_refused =
                        matches!(error, Refused(DecideError::Refused(Refusal::Question(_) | Refusal::Grammar(_))));
                    assert!(!passes && is_refused, "{question} {summary}: {error}");
                }
                assert_eq!(stored(&world), held);
                assert!(world.state().queue.is_empty() && decisions(&world).is_empty());
            }
        }
    }
}

/// Before the mail. The verdict that takes the place of the lost one is the same question's.
#[test]
fn a_verdict_that_the_cache_lost_stays_held_unless_its_question_was_approved() {
    let mail = json!({ "subject": "Your verdict", "body": "Change it once a physician has agreed." });
    let sent = |regenerated: bool| {
        let sent = held_at_gate_2().with("mail", Mail::Sent { at: at(-400) });
        sent.with("regenerated_at", regenerated.then(|| at(-300)))
    };
    for (held, question, is_approved, passes) in [
        (held_at_gate_2(), "Open a shop?", false, true),
        (held_at_gate_2(), METFORMIN, false, false),
        (held_at_gate_2(), METFORMIN, true, true),
        (sent(false), METFORMIN, false, true),
        (sent(true), METFORMIN, false, false),
    ] {
        let held = if is_approved { approved(held, question, -150) } else { held };
        let world = world_holding(held.clone(), &[payload(2, -100, &mail)]);
        ask(&world, question);
        match run(approve_it(&world)).unwrap() {
            Ok(decided) => assert!(passes && decided == Decided::Freed, "{question}"),
            Err(error) => {
                let is_refused = matches!(error, Refused(DecideError::Refused(Refusal::Question(_))));
                assert!(!passes && is_refused, "{question}: {error}");
                untouched(&world, &held);
            }
        }
    }
    let world = world_holding(held_at_gate_2(), &[payload(2, -100, &mail)]);
    ask(&world, "I want to kill myself");
    let error = run(approve_it(&world)).unwrap().unwrap_err();
    assert!(matches!(error, Refused(DecideError::Refused(Refusal::Locked(_)))), "{error}");
    assert_eq!(decisions(&world).len(), 1);
}

/// A follow-up may be refused for the question that it follows.
#[test]
fn a_follow_up_that_the_cache_lost_is_decided_with_the_question_before_it() {
    let mail = json!({ "subject": "Your verdict", "body": "Ask a physician." });
    let followup = held_at_gate_2().with("session_id", session().followup());
    let world = world_holding(sale(), &[]);
    world.state().sales.insert(session().followup(), (followup.clone(), 1));
    world.state().quarantine = vec![(session().followup(), payload(2, -100, &mail))];
    let submission = Submission { tier: domain::Tier::Quick, query: Query::parse("And if I stop it today?").unwrap() };
    world.state().submissions.insert(session().followup(), submission);
    let approve_it = || run(approve(ports(&world), &operator(), &session().followup())).unwrap();
    let error = approve_it().unwrap_err();
    assert!(matches!(error, Refused(DecideError::NoFirstVerdict)), "{error}");
    cache(&world, CLEAN);
    world.state().cache.get_mut(&session()).unwrap().query = METFORMIN.to_owned();
    let error = approve_it().unwrap_err();
    assert!(matches!(error, Refused(DecideError::Refused(Refusal::Question(_)))), "{error}");
    assert_eq!(world.state().sales[&session().followup()].0, followup);
    world.state().cache.get_mut(&session()).unwrap().query = "Should I open a shop?".to_owned();
    assert_eq!(approve_it().unwrap(), Decided::Freed);
}

#[test]
fn a_held_request_for_the_submission_is_asked_for_again() {
    let held = held_at_gate_2().with("notice", Mail::Held).with("mail", Mail::NotOrdered);
    let mail = json!({ "subject": "Your question", "body": "Please send it." });
    let world = world_holding(held, &[payload(2, -100, &mail)]);
    assert!(matches!(run(replace_it(&world, &quick(CLEAN))), Some(Err(Refused(DecideError::NoVerdict)))));
    run(approve_it(&world)).unwrap().unwrap();
    let sale = stored(&world);
    assert_eq!((sale.notice(), sale.fulfilment()), (&Mail::NotOrdered, &Fulfilment::Unusable { at: at(0) }));
    assert!(matches!(world.state().queue[0].0, Message::Notice { .. }));
}

#[test]
fn a_plan_says_what_an_approval_does_and_changes_nothing() {
    let (passing, blocked) = ([payload(1, -100, &quick(CLEAN))], [payload(1, -100, &quick(BLOCKED))]);
    let refunded = held_at_gate_1().with("money", Money::Refunded { at: at(-1) });
    let nobody_may = "Can I mix bleach and ammonia to clean the shop?";
    for (held, payloads, question, passes) in [
        (held_at_gate_1(), &passing[..], "Open a shop?", true),
        (held_at_gate_1(), &blocked[..], "Open a shop?", false),
        (held_at_gate_1(), &passing[..0], "Open a shop?", false),
        (held_at_gate_1(), &passing[..], nobody_may, false),
        (refunded, &passing[..], "Open a shop?", false),
        (sale(), &passing[..], "Open a shop?", false),
    ] {
        let world = world_holding(held.clone(), payloads);
        ask(&world, question);
        let planned = run(plan_approval(ports(&world), &session())).unwrap();
        untouched(&world, &held);
        let approved = run(approve_it(&world)).unwrap();
        assert_eq!(format!("{planned:?}"), format!("{approved:?}"));
        assert_eq!(planned.is_ok(), passes, "{planned:?}");
    }
}

#[test]
fn what_is_not_held_or_was_paid_back_is_left_alone() {
    let refunded = held_at_gate_1().with("money", Money::Refunded { at: at(-1) });
    for (left, went_back) in [(sale(), false), (refunded, true)] {
        let world = world_holding(left.clone(), &[payload(1, -100, &quick(CLEAN))]);
        for decided in [run(approve_it(&world)), run(replace_it(&world, &quick(CLEAN)))] {
            match decided.unwrap().unwrap_err() {
                Refused(DecideError::MoneyWentBack) => assert!(went_back),
                Refused(DecideError::NotHeld) => assert!(!went_back),
                error => panic!("{error}"),
            }
        }
        untouched(&world, &left);
    }
}

#[test]
fn whatever_breaks_repeating_the_command_frees_the_sale_once() {
    let payloads = [payload(1, -100, &quick(CLEAN))];
    let fresh = || world_holding(held_at_gate_1(), &payloads);
    let check = |world: &World, what: &str| {
        assert!(matches!(stored(world).fulfilment(), Fulfilment::Ready { .. }), "{what}");
        assert_eq!(decisions(world).len(), 1, "{what}");
        assert_eq!(world.state().cache[&session()].verdict.summary, CLEAN, "{what}");
        assert!(!world.state().queue.is_empty(), "{what}");
    };
    whatever_breaks(fresh, |world| run(approve_it(world)), check);
    let cleaned = quick(CLEAN);
    whatever_breaks(fresh, |world| run(replace_it(world, &cleaned)), check);
}

#[test]
fn whatever_breaks_repeating_the_command_orders_a_held_mail_once() {
    let mail = json!({ "subject": "Your verdict", "body": CLEAN });
    let fresh = || {
        let world = world_holding(held_at_gate_2(), &[payload(2, -100, &mail)]);
        cache(&world, CLEAN);
        world
    };
    let check = |world: &World, what: &str| {
        let sale = stored(world);
        assert_eq!((sale.mail(), decisions(world).len()), (&Mail::NotOrdered, 1), "{what}");
        assert!(matches!(sale.fulfilment(), Fulfilment::Ready { .. }), "{what}");
        assert!(!world.state().queue.is_empty(), "{what}");
    };
    whatever_breaks(fresh, |world| run(approve_it(world)), check);
    let cleaned = quick("Sign it.");
    let replaced = |world: &World, what: &str| {
        check(world, what);
        assert_eq!(world.state().cache[&session()].verdict.summary, "Sign it.", "{what}");
    };
    whatever_breaks(fresh, |world| run(replace_it(world, &cleaned)), replaced);
}
