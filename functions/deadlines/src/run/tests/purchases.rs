//! Runs that settle purchases in USDC and remind operators of them.

use super::*;
use audit::TollJournal;
use domain::toll::{Answered, Claimed, Offer, Paid, Purchase, SignedPayment, Stage, purchase_id};

pub(super) fn settlements(world: &World) -> settlement::Ports<'_> {
    let journal = TollJournal { store: world, log: world, alerts: world, clock: world };
    settlement::Ports { journal, facilitator: world, node: world }
}

/// A new purchase with a signed payment.
fn signed() -> Purchase {
    let payment = SignedPayment {
        version: 2,
        payload: "signed".into(),
        requirements: "required".into(),
        network: "n".to_owned(),
        amount: 50_000,
        payer: "0x1".to_owned(),
        nonce: "0x2".to_owned(),
        valid_before: START.plus(Duration::from_secs(300)),
    };
    let id = purchase_id(&"a".repeat(64)).unwrap();
    Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), Paid::Signed(Box::new(payment)), START)
}

fn world_with(purchase: Purchase) -> World {
    let world = world([]);
    world.state().purchases.insert(purchase.id().clone(), (purchase, 1));
    world
}

/// The process ended while the facilitator settled the payment, and the payer does not ask again.
#[test]
fn a_payment_whose_settlement_has_no_outcome_is_settled() {
    let mut answered = signed();
    assert_eq!(answered.claim("o", START, HOUR, "e".into()), Claimed::Granted);
    let answer = Answered { body: "{}".to_owned(), facts: "f".into(), at: START };
    answered.answer("o", answer, START).unwrap();
    let world = world_with(answered);
    assert_eq!(run_once(&world, true), Some(Report::default()), "the first attempt may still run");
    world.advance(Duration::from_secs(60));
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    let state = world.state();
    assert_eq!(state.chain.settled, 1);
    let (purchase, _) = state.purchases.values().next().unwrap();
    assert!(matches!(purchase.stage(), Stage::Settled { .. }), "{purchase:?}");
}

#[test]
fn operators_are_reminded_once_a_day_of_a_purchase_that_waits_for_them() {
    let mut owed = signed();
    assert_eq!(owed.settled("0xab", true, START), Ok(true));
    let world = world_with(owed);
    for hour in 1..=72 {
        later(&world, HOUR);
        assert_eq!(world.state().alerts.len(), hour / 24, "after {hour} h");
    }
    let state = world.state();
    assert!(state.alerts.iter().all(|alert| alert.line.contains("oracle toll list")), "{:?}", state.alerts);
}

#[test]
fn purchases_that_cannot_be_listed_count_as_one_failure() {
    let world = world([sale(1)]);
    world.advance(HOUR);
    world.plan(Plan::none().whenever("purchases.listed", Fault::Fail));
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 1, left: 0 }));
    assert_eq!(world.state().queue.len(), 1, "the lost order is sent again all the same");
}
