//! The client against a server over a real connection: its requests, and its handling of the replies.
//! The file has more than 300 lines because whole replies and streams are read by one client, and each way in which
//! either can end has a short exchange of its own.

#![allow(clippy::unwrap_used)]

use domain::{
    Secret,
    ports::{Listener, Model, ModelError, ModelReply, Prompt},
};
use gemini::{Client, Config, ConfigError};
use serde_json::{Value, json as object};
use std::sync::Arc;
use test_server::{Reply, Server, json, json_with};

const ANSWER: &str = r#"{"candidates":[{"content":{"parts":[{"text":"{\"verdict\":\"GREEN\"}"}]},"finishReason":"STOP"}],
                         "modelVersion":"gemini-2.5-flash"}"#;

fn config(url: &str) -> Config {
    Config { base_url: url.to_owned(), key: Secret::new("AIza-key"), timeout: gemini::client::DEFAULT_TIMEOUT }
}

fn client(url: &str) -> Client {
    Client::new(config(url), reqwest::Client::builder().no_proxy()).unwrap()
}

fn prompt() -> Prompt {
    Prompt {
        instruction: "Judge.".into(),
        content: "Is it?\" } \u{1F341}\r\nX-Evil: 1".into(),
        schema: object!({"type": "object"}),
        max_output_tokens: 4096,
        ordinary_reply_bytes: 2_000,
    }
}

/// A key that was rotated after this process had read it.
struct Rotated;

#[async_trait::async_trait]
impl domain::ports::SecretSource for Rotated {
    async fn document(&self) -> Result<Secret, domain::ports::StorageError> {
        Ok(Secret::new(r#"{"api_key":"old"}"#))
    }
}

#[async_trait::async_trait]
impl domain::RenewableSecret for Rotated {
    async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, domain::ports::StorageError> {
        let renewed = Secret::new(r#"{"api_key":"new"}"#);
        Ok(Some(renewed).filter(|renewed| renewed.expose() != refused.expose()))
    }
}

/// Gemini Timeout, failure mode 6.
#[tokio::test]
async fn a_rotated_key_works_without_a_restart() {
    let server = Server::start([json(401, "{}"), json(200, ANSWER), json(200, ANSWER), json(403, "{}")]).await;
    let client = gemini::LazyClient::new(server.url.clone(), gemini::client::DEFAULT_TIMEOUT, Arc::new(Rotated));
    assert!(client.ask("gemini-2.5-flash", &prompt()).await.is_ok());
    assert!(client.ask("gemini-2.5-flash", &prompt()).await.is_ok());
    let refused = client.ask("gemini-2.5-flash", &prompt()).await;
    assert!(matches!(refused, Err(ModelError::Unauthorized(403))), "there is no other key");
    let keys: Vec<_> =
        server.seen().iter().map(|request| request.header("x-goog-api-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["old", "new", "new", "new"]);
}

/// The other key may be one of a project that has credits.
#[tokio::test]
async fn the_key_of_a_refused_account_is_read_again() {
    let server = Server::start([json(402, "{}"), json(200, ANSWER), json(402, "{}")]).await;
    let client = gemini::LazyClient::new(server.url.clone(), gemini::client::DEFAULT_TIMEOUT, Arc::new(Rotated));
    assert!(client.ask("gemini-2.5-flash", &prompt()).await.is_ok());
    let refused = client.ask("gemini-2.5-flash", &prompt()).await;
    assert!(matches!(refused, Err(ModelError::Account(402))), "there is no other key");
    let keys: Vec<_> =
        server.seen().iter().map(|request| request.header("x-goog-api-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["old", "new", "new"]);
}

/// Gemini Timeout, GAP-02D: checks the key without a question to the model.
#[tokio::test]
async fn whether_a_model_is_served_is_asked_without_a_question() {
    let server = Server::start([json(200, "{}"), json(404, "{}"), json(403, "{}")]).await;
    let client = client(&server.url);
    assert!(client.knows("gemini-2.5-flash").await.is_ok());
    assert!(matches!(client.knows("gone").await, Err(ModelError::UnknownModel)));
    assert!(matches!(client.knows("gemini-2.5-flash").await, Err(ModelError::Unauthorized(403))));
    let request = &server.seen()[0];
    assert_eq!(request.line, "GET /v1beta/models/gemini-2.5-flash HTTP/1.1");
    assert_eq!((request.header("x-goog-api-key"), request.text()), (Some("AIza-key"), ""));
}

async fn outcome(reply: Reply) -> Result<domain::ports::ModelReply, ModelError> {
    let server = Server::start([reply]).await;
    let outcome = client(&server.url).ask("gemini-2.5-flash", &prompt()).await;
    assert_eq!(server.seen().len(), 1, "one call, one request");
    outcome
}

#[tokio::test]
async fn every_family_is_asked_in_its_own_way() {
    let server = Server::start([json(200, ANSWER), json(200, ANSWER), json(200, ANSWER)]).await;
    let client = client(&format!("{}/gemini/", server.url));
    let common = object!({"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
                          "maxOutputTokens": 4096});
    let families = [
        (
            "gemini-2.5-flash",
            object!({"temperature": 0, "topP": 1, "topK": 1, "candidateCount": 1, "thinkingConfig": {"thinkingBudget": 1024}}),
        ),
        ("gemini-3.5-flash-lite", object!({"thinkingConfig": {"thinkingLevel": "LOW"}})),
        ("another-model", object!({})),
    ];
    for (index, (model, mut settings)) in families.into_iter().enumerate() {
        let reply = client.ask(model, &prompt()).await.unwrap();
        assert_eq!(reply.text, r#"{"verdict":"GREEN"}"#);
        let request = &server.seen()[index];
        assert_eq!(request.line, format!("POST /gemini/v1beta/models/{model}:generateContent HTTP/1.1"));
        assert_eq!(request.header("x-goog-api-key"), Some("AIza-key"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("x-evil"), None);
        settings.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
        let sent: Value = serde_json::from_str(request.text()).unwrap();
        let expected = object!({
            "systemInstruction": {"parts": [{"text": "Judge."}]},
            "contents": [{"role": "user", "parts": [{"text": prompt().content}]}],
            "generationConfig": settings,
        });
        assert_eq!(sent, expected);
    }
}

#[tokio::test]
async fn the_same_prompt_is_the_same_bytes() {
    let server = Server::start([json(200, ANSWER), json(200, ANSWER)]).await;
    for _ in 0..2 {
        client(&server.url).ask("gemini-2.5-flash", &prompt()).await.unwrap();
    }
    let seen = server.seen();
    assert_eq!(seen[0].body, seen[1].body);
}

#[tokio::test]
async fn statuses_are_mapped() {
    let daily = r#"{"error":{"details":[{"violations":[{"quotaId":"RequestsPerDayPerProject"}]}]}}"#;
    assert!(matches!(outcome(json(429, daily)).await, Err(ModelError::QuotaExhausted)));
    assert!(matches!(outcome(json(429, "{}")).await, Err(ModelError::Unavailable(429))));
    assert!(matches!(outcome(json(503, "<html>")).await, Err(ModelError::Unavailable(503))));
    assert!(matches!(outcome(json(403, "{}")).await, Err(ModelError::Unauthorized(403))));
    assert!(matches!(outcome(json(400, "{}")).await, Err(ModelError::BadRequest(400))));
    assert!(matches!(outcome(json(404, "{}")).await, Err(ModelError::UnknownModel)));
    let elsewhere = json_with(307, "Location: http://127.0.0.1:1/\r\n", "{}");
    assert!(matches!(outcome(elsewhere).await, Err(ModelError::BadRequest(307))));
}

#[tokio::test]
async fn a_long_reply_is_not_read_to_its_end() {
    let long = "a".repeat(1024 * 1024 + 1);
    assert!(
        matches!(outcome(json(200, &long)).await, Err(ModelError::NoVerdict(reason)) if reason == "REPLY_TOO_LONG")
    );
    assert!(matches!(outcome(json(500, &long)).await, Err(ModelError::Unavailable(500))));
}

#[tokio::test]
async fn lost_connections_are_the_networks() {
    let cut = Reply::Bytes("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"candidates\"".into());
    for reply in [Reply::HangUp, cut, Reply::Bytes("nonsense\r\n\r\n".into())] {
        let error = outcome(reply).await.unwrap_err();
        assert!(matches!(error, ModelError::Network(_)), "{error:?}");
    }
    let error = client(&test_server::nobody().await).ask("gemini-2.5-flash", &prompt()).await.unwrap_err();
    assert!(matches!(&error, ModelError::Network(_)) && !format!("{error} {error:?}").contains("AIza"), "{error:?}");
}

#[tokio::test]
async fn the_time_out_covers_head_and_body() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{".to_owned();
    for reply in [Reply::Hang, Reply::HangAfter(head)] {
        let before = tokio::time::Instant::now();
        assert!(matches!(outcome(reply).await, Err(ModelError::Timeout)));
        // Virtual seconds: only the time-out can have let them pass.
        assert!((45..120).contains(&before.elapsed().as_secs()));
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_name_that_is_none_is_not_asked() {
    let server = Server::start([]).await;
    for name in ["", "../files", "a/b", "a?x=1", "a b", "A", "a\r\nX: y"] {
        let error = client(&server.url).ask(name, &prompt()).await.unwrap_err();
        assert!(matches!(error, ModelError::UnknownModel), "{name:?}");
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_bad_configuration_is_named() {
    let build = |config: Config| Client::new(config, reqwest::Client::builder()).map(|_| ());
    let good = config(gemini::client::BASE_URL);
    assert!(build(good.clone()).is_ok());
    for base_url in ["", "x", "ftp://x", "https://x/?key=1"] {
        assert!(matches!(build(Config { base_url: base_url.into(), ..good.clone() }), Err(ConfigError::BaseUrl)));
    }
    for key in ["", "a\nb", "é"] {
        assert!(matches!(build(Config { key: Secret::new(key), ..good.clone() }), Err(ConfigError::Key)));
    }
}

/// Notes each text that it hears.
#[derive(Default)]
struct Heard(Vec<String>);

#[async_trait::async_trait]
impl Listener for Heard {
    async fn hear(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

fn event(body: &Value) -> String {
    format!("data: {body}\r\n\r\n")
}

fn part(text: &str) -> Value {
    object!({"candidates": [{"content": {"parts": [{"text": text}]}}], "modelVersion": "m-1"})
}

async fn streamed(reply: Reply) -> (Result<ModelReply, ModelError>, Vec<String>) {
    let server = Server::start([reply]).await;
    let mut heard = Heard::default();
    let outcome = client(&server.url).stream("gemini-2.5-flash", &prompt(), &mut heard).await;
    let request = &server.seen()[0];
    assert_eq!(request.line, "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse HTTP/1.1");
    assert_eq!((server.seen().len(), request.header("x-goog-api-key")), (1, Some("AIza-key")));
    (outcome, heard.0)
}

#[tokio::test]
async fn a_stream_is_heard_part_by_part_and_only_its_end_is_a_reply() {
    let mut last = part(".\"}");
    last["candidates"][0]["finishReason"] = object!("STOP");
    let begun = format!("{STREAM}{}", event(&part("{\"reply\":\"A")));
    let (whole, heard) = streamed(Reply::Bytes(format!("{begun}{}", event(&last)).into())).await;
    assert_eq!(whole.unwrap().text, "{\"reply\":\"A.\"}");
    assert_eq!(heard, ["{\"reply\":\"A", "{\"reply\":\"A.\"}"]);

    let first = ["{\"reply\":\"A"];
    let (cut, heard) = streamed(Reply::Bytes(begun.clone().into())).await;
    assert!(matches!(&cut, Err(error @ ModelError::Incomplete(_)) if error.is_retriable()), "{cut:?}");
    assert_eq!(heard, first);
    let failed = event(&object!({"error": {"code": 503, "status": "UNAVAILABLE"}}));
    let (failed, heard) = streamed(Reply::Bytes(format!("{begun}{failed}").into())).await;
    assert!(matches!(failed, Err(ModelError::Unavailable(503))), "{failed:?}");
    assert_eq!(heard, first);
    // The form in which Gemini sends it: no event, in several lines, without a line break at its end.
    let error = "{\n  \"error\": {\n    \"code\": 503,\n    \"status\": \"UNAVAILABLE\"\n  }\n}";
    for before in [begun.clone(), format!("{begun}{}", event(&last))] {
        let (failed, _) = streamed(Reply::Bytes(format!("{before}{error}").into())).await;
        assert!(matches!(failed, Err(ModelError::Unavailable(503))), "{before}: {failed:?}");
    }
    let (other, _) = streamed(Reply::Bytes(format!("{begun}{}{{\"a\": 1}}", event(&last)).into())).await;
    assert_eq!(other.unwrap().text, "{\"reply\":\"A.\"}", "only an error counts outside of the events");
    let (damaged, _) = streamed(Reply::Bytes(format!("{begun}data: {{\r\n\r\n").into())).await;
    assert!(matches!(damaged, Err(ModelError::Network(_))), "{damaged:?}");
    let (lost, heard) =
        streamed(Reply::Bytes(begun.replace("Connection: close", "Content-Length: 99999").into())).await;
    assert!(matches!(lost, Err(ModelError::Network(_))), "{lost:?}");
    assert_eq!(heard, first);
    let (endless, _) = streamed(Reply::Bytes(format!("{STREAM}{}", "x".repeat(1024 * 1024 + 1)).into())).await;
    assert!(matches!(endless, Err(ModelError::NoVerdict(_))), "{endless:?}");
    let (refused, heard) = streamed(json(429, "{}")).await;
    assert!(matches!(refused, Err(ModelError::Unavailable(429))) && heard.is_empty(), "{refused:?}");
}

#[tokio::test]
async fn a_stream_that_hangs_times_out() {
    let (hung, heard) = streamed(Reply::HangAfter(format!("{STREAM}{}", event(&part("{\"reply\":\"A"))))).await;
    assert!(matches!(hung, Err(ModelError::Timeout)), "{hung:?}");
    assert_eq!(heard.len(), 1);
}

/// The asker decides how long a reply is, so a long one says nothing about the model. A short one shows a slow model.
#[tokio::test]
async fn a_stream_that_is_cut_while_it_is_written_is_told_from_one_that_stalls() {
    for (text, is_long) in ["and so on, ".repeat(10), "a".to_owned()].into_iter().zip([true, false]) {
        let part = event(&part(&text));
        let (cut, heard) = streamed(Reply::Drip { head: format!("{STREAM}{part}"), part }).await;
        let Err(error) = cut else { panic!("it never ends") };
        assert_eq!(matches!(error, ModelError::Incomplete(_)), is_long, "{error:?}");
        assert_eq!(error.is_outage(), !is_long);
        assert!((30..=60).contains(&heard.len()), "{}", heard.len());
        tokio::time::resume();
    }
    // A comment of the protocol is no text.
    let head = format!("{STREAM}{}", event(&part(&"A".repeat(2_001))));
    let (stalled, heard) = streamed(Reply::Drip { head, part: ": wait\r\n\r\n".to_owned() }).await;
    assert!(matches!(stalled, Err(ModelError::Timeout)) && heard.len() == 1, "{stalled:?}");
}

#[tokio::test]
async fn a_rotated_key_streams_without_a_restart() {
    let mut last = part("{}");
    last["candidates"][0]["finishReason"] = object!("STOP");
    let whole = Reply::Bytes(format!("{STREAM}{}", event(&last)).into());
    let server = Server::start([json(401, "{}"), whole]).await;
    let client = gemini::LazyClient::new(server.url.clone(), gemini::client::DEFAULT_TIMEOUT, Arc::new(Rotated));
    let mut heard = Heard::default();
    assert!(client.stream("gemini-2.5-flash", &prompt(), &mut heard).await.is_ok());
    assert_eq!(heard.0, ["{}"]);
}
