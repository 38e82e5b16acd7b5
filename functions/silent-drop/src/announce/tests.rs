use super::*;
use domain::{Channel, EmailAddress, PaymentStatus, mail::Mail, money::Money, sale::Claimant};
use testkit::{Fault, Plan, World, every_two_faults, pairs_of_faults, run, sale::WithField, session::paid};

fn session(email: Option<&str>) -> CheckoutSession {
    CheckoutSession {
        metadata: [("tier", "premium"), ("q0", "Open a shop?"), ("qn", "1")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        email: email.map(|address| EmailAddress::parse(address).unwrap()),
        amount_total: Some(100),
        ..paid("cs_test_dropped_1234")
    }
}

fn world(session: CheckoutSession) -> World {
    let world = World::at(Timestamp::from_seconds(1_800_000_000));
    world.state().sessions.insert(session.id.clone(), session);
    world
}

fn deliver(world: &World) -> Option<Result<Handled, StepError>> {
    let audit_keys = world.secret(&format!(r#"{{"current":"v1","keys":{{"v1":"{}"}}}}"#, "k".repeat(32)));
    let journal = Journal { store: world, log: world, alerts: world, clock: world };
    let ports = Ports { journal, payments: world, mails: world, audit_keys: &audit_keys };
    let received_at = Timestamp::from_seconds(1_800_000_000);
    let session_id = SessionId::parse("cs_test_dropped_1234").unwrap();
    run(announce(ports, &Notice { session_id, received_at }))
}

/// Silent Drop, verification criteria 1 and 3, invariant 7.
#[test]
fn a_drop_is_alerted_recorded_and_its_mail_ordered() {
    let world = world(session(Some("someone@example.com")));
    assert_eq!(deliver(&world).unwrap().unwrap(), Handled::Done);
    let state = world.state();
    assert_eq!(state.alerts.iter().map(|alert| alert.channel).collect::<Vec<_>>(), [Channel::Critical]);
    let line = &state.alerts[0].line;
    assert!(line.starts_with("[SILENT-DROP] session=ped_1234 tier=\"premium\" query_len=12 email=hmac"));
    assert!(line.contains("amount=100_CAD") && !line.contains("example.com"), "{line}");
    assert!(matches!(state.queue[0].0, Message::Mail { letter: Letter::SilentDrop, .. }));
    drop(state);
    let lines = world.state().records();
    assert_eq!((&lines[0]["source"], &lines[0]["status"]), (&"webhook".into(), &"ERROR".into()));
    assert_eq!(lines[1]["event"], "silent_drop");
    assert_eq!((&lines[1]["amount_total"], &lines[1]["currency"]), (&100.into(), &"cad".into()));
}

/// Silent Drop, invariant 3: also without an address.
#[test]
fn a_drop_without_an_address_is_alerted_too() {
    let world = world(session(None));
    deliver(&world).unwrap().unwrap();
    assert!(world.state().alerts[0].line.contains("email=NULL"));
}

/// Silent Drop, invariant 2, verification criterion 4.
#[test]
fn a_second_notice_does_nothing() {
    let world = world(session(Some("someone@example.com")));
    for _ in 0..3 {
        deliver(&world).unwrap().unwrap();
    }
    let state = world.state();
    assert_eq!((state.alerts.len(), state.queue.len(), state.log.len()), (1, 1, 2));
}

/// The verdict function sends the notice a moment before it saves the sale.
#[test]
fn a_notice_that_overtakes_its_worker_comes_again() {
    let world = world(session(Some("someone@example.com")));
    let id = SessionId::parse("cs_test_dropped_1234").unwrap();
    let mut sale = Sale::ordered(id.clone(), Timestamp::from_seconds(1_800_000_000));
    sale.claim(
        "worker",
        Claimant::Customer,
        Timestamp::from_seconds(1_800_000_000),
        std::time::Duration::from_secs(200),
    );
    world.state().sales.insert(id.clone(), (sale, 1));
    assert_eq!(deliver(&world).unwrap().unwrap(), Handled::Later);
    world.change_sales("fulfilment", &Fulfilment::Unusable { at: Timestamp::from_seconds(1_800_000_000) });
    assert_eq!(deliver(&world).unwrap().unwrap(), Handled::Done);
    assert_eq!(world.state().alerts.len(), 1);
}

/// The worker died, and then the money went back: no worker continues the sale, so its notice must not wait for one.
#[test]
fn a_notice_ends_when_the_money_went_back_during_its_workers_claim() {
    let world = world(session(None));
    let id = SessionId::parse("cs_test_dropped_1234").unwrap();
    let now = Timestamp::from_seconds(1_800_000_000);
    let mut sale = Sale::ordered(id.clone(), now);
    sale.claim("worker", Claimant::Customer, now, std::time::Duration::from_secs(200));
    let refunded = Money::Refunded { at: now };
    world.state().sales.insert(id, (sale.with("money", refunded), 1));
    assert_eq!(deliver(&world).unwrap().unwrap(), Handled::Done);
    assert!(world.state().alerts.is_empty() && world.state().queue.is_empty());
}

/// Silent Drop, invariant 1.
#[test]
fn nothing_happens_for_who_has_not_paid_and_for_a_usable_session() {
    let unpaid = CheckoutSession { payment_status: PaymentStatus::Unpaid, ..session(None) };
    let mut usable = session(None);
    usable.metadata.insert("tier".into(), "quick".into());
    for session in [unpaid, usable] {
        let world = world(session);
        assert_eq!(deliver(&world).unwrap().unwrap(), Handled::Later);
        let state = world.state();
        assert!(state.queue.is_empty() && state.log.is_empty());
        // It stays on the list of sales in work: a signed event said that it was paid.
        assert!(state.sales.values().all(|(sale, _)| matches!(sale.fulfilment(), Fulfilment::Ordered { .. })));
        let lines: Vec<&str> = state.alerts.iter().map(|alert| alert.line.as_str()).collect();
        assert!(
            lines[0].contains("says Stripe's event") && lines[1].contains("is not paid, or is usable"),
            "{lines:?}"
        );
        assert!(!lines.iter().any(|line| line.contains("query_len")), "operators hear of a doubt, not of a drop");
    }
}

/// Operators know of the drop, once, while Stripe answers with an error or the audit key cannot be read.
#[test]
fn a_drop_is_alerted_although_stripe_or_the_audit_key_does_not_answer() {
    for what in ["payments.session", "secrets.document"] {
        let world = world(session(Some("someone@example.com")));
        world.plan(Plan::none().whenever(what, Fault::Fail));
        for _ in 0..3 {
            assert!(deliver(&world).unwrap().is_err(), "{what}");
            let state = world.state();
            let lines: Vec<&str> = state.alerts.iter().map(|alert| alert.line.as_str()).collect();
            assert_eq!(lines.len(), 1, "{what}: {lines:?}");
            assert!(
                lines[0].starts_with("[SILENT-DROP] CRITICAL | ") && lines[0].contains("| ped_1234 |"),
                "{lines:?}"
            );
        }
        world.plan(Plan::none());
        assert_eq!(deliver(&world).unwrap().unwrap(), Handled::Done, "{what}");
        let state = world.state();
        assert_eq!((state.alerts.len(), state.queue.len()), (2, 1), "{what}");
        assert!(state.alerts[1].line.contains("amount=100_CAD"), "{}", state.alerts[1].line);
    }
}

/// The notice is delivered again for as long as the queue of mails fails.
#[test]
fn a_drop_whose_mail_cannot_be_ordered_leaves_nothing_to_publish() {
    let world = world(session(Some("someone@example.com")));
    world.plan(Plan::none().whenever("queue.send", Fault::Fail));
    for _ in 0..2 {
        assert!(deliver(&world).unwrap().is_err());
        let state = world.state();
        let (sale, _) = state.sales.values().next().unwrap();
        assert!(sale.outbox().is_empty() && sale.alerts().is_empty(), "{sale:?}");
        assert_eq!((state.alerts.len(), state.log.len()), (1, 2));
    }
}

#[test]
fn whatever_breaks_it_is_announced_and_recorded_once_in_the_end() {
    let clean = world(session(Some("someone@example.com")));
    deliver(&clean).unwrap().unwrap();
    let boundaries = clean.passed();
    assert!(boundaries > 7, "{boundaries}");
    for (plan, what) in every_two_faults(boundaries, 6, &pairs_of_faults()) {
        let world = world(session(Some("someone@example.com")));
        world.plan(plan);
        for _ in 0..4 {
            drop(deliver(&world));
        }
        world.plan(Plan::none());
        deliver(&world).unwrap().unwrap();
        let state = world.state();
        // An alert that no topic accepts is in the function's log.
        assert!(state.alerts.len() + state.logged_alerts.len() > 0, "{what}: no alert");
        assert_eq!(state.log.len(), 2, "{what}: records");
        assert!(!state.queue.is_empty(), "{what}: no mail");
        let (sale, _) = &state.sales.values().next().unwrap();
        assert_eq!(*sale.notice(), Mail::Ordered, "{what}");
    }
}
