use super::*;
use audit::{CommitError, Journal};
use domain::{
    CheckoutSession, PaymentStatus, Timestamp,
    money::{Authorisation, Money, PaymentId, RefundStatus},
    open_work::Work,
    ports::{Clock, MadeRefund, UnknownRefund},
};
use testkit::{Fault, Plan, World, every_two_faults, pairs_of_faults, run, session::paid};

fn session() -> CheckoutSession {
    CheckoutSession { payment: Some(PaymentId::parse("pi_1").unwrap()), ..paid("cs_test_1") }
}

fn world(session: CheckoutSession) -> World {
    let world = World::at(Timestamp::from_seconds(1_800_000_000));
    world.state().sessions.insert(session.id.clone(), session);
    world
}

fn alex() -> Authorisation {
    Authorisation::parse("alex", "asked for it").unwrap()
}

fn journal(world: &World) -> Journal<'_> {
    Journal { store: world, log: world, alerts: world, clock: world }
}

/// An operator's command: decides, then carries out. `None` when the process crashed.
fn refund(world: &World) -> Option<Result<Outcome, domain::StepError>> {
    let session = world.state().sessions.values().next().unwrap().clone();
    run(async {
        authorise(journal(world), &session, &alex(), world.now()).await?;
        carry_out(Ports { journal: journal(world), payments: world, ledger: world }, &session.id).await
    })
}

fn steps(world: &World) -> Vec<String> {
    let lines = world.state().records();
    lines.iter().map(|line| line["step"].as_str().unwrap().to_owned()).collect()
}

fn money(world: &World) -> Money {
    world.state().sales.values().next().unwrap().0.money().clone()
}

/// Decides and commits, as an operator's command does.
async fn authorise(
    journal: Journal<'_>,
    session: &CheckoutSession,
    authorisation: &Authorisation,
    now: Timestamp,
) -> Result<Decision, CommitError> {
    let sale = journal.load(&session.id, now).await?;
    let decided = journal.commit(sale, |sale, _| decide(sale, session, authorisation, now)).await?;
    Ok(decided.settle().await.1)
}

/// Silent Drop, invariants 6 and 7.
#[test]
fn a_refund_is_on_record_with_who_decided_it_and_how_much_it_was() {
    let world = world(session());
    assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refunded);
    assert_eq!(steps(&world), ["authorised", "confirmed"]);
    let state = world.state();
    for line in state.records() {
        assert_eq!(
            (&line["event"], &line["by"], &line["reason"]),
            (&"refund".into(), &"alex".into(), &"asked for it".into())
        );
        assert_eq!((&line["amount_total"], &line["currency"]), (&500.into(), &"cad".into()));
    }
    assert_eq!(
        state.refunds.iter().map(|(of, made)| (made.key.as_deref(), of.as_str())).collect::<Vec<_>>(),
        [(Some("refund-cs_test_1"), "pi_1")]
    );
    let (sale, _) = state.sales.values().next().unwrap();
    assert_eq!((sale.open_work(), state.alerts.len()), (None, 0));
}

#[test]
fn whatever_breaks_the_money_goes_back_once_and_the_log_tells_it_once() {
    let clean = world(session());
    refund(&clean).unwrap().unwrap();
    let boundaries = clean.passed();
    assert!(boundaries > 8, "{boundaries}");
    for (plan, what) in every_two_faults(boundaries, 6, &pairs_of_faults()) {
        let world = world(session());
        world.plan(plan);
        for _ in 0..4 {
            drop(refund(&world));
        }
        world.plan(Plan::none());
        assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refunded, "{what}");
        assert_eq!(world.state().refunds.len(), 1, "{what}");
        assert_eq!(steps(&world), ["authorised", "confirmed"], "{what}");
    }
}

/// A key without the permission is for a human to replace, and the next attempt uses the key that is stored then.
#[test]
fn a_refund_that_our_key_may_not_make_is_put_before_a_human_and_asked_for_again() {
    for call in ["ledger.refunds", "ledger.refund"] {
        let world = world(session());
        world.plan(Plan::none().whenever(call, Fault::Refuse(403)));
        assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refused("403".into()), "{call}");
        assert!(world.state().alerts[0].line.starts_with("[ORACLE-REFUND] CRITICAL"), "{call}");
        assert!(matches!(money(&world), Money::RefundAuthorised { .. }), "{call}");
        world.plan(Plan::none());
        assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refunded, "{call}");
    }
}

#[test]
fn a_refund_that_stripe_refuses_is_put_before_a_human_and_asked_for_again() {
    let world = world(session());
    world.state().refund_refused = Some("balance_insufficient".to_owned());
    assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refused("balance_insufficient".into()));
    let alerts = world.state().alerts.clone();
    assert_eq!(alerts.len(), 1);
    assert!(alerts[0].line.starts_with("[ORACLE-REFUND] CRITICAL") && alerts[0].line.contains("balance_insufficient"));
    assert!(alerts[0].line.contains("(oracle refunds record), which ends the requests"), "{}", alerts[0].line);
    assert!(matches!(money(&world), Money::RefundAuthorised { .. }));
    let due = world.state().sales.values().next().unwrap().0.open_work().unwrap();
    assert_eq!((due.work, due.due.since(world.now()).as_secs()), (Work::Refund, 1200));
    world.state().refund_refused = None;
    assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refunded);
    assert_eq!(steps(&world), ["authorised", "failed", "confirmed"]);
    assert_eq!(world.state().refunds[0].1.key.as_deref(), Some("refund-cs_test_1-1"), "a key replays its refusal");
}

/// A bounced refund is not repeated automatically: a human issues it again, as another attempt with another key.
#[test]
fn a_refund_that_bounces_is_a_humans_to_issue_again() {
    for status in [RefundStatus::Failed, RefundStatus::Canceled] {
        let world = world(session());
        world.state().refund_status = Some(status);
        assert!(matches!(refund(&world).unwrap().unwrap(), Outcome::Bounced { .. }));
        assert!(matches!(money(&world), Money::RefundFailed { refund: Some(_), .. }));
        assert_eq!(world.state().alerts.len(), 1);
        let known = world.state().sales.values().next().unwrap().0.payment().refunds().to_vec();
        assert_eq!(known.iter().map(|refund| refund.status).collect::<Vec<_>>(), [status], "for its late report");
        let open = world.state().sales.values().next().unwrap().0.open_work().unwrap();
        assert_eq!(open.work, Work::RefundFailed);
        let ports = Ports { journal: journal(&world), payments: &world, ledger: &world };
        assert_eq!(run(carry_out(ports, &session().id)).unwrap().unwrap(), Outcome::NotAuthorised, "no machine does");
        world.state().refund_status = None;
        assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refunded);
        let state = world.state();
        let keys: Vec<_> = state.refunds.iter().map(|(_, made)| made.key.as_deref().unwrap()).collect();
        assert_eq!(keys, ["refund-cs_test_1", "refund-cs_test_1-1"]);
    }
}

/// The reply to the first request says `pending` as long as its key is valid; the refund itself is more up to date.
#[test]
fn what_exists_is_looked_at_before_anything_is_asked_for() {
    let world = world(session());
    let payment = || PaymentId::parse("pi_1").unwrap();
    let made = |key: Option<&str>, amount, status| MadeRefund {
        id: domain::money::ObjectId::parse("re_9").unwrap(),
        amount: Some(amount),
        status,
        key: key.map(str::to_owned),
    };
    let canceled = made(Some("refund-cs_test_1"), 500, RefundStatus::Canceled);
    let bounced = Outcome::Bounced { code: "refund_canceled".into(), made: canceled.clone() };
    for (known, expected) in [
        (canceled, bounced),
        (made(Some("refund-cs_test_1"), 500, RefundStatus::Succeeded), Outcome::Refunded),
        (made(None, 500, RefundStatus::Succeeded), Outcome::Refunded),
    ] {
        let world = self::world(session());
        world.state().refunds.push((payment(), known));
        assert_eq!(refund(&world).unwrap().unwrap(), expected);
        assert_eq!(world.state().refunds.len(), 1, "nothing more is asked for");
    }
    world.state().refunds.push((payment(), made(None, 500, RefundStatus::Failed)));
    assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refunded);
    assert_eq!(world.state().refunds.len(), 2, "an old one that failed gives nothing back");
}

/// Another refund that cannot be read does not hold this one up. This attempt's own is not asked for a second time.
#[test]
fn a_refund_that_cannot_be_read_stops_its_own_attempt_only() {
    for (key, expected, made) in [(None, Some(Outcome::Refunded), 1), (Some("refund-cs_test_1"), None, 0)] {
        let world = world(session());
        let id = domain::money::ObjectId::parse("re_9").unwrap();
        world.state().unknown_refunds.push(UnknownRefund { id, key: key.map(str::to_owned) });
        assert_eq!(refund(&world).unwrap().ok(), expected, "{key:?}");
        assert_eq!(world.state().refunds.len(), made, "{key:?}");
    }
}

#[test]
fn a_sale_without_a_payment_cannot_be_refunded_by_a_machine() {
    let world = world(CheckoutSession { payment: None, ..session() });
    assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Refused("no_payment".into()));
    assert!(world.state().refunds.is_empty());
}

#[test]
fn what_stripe_works_on_is_asked_for_again_and_operators_hear_of_it_in_the_end() {
    let world = world(session());
    world.state().refund_status = Some(RefundStatus::Pending);
    for alerts in [0, 0, 1] {
        assert_eq!(refund(&world).unwrap().unwrap(), Outcome::Pending);
        assert_eq!(world.state().alerts.len(), alerts);
    }
    assert_eq!(steps(&world), ["authorised", "issued", "issued", "issued"]);
    assert_eq!(world.state().refunds.len(), 1, "one key");
}

#[test]
fn a_second_decision_changes_nothing_and_none_is_made_where_nothing_can_go_back() {
    let world = world(session());
    let decided = |by: &str| {
        let authorisation = Authorisation::parse(by, "x").unwrap();
        run(authorise(journal(&world), &session(), &authorisation, world.now())).unwrap().unwrap()
    };
    assert_eq!((decided("alex"), decided("kim")), (Decision::Authorised, Decision::AlreadyAuthorised));
    assert!(matches!(money(&world), Money::RefundAuthorised { authorisation, .. } if authorisation.by() == "alex"));
    let at = Timestamp::from_seconds(1);
    for (state, expected) in [
        (Money::Refunded { at }, Decision::AlreadyRefunded),
        (Money::Disputed { at, refund: None, bounced: false }, Decision::Disputed),
    ] {
        world.change_sales("money", &state);
        assert_eq!(decided("kim"), expected);
        assert_eq!(money(&world), state);
    }
    assert_eq!(world.state().log.len(), 1);
    let unpaid = CheckoutSession { payment_status: PaymentStatus::Unpaid, ..session() };
    let other = self::world(unpaid.clone());
    let decision = run(authorise(journal(&other), &unpaid, &alex(), other.now())).unwrap().unwrap();
    assert_eq!(decision, Decision::NotPaid);
    assert!(other.state().sales.is_empty());
}

#[test]
fn nothing_goes_back_without_a_decision() {
    let world = world(session());
    let ports = Ports { journal: journal(&world), payments: &world, ledger: &world };
    assert_eq!(run(carry_out(ports, &session().id)).unwrap().unwrap(), Outcome::NotAuthorised);
    assert!(world.state().refunds.is_empty());
}
