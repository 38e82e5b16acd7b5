//! One webhook invocation, with the parts of AWS that it uses: the Runtime API, one secret, one queue.

use crate::{
    error::Error,
    runtime_api::{Outcome, RuntimeApi},
};
use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;
use std::{process::Command, time::Instant};

/// The secret that signs the benchmark's event.
pub(super) const SIGNING_SECRET: &str = "whsec_bench";

pub(super) struct Measured {
    /// From the start of the process to its first poll, in milliseconds.
    pub(super) start_ms: f64,
    /// Peak resident memory after one event, in MiB.
    pub(super) peak_mib: f64,
}

/// Starts the program, waits for its first poll, lets it handle the event, and ends it.
pub(super) async fn measure(mut program: Command, event: &str) -> Result<Measured, Error> {
    let mut api = RuntimeApi::start(Router::new().fallback(aws)).await?;
    let address = api.address();
    program
        .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
        .env("AWS_ENDPOINT_URL", format!("http://{address}"))
        .env("ORDERS_QUEUE_URL", format!("http://{address}/orders"))
        .env("NOTICES_QUEUE_URL", format!("http://{address}/notices"))
        .env("PAYMENTS_QUEUE_URL", format!("http://{address}/payments"));
    let begin = Instant::now();
    let mut child = program.spawn().map_err(Error::io("starting the program"))?;
    let measured = async {
        let at = api.first_poll().await?;
        match api.invoke(event).await? {
            Outcome::Response(text) if text.replace(' ', "").contains("\"statusCode\":200") => {}
            Outcome::Response(text) | Outcome::Failed(text) => {
                return Err(Error::Refused(format!("the program answered {text}")));
            }
        }
        Ok(Measured { start_ms: (at - begin).as_secs_f64() * 1000.0, peak_mib: peak_mib(child.id())? })
    }
    .await;
    let _ = child.kill();
    let _ = child.wait();
    measured
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
