//! Events of Stripe: their signatures, the messages that follow, and the refusals.
//! The file has more than 300 lines because each kind of event and each state of the secrets has a short test of its
//! own with the same ports.

use super::*;
use async_trait::async_trait;
use domain::ports::SecretSource;
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};
use testkit::{Fault, Plan, World, run};

const SECRET: &str = "whsec_test_secret";

struct Document(Option<&'static str>);

#[async_trait]
impl SecretSource for Document {
    async fn document(&self) -> Result<Secret, StorageError> {
        match self.0 {
            Some(text) => Ok(Secret::new(text)),
            None => Err(StorageError { operation: "secret read", source: "down".into() }),
        }
    }
}

impl RenewableSecret for Document {}

/// A secret that was rolled after this process had read it; counts how often it is read again.
struct Rolled {
    old: &'static str,
    new: &'static str,
    looks: AtomicUsize,
}

impl Rolled {
    const fn new(old: &'static str, new: &'static str) -> Self {
        Self { old, new, looks: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl SecretSource for Rolled {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(Secret::new(self.old))
    }
}

#[async_trait]
impl RenewableSecret for Rolled {
    async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, StorageError> {
        assert_eq!(refused.expose(), self.old);
        self.looks.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Secret::new(self.new)))
    }
}

/// A secret of which the process has what was stored last.
struct Stored(Mutex<&'static str>);

#[async_trait]
impl SecretSource for Stored {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(Secret::new(*self.0.lock().unwrap()))
    }
}

impl RenewableSecret for Stored {}

const CONFIGURED: Document = Document(Some(r#"{"signing_secrets":["whsec_test_secret"]}"#));

const SMOKE: Document = Document(Some(r#"{"secret_key":"sk_test_1","signing_secret":"whsec_smoke"}"#));

fn world() -> World {
    World::at(Timestamp::from_seconds(1_763_596_800))
}

fn ports<'a>(world: &'a World, signing_secrets: &'a dyn RenewableSecret) -> Ports<'a> {
    Ports {
        signing_secrets,
        smoke_secret: &SMOKE,
        orders: world,
        notices: world,
        payments: world,
        meter: world,
        clock: world,
    }
}

fn sign(body: &str) -> String {
    signature::sign(&Secret::new(SECRET), body.as_bytes(), Timestamp::from_seconds(1_763_596_800))
}

fn deliver(world: &World, body: &str) -> Reply {
    run(receive(ports(world, &CONFIGURED), Some(&sign(body)), body.as_bytes())).unwrap()
}

fn event(kind: &str, session: &serde_json::Value) -> String {
    json!({ "id": "evt_1", "object": "event", "type": kind, "data": { "object": session } }).to_string()
}

fn paid() -> serde_json::Value {
    json!({
        "id": "cs_test_1", "object": "checkout.session", "payment_status": "paid", "status": "complete",
        "metadata": { "tier": "quick", "q0": "Open a second shop?", "qn": "1" },
        "customer_details": { "email": "someone@example.com" },
    })
}

/// Times of our own begin with the receipt, so without this figure a late event looks fast.
#[test]
fn the_delay_of_a_sessions_event_is_measured() {
    let of_session = |created: serde_json::Value| {
        let kind = "checkout.session.completed";
        json!({ "id": "evt_1", "type": kind, "created": created, "data": { "object": paid() } }).to_string()
    };
    let refund =
        json!({ "id": "evt_1", "type": "charge.refunded", "created": 1_763_596_700, "data": { "object": {} } });
    for (body, expected) in [
        (of_session(json!(1_763_596_763)), Some(37_000)),
        (of_session(json!(1_763_596_900)), Some(0)),
        (of_session(json!(null)), None),
        (refund.to_string(), None),
    ] {
        let world = world();
        assert_eq!(deliver(&world, &body).status(), 200);
        let measured = world.state().measurements.iter().find(|it| it.metric == Metric::EventDelay).map(|it| it.value);
        assert_eq!(measured, expected, "{body}");
    }
}

#[test]
fn a_paid_session_becomes_one_order_with_the_session_and_no_more() {
    for kind in ["checkout.session.completed", "checkout.session.async_payment_succeeded"] {
        let world = world();
        let reply = deliver(&world, &event(kind, &paid()));
        assert_eq!((reply.status(), reply.body()), (200, r#"{"received":true}"#));
        let queue = &world.state().queue;
        assert_eq!(queue.len(), 1, "{kind}");
        assert!(matches!(&queue[0].0, Message::Order { ordered_by: OrderedBy::Webhook, .. }));
        let body = serde_json::to_string(&queue[0].0).unwrap();
        assert!(!body.contains("example.com") && !body.contains("shop"), "{body}");
    }
}

#[test]
fn a_payment_link_sale_is_an_order_too() {
    let world = world();
    let mut session = paid();
    session["metadata"] = json!({ "tier": "full" });
    session["custom_fields"] = json!([{ "key": "idea", "type": "text", "text": { "value": "Sell umbrellas" } }]);
    assert_eq!(deliver(&world, &event("checkout.session.completed", &session)).status(), 200);
    assert!(matches!(world.state().queue[0].0, Message::Order { .. }));
}

/// A secret that was rotated only at Stripe looks like this; nonsense does not.
#[test]
fn a_fresh_signature_that_fits_no_secret_is_counted() {
    let counted = |header: &str| {
        let world = world();
        let ports = ports(&world, &CONFIGURED);
        let reply = run(receive(ports, Some(header), b"{}")).unwrap();
        assert_eq!(reply.status(), 400, "{header}");
        world.state().measured(Metric::SignatureRefused)
    };
    let other = "0".repeat(64);
    assert_eq!(counted(&format!("t=1763596800,v1={other}")), 1);
    assert_eq!((counted("nonsense"), counted(&format!("v1={other}")), counted("t=1763596800,v1=x")), (0, 0, 0));
}

#[test]
fn what_is_not_paid_is_acknowledged_and_nothing_happens() {
    let mut unpaid = paid();
    unpaid["payment_status"] = json!("unpaid");
    for (kind, session) in [
        ("checkout.session.completed", &unpaid),
        ("checkout.session.expired", &unpaid),
        ("checkout.session.async_payment_failed", &unpaid),
        ("charge.refunded", &paid()),
        ("something.new", &json!({ "a": [1, 2, { "b": null }] })),
    ] {
        let world = world();
        assert_eq!(deliver(&world, &event(kind, session)).status(), 200, "{kind}");
        assert!(world.state().queue.is_empty(), "{kind}");
    }
}

/// Only the payment and its report are passed on, to a queue of their own.
#[test]
fn refunds_and_disputes_are_passed_on_by_their_payment() {
    use domain::money::PaymentReport;
    let charge = json!({
        "id": "ch_1", "object": "charge", "payment_intent": "pi_1", "amount": 500, "amount_refunded": 500,
        "refunded": true, "billing_details": { "email": "someone@example.com" },
    });
    let dispute = json!({ "id": "dp_1", "object": "dispute", "payment_intent": "pi_1", "status": "needs_response" });
    for (kind, object, expected) in [
        ("charge.refunded", &charge, "charge"),
        ("charge.dispute.created", &dispute, "dp_1"),
        ("charge.dispute.updated", &dispute, "dp_1"),
    ] {
        let world = world();
        assert_eq!(deliver(&world, &event(kind, object)).status(), 200, "{kind}");
        let message = world.state().queue[0].0.clone();
        let Message::PaymentChanged { report, .. } = &message else { panic!("{message:?}") };
        let answered =
            if matches!(report, PaymentReport::Charge { .. }) { "charge" } else { report.id().unwrap().as_str() };
        assert_eq!(answered, expected);
        assert!(!serde_json::to_string(&message).unwrap().contains("example.com"));
        world.plan(Plan::at(0, Fault::Fail));
        assert_eq!(deliver(&world, &event(kind, object)).status(), 503, "{kind}: Stripe keeps what no queue took");
    }
}

/// Stripe adds statuses, and delivers a refused event again until a version reads it.
#[test]
fn a_dispute_with_a_new_status_is_left_to_stripe_and_counted() {
    let world = world();
    let dispute = json!({ "id": "dp_1", "object": "dispute", "payment_intent": "pi_1", "status": "forgiven" });
    assert_eq!(deliver(&world, &event("charge.dispute.updated", &dispute)).status(), 400);
    let state = world.state();
    assert_eq!((state.queue.len(), state.measured(Metric::EventUnreadable)), (0, 1));
}

#[test]
fn a_session_completed_without_payment_is_counted_and_ordered_for_a_human_and_an_unpaid_one_is_not() {
    let effect = |status: &str| {
        let mut session = paid();
        session["payment_status"] = json!(status);
        let event = stripe::event::parse(event("checkout.session.completed", &session).as_bytes()).unwrap();
        effect_of(event.kind, Timestamp::from_millis(1))
    };
    let Effect { metric, message } = effect("no_payment_required");
    assert_eq!(metric, Some(Metric::CompletedWithoutPayment));
    assert!(matches!(message, Some(Message::Order { .. })), "{message:?}");
    assert_eq!(effect("unpaid"), Effect::default());
    assert!(matches!(effect("paid"), Effect { metric: None, message: Some(Message::Order { .. }) }));
}

#[test]
fn paid_but_unusable_becomes_a_notice() {
    for (field, value) in [("tier", json!("premium")), ("tier", json!("")), ("q0", json!("  "))] {
        let world = world();
        let mut session = paid();
        session["metadata"][field] = value;
        assert_eq!(deliver(&world, &event("checkout.session.completed", &session)).status(), 200);
        assert!(matches!(world.state().queue[0].0, Message::Notice { .. }), "{field}");
    }
}

#[test]
fn nothing_is_processed_without_a_valid_signature() {
    let body = event("checkout.session.completed", &paid());
    let good = sign(&body);
    let other = signature::sign(&Secret::new("whsec_other"), body.as_bytes(), Timestamp::from_seconds(1_763_596_800));
    let old = signature::sign(&Secret::new(SECRET), body.as_bytes(), Timestamp::from_seconds(1_763_596_499));
    let early = signature::sign(&Secret::new(SECRET), body.as_bytes(), Timestamp::from_seconds(1_763_597_101));
    for header in [None, Some(""), Some("garbage"), Some(&*other), Some(&*old), Some(&*early)] {
        let world = world();
        let reply = run(receive(ports(&world, &CONFIGURED), header, body.as_bytes())).unwrap();
        assert_eq!(reply.status(), 400, "{header:?}");
        assert_eq!(world.passed(), 0, "{header:?}");
    }
    let world = world();
    let mut tampered = body.into_bytes();
    tampered.push(b' ');
    assert_eq!(run(receive(ports(&world, &CONFIGURED), Some(&good), &tampered)).unwrap().status(), 400);
    assert_eq!(world.passed(), 0);
}

#[test]
fn a_second_secret_of_the_list_serves_while_one_is_rolled() {
    let world = world();
    let body = event("checkout.session.completed", &paid());
    let rolled = Document(Some(r#"{"signing_secrets":["whsec_new","whsec_test_secret"]}"#));
    assert_eq!(run(receive(ports(&world, &rolled), Some(&sign(&body)), body.as_bytes())).unwrap().status(), 200);
}

/// The end of an overlap (the process reads the secret again: shared/platform/aws/src/secrets.rs).
#[test]
fn a_secret_that_was_taken_out_of_the_list_signs_nothing_any_more() {
    let (world, body) = (world(), event("checkout.session.completed", &paid()));
    let stored = Stored(Mutex::new(r#"{"signing_secrets":["whsec_new","whsec_test_secret"]}"#));
    let status = || run(receive(ports(&world, &stored), Some(&sign(&body)), body.as_bytes())).unwrap().status();
    assert_eq!(status(), 200);
    *stored.0.lock().unwrap() = r#"{"signing_secrets":["whsec_new"]}"#;
    assert_eq!(status(), 400);
    assert_eq!(world.state().queue.len(), 1);
}

#[test]
fn a_secret_that_was_rolled_while_we_run_is_looked_up() {
    let body = event("checkout.session.completed", &paid());
    let world = world();
    let rolled = Rolled::new(r#"{"signing_secrets":["whsec_old"]}"#, r#"{"signing_secrets":["whsec_test_secret"]}"#);
    assert_eq!(run(receive(ports(&world, &rolled), Some(&sign(&body)), body.as_bytes())).unwrap().status(), 200);
    let foreign = signature::sign(&Secret::new("whsec_x"), body.as_bytes(), Timestamp::from_seconds(1_763_596_800));
    assert_eq!(run(receive(ports(&world, &rolled), Some(&foreign), body.as_bytes())).unwrap().status(), 400);
    assert_eq!(world.state().queue.len(), 1);
}

#[test]
fn a_smoke_secret_that_was_rotated_while_we_run_is_looked_up() {
    let metadata = json!({ "tier": "quick", "q0": smoke::QUERY, "qn": "1", "smoke": "true" });
    let session = json!({ "id": "cs_test_1", "payment_status": "paid", "status": "complete", "metadata": metadata });
    let body = event("checkout.session.completed", &session);
    let signed =
        |secret: &str| signature::sign(&Secret::new(secret), body.as_bytes(), Timestamp::from_seconds(1_763_596_800));
    let world = world();
    let rolled = Rolled::new(
        r#"{"secret_key":"sk_test_1","signing_secret":"whsec_old"}"#,
        r#"{"secret_key":"sk_test_1","signing_secret":"whsec_smoke"}"#,
    );
    let ports = Ports { smoke_secret: &rolled, ..ports(&world, &CONFIGURED) };
    for (secret, status, looks) in
        [("whsec_old", 200, 0), ("whsec_smoke", 200, 1), ("whsec_x", 400, 2), (SECRET, 200, 2)]
    {
        assert_eq!(run(receive(ports, Some(&signed(secret)), body.as_bytes())).unwrap().status(), status, "{secret}");
        assert_eq!(rolled.looks.load(Ordering::SeqCst), looks, "{secret}");
    }
    let state = world.state();
    let from_smoke = |message: &Message| matches!(message, Message::Order { ordered_by: OrderedBy::SmokeTest, .. });
    assert_eq!(state.queue.iter().filter(|(message, _)| from_smoke(message)).count(), 2);
}

#[test]
fn without_a_secret_the_event_is_left_to_stripe() {
    for text in [None, Some("{}"), Some("not json"), Some(r#"{"signing_secrets":[""]}"#)] {
        let (world, document) = (world(), Document(text));
        let body = event("checkout.session.completed", &paid());
        let reply = run(receive(ports(&world, &document), Some(&sign(&body)), body.as_bytes())).unwrap();
        assert_eq!(reply.status(), 503, "{text:?}");
        assert_eq!(world.passed(), 0);
    }
}

#[test]
fn a_queue_that_refuses_is_never_answered_with_2xx() {
    for fault in [Fault::Fail, Fault::LoseReply] {
        let world = world();
        world.plan(Plan::at(0, fault));
        assert_eq!(deliver(&world, &event("checkout.session.completed", &paid())).status(), 503, "{fault:?}");
    }
}

#[test]
fn bad_bodies_are_refused_by_name() {
    let world = world();
    let deep = "[".repeat(5000);
    let deep_event =
        format!(r#"{{"id":"evt_1","type":"x","data":{{"object":{}{}}}}}"#, "[".repeat(500), "]".repeat(500));
    for body in ["", "not json", "[]", "null", "\u{0}", deep.as_str(), deep_event.as_str()] {
        let reply = deliver(&world, body);
        assert_eq!(reply.status(), 400, "{}", body.chars().take(40).collect::<String>());
        assert!(reply.body().contains("event_malformed"));
    }
    let large = "x".repeat(MAX_BODY_BYTES + 1);
    assert_eq!(deliver(&world, &large).status(), 413);
    assert_eq!(deliver(&world, &large[1..]).status(), 400, "the longest body is read");
    let invalid_utf8 = [0xff, 0xfe, b'{'];
    let header = signature::sign(&Secret::new(SECRET), &invalid_utf8, Timestamp::from_seconds(1_763_596_800));
    assert_eq!(run(receive(ports(&world, &CONFIGURED), Some(&header), &invalid_utf8)).unwrap().status(), 400);
    assert_eq!(world.passed(), 0);
    assert_eq!(world.state().measured(Metric::EventUnreadable), 9, "every body that was read");
}

#[test]
fn a_session_completed_without_payment_is_counted_for_its_alarm() {
    for (status, counted) in [("no_payment_required", 1), ("unpaid", 0), ("paid", 0)] {
        let world = world();
        let mut session = paid();
        session["payment_status"] = json!(status);
        assert_eq!(deliver(&world, &event("checkout.session.completed", &session)).status(), 200);
        assert_eq!(world.state().measured(Metric::CompletedWithoutPayment), counted, "{status}");
    }
}

#[test]
fn ten_deliveries_are_ten_equal_orders_and_the_claim_makes_one_sale_of_them() {
    let world = world();
    for _ in 0..10 {
        assert_eq!(deliver(&world, &event("checkout.session.completed", &paid())).status(), 200);
    }
    let sessions: Vec<_> =
        world.state().queue.iter().map(|(m, _)| m.session_id().unwrap().as_str().to_owned()).collect();
    assert_eq!(sessions, vec!["cs_test_1"; 10]);
}
