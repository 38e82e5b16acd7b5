use super::*;
use audit::Journal;
use domain::{CachedVerdict, Timestamp, mail::Mail, money::Money, sale::Fulfilment};
use serde_json::json;
use std::time::Duration;
use testkit::{Fault, Plan, World, every_single_fault, run, sale::WithField};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + seconds)
}

fn paid() -> SessionId {
    SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap()
}

fn text(text: &str) -> Query {
    Query::parse(text).unwrap()
}

/// A delivered Strategy Session.
fn delivered() -> Sale {
    Sale::ordered(paid(), at(-600))
        .with("tier", "strategy")
        .with("fulfilment", Fulfilment::Ready { at: at(-500), archived: true })
        .with("mail", Mail::Sent { at: at(-400) })
}

fn first(query: &str) -> CachedVerdict {
    let verdict = serde_json::from_value(json!({ "verdict": "GREEN", "summary": "Yes." })).unwrap();
    CachedVerdict::first(Tier::Strategy, &text(query), verdict, at(-500))
}

fn world_of(sale: Sale) -> World {
    let world = World::at(at(0));
    world.state().sales.insert(paid(), (sale, 7));
    world.state().cache.insert(paid(), first("Should we open a second bakery?"));
    world
}

fn go(world: &World, asked: &str) -> Option<Result<Ordered, NotOrdered>> {
    let journal = Journal { store: world, log: world, alerts: world, clock: world };
    let ports = Ports { journal, submissions: world, orders: world, meter: world };
    let asked = text(asked);
    run(order(ports, &paid(), &asked, None, OrderedBy::FollowupPage))
}

#[test]
fn a_followup_is_a_sale_of_its_own_with_its_text_and_its_order() {
    let world = world_of(delivered());
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    let state = world.state();
    let (sale, version) = &state.sales[&paid().followup()];
    assert_eq!((sale, *version), (&Sale::ordered(paid().followup(), at(0)), 1));
    let kept = &state.submissions[&paid().followup()];
    assert_eq!((kept.tier, kept.query.as_str()), (Tier::Strategy, "And if the rent is higher?"));
    assert_eq!(state.queue.len(), 1);
    assert!(matches!(
        &state.queue[0].0,
        Message::Order { session_id, ordered_by: OrderedBy::FollowupPage, .. } if *session_id == paid().followup()
    ));
}

#[test]
fn a_second_text_finds_it_used_and_the_same_text_finds_it_ordered() {
    let world = world_of(delivered());
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    assert!(matches!(go(&world, "And in Halifax?"), Some(Err(NotOrdered::Used))));
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    assert_eq!(world.state().submissions[&paid().followup()].query.as_str(), "And if the rent is higher?");
    assert_eq!(world.state().queue.len(), 1);
    world.advance(Duration::from_secs(60));
    for _ in 0..3 {
        go(&world, "And if the rent is higher?").unwrap().unwrap();
    }
    assert_eq!(world.state().queue.len(), 2, "its message may never have been sent");
    world.advance(Duration::from_secs(60));
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    assert_eq!(world.state().queue.len(), 3);
}

/// Its message waits in the queue until the model may be asked again.
#[test]
fn what_waits_for_the_model_is_not_sent_again() {
    let world = world_of(delivered());
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    let waiting = Sale::ordered(paid().followup(), at(0)).with("unavailable_until", at(3_600));
    world.state().sales.insert(paid().followup(), (waiting, 9));
    world.advance(Duration::from_secs(600));
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    assert!(matches!(go(&world, "And in Halifax?"), Some(Err(NotOrdered::Used))));
    assert_eq!(world.state().queue.len(), 1);
}

#[test]
fn what_is_made_already_is_not_sent_again() {
    let world = world_of(delivered());
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    let followup = Sale::ordered(paid().followup(), at(0))
        .with("fulfilment", Fulfilment::Ready { at: at(5), archived: true })
        .with("mail", Mail::Sent { at: at(6) });
    world.state().sales.insert(paid().followup(), (followup, 9));
    go(&world, "And if the rent is higher?").unwrap().unwrap();
    assert_eq!(world.state().queue.len(), 1);
}

const GROOMING: &str =
    "I met a 13 year old girl online and she keeps our chats secret from her parents. Should I meet her alone?";

/// The records of the authority gate's evaluations.
fn evaluated_in(world: &World) -> Vec<serde_json::Value> {
    let lines = world.state().records();
    lines.into_iter().filter(|line| line["event"] == "authority_evaluated").collect()
}

#[test]
fn a_declined_one_is_on_record_without_its_text() {
    let world = world_of(delivered());
    let asked = "Can I give my son two of my warfarin tablets?";
    assert!(matches!(go(&world, asked), Some(Err(NotOrdered::Refused(_)))));
    let lines = evaluated_in(&world);
    let details = &lines[0]["details"];
    assert_eq!((lines.len(), &details["ordered_by"]), (1, &"followup_page".into()));
    assert_eq!(details["authority"]["state"], "BLOCKED", "{details}");
    let names: Vec<&String> = details.as_object().unwrap().keys().collect();
    assert_eq!(names, ["authority", "ordered_by"], "a hash of a short disclosure could be guessed");
    assert!(!world.state().log.values().any(|line| line.contains("warfarin tablets")));
    go(&world, "And in Halifax?").unwrap().unwrap();
    assert_eq!(evaluated_in(&world).len(), 1, "the verdict function records what is ordered");
    assert!(matches!(go(&world, "I want to kill myself"), Some(Err(NotOrdered::Refused(_)))));
    assert_eq!(evaluated_in(&world).len(), 2, "also once the follow-up is used");
    assert!(matches!(go(&world, GROOMING), Some(Err(NotOrdered::Refused(_)))), "a minor may be in danger now");
    assert_eq!(evaluated_in(&world).len(), 3);
    assert!(matches!(go(&world, asked), Some(Err(NotOrdered::Used))));
    assert_eq!(evaluated_in(&world).len(), 4);
    assert_eq!(world.state().counted(domain::Metric::AuthorityEscalated), 1, "the trigger of child safety alone");
}

#[test]
fn one_that_is_not_recorded_is_counted_and_alerts_with_its_reason_if_it_is_escalated() {
    for (asked, expected) in [(GROOMING, 1), ("Can I give my son two of my warfarin tablets?", 0)] {
        let world = world_of(delivered());
        world.plan(Plan::none().whenever("store.save", Fault::Fail));
        assert!(matches!(go(&world, asked), Some(Err(NotOrdered::Refused(_)))), "{asked}");
        let state = world.state();
        let lines = state.alerts.iter().map(|alert| &alert.line).filter(|line| line.contains(paid().reference()));
        let reasons = lines.filter(|line| line.ends_with("); its record may be missing")).count();
        assert_eq!((state.measured(domain::Metric::AuditWriteFailed), reasons), (1, expected), "{:?}", state.alerts);
    }
}

/// What a reply that asks nothing tells of is found alone and after the first question.
#[test]
fn danger_in_a_reply_that_asks_nothing_is_on_record_and_orders_nothing() {
    let world = world_of(delivered());
    world.state().cache.insert(paid(), first("Should I give away my things and write a will?"));
    for (asked, is_found) in [
        ("Thank you!", false),
        ("Can I give my son two of my warfarin tablets?", false),
        ("My husband has crushing chest pain and his left arm is numb. Please tell me what to do.", true),
        ("I will be gone by Sunday.", true),
    ] {
        let journal = Journal { store: &world, log: &world, alerts: &world, clock: &world };
        let ports = Ports { journal, submissions: &world, orders: &world, meter: &world };
        let found = run(urgent(ports, &paid(), &text(asked))).unwrap().unwrap();
        assert_eq!(found.is_some(), is_found, "{asked}");
    }
    let lines = evaluated_in(&world);
    assert_eq!((lines.len(), &lines[0]["details"]["ordered_by"]), (2, &"followup_reply".into()));
    assert_nothing_ordered(&world);
}

#[test]
fn a_holder_of_the_link_cannot_fill_the_log_with_declined_ones() {
    let world = world_of(delivered());
    for _ in 0..domain::sale::MAX_RECORDED_DECLINES + 5 {
        assert!(matches!(go(&world, "I want to kill myself"), Some(Err(NotOrdered::Refused(_)))));
    }
    assert_eq!(evaluated_in(&world).len(), 100);
}

fn assert_nothing_ordered(world: &World) {
    let state = world.state();
    assert_eq!((state.sales.len(), state.queue.len(), state.submissions.len()), (1, 0, 0));
}

#[test]
fn only_a_delivered_strategy_session_whose_money_is_here_offers_one() {
    for sale in [
        delivered().with("tier", "full"),
        delivered().with("fulfilment", Fulfilment::Ordered { at: at(-5) }),
        delivered().with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeDelivery, at: at(-5) }),
        delivered().with("money", Money::Refunded { at: at(-5) }),
        delivered().with("money", Money::Disputed { at: at(-5), refund: None, bounced: false }),
        delivered().with("smoke", true),
    ] {
        let world = world_of(sale);
        assert!(matches!(go(&world, "And in Halifax?"), Some(Err(NotOrdered::NotOffered))));
        for urgent in ["I want to kill myself", "My husband has crushing chest pain and his left arm is numb. Wait?"] {
            assert!(matches!(go(&world, urgent), Some(Err(NotOrdered::Refused(_)))), "{urgent}");
        }
        assert_nothing_ordered(&world);
    }
    let world = World::at(at(0));
    assert!(matches!(go(&world, "And in Halifax?"), Some(Err(NotOrdered::NoSale))));
}

#[test]
fn what_must_not_be_answered_uses_nothing() {
    let world = world_of(delivered());
    for asked in ["?", "I want to kill myself", "Can I give my son two of my warfarin tablets?"] {
        let Some(Err(NotOrdered::Refused(refusal))) = go(&world, asked) else { panic!("{asked}") };
        assert!(!refusal.error.is_empty());
    }
    assert_nothing_ordered(&world);
    go(&world, "And in Halifax?").unwrap().unwrap();
}

/// A follow-up that is ordered is not judged again by what a further reply asks. Danger is answered in any case.
#[test]
fn a_reply_is_refused_for_danger_in_any_case_and_else_only_before_a_followup_is_ordered() {
    for (asked, before, after, is_urgent) in [
        ("I want to kill myself", true, true, true),
        ("Can I give my son two of my warfarin tablets?", true, false, false),
        ("And in Halifax?", false, false, false),
    ] {
        let (world, reply) = (world_of(delivered()), text(asked));
        let is_refused = || run(refusal(&world, &paid(), &reply)).unwrap().unwrap().is_some();
        assert_eq!(is_refused(), before, "{asked}");
        go(&world, "And if the rent is higher?").unwrap().unwrap();
        assert_eq!(is_refused(), after, "{asked}");
        assert_eq!(urgent_alone(&reply, None).is_some(), is_urgent, "{asked}: the store is not needed");
    }
}

#[test]
fn the_country_of_the_payment_selects_the_helpers_before_the_language_of_the_browser() {
    for (locale, is_canadian) in [(Some("und-CA"), true), (None, false)] {
        let world = world_of(locale.map_or_else(delivered, |locale| delivered().with("locale", locale)));
        let journal = Journal { store: &world, log: &world, alerts: &world, clock: &world };
        let ports = Ports { journal, submissions: &world, orders: &world, meter: &world };
        let asked = text("I want to kill myself");
        let refused = run(order(ports, &paid(), &asked, Some("en-US"), OrderedBy::FollowupPage)).unwrap();
        let Err(NotOrdered::Refused(declined)) = refused else { panic!("{refused:?}") };
        let by_mail = run(refusal(&world, &paid(), &asked)).unwrap().unwrap().unwrap();
        let canadian = |refusal: &Refusal| refusal.text().contains("9-8-8");
        assert_eq!(canadian(&declined), is_canadian);
        assert!(canadian(&by_mail), "Canada is the default without a country");
    }
}

/// A customer who is refunded while the order is written gets no verdict for it.
#[test]
fn a_sale_that_changes_meanwhile_is_looked_at_again() {
    let world = world_of(delivered());
    let refunded = delivered().with("money", Money::Refunded { at: at(0) });
    let opened = Sale::ordered(paid().followup(), at(0));
    let submission = Submission { tier: Tier::Strategy, query: text("And in Halifax?") };
    world.state().sales.insert(paid(), (refunded, 8));
    let store: &dyn SaleStore = &world;
    let written = run(store.open_followup(&opened, &submission, 7)).unwrap();
    assert!(matches!(written, Err(SaveError::Conflict)));
    assert_nothing_ordered(&world);
    assert!(matches!(go(&world, "And in Halifax?"), Some(Err(NotOrdered::NotOffered))));
}

#[test]
fn whatever_breaks_it_is_ordered_once_with_one_text() {
    let clean = world_of(delivered());
    go(&clean, "And in Halifax?").unwrap().unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 3) {
        for second in ["And in Halifax?", "And in Toronto?"] {
            let what = format!("{what}, then {second}");
            let world = world_of(delivered());
            world.plan(plan.clone());
            let answer = go(&world, "And in Halifax?");
            world.plan(Plan::none());
            let accepted = matches!(answer, Some(Ok(_)));
            world.advance(Duration::from_secs(60));
            let again = go(&world, second).expect(&what);
            let kept = world.state().submissions[&paid().followup()].query.as_str().to_owned();
            assert!(!accepted || kept == "And in Halifax?", "{what}");
            assert_eq!(again.is_ok(), kept == second, "{what}");
            assert_eq!(world.state().sales.len(), 2, "{what}");
            // Either the order was sent, or the page makes up for a queue that refused it.
            let state = world.state();
            assert!(!state.queue.is_empty() || !state.alerts.is_empty(), "{what}: neither an order nor an alert");
        }
    }
}

#[test]
fn the_first_verdict_comes_from_the_cache_or_the_archive() {
    let world = world_of(delivered());
    let read = || run(first_verdict(&world, &world, &paid())).unwrap().unwrap();
    assert_eq!(read().unwrap().query, "Should we open a second bakery?");
    world.state().cache.clear();
    assert_eq!(read(), None);
    world.state().archive.insert(paid(), first("From the archive?"));
    assert_eq!(read().unwrap().query, "From the archive?");
}
