//! Reports of mail systems about mails of ours.

use super::*;
use domain::chat::BRIDGE_PREFIX;

const REPORT: &str = "multipart/report; report-type=delivery-status; boundary=x";

/// A message in the conversation of a mail of the sale.
fn arrives_about(world: &World, number: u32, sender: &str, headers: &[(&str, &str)]) {
    let mut unread = unread(&format!("m{number}"), number, sender);
    unread.message.headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut state = world.state();
    state.conversations.insert(format!("conversation of m{number}"), session());
    state.inbox.push(unread);
}

/// A world after its first run, in which a mail of a sale came back.
fn returned() -> World {
    let world = replied();
    world.state().inbox.clear();
    arrives_about(&world, 1, "MAILER-DAEMON@mx.example", &[("Content-Type", REPORT)]);
    world
}

fn waiting(world: &World) -> Vec<(String, Option<bool>)> {
    let sale = world.state().sales[&session()].0.clone();
    sale.waiting_replies().map(|reply| (reply.message.clone(), reply.from_buyer)).collect()
}

#[test]
fn a_returned_mail_puts_its_sale_on_the_list_and_alerts_and_is_not_answered() {
    let world = returned();
    looks(&world, 2, "a report");
    assert_eq!(waiting(&world), [("m1".to_owned(), Some(false))]);
    let work = world.state().sales[&session()].0.open_work().map(|open| open.work);
    assert_eq!(work, Some(Work::Reply));
    assert!(world.state().sales[&session()].0.replies()[0].is_report);
    let records = world.state().records();
    let record = records.iter().find(|record| record["event"] == "customer_reply").unwrap();
    assert_eq!(record["is_report"], true);
    assert_eq!(warnings_with(&world, "a mail of c3D4e5F6 may not have arrived: oracle replies show c3D4e5F6"), 1);
    assert_eq!((outcomes(&world), announced_and_sent(&world)), (vec!["delivery_report".to_owned()], (1, 0)));
    assert!(!is_inquiry(&world, "m1") && saved_state(&world).at_hand.is_empty());
}

/// Anybody can write a report. Many of them take no room from a customer's replies.
#[test]
fn further_reports_alert_and_add_nothing_to_the_sale() {
    let world = returned();
    for number in 2..8 {
        arrives_about(&world, number, &format!("postmaster@mx{number}.example"), &[]);
    }
    arrives_about(&world, 8, "buyer@example.com", &[]);
    looks(&world, 3, "reports");
    let waiting: Vec<String> = waiting(&world).into_iter().map(|(message, _)| message).collect();
    assert_eq!(waiting, ["m1", "m8"]);
    assert_eq!(warnings_with(&world, "may not have arrived"), 7);
    assert_eq!(warnings_with(&world, "oracle replies show c3D4e5F6"), 1);
    assert_eq!(warnings_with(&world, "may not have arrived: the sale's list of replies has no room for the report"), 6);
    assert_eq!(announced_and_sent(&world).1, 0, "no mail is sent: no sender is confirmed");
}

#[test]
fn what_is_no_report_or_about_no_mail_of_ours_alerts_nobody() {
    let automatic = returned();
    automatic.state().inbox.clear();
    arrives_about(&automatic, 1, "buyer@example.com", &[("Auto-Submitted", "auto-replied")]);
    let unknown = returned();
    unknown.state().conversations.clear();
    let erased = returned();
    let dana = domain::operator::Operator::parse("dana", Some("asked")).unwrap();
    erased.state().sales.get_mut(&session()).unwrap().0.erase(&dana, at(0)).unwrap();
    for (world, what) in [(automatic, "automatic"), (unknown, "unknown"), (erased, "erased")] {
        looks(&world, 2, what);
        assert!(waiting(&world).is_empty(), "{what}");
        assert_eq!(warnings_with(&world, "DELIVERY_REPORT"), 0, "{what}");
        assert_eq!(outcomes(&world), ["skipped_automatic"], "{what}");
    }
}

#[test]
fn a_returned_mail_about_a_bridge_alerts() {
    let world = returned();
    let name = SessionId::parse(format!("{BRIDGE_PREFIX}{}", "b".repeat(64))).unwrap();
    world.state().conversations.insert("conversation of m1".to_owned(), name);
    looks(&world, 2, "a report");
    assert_eq!(warnings_with(&world, "oracle bridge show bbbbbbbbbbbb"), 1);
    assert!(waiting(&world).is_empty());
}

#[test]
fn whatever_breaks_a_returned_mail_is_alerted_and_on_the_list_once() {
    for (world, what) in broken(returned, 8) {
        looks(&world, 8, &what);
        assert_eq!(waiting(&world).len(), 1, "{what}");
        // An alert that cannot be raised is logged.
        let state = world.state();
        let words = "a mail of c3D4e5F6 may not have arrived: oracle replies show c3D4e5F6";
        let said = |alert: &domain::Alert| alert.line.contains(words);
        assert!(state.alerts.iter().chain(&state.logged_alerts).any(said), "{what}");
        drop(state);
        assert_eq!((outcomes(&world), announced_and_sent(&world).1), (vec!["delivery_report".to_owned()], 0), "{what}");
    }
}

/// The search for its sale fails again and again.
#[test]
fn a_report_whose_sale_cannot_be_found_is_left_to_operators() {
    let world = returned();
    world.plan(Plan::none().whenever("inbox.sale_of", Fault::Fail));
    looks(&world, MOST_FAILURES + 1, "a sale that cannot be found stops no run");
    assert_eq!(warnings_with(&world, "the search for a message's sale failed"), 1);
    assert_eq!(outcomes(&world), ["skipped_automatic"]);
    assert!(saved_state(&world).at_hand.is_empty());
}
