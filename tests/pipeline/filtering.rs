//! The content filter in the pipeline: terms are replaced, verdicts are held, questions are echoed or withheld.

use crate::{
    samples::{QUESTION, body, quick},
    simulator::Simulator,
};
use domain::{message::Message, texts};
use serde_json::json;

#[test]
fn a_term_with_a_substitute_is_replaced_in_page_and_mail() {
    let sim = Simulator::worked_off("quick", &quick("GREEN", "MNEMOS shows that demand is real."));
    let summary = body(&sim.page().unwrap())["verdict"]["summary"].as_str().unwrap().to_owned();
    assert!(!summary.contains("MNEMOS") && summary.contains("knowledge base"), "{summary}");
    assert!(sim.world.state().sent[0].1.body.contains(&summary));
    let lines = sim.audit_lines();
    let run = lines.iter().find(|line| line["gate"] == 1).unwrap();
    assert_eq!((&run["outcome"], &run["hits"][0]["hit"]["term"]), (&"REPLACE".into(), &"MNEMOS".into()));
    assert!(run["list_hash"].as_str().is_some_and(|hash| hash.len() == 64));
}

/// Content filter GAP-L: the log says why the page differs from the mail, however often the page was opened before.
#[test]
fn what_gate_2_changes_after_the_last_recorded_retrieval_is_recorded_once() {
    let sim = Simulator::worked_off("quick", &quick("GREEN", "Demand is real."));
    for cached in sim.world.state().cache.values_mut() {
        cached.verdict.summary = "MNEMOS shows that demand is real.".to_owned();
    }
    sim.world.change_sales("retrievals", &domain::sale::MAX_RECORDED_RETRIEVALS);
    for _ in 0..2 {
        let summary = body(&sim.page().unwrap())["verdict"]["summary"].as_str().unwrap().to_owned();
        assert!(summary.contains("knowledge base"), "{summary}");
        let lines = sim.audit_lines();
        let is_change = |line: &&serde_json::Value| line["gate"] == 2 && line["outcome"] == "REPLACE";
        assert_eq!(lines.iter().filter(is_change).count(), 1);
    }
}

#[test]
fn a_held_verdict_reaches_nobody_and_is_kept_for_review() {
    let sim = Simulator::worked_off("quick", &quick("GREEN", "The CSDM says that demand is real."));
    let page = sim.page().unwrap();
    assert_eq!((page.status(), page.body()), (202, r#"{"status":"in_review"}"#));
    let state = sim.world.state();
    assert!(state.cache.is_empty() && state.archive.is_empty() && state.sent.is_empty() && state.drafts.is_empty());
    let held: serde_json::Value = serde_json::from_str(&state.quarantine[0].1).unwrap();
    assert_eq!((&held["tier"], &held["terms"][0]), (&"quick".into(), &"CSDM".into()));
    assert_eq!(held["payload"]["summary"], "The CSDM says that demand is real.");
    assert!(held["session_id"].is_string() && held["held_at"].is_string());
    assert!(state.alerts.iter().any(|alert| alert.line.starts_with("[ORACLE-QUARANTINE] CRITICAL")));
    for line in state.log.values() {
        assert!(!line.contains("demand is real"), "the log holds no text: {line}");
    }
}

/// Content filter, failure mode 4: an operator decides about a finding of a newer list; the customer keeps the
/// page.
#[test]
fn a_finding_in_a_delivered_verdict_leaves_the_page_as_it_is_until_it_is_replaced() {
    let delivered = || {
        let sim = Simulator::worked_off("quick", &quick("GREEN", "Demand is real."));
        for cached in sim.world.state().cache.values_mut() {
            cached.verdict.summary = "The CSDM says that demand is real.".to_owned();
        }
        sim
    };
    let change = |sim: &Simulator, change: &dyn Fn(&mut domain::Sale)| {
        let mut state = sim.world.state();
        let (sale, version) = state.sales.get_mut(&sim.session).unwrap();
        change(sale);
        *version += 1;
    };
    let found = |sale: &mut domain::Sale| {
        drop(sale.found_again("1", 1, domain::Timestamp::from_seconds(1_800_000_100)).unwrap())
    };
    let operator = domain::Operator::parse("dana", Some("read it")).unwrap();
    let unseen = delivered();
    // The customer was served by mail, so no policy refunds the payment, and the page must not promise it.
    let in_review = json!({ "status": "in_review", "message": texts::IN_REVIEW_WITHOUT_REFUND });
    for _ in 0..2 {
        assert_eq!(body(&unseen.page().unwrap()), in_review, "no second look has come to it");
    }
    let kept = delivered();
    change(&kept, &found);
    for _ in 0..2 {
        let page = kept.page().unwrap();
        assert_eq!(
            (page.status(), body(&page)["verdict"]["summary"].as_str()),
            (200, Some("The CSDM says that demand is real."))
        );
        assert_eq!(kept.sale().fulfilment().as_str(), "ready");
        change(&kept, &|sale| drop(sale.dismiss_finding(&operator)));
    }
    assert!(kept.audit_lines().iter().any(|line| line["gate"] == 2 && line["outcome"] == "QUARANTINE"));
    let held = |sim: &Simulator| sim.world.state().counted(domain::Metric::Held);
    assert_eq!((held(&kept), held(&unseen)), (0, 1), "what is shown is not held");
    let replaced = delivered();
    change(&replaced, &found);
    change(&replaced, &|sale| {
        let new = domain::sale::NewVerdict { colour: domain::Colour::Green, verdict_hash: "h" };
        let now = domain::Timestamp::from_seconds(1_800_000_200);
        drop(sale.replace_finding(&operator, new, now).unwrap());
    });
    assert_eq!(body(&replaced.page().unwrap()), in_review, "what was replaced is not shown again");
}

/// Content filter GAP-L: a payload that cannot be quarantined is not delivered either.
#[test]
fn when_the_quarantine_cannot_be_written_nothing_is_delivered() {
    use testkit::{Fault, Plan};
    let mut sim = Simulator::new("quick");
    sim.model_always_says(&quick("GREEN", "The CSDM says that demand is real."));
    sim.stripe_delivers();
    sim.world.plan(Plan::none().whenever("quarantine.hold", Fault::Fail));
    sim.drain();
    assert!(sim.world.state().cache.is_empty() && sim.world.state().sent.is_empty());
    assert!(matches!(sim.dead[..], [Message::Order { .. }]), "the order waits in the dead-letter queue");
    // TMM Crosscheck, invariant 5. Nothing says that the verdict is held.
    let lines = sim.audit_lines();
    let recorded = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert_eq!(recorded("tmm_crosscheck"), sim.world.state().prompts.len());
    assert_eq!(recorded("content_filter"), 0, "{lines:?}");
}

#[test]
fn more_than_three_replacements_hold_the_payload() {
    let sim = Simulator::worked_off("quick", &quick("GREEN", "TMM and MNEMOS and MANTIS and CGNT-1 agree."));
    assert_eq!(sim.page().unwrap().body(), r#"{"status":"in_review"}"#);
}

#[test]
fn the_customers_own_blocked_words_cost_the_echo_and_nothing_else() {
    let mut sim = Simulator::new("quick");
    let question = "Is the CSDM a sound basis for a business?";
    sim.world.state().sessions.get_mut(&sim.session).unwrap().metadata.insert("q0".into(), question.into());
    sim.model_says(&quick("RED", "Nobody has shown that it works."));
    sim.stripe_delivers();
    sim.drain();
    let page = body(&sim.page().unwrap());
    assert_eq!(
        (&page["query_withheld"], &page["verdict"]["summary"]),
        (&true.into(), &"Nobody has shown that it works.".into())
    );
    assert!(!page.to_string().contains("CSDM") && page["query"].as_str().unwrap().contains("reference"));
    let mail = sim.world.state().sent[0].1.body.clone();
    assert!(!mail.contains("CSDM") && mail.contains("reference") && mail.contains("Nobody has shown"));
    assert!(sim.world.state().prompts[0].1.content.contains("CSDM"), "the model is asked what was asked");
}

/// A verdict that passes alone also passes in the mail: the lines around it, the customer's included, change nothing.
#[test]
fn a_verdict_reads_in_the_mail_as_it_reads_on_the_page() {
    for (question, summary) in [
        ("We hit 97.4% accuracy", "The bar for a new entrant is high, the threshold is clear."),
        ("I fear my options are manifold", "Your options are manifold"),
        ("Our gamma\n\nray lamp", "Sell it to hospitals first, they know what it is for."),
    ] {
        let mut sim = Simulator::new("quick");
        sim.world.state().sessions.get_mut(&sim.session).unwrap().metadata.insert("q0".into(), question.into());
        sim.model_says(&quick("GREEN", summary));
        sim.stripe_delivers();
        sim.drain();
        let page = body(&sim.page().unwrap());
        assert_eq!(page["verdict"]["summary"], summary);
        let mail = sim.world.state().sent[0].1.body.clone();
        assert!(mail.contains(&format!("\n{summary}\n")), "{mail}");
    }
}

#[test]
fn an_ordinary_question_is_echoed_to_the_letter() {
    let sim = Simulator::worked_off("quick", &quick("RED", "Nobody has shown that it works."));
    assert!(sim.world.state().sent[0].1.body.contains(QUESTION));
}

/// A contaminated cache entry, whatever its origin, reaches neither the page nor the mail.
#[test]
fn gate_2_holds_what_is_in_the_cache_already() {
    for page_first in [true, false] {
        let mut sim = Simulator::ordered("quick", &quick("GREEN", "Demand is real and the format fits."));
        // Only the verdict function runs: its mail order stays in the queue.
        let order = sim.world.state().queue.pop_front().unwrap();
        sim.world.state().queue.push_back(order);
        sim.world.plan(testkit::Plan::none().whenever("mailbox.create_draft", testkit::Fault::CrashBefore));
        sim.drain();
        sim.world.plan(testkit::Plan::none());
        sim.world.state().cache.values_mut().for_each(|cached| cached.verdict.summary = "The CSDM says yes.".into());
        if page_first {
            // A page never says that a verdict is in review while the sale does not.
            sim.world.plan(testkit::Plan::none().whenever("store.save", testkit::Fault::Fail));
            assert_eq!(sim.page().unwrap().status(), 503);
            sim.world.plan(testkit::Plan::none());
            assert_eq!(sim.page().unwrap().body(), r#"{"status":"in_review"}"#);
        }
        let (session_id, letter) = (sim.session.clone(), domain::mail::Letter::Verdict);
        let ordered_at = domain::Timestamp::from_seconds(1_800_000_000);
        sim.send(Message::Mail { v: 1, session_id, ordered_at, letter });
        sim.drain();
        assert!(sim.world.state().sent.is_empty(), "page first: {page_first}");
        assert_eq!(sim.page().unwrap().body(), r#"{"status":"in_review"}"#);
        // The attempt that could not hold the sale has kept its payload, too.
        assert_eq!(sim.world.state().quarantine.len(), if page_first { 2 } else { 1 });
    }
}
