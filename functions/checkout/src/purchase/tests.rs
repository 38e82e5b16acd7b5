//! Purchases: the sessions, the refusals, and the records of the authority gate.
//! The file has more than 300 lines because each refusal, its record and its alarm has a short test of its own with
//! the same ports.

use super::*;
use crate::record;
use audit::FunctionJournal;
use domain::{Timestamp, ports::SecretSource, query};
use proptest::prelude::*;
use std::{collections::BTreeMap, time::Duration};
use testkit::{Fault, Plan, SlowNotes, World, in_turns, run};

/// One request to a newly started process.
fn fresh(payments: &dyn Payments, world: &World, body: &[u8]) -> Reply {
    process(payments, world, &fresh_limiter(), body)
}

fn process(payments: &dyn Payments, world: &World, codes: &UnknownIdLimiter, body: &[u8]) -> Reply {
    run(purchase(ports(payments, world, codes, &keys(world)), body, None)).unwrap()
}

/// Limits that count no question yet.
fn fresh_limiter() -> UnknownIdLimiter {
    codes(Limits::of_unknown_ids(3))
}

fn keys(world: &World) -> impl SecretSource {
    let key = "k".repeat(32);
    world.secret(&json!({ "current": "v1", "keys": { "v1": key } }).to_string())
}

fn ports<'a>(
    payments: &'a dyn Payments,
    world: &'a World,
    codes: &'a UnknownIdLimiter,
    audit_keys: &'a dyn SecretSource,
) -> Ports<'a> {
    let journal =
        FunctionJournal { function: record::STREAMS[0], notes: world, log: world, alerts: world, clock: world };
    let records = Records { journal, audit_keys, randomness: world, meter: world };
    Ports { payments, randomness: world, meter: world, clock: world, codes, unknown_ids: world, records }
}

/// The calls to Stripe.
fn asked_stripe(world: &World) -> Vec<&'static str> {
    world.state().boundaries.iter().copied().filter(|name| name.starts_with("payments.")).collect()
}

/// The records of evaluations in the log.
fn recorded(world: &World) -> Vec<Value> {
    let lines = world.state().log.values().cloned().collect::<Vec<_>>();
    lines.iter().map(|line| serde_json::from_str(line.as_str()).unwrap()).collect()
}

fn world() -> World {
    let world = World::at(Timestamp::from_seconds(0));
    world.state().promotion_codes.insert("FRIEND20".into(), "promo_1".into());
    world
}

fn post(world: &World, body: &str) -> Reply {
    fresh(world, world, body.as_bytes())
}

fn code_of(reply: &Reply) -> String {
    serde_json::from_str::<Value>(reply.body()).unwrap()["code"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_coupon_that_leaves_nothing_to_pay_is_refused() {
    let world = world();
    let request = r#"{"tier":"quick","query":"Should I?","referral_code":"FRIEND20"}"#;
    for (total, status) in [(Some(0), 400), (Some(80), 200), (None, 200)] {
        world.state().checkout_total = total;
        let reply = post(&world, request);
        assert_eq!(reply.status(), status, "{total:?}");
    }
}

#[test]
fn each_tier_makes_a_session() {
    for tier in Tier::ALL {
        let world = world();
        let reply = post(&world, &json!({ "tier": tier, "query": "Open a second shop?" }).to_string());
        assert_eq!(reply.status(), 200);
        let body: Value = serde_json::from_str(reply.body()).unwrap();
        assert_eq!(
            body,
            json!({ "url": "https://pay.example/cs_test_0001_created_00000001", "session_id": "cs_test_0001_created_00000001" })
        );
        assert_eq!(world.state().created[0].tier, tier);
    }
}

#[test]
fn bad_requests_are_refused_by_name_before_any_call() {
    let long = json!({ "tier": "quick", "query": "x".repeat(20_001) }).to_string();
    for (body, expected) in [
        ("", "malformed_json"),
        ("not json", "malformed_json"),
        ("[]", "malformed_json"),
        ("\"quick\"", "malformed_json"),
        ("{\"tier\":\"quick\",\"query\":\"\\ud800\"}", "malformed_json"),
        ("{\"tier\":\"quick\",\"query\":\"a", "malformed_json"),
        ("{\"query\":\"x\"}", "tier_invalid"),
        ("{\"tier\":null,\"query\":\"x\"}", "tier_invalid"),
        ("{\"tier\":\"premium\",\"query\":\"x\"}", "tier_invalid"),
        ("{\"tier\":\"QUICK\",\"query\":\"x\"}", "tier_invalid"),
        ("{\"tier\":5,\"query\":\"x\"}", "tier_invalid"),
        ("{\"tier\":{\"a\":1},\"query\":\"x\"}", "tier_invalid"),
        ("{\"tier\":\"quick\"}", "query_invalid"),
        ("{\"tier\":\"quick\",\"query\":\"\"}", "query_invalid"),
        ("{\"tier\":\"quick\",\"query\":\" \\n \"}", "query_invalid"),
        ("{\"tier\":\"quick\",\"query\":\"a\\u0000b\"}", "query_invalid"),
        ("{\"tier\":\"quick\",\"query\":[\"x\"]}", "query_invalid"),
        (long.as_str(), "query_invalid"),
        ("{\"tier\":\"quick\",\"query\":\"x\",\"referral_code\":7}", "referral_code_invalid"),
        ("{\"tier\":\"quick\",\"query\":\"x\",\"referral_code\":\"a b&c\"}", "referral_code_unknown"),
    ] {
        let world = world();
        let reply = post(&world, body);
        assert_eq!((reply.status(), code_of(&reply).as_str()), (400, expected), "{}", &body[..body.len().min(60)]);
        assert_eq!(asked_stripe(&world), Vec::<&str>::new(), "{}", &body[..body.len().min(60)]);
    }
    let deep = format!("{{\"tier\":\"quick\",\"query\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(post(&world(), &deep).status(), 400);
    for path in ["/api/checkout", EVALUATE] {
        let world = world();
        let (codes, keys) = (&fresh_limiter(), &keys(&world));
        let ports = ports(&world, &world, codes, keys);
        let reply = run(handle(ports, Request::post(path, "x".repeat(MAX_BODY_BYTES + 1)))).unwrap();
        assert_eq!(reply.status(), 413, "{path}");
    }
    let reply = fresh(&world(), &world(), &[0xff, 0xfe]);
    assert_eq!((reply.status(), code_of(&reply).as_str()), (400, "malformed_json"));
}

#[test]
fn a_referral_code_is_a_promotion_code_or_a_400() {
    let world = world();
    let body = |code: &str| json!({ "tier": "full", "query": "x", "referral_code": code }).to_string();
    assert_eq!(post(&world, &body(" FRIEND20 ")).status(), 200);
    assert_eq!(world.state().created[0].promotion_code.as_deref(), Some("promo_1"));
    let reply = post(&world, &body("NOSUCH"));
    assert_eq!((reply.status(), code_of(&reply).as_str()), (400, "referral_code_unknown"));
    assert_eq!(world.state().created.len(), 1, "no session for an unknown code");
    assert_eq!(post(&world, &body("")).status(), 200);
    assert_eq!(world.state().created[1].promotion_code, None);
}

#[test]
fn guessed_codes_are_counted_and_slowed() {
    let (world, known) = (world(), fresh_limiter());
    let guess = |code: &str| {
        let body = json!({ "tier": "full", "query": "x", "referral_code": code }).to_string();
        let reply = process(&world, &world, &known, body.as_bytes());
        (reply.status(), code_of(&reply))
    };
    let asked = || world.state().boundaries.iter().filter(|name| **name == "payments.promotion_code").count();
    for _ in 0..5 {
        assert_eq!(guess("NOSUCH"), (400, "referral_code_unknown".to_owned()));
    }
    assert_eq!(asked(), 1, "an unknown code is remembered");
    let replies: Vec<_> = (0..200).map(|number| guess(&format!("GUESS{number}"))).collect();
    assert_eq!(asked(), 3, "of one network");
    assert_eq!(replies[199], (429, "referral_code_busy".to_owned()));
    assert_eq!(world.state().measured(Metric::ReferralCodeUnknown), 7);
    assert_eq!(guess(""), (200, String::new()), "who has no code can buy");
    world.advance(Duration::from_secs(60));
    assert_eq!(guess("FRIEND20"), (200, String::new()));
}

/// A Stripe double that refuses a discount that does not fit the purchase.
struct Refusing<'a>(&'a World);

#[async_trait::async_trait]
impl Payments for Refusing<'_> {
    async fn session(&self, id: &domain::SessionId) -> Result<domain::CheckoutSession, PaymentError> {
        self.0.session(id).await
    }
    async fn create_session(
        &self,
        _: &NewCheckoutSession,
    ) -> Result<domain::ports::CreatedCheckoutSession, PaymentError> {
        Err(PaymentError::Refused("amount_too_small".to_owned()))
    }
    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        self.0.promotion_code(code).await
    }
}

#[test]
fn a_code_that_stripe_refuses_for_this_purchase_is_a_400_and_anything_else_is_not_the_customers() {
    let world = world();
    let refusing = Refusing(&world);
    let post = |body: &str| fresh(&refusing, &world, body.as_bytes());
    let discounted = post(r#"{"tier":"quick","query":"x","referral_code":"FRIEND20"}"#);
    assert_eq!((discounted.status(), code_of(&discounted).as_str()), (400, "referral_code_unusable"));
    assert!(!discounted.body().contains("amount_too_small"));
    let plain = post(r#"{"tier":"quick","query":"x"}"#);
    assert_eq!((plain.status(), code_of(&plain).as_str()), (502, "payment_unavailable"));
}

/// The key lacks a permission, which is not the code's fault.
#[test]
fn a_key_that_may_not_sell_is_502_with_and_without_a_code() {
    for body in [r#"{"tier":"quick","query":"x","referral_code":"FRIEND20"}"#, r#"{"tier":"quick","query":"x"}"#] {
        let world = world();
        world.plan(Plan::none().whenever("payments.create_session", Fault::Refuse(403)));
        let reply = post(&world, body);
        assert_eq!((reply.status(), code_of(&reply).as_str()), (502, "payment_unavailable"), "{body}");
    }
}

#[test]
fn stripe_down_is_502_and_tells_that_nothing_was_charged() {
    let body = r#"{"tier":"quick","query":"x","referral_code":"FRIEND20"}"#;
    let untroubled = world();
    post(&untroubled, body);
    let boundaries = untroubled.state().boundaries.clone();
    let stripes: Vec<_> = boundaries.iter().enumerate().filter(|(_, name)| name.starts_with("payments.")).collect();
    assert_eq!(stripes.len(), 2, "the code and the session");
    for (boundary, _) in stripes {
        let world = world();
        world.plan(Plan::at(boundary, Fault::Fail));
        let reply = post(&world, body);
        assert_eq!(reply.status(), 502);
        assert!(reply.body().contains("Nothing was charged") && !reply.body().contains("planned"));
    }
}

/// The alarm is critical, so nothing that a customer sends may raise it.
#[test]
fn only_a_checkout_that_is_unavailable_is_counted_for_its_alarm() {
    let counted = |body: &str, plan: Plan| {
        let world = world();
        world.plan(plan);
        let (codes, keys) = (&fresh_limiter(), &keys(&world));
        let reply = run(handle(ports(&world, &world, codes, keys), Request::post("/api/checkout", body))).unwrap();
        (reply.status(), world.state().measured(Metric::CheckoutUnavailable))
    };
    let sold = r#"{"tier":"quick","query":"x"}"#;
    let down = Plan::none().whenever("payments.create_session", Fault::Fail);
    assert_eq!(counted(sold, down), (502, 1));
    let declined = r#"{"tier":"quick","query":"I want to kill myself"}"#;
    for (body, status) in [(sold, 200), ("{}", 400), (declined, 422)] {
        assert_eq!(counted(body, Plan::none()), (status, 0), "{body}");
    }
}

#[test]
fn every_request_has_an_idempotency_key_of_its_own() {
    let world = world();
    for _ in 0..3 {
        post(&world, r#"{"tier":"quick","query":"x"}"#);
    }
    let keys: std::collections::BTreeSet<_> =
        world.state().created.iter().map(|new| new.idempotency_key.clone()).collect();
    assert_eq!(keys.len(), 3);
}

proptest! {
    #[test]
    fn the_question_reaches_stripe_exactly(text in "[^\\x00]{1,600}") {
        // Random letters can look like a question that is not sold.
        prop_assume!(Query::parse(text.as_str()).is_ok() && authority::evaluate(&text, None).state().is_sold());
        let world = world();
        prop_assert_eq!(post(&world, &json!({ "tier": "quick", "query": text }).to_string()).status(), 200);
        let metadata: BTreeMap<_, _> = world.state().created[0].query.to_metadata().into_iter().collect();
        prop_assert_eq!(query::from_metadata(&metadata), Some(text));
    }

    #[test]
    fn no_body_breaks_it(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let world = world();
        let reply = fresh(&world, &world, &bytes);
        prop_assert!(matches!(reply.status(), 200 | 400));
    }
}

#[test]
fn what_must_not_be_answered_is_not_sold() {
    for (query, expected) in [
        ("Can I give my son two of my warfarin tablets?", "blocked"),
        ("I want to kill myself", "blocked"),
        ("What's the interest rate for a 30-year mortgage?", "needs_specification"),
        ("Should I stop taking it?", "ambiguous"),
        ("For Medicaid, just take my word for my income.", "needs_verification"),
        ("???", "unresolvable"),
    ] {
        let world = world();
        let reply = post(&world, &json!({ "tier": "quick", "query": query, "referral_code": "FRIEND20" }).to_string());
        assert_eq!((reply.status(), code_of(&reply).as_str()), (422, expected), "{query}");
        assert_eq!(asked_stripe(&world), Vec::<&str>::new(), "{query}");
        let records = recorded(&world);
        assert_eq!(records.len(), 1, "{query}");
        let (record, details) = (&records[0], &records[0]["details"]);
        assert_eq!((&record["event"], &details["endpoint"]), (&"authority_evaluated".into(), &CHECKOUT.into()));
        let state = authority::evaluate(query, None).state();
        assert_eq!(details["authority"]["state"], state.as_str());
        assert!(details["question_tag"].as_str().unwrap().starts_with("hmac-sha256:v1:"));
        assert!(!record.to_string().contains(query), "no word of the question: {record}");
    }
}

#[test]
fn what_is_sold_and_what_developers_ask_is_recorded_too() {
    let world = world();
    post(&world, r#"{"tier":"quick","query":"Open a second shop?"}"#);
    let (known, keys) = (fresh_limiter(), keys(&world));
    let ports = ports(&world, &world, &known, &keys);
    run(handle(ports, Request::post(EVALUATE, r#"{"text":"Open a second shop?"}"#.to_owned()))).unwrap();
    let records = recorded(&world);
    let endpoints: std::collections::BTreeSet<_> =
        records.iter().map(|record| record["details"]["endpoint"].as_str().unwrap()).collect();
    assert_eq!((records.len(), endpoints), (2, [CHECKOUT, EVALUATE].into()));
    let tags: std::collections::BTreeSet<_> =
        records.iter().map(|record| record["details"]["question_tag"].to_string()).collect();
    assert_eq!(tags.len(), 1, "the same question has one tag");
}

/// Anybody can send one question many times at once. Every evaluation is recorded, and no alarm is raised.
#[test]
fn every_evaluation_of_a_burst_is_recorded() {
    let world = world();
    let (known, keys, slow) = (fresh_limiter(), keys(&world), SlowNotes(&world));
    let ports = ports(&world, &world, &known, &keys);
    let journal = FunctionJournal { notes: &slow, ..ports.records.journal };
    let ports = Ports { records: Records { journal, ..ports.records }, ..ports };
    let evaluated = |_| handle(ports, Request::post(EVALUATE, r#"{"text":"I want to kill myself"}"#.to_owned()));
    assert!(in_turns((0..40).map(evaluated)).iter().all(|reply| reply.status() == 200));
    assert_eq!(recorded(&world).len(), 40);
    assert!(!world.state().measurements.contains(&Metric::AuditWriteFailed.once()));
}

#[test]
fn a_trigger_of_child_safety_is_escalated_at_checkout_and_for_developers_and_nothing_else_is() {
    let minor = "I'm 15. I don't want to be here anymore. No one would miss me.";
    for (text, expected) in [(minor, 1), ("I want to kill myself", 0), ("Open a second shop?", 0)] {
        let world = world();
        post(&world, &json!({ "tier": "quick", "query": text }).to_string());
        assert_eq!(world.state().counted(Metric::AuthorityEscalated), expected, "{text}");
        let (known, keys) = (fresh_limiter(), keys(&world));
        let request = Request::post(EVALUATE, json!({ "text": text }).to_string());
        run(handle(ports(&world, &world, &known, &keys), request)).unwrap();
        assert_eq!(world.state().counted(Metric::AuthorityEscalated), 2 * expected, "{text}");
    }
}

/// The alarm and the list may lack the evaluation. After a lost reply it is unknown whether the row was saved.
#[test]
fn an_escalated_evaluation_whose_save_fails_raises_a_critical_alert() {
    let minor = "I'm 15. I don't want to be here anymore. No one would miss me.";
    let cases = [(minor, Fault::Fail, 1), (minor, Fault::LoseReply, 1), ("I want to kill myself", Fault::Fail, 0)];
    for (text, fault, expected) in cases {
        let world = world();
        world.plan(Plan::none().whenever("notes.save", fault));
        assert_eq!(post(&world, &json!({ "tier": "quick", "query": text }).to_string()).status(), 422, "{text}");
        let state = world.state();
        let what = "(imminent_harm_signal_minor; 988_SUICIDE_LIFELINE, TRUST_AND_SAFETY); its record may be missing";
        let is_it = |line: &str| line.starts_with("[ORACLE-AUDIT] CRITICAL | ") && line.ends_with(what);
        assert_eq!(state.alerts.iter().filter(|alert| is_it(&alert.line)).count(), expected, "{:?}", state.alerts);
    }
}

/// The table, the log, the alerts and the keys fail in turn. The customer's reply stays the same, and either the record
/// is in the log, or it waits in the table for the next evaluation in its stream, or a metric with an alarm counts it as
/// lost.
#[test]
fn a_record_that_cannot_be_kept_changes_no_reply_and_is_counted() {
    for body in [r#"{"tier":"quick","query":"I want to kill myself"}"#, r#"{"tier":"quick","query":"Open a shop?"}"#] {
        let untroubled = world();
        let expected = post(&untroubled, body);
        let boundaries = untroubled.state().boundaries.clone();
        assert!(boundaries.len() >= 4, "{boundaries:?}");
        for (boundary, name) in boundaries.iter().enumerate().filter(|(_, name)| !name.starts_with("payments.")) {
            let world = world();
            world.plan(Plan::at(boundary, Fault::Fail));
            let reply = post(&world, body);
            assert_eq!((reply.status(), reply.body()), (expected.status(), expected.body()), "{name}");
            let is_counted = world.state().measurements.contains(&Metric::AuditWriteFailed.once());
            // Enough for every stream to get another one.
            (0..60).for_each(|_| drop(post(&world, body)));
            let kept = recorded(&world).len();
            assert!(kept == 61 || (is_counted && kept == 60), "{name}: {kept} records, counted: {is_counted}");
        }
    }
}

#[test]
fn a_crisis_is_answered_with_help_and_without_a_word_of_a_sale() {
    let reply =
        post(&world(), &json!({ "tier": "quick", "query": "I want to kill myself", "locale": "en-US" }).to_string());
    let body: Value = serde_json::from_str(reply.body()).unwrap();
    assert_eq!(body["resources"][0]["name"], "988 Suicide & Crisis Lifeline");
    for word in ["charge", "pay", "price", "verdict", "buy", "$"] {
        assert!(!reply.body().to_lowercase().contains(word), "{word}");
    }
}

#[test]
fn a_narrative_answer_is_sold_with_its_notice() {
    let reply = post(&world(), &json!({ "tier": "quick", "query": "What does force majeure mean?" }).to_string());
    let body: Value = serde_json::from_str(reply.body()).unwrap();
    assert_eq!(reply.status(), 200);
    assert!(body["notice"].as_str().unwrap().contains("not legal advice"));
}

#[test]
fn an_evaluation_says_what_the_gate_would() {
    let reply = |body: &str| {
        let world = world();
        let (known, keys) = (fresh_limiter(), keys(&world));
        let records = ports(&world, &world, &known, &keys).records;
        run(gate::evaluate_request(records, EVALUATE, body.as_bytes())).unwrap()
    };
    let body: Value = serde_json::from_str(reply(r#"{"text":"Is this legal?"}"#).body()).unwrap();
    assert_eq!((&body["status"], &body["domain"]), (&"BLOCKED".into(), &"law".into()));
    assert_eq!(body["reason_code"], "legal_advice");
    for bad in ["", "[]", "{}", "{\"text\":7}", "{\"text\":\"\"}", "{\"text\":\"x\",\"locale\":7}"] {
        assert_eq!(reply(bad).status(), 400, "{bad}");
    }
}
