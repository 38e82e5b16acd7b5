//! Sales in which nothing fails. The file has more than 300 lines because each way to buy, to pay and to deliver has its test here.

use crate::{
    samples::{ADDRESS, QUESTION, body, paid_session, quick, strategy},
    simulator::Simulator,
};
use domain::{
    Channel, PaymentStatus, Query, Submission, Tier,
    mail::Mail,
    message::{Message, OrderedBy},
    ports::MailError,
};
use operations::{Operator, reattempt};
use testkit::{Fault, Plan};

#[test]
fn a_sale_of_each_tier_is_delivered_once_and_recorded() {
    let mut full: serde_json::Value = serde_json::from_str(&strategy()).unwrap();
    full.as_object_mut().unwrap().remove("strategy");
    let quick = quick("GREEN", "Demand is real and the format fits.");
    for (tier, reply) in [("quick", quick), ("full", full.to_string()), ("strategy", strategy())] {
        let sim = Simulator::worked_off(tier, &reply);
        let page = sim.page().unwrap();
        assert_eq!(page.status(), 200, "{tier}");
        let page = body(&page);
        assert_eq!((&page["tier"], &page["query"]), (&tier.into(), &QUESTION.into()));
        assert_eq!(page["verdict"], serde_json::from_str::<serde_json::Value>(&reply).unwrap());
        let sent = sim.world.state().sent.clone();
        assert_eq!(sent.len(), 1);
        assert_eq!((sent[0].1.to.as_str(), sent[0].1.subject.as_str()), (ADDRESS, "Your 42 Sisters AI Verdict"));
        assert_eq!(sim.world.state().prompts.len(), 1, "one model call");
        assert_eq!((sim.count("webhook", "OK"), sim.count("email_service", "EMAIL_SENT")), (1, 1));
        assert_eq!(sim.count("cache_hit", "CACHED"), 1);
        let events: Vec<_> = sim.audit_lines().iter().map(|line| line["event"].clone()).collect();
        assert_eq!(events, ["tmm_crosscheck", "content_filter", "pipeline", "content_filter", "pipeline", "pipeline"]);
        assert!(sim.world.state().alerts.is_empty());
    }
}

/// Product Tiers VC-4.
#[test]
fn the_cache_is_written_before_the_mail_is_even_ordered() {
    let sim = Simulator::worked_off("quick", &quick("AMBER", "It needs a longer runway first."));
    let lines = sim.audit_lines();
    let at = |status: &str| lines.iter().position(|line| line["status"] == status).unwrap();
    assert!(at("OK") < at("EMAIL_SENT"));
    let boundaries = sim.world.state().boundaries.clone();
    let sent = boundaries.iter().position(|name| *name == "mailbox.send_draft").unwrap();
    let read = boundaries.iter().rposition(|name| *name == "store.load_with_verdict").unwrap();
    assert!(read < sent, "the mail function read the verdict back from the store before it sent anything");
}

/// The worker that saved the verdict does not read it back, and its archive may be slow.
#[test]
fn the_mail_does_not_wait_for_the_archive() {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", "Demand is real and the format fits."));
    sim.world.plan(Plan::none().whenever("archive.keep", Fault::CrashBefore));
    assert_eq!(sim.step(), Some(false), "the archive does not answer");
    let state = sim.world.state();
    let orders_mail = |(message, _): &(Message, _)| matches!(message, Message::Mail { .. });
    assert!(state.queue.iter().any(orders_mail), "{:?}", state.queue);
    assert!(!state.boundaries.contains(&"store.load_with_verdict"));
}

/// Product Tiers VC-5.
#[test]
fn null_is_delivered_like_any_other_verdict() {
    let sim = Simulator::worked_off("quick", &quick("NULL", "There is not enough here to judge."));
    assert_eq!(body(&sim.page().unwrap())["verdict"]["verdict"], "NULL");
    assert!(sim.world.state().sent[0].1.body.contains("VERDICT: ⚫ NULL"));
    let state = sim.world.state();
    assert_eq!((state.prompts.len(), state.alerts.len()), (1, 0));
}

#[test]
fn ten_webhooks_and_an_impatient_page_are_one_sale() {
    let mut sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "Demand is real and the format fits."));
    assert_eq!(sim.page().unwrap().status(), 202, "the page may be there before the webhook");
    for _ in 0..10 {
        sim.stripe_delivers();
    }
    assert_eq!(sim.page().unwrap().status(), 202);
    sim.drain();
    assert_eq!(sim.page().unwrap().status(), 200);
    let state = sim.world.state();
    assert_eq!((state.prompts.len(), state.sent.len(), state.cache.len()), (1, 1, 1));
    drop(state);
    assert_eq!((sim.count("webhook", "OK"), sim.count("email_service", "EMAIL_SENT")), (1, 1));
}

#[test]
fn a_page_that_keeps_asking_orders_once_a_minute_and_no_oftener() {
    use domain::sale::Fulfilment;
    let sim = Simulator::new("quick");
    assert_eq!(sim.page().unwrap().status(), 202);
    // A worker claimed the sale and died, and its lease has ended.
    let ended = Fulfilment::Generating { owner: "dead".into(), lease_until: domain::Timestamp::from_seconds(0) };
    sim.world.change_sales("fulfilment", &ended);
    for _ in 0..29 {
        assert_eq!(sim.page().unwrap().status(), 202);
        sim.world.advance(std::time::Duration::from_secs(2));
    }
    assert_eq!(sim.world.state().queue.len(), 2, "the first order and one more");
    sim.world.advance(std::time::Duration::from_secs(2));
    sim.page();
    assert_eq!(sim.world.state().queue.len(), 3);
}

#[test]
fn a_lost_webhook_is_made_good_by_the_page() {
    let mut sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "Demand is real and the format fits."));
    assert_eq!(sim.page().unwrap().status(), 202);
    sim.drain();
    assert_eq!(sim.page().unwrap().status(), 200);
    assert_eq!(sim.world.state().sent.len(), 1);
}

/// Silent Drop, outputs 1 and 2: whichever way the session was found, and however often.
#[test]
fn a_paid_session_without_a_tier_is_announced_and_its_customer_asked_once() {
    for page_first in [true, false] {
        let mut sim = Simulator::with_session(paid_session("cs_test_unusable_sale", "premium", Some(ADDRESS)));
        if page_first {
            assert_eq!(sim.page().unwrap().status(), 500);
        }
        for _ in 0..3 {
            sim.stripe_delivers();
        }
        sim.drain();
        assert_eq!(sim.page().unwrap().status(), 500, "the page says whom to write to");
        sim.drain();
        let state = sim.world.state();
        assert_eq!((state.sent.len(), state.prompts.len()), (1, 0));
        assert_eq!(state.sent[0].1.subject, "We received your payment — please reply with your question");
        assert!(state.sent[0].1.body.starts_with("Hi there,\n\nWe received your payment but"));
        let alerts: Vec<&str> = state.alerts.iter().map(|alert| alert.line.as_str()).collect();
        let announced = alerts.iter().filter(|line| line.starts_with("[SILENT-DROP]")).count();
        assert!(announced == 1 && alerts.iter().any(|line| line.starts_with("[SILENT-DROP] session=")), "{alerts:?}");
        drop(state);
        assert_eq!(sim.count("webhook", "ERROR"), 1, "page first: {page_first}");
        assert_eq!(sim.count("email_service", "EMAIL_SENT"), 1);
    }
}

/// Verdict Pipeline, invariant 2; Audit Trail, invariant 8.
#[test]
fn a_session_without_a_question_keeps_its_tier_in_the_log_and_in_its_verdict() {
    for found_by in ["webhook", "page", "order"] {
        let mut session = paid_session("cs_test_unusable_sale", "strategy", Some(ADDRESS));
        session.metadata.remove("q0");
        let mut sim = Simulator::with_session(session);
        match found_by {
            "page" => drop(sim.page()),
            "order" => sim.send(Message::order(sim.session.clone(), sim.now(), OrderedBy::Reconciliation)),
            _ => sim.stripe_delivers(),
        }
        sim.drain();
        let lines = sim.audit_lines();
        assert!(lines.len() > 2 && lines.iter().all(|line| line["tier"] == "strategy"), "{found_by}: {lines:?}");
        let untagged = lines.iter().filter(|line| line["email"].is_null()).count();
        assert_eq!(untagged, usize::from(found_by == "page"), "{found_by}: {lines:?}");
        // The row of an earlier version has no tier, so nothing refuses the operator's.
        sim.world.change_sales("tier", &None::<Tier>);
        sim.model_says(&strategy());
        let handed_in = Submission { tier: Tier::Quick, query: Query::parse(QUESTION).unwrap() };
        let ports = reattempt::Ports { journal: sim.journal(), submissions: &sim.world, orders: &sim.world };
        let operator = Operator::parse("dana", Some("answered by mail")).unwrap();
        let ordered = reattempt::reattempt(ports, &operator, &sim.session, Some(&handed_in), &[]);
        testkit::run(ordered).unwrap().unwrap();
        sim.drain();
        let page = body(&sim.page().unwrap());
        assert_eq!((&page["tier"], page["verdict"]["strategy"].is_object()), (&"strategy".into(), true), "{found_by}");
    }
}

#[test]
fn who_has_not_paid_gets_nothing_and_who_is_not_there_is_not_found() {
    let mut unpaid = paid_session("cs_test_unpaid_session", "quick", Some(ADDRESS));
    unpaid.payment_status = PaymentStatus::Unpaid;
    let mut sim = Simulator::with_session(unpaid);
    sim.model_says(&quick("GREEN", "Demand is real and the format fits."));
    assert_eq!(sim.page().unwrap().status(), 402);
    // Even if such an order gets into the queue, an unpaid session gets no verdict.
    let at = domain::Timestamp::from_seconds(1_800_000_000);
    sim.send(Message::order(sim.session.clone(), at, domain::message::OrderedBy::Webhook));
    sim.drain();
    assert!(sim.world.state().prompts.is_empty() && sim.world.state().cache.is_empty());
    assert_eq!(sim.sale().not_paid(), Some(domain::sale::NotPaid::Unpaid), "a human knows, and nobody chases it");
    assert_eq!(sim.page().unwrap().status(), 402);
    // Stripe does not know the session of a sale that the store has: the key is one of another account.
    sim.world.state().sessions.clear();
    let reply = sim.page().unwrap();
    assert_eq!((reply.status(), reply.header_value("retry-after").is_some()), (503, true));
    sim.world.state().sales.clear();
    let reply = sim.page().unwrap();
    assert_eq!((reply.status(), &body(&reply)["code"]), (404, &"not_found".into()));
}

/// A delivered sale whose verdict was lost in all stores and made again with another colour.
fn regenerated(first: &str, second: &str, refusals: usize) -> Simulator {
    let mut sim = Simulator::worked_off("quick", &quick(first, "Demand is real and the format fits."));
    sim.world.state().cache.clear();
    sim.world.state().archive.clear();
    sim.model_says(&quick(second, "Demand is real and the format fits."));
    sim.world.state().mailbox_says = (0..refusals).map(|_| Some(MailError::Unavailable(503))).collect();
    sim.page();
    sim.drain();
    sim
}

/// Regen Consistency, invariant 5 and verification criterion 5: only a significant divergence causes a mail. The page
/// announces each one (Regen Consistency, invariant 4).
#[test]
fn a_significant_divergence_is_mailed_once_and_a_minor_one_is_recorded_and_announced_on_the_page() {
    for (first, second, level, mails) in
        [("GREEN", "GREEN", "none", 1), ("GREEN", "AMBER", "minor", 1), ("GREEN", "RED", "significant", 2)]
    {
        let mut sim = regenerated(first, second, 0);
        sim.recover();
        let check = sim.audit_lines().into_iter().find(|line| line["event"] == "regen_divergence_check").unwrap();
        assert_eq!((&check["divergence_level"], &check["top_level_match"]), (&level.into(), &(first == second).into()));
        assert_eq!((&check["original_verdict"], &check["regen_verdict"]), (&first.into(), &second.into()));
        let notice = body(&sim.page().unwrap())["notice"].clone();
        assert_eq!(notice.is_string(), level != "none", "{first} {second}");
        let state = sim.world.state();
        assert_eq!(state.sent.len(), mails, "{first} {second}");
        if mails == 2 {
            let (_, note) = &state.sent[1];
            assert_eq!(note.subject, "A note about your 42 Sisters AI Verdict");
            assert!(note.body.contains("NOTE: Due to a technical condition, the verdict on your results page may"));
            let checked = domain::Timestamp::parse(check["timestamp"].as_str().unwrap()).unwrap();
            assert!(state.mail_calls.last().unwrap().1 - checked.as_millis() < 60_000, "within a minute");
        }
    }
}

/// Regen Consistency, failure mode 4: one retry after a minute, then an operator is alerted.
#[test]
fn a_note_about_a_divergence_is_tried_once_more_after_a_minute() {
    let sim = regenerated("GREEN", "RED", 1);
    let calls: Vec<i64> =
        sim.world.state().mail_calls.iter().filter(|(name, _)| *name == "create").map(|c| c.1).collect();
    assert_eq!((calls.len(), calls[2] - calls[1]), (3, 60_000), "the verdict, the note, and the note again");
    assert_eq!(sim.world.state().sent.len(), 2);
    let sim = regenerated("GREEN", "RED", 9);
    let state = sim.world.state();
    assert_eq!((state.sent.len(), state.mail_calls.len()), (1, 4));
    assert!(matches!(state.sales[&sim.session].0.divergence(), Mail::Dead { .. }));
    assert!(state.alerts.iter().any(|alert| alert.line.contains("DEAD LETTER")));
}

/// The specification tolerates the conflict, so an alarm counts it.
#[test]
fn a_verdict_that_every_dimension_opposes_is_sold_and_counted() {
    for (top, opposed) in [("GREEN", 1), ("AMBER", 0)] {
        let mut reply: serde_json::Value = serde_json::from_str(&strategy()).unwrap();
        reply["verdict"] = top.into();
        for dimension in reply["breakdown"].as_object_mut().unwrap().values_mut() {
            dimension["verdict"] = "RED".into();
        }
        let sim = Simulator::worked_off("strategy", &reply.to_string());
        assert_eq!(body(&sim.page().unwrap())["verdict"], reply);
        assert_eq!(sim.world.state().counted(domain::Metric::VerdictOpposed), opposed, "{top}");
    }
}

/// The page needs neither its record nor its message, so operators are told instead.
#[test]
fn what_a_page_cannot_record_or_queue_is_alerted() {
    let is_alerted = |sim: &Simulator, channel, part: &str| {
        sim.world.state().alerts.iter().any(|alert| alert.channel == channel && alert.line.contains(part))
    };
    let sim = Simulator::worked_off("quick", &quick("GREEN", "Demand is real and the format fits."));
    sim.world.plan(Plan::none().whenever("store.save", Fault::Fail));
    assert_eq!(sim.page().unwrap().status(), 200);
    assert!(is_alerted(&sim, Channel::Ops, "retrieval not recorded"));
    let sim = Simulator::with_session(paid_session("cs_test_unusable_sale", "premium", Some(ADDRESS)));
    sim.world.plan(Plan::none().whenever("queue.send", Fault::Fail));
    assert_eq!(sim.page().unwrap().status(), 500);
    assert!(is_alerted(&sim, Channel::Critical, "[SILENT-DROP] notice not queued"));
}

/// Product Tiers VC-6, Audit Trail VC-4.
#[test]
fn no_address_is_stored_anywhere_and_no_question_in_the_log() {
    let sim = Simulator::worked_off("quick", &quick("GREEN", "Demand is real and the format fits."));
    sim.page();
    let state = sim.world.state();
    let stored = serde_json::to_string(&(
        state.sales.values().map(|(sale, _)| sale).collect::<Vec<_>>(),
        state.cache.values().collect::<Vec<_>>(),
        state.archive.values().collect::<Vec<_>>(),
    ))
    .unwrap();
    assert!(!stored.contains("example.com"), "no address beside a question");
    for line in state.log.values() {
        assert!(!line.contains('@') && !line.contains("second shop") && !line.contains("Demand is real"), "{line}");
    }
    for alert in &state.alerts {
        assert!(!alert.line.contains("example.com"));
    }
}
