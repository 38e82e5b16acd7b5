//! The security headers of every reply, and the replies to hostile requests.

use crate::world::{Reply, World, question};
use reqwest::Method;
use serde_json::json;
use stripe::signature;
use tests::unique;

/// Words that only engineers of the system should see.
const INTERNAL: [&str; 21] = [
    "panicked",
    "src/",
    ".rs:",
    "stack backtrace",
    "RUST_BACKTRACE",
    "thread '",
    "DynamoDB",
    "dynamodb",
    "amazonaws",
    "arn:aws",
    "127.0.0.1:",
    "errorType",
    "errorMessage",
    "serde",
    "reqwest",
    "sk_test",
    "whsec_",
    "Gemini",
    "line 1 column",
    "Internal server error",
    "Internal Server Error",
];

fn says_nothing_internal(reply: &Reply, what: &str) {
    for word in INTERNAL {
        assert!(!reply.text.contains(word), "{what}: the reply says {word:?}: {}", reply.text);
    }
}

fn assert_security_headers(reply: &Reply, what: &str) {
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(reply.header(name), value, "{what}: {name}");
    }
    assert!(reply.header("strict-transport-security").starts_with("max-age="), "{what}");
    assert!(reply.header("permissions-policy").contains("camera=()"), "{what}");
    for name in ["access-control-allow-origin", "server", "x-powered-by", "set-cookie"] {
        assert!(!reply.headers.contains_key(name), "{what}: {name}");
    }
}

#[tokio::test]
async fn every_reply_has_the_security_headers() {
    let world = World::beside_others().await;
    let sale = world.bought("quick").await;
    let delivered = format!("/api/verdict?session_id={}", sale.session);
    let short = format!("/result/{}", sale.session);
    for (path, status) in [
        ("/", 200),
        ("/oracle/result?session_id=cs_test_any", 200),
        (short.as_str(), 303),
        ("/result/nonsense", 404),
        ("/health", 200),
        (delivered.as_str(), 200),
        ("/api/verdict?session_id=cs_test_unknown", 404),
    ] {
        let reply = world.get(path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text);
        assert_security_headers(&reply, path);
    }
    let sold = world.checkout(json!({ "tier": "quick", "query": question() }).to_string()).await;
    assert_security_headers(&sold, "POST /api/checkout, 200");
    assert_security_headers(&world.checkout("no JSON").await, "POST /api/checkout, 400");
    let refused = world.call(Method::POST, "/api/webhook", &[], Vec::new()).await;
    assert_security_headers(&refused, "POST /api/webhook, 400");
}

/// Monitors and previews of links ask with HEAD.
#[tokio::test]
async fn pages_answer_head_as_get_without_a_body() {
    let world = World::beside_others().await;
    for path in ["/", "/oracle/result?session_id=cs_test_any", "/chat", "/result/cs_test_any", "/health", "/agents"] {
        let reply = world.call(Method::HEAD, path, &[], Vec::new()).await;
        assert_eq!((reply.status, reply.text.as_str()), (world.get(path).await.status, ""), "{path}");
        assert_security_headers(&reply, path);
    }
}

#[tokio::test]
async fn the_pages_policy_allows_nothing_but_what_is_in_them() {
    let world = World::beside_others().await;
    for path in ["/", "/oracle/result?session_id=cs_test_any", "/result/nonsense"] {
        let reply = world.get(path).await;
        assert_eq!(reply.header("content-type"), "text/html; charset=utf-8", "{path}");
        let policy = reply.header("content-security-policy");
        let directive = |name: &str| policy.split(';').map(str::trim).find_map(|part| part.strip_prefix(name));
        assert_eq!(directive("default-src "), Some("'none'"), "{path}: {policy}");
        assert_eq!(directive("base-uri "), Some("'none'"), "{path}: {policy}");
        assert_eq!(directive("frame-ancestors "), Some("'none'"), "{path}: {policy}");
        let scripts = directive("script-src ").expect("a rule for scripts");
        assert!(
            scripts.split(' ').all(|source| source == "'none'" || source.starts_with("'sha256-")),
            "{path}: {policy}"
        );
        for allowed in ["unsafe-inline", "unsafe-eval", "http:", "https:", "*"] {
            assert!(!policy.contains(allowed), "{path}: {policy}");
        }
        for foreign in ["src=\"http", "href=\"http", "//cdn", "@import"] {
            assert!(!reply.text.contains(foreign), "{path} loads from elsewhere: {foreign}");
        }
    }
}

/// The page is the same for every id: it contains no part of its address.
#[tokio::test]
async fn the_result_page_repeats_nothing_of_its_address() {
    let world = World::beside_others().await;
    let plain = world.get("/oracle/result?session_id=cs_test_any").await;
    for query in ["", "?session_id=%3Cscript%3Ealert(1)%3C/script%3E", "?session_id=a&session_id=b&x=%00", "?%ff=%fe"] {
        let reply = world.get(&format!("/oracle/result{query}")).await;
        assert_eq!((reply.status, &reply.text), (200, &plain.text), "{query}");
    }
}

#[tokio::test]
async fn health_says_whether_sales_can_be_read() {
    let world = World::beside_others().await;
    let reply = world.get("/health").await;
    let health = reply.json();
    assert_eq!((reply.status, &health["service"]), (200, &json!("resonant")));
    // It is degraded if a test ran the cache's health check some minutes ago and it has not run since.
    assert!(["resonant", "degraded"].iter().any(|status| health["status"] == *status), "{health}");
    // A build without an attestation has one field more.
    let names: Vec<&String> =
        health.as_object().expect("an object").keys().filter(|name| *name != "authority_suite").collect();
    assert_eq!(names, ["service", "status", "timestamp"], "the figures are not public: {health}");
    assert!(health["timestamp"].is_string(), "{health}");
}

/// Bodies that try to break a parser.
fn hostile_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let order = |query: &str| format!(r#"{{"tier":"quick","query":"{query}"}}"#).into_bytes();
    let with_bytes = |bytes: &[u8]| [br#"{"tier":"quick","query":"a"#, bytes, br#""}"#].concat();
    let nested = |open: &str, close: &str| {
        let (open, close) = (open.repeat(10_000), close.repeat(10_000));
        format!(r#"{{"tier":"quick","query":{open}1{close}}}"#).into_bytes()
    };
    vec![
        ("nothing", Vec::new()),
        ("unclosed nesting", b"[".repeat(200_000)),
        ("nested lists", nested("[", "]")),
        ("nested objects", nested("{\"a\":", "}")),
        ("an escaped NUL", order("a\\u0000b")),
        ("a raw NUL", with_bytes(b"\0")),
        ("a NUL alone", b"\0".to_vec()),
        ("a lone high surrogate", order("\\ud83c")),
        ("a lone low surrogate", order("\\udf41 x")),
        ("surrogates the wrong way round", order("\\udf41\\ud83c")),
        ("a huge number", format!(r#"{{"tier":{},"query":"x"}}"#, "9".repeat(10_000)).into_bytes()),
        ("an unfinished escape", order("\\u12")),
        ("a raw line break", order("a\nb")),
        ("XML", b"<?xml version=\"1.0\"?><a>&xxe;</a>".to_vec()),
    ]
}

/// Bytes that are not UTF-8. Only the functions can detect them, so they must receive what was sent.
fn invalid_utf8() -> Vec<(&'static str, Vec<u8>)> {
    let with_bytes = |bytes: &[u8]| [br#"{"tier":"quick","query":"a"#, bytes, br#" b"}"#].concat();
    vec![
        ("a stray byte", with_bytes(b"\xff")),
        ("a cut character", with_bytes(b"\xf0\x9f\x8d")),
        ("an overlong slash", with_bytes(b"\xc0\xaf")),
        ("an encoded surrogate", with_bytes(b"\xed\xa0\x80")),
    ]
}

fn assert_refused(reply: &Reply, what: &str) {
    assert_eq!(reply.status, 400, "{what}: {}", reply.text);
    assert!(reply.json()["error"].is_string() && reply.json()["code"].is_string(), "{what}: {}", reply.text);
    says_nothing_internal(reply, what);
}

#[tokio::test]
async fn hostile_bodies_and_bytes_that_are_no_text_are_refused_by_checkout() {
    let world = World::beside_others().await;
    for (what, body) in hostile_bodies().into_iter().chain(invalid_utf8()) {
        assert_refused(&world.checkout(body).await, what);
    }
}

#[tokio::test]
async fn hostile_bodies_and_bytes_that_are_no_text_are_refused_by_the_webhook() {
    let world = World::beside_others().await;
    let secret = world.stack.description["stripe_webhook_secret"].as_str().expect("a secret");
    for (what, body) in hostile_bodies().into_iter().chain(invalid_utf8()) {
        let now = domain::Timestamp::from_seconds(jiff::Timestamp::now().as_second());
        let header = signature::sign(&domain::Secret::new(secret), &body, now);
        for headers in [&[("stripe-signature", header.as_str())][..], &[]] {
            assert_refused(&world.call(Method::POST, "/api/webhook", headers, body.clone()).await, what);
        }
    }
}

/// Malformed headers.
#[tokio::test]
async fn hostile_signatures_are_refused() {
    let world = World::beside_others().await;
    let long = format!("t=1,v1={}", "a".repeat(5_000));
    let many = format!("t=1{}", ",v1=00".repeat(1_000));
    for header in
        ["t=99999999999999999999,v1=00", "t=-1,v1=00", "t=1,v1=zz", ",,,,", "=", "t=1,t=2,v1=00", &long, &many]
    {
        let reply = world.call(Method::POST, "/api/webhook", &[("stripe-signature", header)], b"{}".to_vec()).await;
        assert_eq!(reply.status, 400, "{:.40}: {}", header, reply.text);
        says_nothing_internal(&reply, header);
    }
}

/// Every error that a customer can see is a sentence without internal details.
#[tokio::test]
async fn errors_say_nothing_internal() {
    let world = World::alone().await;
    let down = json!({ "status": 500, "headers": { "Stripe-Should-Retry": "false" },
        "body": { "error": { "type": "api_error", "message": "src/secret.rs:1 panicked sk_test_1" } } });
    world.stack.faults("stripe", json!([down])).await;
    let reply = world.checkout(json!({ "tier": "quick", "query": question() }).to_string()).await;
    assert_eq!(reply.status, 502);
    says_nothing_internal(&reply, "checkout without Stripe");
    world.stack.faults("stripe", json!([down])).await;
    let reply = world.verdict(&format!("cs_test_{}", unique())).await;
    assert_eq!(reply.status, 503);
    says_nothing_internal(&reply, "a verdict without Stripe");
    world
        .stack
        .faults("gemini", json!([{ "status": 400, "body": { "error": { "message": "Gemini says no" } } }]))
        .await;
    let sale = world.buy("quick").await;
    let reply = world.answered(&sale.session).await;
    assert_eq!(reply.status, 500);
    says_nothing_internal(&reply, "a failed analysis");
    world.settled(&sale.session).await;
    world.faults_are_used_up().await;
}
