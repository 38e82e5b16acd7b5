//! A sandbox on a free port with a clock that tests set, and a webhook receiver whose replies tests set.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use sandbox::{Clock, Config, Identifiers, Sandbox};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// 2025-11-20T00:00:00Z.
pub(crate) const NOW: i64 = 1_763_596_800;
pub(crate) const SENDER: &str = "oracle@42sisters.ai";

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) client: reqwest::Client,
    clock: Arc<AtomicI64>,
}

pub(crate) async fn world() -> World {
    world_with(Config::default()).await
}

/// The file of calls for a later comparison with the vendors' types (`cargo xtask test --only vendors`).
#[allow(clippy::disallowed_methods)]
fn recording() -> Option<std::path::PathBuf> {
    std::env::var_os("SANDBOX_RECORD").map(Into::into)
}

pub(crate) async fn world_with(config: Config) -> World {
    let config = Config { record: recording(), ..config };
    let clock = Arc::new(AtomicI64::new(NOW));
    let reading = Arc::clone(&clock);
    let sandbox = Sandbox::start(
        0,
        config,
        Clock::from_function(move || Timestamp::from_second(reading.load(Ordering::SeqCst)).unwrap()),
        Identifiers::seeded([42; 32]),
    )
    .await
    .unwrap();
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    World { sandbox, client, clock }
}

/// The status and the JSON body of a reply; null if the body is empty.
pub(crate) async fn read(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, if body == "" { Value::Null } else { body })
}

/// The body of a reply that must have the status 200.
pub(crate) async fn ok(reply: impl Future<Output = (u16, Value)>) -> Value {
    let (status, body) = reply.await;
    assert_eq!(status, 200, "{body}");
    body
}

impl World {
    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.sandbox.url())
    }

    pub(crate) async fn control(&self, path: &str, body: Value) -> (u16, Value) {
        read(self.client.post(self.url(&format!("/control/{path}"))).json(&body)).await
    }

    pub(crate) async fn look(&self, path: &str) -> Value {
        ok(read(self.client.get(self.url(&format!("/control/{path}"))))).await
    }

    pub(crate) async fn fault(&self, target: &str, replies: Value) {
        ok(self.control("faults", json!({"target": target, "replies": replies}))).await;
    }

    fn form(&self, path: &str, fields: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let post = self.client.post(self.url(path));
        post.header("Content-Type", "application/x-www-form-urlencoded").body(form.finish())
    }

    pub(crate) fn stripe_post(&self, path: &str, fields: &[(&str, &str)]) -> reqwest::RequestBuilder {
        self.form(&format!("/stripe/v1/{path}"), fields).bearer_auth("sk_test_sandbox")
    }

    pub(crate) fn stripe_get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(self.url(&format!("/stripe/v1/{path}"))).bearer_auth("sk_test_sandbox")
    }

    /// Creates an open session for a quick take and returns it.
    pub(crate) async fn session(&self) -> Value {
        ok(read(self.stripe_post("checkout/sessions", &SESSION))).await
    }

    pub(crate) fn gemini(&self, body: &Value) -> reqwest::RequestBuilder {
        self.model("gemini-2.5-flash", body)
    }

    pub(crate) fn model(&self, model: &str, body: &Value) -> reqwest::RequestBuilder {
        self.asked(&format!("{model}:generateContent"), body)
    }

    pub(crate) fn stream(&self, query: &str, body: &Value) -> reqwest::RequestBuilder {
        self.asked(&format!("gemini-2.5-flash:streamGenerateContent{query}"), body)
    }

    fn asked(&self, method: &str, body: &Value) -> reqwest::RequestBuilder {
        let post = self.client.post(self.url(&format!("/gemini/v1beta/models/{method}")));
        post.header("x-goog-api-key", "sandbox-gemini-key").json(body)
    }

    pub(crate) fn login(&self, fields: &[(&str, &str)]) -> reqwest::RequestBuilder {
        self.form("/login/sandbox-tenant/oauth2/v2.0/token", fields)
    }

    pub(crate) async fn token(&self) -> String {
        let body = ok(read(self.login(&REFRESH))).await;
        body["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn mailbox(&self, path: &str) -> String {
        self.url(&format!("/graph/v1.0/users/{SENDER}/{path}"))
    }
}

pub(crate) const REFRESH: [(&str, &str); 3] =
    [("grant_type", "refresh_token"), ("client_id", "sandbox-client"), ("refresh_token", "sandbox-refresh-token")];

pub(crate) const SESSION: [(&str, &str); 12] = [
    ("mode", "payment"),
    ("success_url", "http://127.0.0.1:1/oracle/result?session_id={CHECKOUT_SESSION_ID}"),
    ("cancel_url", "http://127.0.0.1:1/"),
    ("line_items[0][price_data][currency]", "cad"),
    ("line_items[0][price_data][unit_amount]", "100"),
    ("line_items[0][price_data][product_data][name]", "Quick Take"),
    ("line_items[0][quantity]", "1"),
    ("adaptive_pricing[enabled]", "false"),
    ("metadata[tier]", "quick"),
    ("metadata[q0]", "Should I open a bakery?"),
    ("metadata[qn]", "1"),
    ("payment_intent_data[metadata][tier]", "quick"),
];

/// A session's fields with one replaced, added, or (if the value is "-") left out.
pub(crate) fn session_with<'a>(name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut fields: Vec<(&str, &str)> = SESSION.into_iter().filter(|(field, _)| *field != name).collect();
    if value != "-" {
        fields.push((name, value));
    }
    fields
}

pub(crate) struct Received {
    pub(crate) signature: String,
    pub(crate) body: String,
}

pub(crate) struct Receiver {
    pub(crate) url: String,
    pub(crate) received: mpsc::UnboundedReceiver<Received>,
}

/// A webhook receiver that replies with these statuses in order and with 200 afterwards.
pub(crate) async fn receiver(statuses: &[u16]) -> Receiver {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/webhook", listener.local_addr().unwrap());
    let statuses = Arc::new(Mutex::new(statuses.iter().copied().collect::<VecDeque<_>>()));
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let statuses = Arc::clone(&statuses);
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                let (head, body) = loop {
                    if stream.read_buf(&mut bytes).await.unwrap() == 0 {
                        return;
                    }
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let length: usize = header(head, "content-length").parse().unwrap();
                    if body.len() >= length {
                        break (head.to_owned(), body.to_owned());
                    }
                };
                let status = statuses.lock().unwrap().pop_front().unwrap_or(200);
                sender.send(Received { signature: header(&head, "stripe-signature"), body }).ok();
                let text = r#"{"received":true}"#;
                let reply = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                    text.len()
                );
                stream.write_all(reply.as_bytes()).await.unwrap();
            });
        }
    });
    Receiver { url, received }
}

fn header(head: &str, name: &str) -> String {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
        .unwrap_or_default()
}
