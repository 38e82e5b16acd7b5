//! The parts of Lambda and of AWS that one webhook invocation uses: the Runtime API, one secret, one queue.

use crate::error::Error;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::json;
use std::{
    process::Command,
    time::{Duration, Instant},
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
};

/// The secret that signs the benchmark's event.
pub(super) const SIGNING_SECRET: &str = "whsec_bench";
const LIMIT: Duration = Duration::from_secs(30);

/// The measurements of one process.
pub(super) struct Measured {
    /// From the start of the process to its first poll, in milliseconds.
    pub(super) start_ms: f64,
    /// Peak resident memory after one event, in MiB.
    pub(super) peak_mib: f64,
}

struct Api {
    polled: mpsc::UnboundedSender<Instant>,
    events: Mutex<mpsc::UnboundedReceiver<String>>,
    replies: mpsc::UnboundedSender<Bytes>,
}

/// Starts the program, waits for its first poll, lets it handle the event, and ends it.
pub(super) async fn measure(mut program: Command, event: &str) -> Result<Measured, Error> {
    let (polled, mut first_poll) = mpsc::unbounded_channel();
    let (send_event, events) = mpsc::unbounded_channel();
    let (replies, mut reply) = mpsc::unbounded_channel();
    let state = std::sync::Arc::new(Api { polled, events: Mutex::new(events), replies });
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::io("listening"))?;
    let address = listener.local_addr().map_err(Error::io("listening"))?;
    let router = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(replied))
        .fallback(aws)
        .with_state(state);
    let server = tokio::spawn(async move { axum::serve(listener, router).await });

    program
        .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
        .env("AWS_ENDPOINT_URL", format!("http://{address}"))
        .env("ORDERS_QUEUE_URL", format!("http://{address}/orders"))
        .env("NOTICES_QUEUE_URL", format!("http://{address}/notices"))
        .env("PAYMENTS_QUEUE_URL", format!("http://{address}/payments"));
    let begin = Instant::now();
    let mut child = program.spawn().map_err(Error::io("starting the program"))?;
    let outcome = async {
        let silent = |what: &str| Error::Refused(format!("the program did not {what} within {} s", LIMIT.as_secs()));
        let at = tokio::time::timeout(LIMIT, first_poll.recv()).await.ok().flatten().ok_or_else(|| silent("poll"))?;
        let _ = send_event.send(event.to_owned());
        let body = tokio::time::timeout(LIMIT, reply.recv()).await.ok().flatten().ok_or_else(|| silent("reply"))?;
        let text = String::from_utf8_lossy(&body).into_owned();
        if !text.replace(' ', "").contains("\"statusCode\":200") {
            return Err(Error::Refused(format!("the program answered {text}")));
        }
        Ok(Measured { start_ms: (at - begin).as_secs_f64() * 1000.0, peak_mib: peak_mib(child.id())? })
    }
    .await;
    let _ = child.kill();
    let _ = child.wait();
    server.abort();
    outcome
}

async fn next(State(api): State<std::sync::Arc<Api>>) -> Response {
    let _ = api.polled.send(Instant::now());
    let Some(event) = api.events.lock().await.recv().await else { return StatusCode::GONE.into_response() };
    let deadline = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |now| now.as_millis() + LIMIT.as_millis());
    let headers = [
        ("lambda-runtime-aws-request-id", "11111111-2222-3333-4444-555555555555".to_owned()),
        ("lambda-runtime-deadline-ms", deadline.to_string()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:000000000000:function:bench".to_owned()),
        ("content-type", "application/json".to_owned()),
    ];
    (headers, event).into_response()
}

async fn replied(State(api): State<std::sync::Arc<Api>>, body: Bytes) -> StatusCode {
    let _ = api.replies.send(body);
    StatusCode::ACCEPTED
}

/// Secrets Manager and SQS, distinguished by the call's target.
async fn aws(headers: HeaderMap) -> Response {
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let secret = json!({"signing_secrets": [SIGNING_SECRET]}).to_string();
    let reply = match target.rsplit('.').next().unwrap_or_default() {
        "GetSecretValue" => json!({"ARN": "arn", "Name": "stripe-webhook", "VersionId": "1", "SecretString": secret}),
        "SendMessage" => json!({"MessageId": "1"}),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    ([("content-type", "application/x-amz-json-1.1")], reply.to_string()).into_response()
}

/// The process's largest resident size so far; only Linux reports it.
fn peak_mib(pid: u32) -> Result<f64, Error> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).map_err(Error::io(format!("reading {path}")))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().unwrap_or(f64::NAN);
    Ok(kib / 1024.0)
}
