//! The client against a server over a real connection: its requests, and its handling of the replies.
//! The file has more than 300 lines because each call of the client, and each way in which a call can fail, has a
//! short exchange of its own with the server, and all of them use one configuration.

#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use domain::{
    PaymentStatus, Query, Secret, SessionId, SessionStage, Tier, Timestamp,
    backoff::Backoff,
    money::{PaymentId, RefundStatus},
    ports::{
        Ledger, NewCheckoutSession, NewRefund, Pause, PaymentError, PaymentRefunds, Payments, Randomness, ReportsSince,
    },
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use stripe::{Client, Config, ConfigError};
use test_server::{Reply, Server, json, json_with};

const CREATED: &str = r#"{"id":"cs_test_1","url":"https://checkout.stripe.com/c/pay/cs_test_1"}"#;
const SESSION: &str = r#"{"id":"cs_test_1","payment_status":"paid","status":"complete"}"#;

/// Records the waits without waiting. Lets time pass again after a hang.
#[derive(Default)]
struct Waits {
    taken: Mutex<Vec<Duration>>,
    resumes: bool,
}

#[async_trait]
impl Pause for Waits {
    async fn pause(&self, duration: Duration) {
        self.taken.lock().unwrap().push(duration);
        if self.resumes {
            tokio::time::resume();
        }
    }
}

/// The largest jitter.
struct Certain;

impl Randomness for Certain {
    fn fraction(&self) -> f64 {
        1.0
    }
    fn token(&self) -> String {
        "0".repeat(32)
    }
}

fn client_with(config: Config, waits: &Arc<Waits>) -> Result<Client, ConfigError> {
    let waits: Arc<dyn Pause> = Arc::<Waits>::clone(waits);
    Client::new(config, reqwest::Client::builder().no_proxy(), waits, Arc::new(Certain))
}

fn config(url: &str) -> Config {
    Config::new(url, Secret::new("sk_test_key"), "https://oracle.example/")
}

fn client(url: &str) -> Client {
    client_with(config(url), &Arc::default()).unwrap()
}

fn id() -> SessionId {
    SessionId::parse("cs_test_1").unwrap()
}

fn new_session() -> NewCheckoutSession {
    NewCheckoutSession {
        tier: Tier::Quick,
        query: Query::parse("Is 1+1=2 & true? é").unwrap(),
        promotion_code: None,
        idempotency_key: "checkout-1".into(),
    }
}

/// All texts of an error that an operator could see.
fn chain(error: &PaymentError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(&format!(" {error}"));
        source = error.source();
    }
    text
}

#[tokio::test]
async fn creation_is_sent_as_stripe_reads_it() {
    let server = Server::start([json(200, CREATED)]).await;
    let created = client(&format!("{}/stripe/", server.url)).create_session(&new_session()).await.unwrap();
    assert_eq!((created.id, created.url.as_str()), (id(), "https://checkout.stripe.com/c/pay/cs_test_1"));
    let [request] = &server.seen()[..] else { panic!("one request") };
    assert_eq!(request.line, "POST /stripe/v1/checkout/sessions HTTP/1.1");
    assert_eq!(request.header("authorization"), Some("Bearer sk_test_key"));
    assert_eq!(request.header("stripe-version"), Some("2026-07-29.dahlia"));
    assert_eq!(request.header("idempotency-key"), Some("checkout-1"));
    assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(
        request.text(),
        "mode=payment\
         &success_url=https%3A%2F%2Foracle.example%2Foracle%2Fresult%3Fsession_id%3D%7BCHECKOUT_SESSION_ID%7D\
         &cancel_url=https%3A%2F%2Foracle.example%2F%3Fcanceled%3D1\
         &line_items%5B0%5D%5Bprice_data%5D%5Bcurrency%5D=cad\
         &line_items%5B0%5D%5Bprice_data%5D%5Bunit_amount%5D=100\
         &line_items%5B0%5D%5Bprice_data%5D%5Bproduct_data%5D%5Bname%5D=Quick+Take\
         &line_items%5B0%5D%5Bquantity%5D=1\
         &adaptive_pricing%5Benabled%5D=false\
         &metadata%5Btier%5D=quick\
         &payment_intent_data%5Bmetadata%5D%5Btier%5D=quick\
         &metadata%5Bq0%5D=Is+1%2B1%3D2+%26+true%3F+%C3%A9\
         &metadata%5Bqn%5D=1"
    );
}

#[tokio::test]
async fn a_session_is_retrieved_by_id() {
    let server = Server::start([json(200, SESSION)]).await;
    let session = client(&server.url).session(&id()).await.unwrap();
    assert_eq!((session.payment_status, session.stage), (PaymentStatus::Paid, SessionStage::Complete));
    let [request] = &server.seen()[..] else { panic!("one request") };
    assert_eq!(request.line, "GET /v1/checkout/sessions/cs_test_1 HTTP/1.1");
    assert_eq!((request.header("idempotency-key"), request.text()), (None, ""));
}

/// Stripe shows the session of a failed bank debit as complete and unpaid for ever.
#[tokio::test]
async fn the_payment_says_whether_a_completed_session_can_still_be_paid() {
    let session = r#"{"id":"cs_test_1","payment_status":"unpaid","status":"complete","payment_intent":"pi_1"}"#;
    let status = |word: &str| json(200, format!(r#"{{"id":"pi_1","status":"{word}"}}"#));
    for (payment, stage) in [
        (status("processing"), SessionStage::Complete),
        (status("requires_action"), SessionStage::Complete),
        (status("requires_payment_method"), SessionStage::Over),
        (status("canceled"), SessionStage::Over),
        (json(403, "{}"), SessionStage::Complete),
    ] {
        let server = Server::start([json(200, session), payment]).await;
        assert_eq!(client(&server.url).session(&id()).await.unwrap().stage, stage);
        assert_eq!(server.seen()[1].line, "GET /v1/payment_intents/pi_1 HTTP/1.1");
    }
    let open = r#"{"id":"cs_test_1","payment_status":"unpaid","status":"open","payment_intent":"pi_1"}"#;
    let server = Server::start([json(200, open)]).await;
    assert_eq!(client(&server.url).session(&id()).await.unwrap().stage, SessionStage::Open);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn promotion_codes_are_looked_up_and_impossible_ones_are_not() {
    let found = r#"{"data":[{"id":"promo_1","code":"FRIEND-10","active":true}]}"#;
    let server = Server::start([json(200, found), json(200, r#"{"data":[]}"#)]).await;
    let client = client(&server.url);
    assert_eq!(client.promotion_code("friend-10").await.unwrap().as_deref(), Some("promo_1"));
    assert_eq!(client.promotion_code("UNKNOWN").await.unwrap(), None);
    for impossible in ["", " ", "a b", "a&active=false", "x\r\ny", "é", &"a".repeat(501)] {
        assert_eq!(client.promotion_code(impossible).await.unwrap(), None);
    }
    let lines: Vec<_> = server.seen().into_iter().map(|request| request.line).collect();
    assert_eq!(
        lines,
        [
            "GET /v1/promotion_codes?code=friend-10&active=true HTTP/1.1",
            "GET /v1/promotion_codes?code=UNKNOWN&active=true HTTP/1.1"
        ]
    );
}

fn payment() -> PaymentId {
    PaymentId::parse("pi_1").unwrap()
}

#[tokio::test]
async fn a_refund_is_asked_for_whole_and_under_one_key() {
    let server = Server::start([Reply::HangUp, json(200, r#"{"id":"re_1","status":"succeeded"}"#)]).await;
    let made = client(&server.url).refund(&payment(), "refund-cs_test_1").await.unwrap();
    assert!(matches!(made, NewRefund::Made(made) if made.status == RefundStatus::Succeeded));
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "a lost reply is asked for again");
    for request in &seen {
        assert_eq!(request.line, "POST /v1/refunds HTTP/1.1");
        assert_eq!(
            (request.header("idempotency-key"), request.text()),
            (Some("refund-cs_test_1"), "payment_intent=pi_1&metadata%5Battempt%5D=refund-cs_test_1")
        );
    }
}

#[tokio::test]
async fn what_was_given_back_already_counts_and_what_is_refused_does_not() {
    let refused = |code: &str| json(400, format!(r#"{{"error":{{"type":"invalid_request_error","code":"{code}"}}}}"#));
    let server = Server::start([refused("charge_already_refunded"), refused("charge_disputed"), json(200, "{}")]).await;
    let client = client(&server.url);
    assert_eq!(client.refund(&payment(), "key").await.unwrap(), NewRefund::NothingLeft);
    let error = client.refund(&payment(), "key").await.unwrap_err();
    assert!(matches!(error, PaymentError::Refused(code) if code == "charge_disputed"));
    assert!(matches!(client.refund(&payment(), "key").await, Err(PaymentError::Unavailable(_))));
    assert!(matches!(client.refund(&payment(), "a key").await, Err(PaymentError::Refused(_))));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn the_refunds_of_a_payment_are_listed_with_the_keys_they_were_asked_for_with() {
    let list = r#"{"data":[{"id":"re_2","status":"reversed","metadata":{"attempt":"k2"}},{"id":"re_3","status":null},
                   {"id":"re_1","status":"failed","amount":500,"metadata":{"attempt":"k"}}]}"#;
    let server = Server::start([json(200, list)]).await;
    let PaymentRefunds { made, unknown } = client(&server.url).refunds(&payment()).await.unwrap();
    assert_eq!((made.len(), made[0].key.as_deref(), made[0].status), (1, Some("k"), RefundStatus::Failed));
    let unknown: Vec<_> = unknown.iter().map(|refund| (refund.id.as_str(), refund.key.as_deref())).collect();
    assert_eq!(unknown, [("re_2", Some("k2")), ("re_3", None)], "one of these hides no other");
    assert_eq!(server.seen()[0].line, "GET /v1/refunds?payment_intent=pi_1&limit=100 HTTP/1.1");
}

/// Stripe stores its own failure for the key, and replays it for a day.
#[tokio::test]
async fn a_replayed_failure_is_no_answer_and_is_not_asked_for_again() {
    let replay = json_with(500, "Idempotent-Replayed: true\r\nStripe-Should-Retry: true\r\n", "{}");
    let server = Server::start([json(500, "{}"), replay]).await;
    let error = client(&server.url).refund(&payment(), "key").await.unwrap_err();
    assert!(matches!(error, PaymentError::Replayed), "{error:?}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn refunds_and_disputes_are_read_from_list_to_list() {
    let empty = || json(200, r#"{"data":[],"has_more":false}"#);
    let methods = r#"{"data":[{"active":true,"acss_debit":{"available":true,"display_preference":{"value":"on"}}}]}"#;
    let server = Server::start([empty(), empty(), json(200, methods)]).await;
    let client = client(&server.url);
    let (refunds, disputes) = (Timestamp::from_seconds(7), Timestamp::from_seconds(5));
    let since = ReportsSince { refunds, disputes };
    let first = client.reports_since(since, refunds, None).await.unwrap();
    let second = client.reports_since(since, refunds, first.next.as_deref()).await.unwrap();
    assert_eq!((first.next.as_deref(), second.next), (Some("/v1/disputes"), None));
    assert_eq!(client.slowest_method().await.unwrap(), Duration::from_secs(16 * 24 * 3600));
    let lines: Vec<_> = server.seen().into_iter().map(|request| request.line).collect();
    assert_eq!(lines[0], "GET /v1/refunds?created%5Bgte%5D=7&limit=100 HTTP/1.1");
    assert_eq!(lines[1], "GET /v1/disputes?created%5Bgte%5D=5&limit=100 HTTP/1.1");
    assert_eq!(lines[2], "GET /v1/payment_method_configurations?limit=100 HTTP/1.1");
}

#[tokio::test]
async fn the_session_of_a_payment_is_looked_up() {
    let of = |payment: &str| {
        json(200, format!(r#"{{"data":[{{"id":"cs_test_1","payment_status":"paid","payment_intent":"{payment}"}}]}}"#))
    };
    let server = Server::start([of("pi_1"), json(200, r#"{"data":[]}"#), of("pi_2"), json(200, "{}")]).await;
    let client = client(&server.url);
    assert_eq!(client.session_of(&payment()).await.unwrap().unwrap().id, id());
    assert!(client.session_of(&payment()).await.unwrap().is_none());
    for what in ["another payment's session", "no list"] {
        assert!(matches!(client.session_of(&payment()).await, Err(PaymentError::Unavailable(_))), "{what}");
    }
    assert_eq!(server.seen()[0].line, "GET /v1/checkout/sessions?payment_intent=pi_1&limit=1 HTTP/1.1");
}

#[tokio::test]
async fn paid_sessions_are_listed_page_by_page_however_long_their_questions_are() {
    let long = "a".repeat(2 * 1024 * 1024);
    let first = format!(
        r#"{{"has_more":true,"data":[{},{{"id":"cs_2","payment_status":"unpaid"}}]}}"#,
        format_args!(r#"{{"id":"cs_1","payment_status":"paid","x":"{long}"}}"#)
    );
    let second = r#"{"has_more":false,"data":[{"id":"cs_3","payment_status":"paid"}]}"#;
    let server = Server::start([json(200, first), json(200, second)]).await;
    let client = client(&server.url);
    let since = Timestamp::from_millis(1_763_596_800_999);
    let page = client.completed_since(since, None).await.unwrap();
    assert_eq!((page.sessions.len(), page.next.as_deref()), (1, Some("cs_2")));
    let page = client.completed_since(since, page.next.as_deref()).await.unwrap();
    assert_eq!((page.sessions[0].id.as_str(), page.next), ("cs_3", None));
    let query = "created%5Bgte%5D=1763596800&status=complete&limit=100";
    let lines: Vec<_> = server.seen().into_iter().map(|request| request.line).collect();
    assert_eq!(lines[0], format!("GET /v1/checkout/sessions?{query} HTTP/1.1"));
    assert_eq!(lines[1], format!("GET /v1/checkout/sessions?{query}&starting_after=cs_2 HTTP/1.1"));
}

#[tokio::test]
async fn the_items_of_a_link_with_a_tier_of_ours_are_read() {
    let links =
        r#"{"has_more":false,"data":[{"id":"plink_1","metadata":{"tier":"quick"}},{"id":"plink_2","metadata":{}}]}"#;
    let items = r#"{"has_more":false,"data":[{"amount_total":100,"currency":"cad","quantity":1}]}"#;
    let server = Server::start([json(200, links), json(200, items)]).await;
    let read = client(&server.url).payment_links().await.unwrap();
    let amounts: Vec<Vec<_>> = read.iter().map(|link| link.items.iter().map(|item| item.amount).collect()).collect();
    assert_eq!(amounts, [vec![Some(100)], vec![]]);
    let lines: Vec<_> = server.seen().into_iter().map(|request| request.line).collect();
    let expected = ["/v1/payment_links?limit=100&active=true", "/v1/payment_links/plink_1/line_items?limit=100"];
    assert_eq!(lines, expected.map(|path| format!("GET {path} HTTP/1.1")));
}

#[tokio::test]
async fn what_may_pass_is_tried_again_with_the_same_key() {
    for (first, second) in [
        (json(500, "{}"), json(409, "{}")),
        (Reply::HangUp, json_with(429, "Stripe-Should-Retry: true\r\n", "{}")),
        (Reply::Bytes("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"id\":".into()), json(200, "<html>")),
    ] {
        let server = Server::start([first, second, json(200, CREATED)]).await;
        let waits = Arc::<Waits>::default();
        let client = client_with(config(&server.url), &waits).unwrap();
        assert_eq!(client.create_session(&new_session()).await.unwrap().id, id());
        let seen = server.seen();
        assert_eq!(seen.len(), 3);
        for request in &seen {
            assert_eq!((request.header("idempotency-key"), &request.body), (Some("checkout-1"), &seen[0].body));
        }
        assert_eq!(*waits.taken.lock().unwrap(), [300, 600].map(Duration::from_millis));
    }
}

#[tokio::test]
async fn there_is_no_fourth_attempt() {
    let server = Server::start([json(500, "{}"), json(502, "{}"), json(503, "{}"), json(200, CREATED)]).await;
    let error = client(&server.url).create_session(&new_session()).await.unwrap_err();
    assert!(chain(&error).contains("503"), "{}", chain(&error));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn refusals_are_final_and_quote_nothing() {
    let body = r#"{"error":{"type":"invalid_request_error","code":"parameter_invalid","message":"Is 1+1=2 & true?"}}"#;
    for (reply, status) in [
        (json(400, body), 400),
        (json(401, body), 401),
        (json_with(500, "Stripe-Should-Retry: false\r\n", body), 500),
        (json_with(302, "Location: http://127.0.0.1:1/\r\n", body), 302),
    ] {
        let server = Server::start([reply]).await;
        let error = client(&server.url).create_session(&new_session()).await.unwrap_err();
        let refused = matches!(&error, PaymentError::Refused(code) if code == "parameter_invalid");
        assert_eq!(refused, status == 400, "a refused key (401) is not the request's fault");
        let text = chain(&error);
        assert!(text.contains("parameter_invalid") && !text.contains("1+1"), "{text}");
        assert_eq!(server.seen().len(), 1, "{status}");
    }
}

/// A key that was rotated after this process had read it.
struct Rotated;

#[async_trait::async_trait]
impl domain::ports::SecretSource for Rotated {
    async fn document(&self) -> Result<Secret, domain::ports::StorageError> {
        Ok(Secret::new(r#"{"secret_key":"sk_old"}"#))
    }
}

#[async_trait::async_trait]
impl domain::RenewableSecret for Rotated {
    async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, domain::ports::StorageError> {
        let renewed = Secret::new(r#"{"secret_key":"sk_new"}"#);
        Ok(Some(renewed).filter(|renewed| renewed.expose() != refused.expose()))
    }
}

#[tokio::test]
async fn a_rotated_key_works_without_a_restart_and_sells_once() {
    // 403: the key lacks a permission, and its successor has it.
    for status in [401, 403] {
        let server = Server::start([json(status, "{}"), json(200, CREATED), json(status, "{}")]).await;
        let waits = Arc::new(Waits::default());
        let site = "https://oracle.example".to_owned();
        let client = stripe::LazyClient::new(server.url.clone(), site, Arc::new(Rotated), waits, Arc::new(Certain));
        assert!(client.create_session(&new_session()).await.is_ok(), "{status}");
        let error = client.create_session(&new_session()).await.unwrap_err();
        assert_eq!(matches!(error, PaymentError::Forbidden(_)), status == 403, "there is no other key: {error:?}");
        let seen = server.seen();
        let keys: Vec<_> = seen.iter().map(|request| request.header("authorization").unwrap()).collect();
        assert_eq!(keys, ["Bearer sk_old", "Bearer sk_new", "Bearer sk_new"], "{status}");
        assert_eq!(seen[0].header("idempotency-key"), seen[1].header("idempotency-key"), "{status}");
    }
}

/// A key of the test mode, and whether one of the live mode has replaced it since it was read.
struct Replaced(AtomicBool);

#[async_trait::async_trait]
impl domain::ports::SecretSource for Replaced {
    async fn document(&self) -> Result<Secret, domain::ports::StorageError> {
        Ok(Secret::new(r#"{"secret_key":"sk_test_1"}"#))
    }
}

#[async_trait::async_trait]
impl domain::RenewableSecret for Replaced {
    async fn renewed(&self, _refused: &Secret) -> Result<Option<Secret>, domain::ports::StorageError> {
        Ok(self.0.load(Ordering::Relaxed).then(|| Secret::new(r#"{"secret_key":"sk_live_1"}"#)))
    }
}

/// Stripe does not call such a key refused: it says that there is no such session.
#[tokio::test]
async fn a_key_of_the_other_mode_is_replaced_without_a_restart() {
    let id = SessionId::parse("cs_live_a1B2c3D4e5F6").unwrap();
    let session = SESSION.replace("cs_test_1", id.as_str());
    let server = Server::start([json(404, r#"{"error":{"code":"resource_missing"}}"#), json(200, session)]).await;
    let (secret, site) = (Arc::new(Replaced(AtomicBool::new(false))), "https://oracle.example".to_owned());
    let kept: Arc<dyn domain::RenewableSecret> = Arc::<Replaced>::clone(&secret);
    let client = stripe::LazyClient::new(server.url.clone(), site, kept, Arc::new(Waits::default()), Arc::new(Certain));
    assert!(client.is_of_other_mode(&id).await);
    assert!(matches!(client.session(&id).await, Err(PaymentError::NotFound)));
    secret.0.store(true, Ordering::Relaxed);
    assert_eq!(client.session(&id).await.unwrap().id, id);
    assert!(!client.is_of_other_mode(&id).await);
    let seen = server.seen();
    let keys: Vec<_> = seen.iter().map(|request| request.header("authorization").unwrap()).collect();
    assert_eq!(keys, ["Bearer sk_test_1", "Bearer sk_live_1"]);
}

#[tokio::test]
async fn an_unknown_session_is_not_found() {
    let server = Server::start([json(404, r#"{"error":{"code":"resource_missing"}}"#)]).await;
    assert!(matches!(client(&server.url).session(&id()).await, Err(PaymentError::NotFound)));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn replies_that_are_not_a_session_are_errors() {
    for body in [
        "{}".to_owned(),
        "null".to_owned(),
        SESSION.replace("cs_test_1", "cs_test_2"),
        SESSION.replace("paid", "perhaps"),
        format!("{{\"x\":\"{}\"}}", "a".repeat(1024 * 1024)),
    ] {
        let server = Server::start([json(200, &body)]).await;
        let error = client(&server.url).session(&id()).await.unwrap_err();
        assert!(matches!(error, PaymentError::Unavailable(_)), "{error:?}");
    }
    let server = Server::start([json(200, r#"{"id":"cs_test_1","url":"javascript:alert(1)"}"#)]).await;
    let error = client(&server.url).create_session(&new_session()).await.unwrap_err();
    assert!(matches!(error, PaymentError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn a_hanging_attempt_is_given_up_and_the_next_one_succeeds() {
    let server = Server::start([Reply::Hang, json(200, CREATED)]).await;
    let waits = Arc::new(Waits { resumes: true, ..Waits::default() });
    let client = client_with(config(&server.url), &waits).unwrap();
    assert_eq!(client.create_session(&new_session()).await.unwrap().id, id());
    assert_eq!(server.seen().len(), 2);
}

/// Stripe takes seconds to assemble a page of a hundred long sessions, for which no customer waits.
#[tokio::test]
async fn a_page_has_more_time_than_one_session() {
    for (is_page, seconds) in [(true, 30..60), (false, 4..30)] {
        let server = Server::start([Reply::Hang]).await;
        let config = config(&server.url);
        let backoff = Backoff { attempts: 1, ..config.backoff };
        let client = client_with(Config { backoff, ..config }, &Arc::default()).unwrap();
        let before = tokio::time::Instant::now();
        let outcome = if is_page {
            client.completed_since(Timestamp::from_seconds(0), None).await.map(drop)
        } else {
            client.session(&id()).await.map(drop)
        };
        assert!(outcome.is_err());
        // Virtual seconds: only the time-out can have let them pass.
        let elapsed = before.elapsed().as_secs();
        assert!(seconds.contains(&elapsed), "{is_page}: {elapsed}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn the_budget_ends_everything() {
    let start = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{".to_owned();
    for reply in [Reply::Hang, Reply::HangAfter(start)] {
        let server = Server::start([reply]).await;
        let config = Config { attempt_timeout: Duration::from_secs(60), ..config(&server.url) };
        let before = tokio::time::Instant::now();
        let error = client_with(config, &Arc::default()).unwrap().session(&id()).await.unwrap_err();
        assert!(chain(&error).contains("no answer within the time allowed"), "{}", chain(&error));
        // Virtual seconds: only the time limit can have let them pass.
        assert!((8..60).contains(&before.elapsed().as_secs()));
        assert_eq!(server.seen().len(), 1);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn an_unreachable_provider_is_unavailable_and_its_address_stays_out_of_the_error() {
    let url = test_server::nobody().await;
    let error = client(&url).session(&id()).await.unwrap_err();
    let text = chain(&error);
    assert!(matches!(error, PaymentError::Unavailable(_)));
    assert!(text.contains("refused") && !text.contains("cs_test_1") && !text.contains("sk_test"), "{text}");
}

#[tokio::test]
async fn keys_that_would_break_out_of_a_header_are_refused_before_anything_is_sent() {
    let server = Server::start([]).await;
    for key in ["", "a\r\nX-Evil: 1", "a b", "é", &"a".repeat(256)] {
        let new = NewCheckoutSession { idempotency_key: key.to_owned(), ..new_session() };
        let error = client(&server.url).create_session(&new).await.unwrap_err();
        assert!(matches!(error, PaymentError::Refused(code) if code == "idempotency_key_invalid"));
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_bad_configuration_is_named() {
    let waits = Arc::<Waits>::default();
    let build = |config: Config| client_with(config, &waits).map(|_| ());
    let good = config("https://api.stripe.com");
    assert!(build(good.clone()).is_ok());
    for url in ["", "api.stripe.com", "ftp://x", "http://x/?a=1", "https://x/#f"] {
        assert!(matches!(build(Config { base_url: url.into(), ..good.clone() }), Err(ConfigError::BaseUrl)), "{url}");
        assert!(matches!(build(Config { site: url.into(), ..good.clone() }), Err(ConfigError::Site)), "{url}");
    }
    for key in ["", " ", "sk\nX: y", "sk é"] {
        assert!(matches!(build(Config { key: Secret::new(key), ..good.clone() }), Err(ConfigError::Key)));
    }
}
