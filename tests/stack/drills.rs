//! The drills of infra/runbook.md: what an engineer who is new on call meets, from the first sign to the end. Each test
//! runs one drill with the commands that the runbook names.
//! The file has more than 300 lines because it has every drill of the runbook, so that the two can be compared.

use crate::{
    followup::bought_with_followup,
    operators::{asked, assert_bound, decide, decided, listed, oracle, printed},
    world::{Sale, World, email, question},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, io::Write as _, process::Stdio};
use tests::{SOON, eventually, poll, program};

/// The last 8 characters, with which alerts and pages name a sale.
fn reference(sale: &Sale) -> &str {
    &sale.session[sale.session.len() - 8..]
}

/// One check of `oracle status`.
fn check(world: &World, what: &str) -> Value {
    let (_, status) = asked(world, &["status"]);
    let checks = status["checks"].as_array().expect("checks").clone();
    checks.into_iter().find(|check| check["what"] == what).unwrap_or(Value::Null)
}

/// The alerts of the topics since the test began.
async fn alerts(world: &World) -> Vec<String> {
    let (_, alerts) = world.stack.get(&format!("{}/control/alerts", world.stack.sandbox)).await;
    let lines = alerts.as_array().expect("alerts").iter();
    lines.filter_map(|alert| alert["line"].as_str().map(str::to_owned)).collect()
}

/// The first alert that contains a text; `None` after [`SOON`] without one.
async fn alert(world: &World, part: &str) -> Option<String> {
    poll(SOON, async || alerts(world).await.into_iter().find(|line| line.contains(part))).await
}

async fn mailed_once(world: &World, sale: &Sale) {
    world.delivered(sale).await;
    assert_eq!(world.mails(&sale.email).await.len(), 1, "{}", sale.session);
}

/// Sets a secret as an operator does, with its value on standard input.
fn set_secret(world: &World, name: &str, value: &str) {
    let mut command = program();
    command.args(["secrets", "set", name, "--by", "dana", "--stack"]).arg(world.stack.directory.join("stack.json"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the command runs");
    child.stdin.take().expect("standard input").write_all(value.as_bytes()).expect("the value is taken");
    assert!(child.wait().expect("the command ends").success());
}

#[tokio::test]
async fn model_down_while_five_buy() {
    let world = World::alone().await;
    world.stack.faults("gemini", json!(vec![json!({ "status": 400 }); 5])).await;
    let mut sales = Vec::new();
    for _ in 0..5 {
        let sale = world.buy("quick").await;
        assert_eq!(world.settled(&sale.session).await["fulfilment"]["state"], "failed");
        listed(&world, &["refunds", "list"], &sale.session, true).await;
        sales.push(sale);
    }
    let failed = check(&world, "open: failed");
    assert_eq!(failed["state"], "wrong");
    assert!(failed["detail"].to_string().contains("oracle reattempt"), "{failed}");
    let (_, planned) = asked(&world, &["reattempt", "--failed-since", "2h", "--dry-run", "--by", "dana"]);
    let planned = planned.as_array().expect("sales").clone();
    for sale in &sales {
        let of_sale = planned.iter().find(|row| row["session_id"] == sale.session.as_str());
        assert_eq!(of_sale.expect("a row")["reattempt"], "would_order");
        assert_eq!(world.model_calls(sale).await, 1, "a dry run does nothing");
    }
    let mut again = vec!["reattempt", "--wait"];
    again.extend(sales.iter().map(reference));
    let (code, text) = decide(&world, &again);
    assert_eq!((code, text.matches("\"stands\":\"done\"").count()), (Some(0), 5), "{text}");
    for sale in &sales {
        mailed_once(&world, sale).await;
    }
}

/// The mailbox refuses its access token, and the login service the refresh token, until a person has consented again.
#[tokio::test]
async fn mailbox_consent_is_gone() {
    let world = World::alone().await;
    // With this mail the function has a token that can be refused.
    world.bought("quick").await;
    let consented = world.aws.secret("graph-token").await["refresh_token"].as_str().expect("a token").to_owned();
    world.stack.faults("graph", json!([{ "status": 401 }])).await;
    let sale = world.buy_despite("login", json!([{ "status": 400 }]), "quick").await;
    assert_eq!(world.settled(&sale.session).await["mail"]["state"], "dead");
    world.faults_are_used_up().await;
    assert_eq!(world.verdict(&sale.session).await.status, 200, "the page has the verdict");
    listed(&world, &["deadletters", "list"], &sale.session, true).await;
    set_secret(&world, "graph-token", &consented);
    let planned = printed(&world, &["deadletters", "redrive", reference(&sale), "--dry-run"]);
    assert!(planned.contains("would be tried again"), "{planned}");
    decided(&world, &["deadletters", "redrive", reference(&sale)]);
    eventually("a mail", SOON, async || (!world.mails(&sale.email).await.is_empty()).then_some(())).await;
    mailed_once(&world, &sale).await;
}

/// The mail whose reply is lost is found in the sent items and not sent again.
#[tokio::test]
async fn lost_replies() {
    let world = World::alone().await;
    world.stack.faults("gemini", json!([{ "drop": true }])).await;
    let sale = world.buy_despite("graph", json!([{}, { "drop": true }]), "quick").await;
    mailed_once(&world, &sale).await;
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_SENT").await, 1);
    assert_eq!(world.calls("graph", "/send").await.len(), 1);
    world.faults_are_used_up().await;
    world.drained().await;
}

#[tokio::test]
async fn quarantine() {
    let world = World::alone().await;
    let sale = world.buy_held().await;
    listed(&world, &["quarantine", "list"], &sale.session, true).await;
    let shown = printed(&world, &["quarantine", "show", reference(&sale)]).replace('\n', " ");
    assert!(shown.contains("waits for a decision") && shown.contains("CSDM"), "{shown}");
    let planned = oracle(&world, &["quarantine", "approve", reference(&sale), "--dry-run", "--by", "dana"]);
    assert_eq!(planned.status.code(), Some(1), "today's filter holds it too: {planned:?}");
    decided(&world, &["quarantine", "refund", reference(&sale)]);
    listed(&world, &["list"], &sale.session, false).await;
}

/// Delivers the event of a payment until it is accepted, as Stripe does.
async fn accepted_payment(world: &World, session: &str) {
    let object = world.stripe_session(session).await;
    let event = json!({ "type": "checkout.session.completed", "data": { "object": object } });
    eventually("an accepted event", SOON, async || {
        let answer = world.stack.control("stripe/event", event.clone()).await;
        (answer["status"] == 200).then_some(())
    })
    .await;
}

/// Both secrets are configured while Stripe signs with either: no sale is lost. An instance refuses the old one only
/// ten minutes after the overlap, so the tests of webhook and aws (secrets.rs) show it.
#[tokio::test]
async fn secret_rolled_announced() {
    let world = World::alone().await;
    let before = world.aws.secret("stripe-webhook").await;
    let old = world.stack.description["stripe_webhook_secret"].as_str().expect("a secret").to_owned();
    set_secret(&world, "stripe-webhook", &format!("whsec_rolled_new\n{old}"));
    world.stack.control("configure", json!({ "webhook_secret": "whsec_rolled_new" })).await;
    let session = world.order("quick", &question()).await;
    world.stack.control("stripe/pay", json!({ "session_id": session, "email": email() })).await;
    // An instance reads the secret for a signature that fits none, at most once a minute; Stripe delivers again what is
    // refused until then.
    accepted_payment(&world, &session).await;
    let settled = world.settled(&session).await;
    world.stack.control("configure", json!({ "webhook_secret": old })).await;
    world.bought("quick").await;
    world.aws.set_secret("stripe-webhook", &before).await;
    assert_eq!(settled["mail"]["state"], "sent", "{settled}");
}

/// Stripe signs with a secret that is not configured: events are refused until it is set, and Stripe redelivers them.
#[tokio::test]
async fn secret_rolled_unannounced() {
    let world = World::alone().await;
    let before = world.aws.secret("stripe-webhook").await;
    let old = world.stack.description["stripe_webhook_secret"].as_str().expect("a secret").to_owned();
    world.stack.control("configure", json!({ "webhook_secret": "whsec_rolled_silently" })).await;
    let sale = world.open("quick", question()).await;
    let payment = json!({ "session_id": sale.session, "email": sale.email });
    let paid = world.stack.control("stripe/pay", payment).await;
    assert_eq!(paid["deliveries"][0]["status"], 400, "{paid}");
    let (_, found) = asked(&world, &["find", "--email", &sale.email]);
    assert_eq!(found["sales"][0]["session_id"], sale.session.as_str());
    assert!(found["sales"][0]["state"].to_string().contains("unknown here"), "{found}");
    // With the old one, which Stripe signs with again after the drill: an instance keeps this copy for ten minutes.
    set_secret(&world, "stripe-webhook", &format!("whsec_rolled_silently\n{old}"));
    accepted_payment(&world, &sale.session).await;
    world.delivered(&sale).await;
    world.stack.control("configure", json!({ "webhook_secret": old })).await;
    world.aws.set_secret("stripe-webhook", &before).await;
    let (_, found) = asked(&world, &["find", "--last4", "4242", "--since", "1h"]);
    let state = found["sales"].as_array().expect("sales").iter().find(|row| row["session_id"] == sale.session.as_str());
    assert!(state.expect("the sale")["state"].to_string().contains("delivered"), "{found}");
}

#[tokio::test]
async fn poison_message() {
    let world = World::alone().await;
    world.aws.purge("NoticesDeadLettersUrl").await;
    world.aws.send("NoticesQueueUrl", &json!({ "kind": "of another system" })).await;
    let shown = eventually("the message", SOON, async || {
        let output = oracle(&world, &["queues", "show", "notices", "--json"]);
        let shown: Value = serde_json::from_slice(&output.stdout).ok()?;
        shown.as_array().is_some_and(|all| !all.is_empty()).then(|| shown[0].clone())
    })
    .await;
    assert!(shown["unreadable"].is_string(), "{shown}");
    assert_eq!(shown["body"].as_str(), Some(r#"{"kind":"of another system"}"#), "{shown}");
    let id = shown["id"].as_str().expect("an id");
    decided(&world, &["queues", "remove", "notices", id]);
    assert_eq!(asked(&world, &["queues", "show", "notices"]), (Some(1), json!([])));
    let mut records = Vec::new();
    for key in world.aws.keys("AuditBucket", "/function/operator/").await {
        records.push(world.aws.text("AuditBucket", &key).await);
    }
    assert!(records.iter().any(|line| line.contains("queues remove") && line.contains(id)), "{records:?}");
    assert_bound(&world, "queues remove").await;
}

#[tokio::test]
async fn dispute_and_refund() {
    let world = World::alone().await;
    let (disputed, refunded) = (world.buy("full").await, world.buy("quick").await);
    world.delivered(&disputed).await;
    world.delivered(&refunded).await;
    let payment = world.stripe_session(&disputed.session).await["payment_intent"].clone();
    let dispute = json!({ "id": "dp_drill", "object": "dispute", "payment_intent": payment, "amount": 500,
        "currency": "cad", "status": "needs_response", "evidence_details": { "due_by": 4_102_444_800_i64,
        "enhanced_eligibility": {}, "has_evidence": false, "past_due": false, "submission_count": 0 } });
    world.tell("charge.dispute.created", &dispute).await;
    eventually("the dispute", SOON, async || {
        let (_, found) = asked(&world, &["find", "--email", &disputed.email]);
        found["sales"][0]["state"].to_string().contains("disputed").then_some(())
    })
    .await;
    let (_, list) = asked(&world, &["list"]);
    let mut rows = list.as_array().expect("rows").iter();
    let row = rows.find(|row| row["session_id"] == disputed.session.as_str()).expect("the dispute is on the list");
    assert_eq!((&row["work"], &row["respond_by"]), (&json!("dispute"), &json!("2100-01-01T00:00:00.000Z")), "{row}");
    let (code, text) = decide(&world, &["refunds", "issue", reference(&disputed)]);
    assert_eq!(code, Some(1), "Stripe refuses refunds of disputed payments: {text}");
    decided(&world, &["refunds", "issue", reference(&refunded)]);
    let (_, found) = asked(&world, &["find", "--email", &refunded.email.to_uppercase()]);
    assert!(found["sales"][0]["state"].to_string().contains("refund"), "{found}");
}

#[tokio::test]
async fn tampering() {
    let world = World::alone().await;
    let sale = world.bought("quick").await;
    world.drained().await;
    let digest = async || world.aws.invoke("AuditDigestFunctionName", &json!({})).await;
    digest().await;
    let key = world.record_keys(&sale.session).await[1].clone();
    let original = world.aws.text("AuditBucket", &key).await;
    let edited = original.replace("\"OK\"", "\"KO\"").replace('1', "2");
    let undamaged = world.aws.put_over("AuditBucket", &key, &edited).await;
    digest().await;
    let line = alert(&world, &format!("sale {} record 2", reference(&sale))).await;
    let wrong = check(&world, "audit log");
    let (code, report) = asked(&world, &["audit", "verify"]);
    let _ = world.aws.put_over("AuditBucket", &key, &original).await;
    digest().await;
    digest().await;
    let restored = check(&world, "audit log");
    let verified = asked(&world, &["audit", "verify"]);
    // Other tests share the log.
    world.aws.undo(undamaged).await;
    let line = line.expect("an alert about the edited record");
    assert!(line.contains("CRITICAL") && !line.contains(&sale.session), "{line}");
    assert_eq!(wrong["state"], "wrong", "{wrong}");
    assert_eq!((code, &report["findings"][0]["key"]), (Some(1), &json!(key)));
    assert_eq!(restored["state"], "ok", "{restored}");
    assert!(restored["detail"].to_string().contains("last found sound"), "{restored}");
    assert_eq!(verified.0, Some(0), "no digest vouches for the edited record: {}", verified.1);
    let (code, report) = asked(&world, &["audit", "verify"]);
    assert_eq!(code, Some(0), "{report}");
}

#[tokio::test]
async fn month_end() {
    let world = World::alone().await;
    let (sale, followup) = bought_with_followup(&world).await;
    assert_eq!(decide(&world, &["refunds", "issue", reference(&sale)]).0, Some(0));
    world.until(&followup, "the refund on the follow-up", |sale| sale["money"]["state"] == "refunded").await;
    let refund = |record: &Value| record["change"] == "refunded";
    assert!(world.records(&followup).await.iter().any(refund), "the log has it too");
    let records = world.records(&sale.session).await;
    let sold_at = records[0]["timestamp"].as_str().expect("a time");
    let of = |report: &Value, name: &str| {
        let rows = report["revenue"].as_array().expect("rows").iter();
        rows.filter_map(|row| row[name].as_i64()).sum::<i64>()
    };
    let (code, report) = asked(&world, &["audit", "report", "--month", &sold_at[..7]]);
    // The month has the sales of earlier tests too, and may have ended before the refund.
    let refunded_at = records.iter().find(|record| refund(record)).map(|record| &record["timestamp"]);
    let refunded_at = refunded_at.and_then(Value::as_str).expect("a refund");
    let refunds = i64::from(refunded_at.starts_with(&sold_at[..7]));
    assert!(code == Some(0) && of(&report, "sold") >= 1 && of(&report, "refunds") >= refunds, "{report}");
    let (_, report) = asked(&world, &["audit", "report", "--since", sold_at]);
    let money = ["sold", "gross_cents", "refunds", "net_cents"].map(|name| of(&report, name));
    assert_eq!(money, [1, 2500, 1, 0], "the follow-up is included: {report}");
    let (_, before) = asked(&world, &["audit", "report", "--until", "2020-01-01"]);
    assert_eq!((&before["sales"], &before["revenue"]), (&json!(0), &json!([])));
}

/// A customer asks to be forgotten: the sale is found by the address, and afterwards nothing of it is shown.
#[tokio::test]
async fn erasure() {
    let world = World::alone().await;
    let sale = world.bought("quick").await;
    let (_, found) = asked(&world, &["find", "--email", &sale.email, "--since", "2020-01-01"]);
    assert_eq!(found["sales"][0]["session_id"], sale.session.as_str(), "{found}");
    assert_eq!((&found["since"], &found["more"]), (&json!("2020-01-01T00:00:00.000Z"), &json!(false)), "{found}");
    let (_, planned) = asked(&world, &["erase", reference(&sale), "--dry-run"]);
    assert_eq!(planned["plan"]["removes"]["table"], 1, "{planned}");
    assert_eq!(world.verdict(&sale.session).await.status, 200, "a dry run removes nothing");
    decided(&world, &["erase", reference(&sale)]);
    assert_eq!(world.verdict(&sale.session).await.status, 410);
    let records = world.records(&sale.session).await;
    assert!(records.iter().any(|record| record["action"] == "erase" && record["by"] == "dana"), "{records:?}");
}

/// A prompt that produces hollow verdicts: the crosscheck holds them back, and after the rollback customers get theirs.
#[tokio::test]
async fn worse_prompt() {
    let world = World::alone().await;
    let hollow = json!({ "verdict": { "verdict": "GREEN", "summary": "" } });
    let sale = world.buy_despite("gemini", json!(vec![hollow; 6]), "quick").await;
    let settled = world.settled(&sale.session).await;
    assert_eq!(settled["fulfilment"]["state"], "failed", "{settled}");
    world.stack.control("reset", json!({})).await;
    world
        .stack
        .plant(&json!({ "id": sale.session, "payment_status": "paid", "amount_total": 100, "currency": "cad",
        "metadata": { "tier": "quick", "q0": sale.question, "qn": "1" },
        "customer_details": { "email": sale.email } }))
        .await;
    decided(&world, &["reattempt", reference(&sale), "--wait"]);
    mailed_once(&world, &sale).await;
}

#[tokio::test]
async fn quiet_morning() {
    let world = World::alone().await;
    // Other tests leave dead letters behind.
    for queue in ["Alert", "Email", "EmailRetry", "LogNotices", "Notices", "Orders", "Payments"] {
        world.aws.purge(&format!("{queue}DeadLettersUrl")).await;
    }
    let sale = world.bought("quick").await;
    world.drained().await;
    listed(&world, &["list"], &sale.session, false).await;
    let about = |line: &String| line.contains(reference(&sale));
    assert_eq!(alerts(&world).await.into_iter().find(about), None);
    assert_eq!(check(&world, "dead letters")["state"], "ok");
    assert_eq!(check(&world, "alarms")["state"], "unmeasured", "an emulator evaluates none, and that is said");
    assert_eq!(check(&world, "deploy gate")["state"], "waiting", "nothing judges deployments here, and that is said");
}

#[tokio::test]
async fn two_of_three_calls_fail() {
    let world = World::alone().await;
    let pattern = [json!({ "status": 503 }), json!({ "status": 503 }), json!({})];
    world.stack.faults("gemini", json!(pattern.iter().cycle().take(90).collect::<Vec<_>>())).await;
    let began = std::time::Instant::now();
    let mut sales = Vec::new();
    for _ in 0..30 {
        sales.push(world.buy("quick").await);
    }
    let mut failed = Vec::new();
    for sale in &sales {
        let within = 4 * SOON;
        let end = eventually(&format!("an end of {}", sale.session), within, async || {
            let sale = world.aws.document(&sale.session, "SALE").await?;
            let state = sale["fulfilment"]["state"].as_str()?.to_owned();
            ["ready", "failed"].contains(&state.as_str()).then_some(state)
        })
        .await;
        if end == "failed" {
            failed.push(reference(sale));
        }
    }
    // Of each kind of error, three lines in each window of five minutes.
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for line in alerts(&world).await.iter().filter(|line| line.contains("] ERROR | ") && !line.contains(" | - | ")) {
        let parts: Vec<&str> = line.split(" | ").collect();
        *errors.entry(format!("{} {}", parts[0], parts[2])).or_default() += 1;
    }
    let windows = began.elapsed().as_secs() / 300 + 1;
    assert!(errors.values().all(|lines| *lines <= 3 * windows), "{windows} windows: {errors:?}");
    if !failed.is_empty() {
        decided(&world, &[&["reattempt", "--wait"], failed.as_slice()].concat());
    }
    for sale in &sales {
        mailed_once(&world, sale).await;
    }
    world.faults_are_used_up().await;
}
