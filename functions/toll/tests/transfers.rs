//! Transfers that a payer makes first and shows afterwards: what they buy, and when their money is owed.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::toll::{List, Paid, PaidBy, Stage};
use std::time::Duration;
use support::*;
use testkit::{Fault, Passage, Plan, World};

/// A node that lags behind does not have a transfer that another one has shown.
#[test]
fn an_unanswered_transfer_that_is_gone_is_looked_for_for_a_day_and_then_alerted() {
    for catches_up in [true, false] {
        let world = unanswered_transfer();
        let transfer = world.state().chain.transfers.remove(TRANSACTION).unwrap();
        look_after(&world, 23 * 3_600);
        assert!(matches!(purchase(&world).unwrap().stage(), Stage::Unanswered) && world.state().alerts.is_empty());
        if catches_up {
            world.state().chain.transfers.insert(TRANSACTION.to_owned(), transfer);
            look_after(&world, 60);
            assert!(matches!(purchase(&world).unwrap().stage(), Stage::Owed { .. }), "the money is here after all");
            continue;
        }
        look_after(&world, 3_600);
        expect_untraced(&world, showing("/query", TRANSACTION));
        let (state, why) = (world.state(), "not on the chain any more");
        assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains(why)).count(), 1);
        assert!(state.log.values().any(|line| line.contains(why) && line.contains("RPC_UNREACHABLE")));
    }
}

/// The node has shown the transfer before, so the money is here.
#[test]
fn an_unanswered_transfer_is_owed_after_a_day_without_an_answer_of_the_node() {
    let world = unanswered_transfer();
    world.plan(Plan::none().whenever("node.transfer", Fault::Fail));
    world.advance(Duration::from_secs(23 * 3_600));
    assert_eq!(look(&world).unwrap().failed, 1);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Unanswered) && world.state().alerts.is_empty());
    world.advance(Duration::from_secs(3_600));
    assert_eq!(look(&world).unwrap().failed, 0);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Owed { .. }));
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("give it back")));
}

/// The money is here, and no request of the payer can buy anything for it.
#[test]
fn a_transfer_that_can_buy_nothing_any_more_is_owed() {
    let world = transferred(50_000);
    world.state().chain.transferred_at.insert(TRANSACTION.to_owned(), NOW * 1000);
    world.plan(Plan::none().whenever("node.transfer", Fault::Fail));
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 503);
    world.plan(Plan::none());
    world.advance(Duration::from_secs(3_601));
    for _ in 0..2 {
        assert_code(&show(&world, "/query", TRANSACTION), 409, "owed");
    }
    let found = purchase(&world).unwrap();
    assert!(matches!(found.next(), Some((List::Humans, _))), "{found:?}");
    let state = world.state();
    assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains("give it back")).count(), 1);
    assert!(state.log.values().any(|line| line.contains("the transaction is too old")));
}

#[test]
fn a_transfer_of_another_amount_is_owed_unless_it_is_the_price_of_another_offer() {
    let odd = transferred(60_000);
    assert_eq!(show(&odd, "/query", TRANSACTION).status(), 409);
    let found = purchase(&odd).unwrap();
    assert!(matches!(found.stage(), Stage::Owed { .. }));
    assert!((found.dollars() - 0.06).abs() < f64::EPSILON, "what is given back");
    // More millionths than 32 bits hold.
    let huge = transferred(50_000_000_000);
    assert_eq!(show(&huge, "/query", TRANSACTION).status(), 409);
    assert!((purchase(&huge).unwrap().dollars() - 50_000.0).abs() < f64::EPSILON);
    assert!(huge.state().log.values().any(|line| line.contains("\"amount_usdc\":50000.0,")));
    let dear = transferred(250_000);
    let reply = show(&dear, "/query", TRANSACTION);
    assert_eq!(reply.status(), 402);
    assert!(reply.body().contains("the price of /query/full and /analyze"), "{}", reply.body());
    assert!(purchase(&dear).is_none());
    let late = transferred(250_000);
    late.state().chain.transferred_at.insert(TRANSACTION.to_owned(), (NOW - 3_601) * 1000);
    assert_eq!(show(&late, "/query", TRANSACTION).status(), 409);
    let forgotten = transferred(50_000);
    forgotten.state().chain.transferred_at.insert(TRANSACTION.to_owned(), (NOW - 172_801) * 1000);
    for world in [forgotten, transferred(49_999)] {
        assert_eq!(show(&world, "/query", TRANSACTION).status(), 402);
        assert!(purchase(&world).is_none());
    }
}

/// The first payer to show a transaction of two payers gets no answer, and is owed only its own transfer.
#[test]
fn the_transfers_of_one_transaction_are_owed_to_their_own_payers() {
    let part = |payer: &str, amount| PaidBy { payer: payer.to_owned(), amount };
    let bundle = |first: u64, beside: Vec<PaidBy>| {
        let world = transferred(first);
        world.state().chain.beside.insert(TRANSACTION.to_owned(), beside);
        world
    };
    let shared = bundle(50_000, vec![part("0x2", 1_000_000)]);
    // Each of them asks a question of its own.
    for path in ["/query", "/query/premium"] {
        assert_code(&show(&shared, path, TRANSACTION), 409, "owed");
    }
    let found = purchase(&shared).unwrap();
    assert!(matches!(found.next(), Some((List::Humans, _))), "{found:?}");
    assert_eq!(found.payers(), [part("0x1", 50_000), part("0x2", 1_000_000)]);
    assert!(matches!(found.paid(), Paid::Transferred { payer, .. } if payer == "0x1 0.050000, 0x2 1.000000"));
    assert!((found.dollars() - 1.05).abs() < f64::EPSILON);
    let alerts = shared.state().alerts.iter().filter(|alert| alert.line.contains("each payer's part")).count();
    assert_eq!((alerts, shared.state().prompts.len()), (1, 0));
    look_after(&shared, 86_400);
    let reminders = reminders(&shared);
    assert!(reminders.len() == 1 && reminders[0].contains("give each payer's part back"), "{reminders:?}");
    // What is not worth returning is left out, and then one payer may be left, or none.
    let small = bundle(75_000, vec![part("0x2", 49_999)]);
    assert_code(&show(&small, "/query", TRANSACTION), 409, "owed");
    let found = purchase(&small).unwrap();
    assert!(matches!(found.paid(), Paid::Transferred { payer, .. } if payer == "0x1"));
    assert!(found.payers().is_empty() && (found.dollars() - 0.075).abs() < f64::EPSILON);
    let nothing = bundle(49_999, vec![part("0x2", 49_999)]);
    assert_eq!(show(&nothing, "/query", TRANSACTION).status(), 402);
    assert!(purchase(&nothing).is_none());
}

/// Its payer, or a facilitator of its own, has submitted it, and shows the transaction instead of the payment.
#[test]
fn a_signed_transfer_that_was_never_shown_to_us_is_owed() {
    let (world, payment) = offered();
    submit(&world, &payment, TRANSACTION, true);
    for _ in 0..2 {
        assert_code(&show(&world, "/query", TRANSACTION), 409, "owed");
    }
    assert_code(&query(&world, &payment), 409, "owed");
    let found = purchase(&world).unwrap();
    assert!(matches!(found.next(), Some((List::Humans, _))), "{found:?}");
    let state = world.state();
    assert_eq!((state.purchases.len(), state.prompts.len(), state.chain.settled), (1, 0, 0));
    assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains("give it back")).count(), 1);
}

#[test]
fn the_transaction_of_a_payment_that_has_bought_buys_nothing_more() {
    let (world, payment) = offered();
    let bought = query(&world, &payment);
    let sold = purchase(&world).unwrap();
    let reply = show(&world, "/query", sold.transaction().unwrap());
    assert_eq!(reply.status(), 402);
    assert!(reply.body().contains("send that payment"), "{}", reply.body());
    assert!(world.state().purchases.len() == 1 && world.state().alerts.is_empty());
    assert_eq!(query(&world, &payment).body(), bought.body());
}

#[test]
fn an_earlier_transfer_buys_once_for_the_first_that_shows_it() {
    let world = world();
    assert_code(&show(&world, "/query", TRANSACTION), 402, "payment_unconfirmed");
    world.state().chain.transfers.insert(TRANSACTION.to_owned(), ("0x1".to_owned(), 50_000));
    assert_eq!(show(&world, "/query/full", TRANSACTION).status(), 402);
    let reply = show(&world, "/query", TRANSACTION);
    assert_eq!(reply.status(), 200, "{}", reply.body());
    assert_eq!(show(&world, "/query", TRANSACTION).body(), reply.body());
    let other = unpaid("/query", "Open a third shop?").with_header("x-payment-transaction", TRANSACTION);
    assert_eq!(send(&world, other).unwrap().status(), 409);
    assert_eq!(world.state().chain.settled, 0);
}

#[test]
fn a_transfer_that_bought_nothing_is_put_before_a_human() {
    let world = unanswered_transfer();
    look_after(&world, 3601);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Owed { .. }));
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("give it back")));
}

/// The schedule reads a purchase that waits for a human when its reminder is due, and not in every run.
#[test]
fn what_waits_for_a_human_is_read_once_a_day_with_an_alert() {
    let world = unanswered_transfer();
    look_after(&world, 3_601);
    for (seconds, due) in [(86_399, 0), (1, 1), (86_399, 0), (1, 1)] {
        world.advance(Duration::from_secs(seconds));
        assert_eq!(look(&world).unwrap().due, due, "{seconds}");
    }
    let reminders = reminders(&world);
    assert!(reminders.len() == 2 && reminders[0].contains("for a human for 24 h: a payment"), "{reminders:?}");
}

/// The reminders that operators got.
fn reminders(world: &World) -> Vec<String> {
    let state = world.state();
    let lines = state.alerts.iter().map(|alert| alert.line.clone());
    lines.filter(|line| line.contains("waits for a human")).collect()
}

/// Shows this many transfers that buy nothing, and waits after each.
fn owe(world: &World, count: u32, wait: Duration) {
    for number in 0..count {
        let transaction = format!("0x{number:064x}");
        world.state().chain.transfers.insert(transaction.clone(), ("0x1".to_owned(), 60_000));
        assert_eq!(show(world, "/query", &transaction).status(), 409);
        world.advance(wait);
    }
}

/// However many there are and however slow the store is, the next run repeats no reminder.
#[test]
fn a_reminder_is_one_note_and_changes_no_purchase() {
    let world = world();
    owe(&world, 2, Duration::ZERO);
    world.advance(Duration::from_secs(86_400));
    world.plan(Plan::none().whenever("purchases.save", Fault::Fail));
    for _ in 0..2 {
        assert_eq!(look(&world).unwrap().failed, 0);
        world.advance(Duration::from_secs(300));
    }
    let raised = reminders(&world);
    assert!(raised.len() == 1 && raised[0].contains("h, and 1 other: a payment"), "{raised:?}");
    // A reminder that cannot be noted is repeated, and is not a failure.
    world.advance(Duration::from_secs(86_400));
    world.plan(Plan::none().whenever("notes.save", Fault::Fail));
    for expected in [2, 3] {
        assert_eq!((look(&world).unwrap().failed, reminders(&world).len()), (0, expected));
    }
}

/// With one alert for each, a sender of many small transfers could fill the operators' mailboxes every day.
#[test]
fn a_hundred_owed_payments_are_reminded_of_in_one_alert_a_day() {
    let world = world();
    owe(&world, 100, Duration::from_secs(60));
    for _ in 0..72 {
        look_after(&world, 3_600);
    }
    let raised = reminders(&world);
    assert!(raised.len() == 3 && raised.iter().all(|line| line.contains("h, and 99 others: ")), "{raised:?}");
}

/// The list grows with what strangers send.
#[test]
fn within_a_day_of_a_reminder_no_run_reads_the_list_for_humans() {
    let world = world();
    owe(&world, 1, Duration::ZERO);
    look_after(&world, 86_400);
    assert_eq!(reminders(&world).len(), 1);
    world.state().boundaries.clear();
    look_after(&world, 300);
    let lists = world.state().boundaries.iter().filter(|name| **name == "purchases.listed").count();
    assert_eq!(lists, 1, "that of the machines");
}

/// However many cannot be read, the rest of the run has its time.
#[test]
fn a_reminder_that_can_read_no_purchase_ends_in_time() {
    let world: &'static World = Box::leak(Box::new(world()));
    owe(world, 5, Duration::ZERO);
    world.advance(Duration::from_secs(86_400));
    world.surround(Box::new(move |name, _| {
        let is_read = name == "purchases.load";
        if is_read {
            world.advance(Duration::from_secs(4));
        }
        Passage { fault: is_read.then_some(Fault::Fail), ..Passage::default() }
    }));
    let report = look(world).unwrap();
    assert_eq!((report.failed, report.left), (3, 1));
}

/// However many wait for a human, an agent's payment is decided first.
#[test]
fn open_settlements_are_decided_before_operators_are_reminded() {
    let world = transferred(60_000);
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 409);
    world.advance(Duration::from_secs(86_000));
    let price = required(&send(&world, unpaid("/query", QUESTION)).unwrap());
    let payment = pay_as((PAYER, KEY), &price, 1, world.state().now / 1000);
    assert_code(&query_despite("model.ask", Fault::Fail, &world, &payment), 503, "no_answer");
    world.advance(Duration::from_secs(400));
    world.plan(Plan::none().whenever("alerts.raise", Fault::CrashBefore));
    assert!(look(&world).is_none(), "it dies at the reminder");
    let state = world.state();
    let mut stages = state.purchases.values().map(|(purchase, _)| purchase.stage());
    assert!(stages.any(|stage| matches!(stage, Stage::Lapsed { .. })));
}
