//! Measures the time from process start to the first poll of the Runtime API, and the peak memory after one paid event:
//! the webhook function compared with a bundled Node function for the same task.

use super::{
    Bench,
    lambda::{Measured, SIGNING_SECRET, measure},
    median, report, with_peer,
};
use crate::{error::Error, functions::build_release, local_dir::repository, runtime_api};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::SystemTime,
};

/// The number of runs: enough for a meaningful median on a busy machine.
const RUNS: usize = 25;
const NODE: &str = "infra/xtask/bench/node-webhook";

pub(super) fn start(bench: &Bench) -> Result<(), Error> {
    let mut functions = build_release(&bench.supervisor, Some("webhook"))?;
    let webhook = functions.remove("webhook").ok_or_else(|| Error::Refused("no function webhook".to_owned()))?;
    let bundle = bundle_node(bench)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Error::io("starting the benchmark"))?;
    let (mut ours, mut peers) = (Vec::new(), Vec::new());
    // Alternating, so that both have the same disturbances.
    for _ in 0..RUNS {
        ours.push(runtime.block_on(measure(isolated(&webhook), &event()?))?);
        let mut node = isolated(Path::new("node"));
        node.arg(&bundle);
        peers.push(runtime.block_on(measure(node, &event()?))?);
    }
    let compare = |name: &str, unit: &str, pick: fn(&Measured) -> f64| {
        let middle = |runs: &[Measured]| median(&mut runs.iter().map(pick).collect::<Vec<_>>());
        let round = |value: f64| (value * 100.0).round() / 100.0;
        let (value, peer) = (middle(&ours), middle(&peers));
        let best = ours.iter().map(pick).fold(f64::INFINITY, f64::min);
        let line = json!({ "name": name, "value": round(value), "unit": unit, "best": round(best), "runs": RUNS });
        report(&with_peer(line, "node with stripe and @aws-sdk/client-sqs, bundled", round(peer)));
    };
    compare("start/webhook", "ms", |measured| measured.start_ms);
    compare("memory/webhook", "MiB", |measured| measured.peak_mib);
    Ok(())
}

/// A program with only the environment of the webhook function.
pub(super) fn isolated(program: &Path) -> Command {
    let mut command = runtime_api::function(program, "bench-webhook");
    for (name, value) in [
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH", "true"),
        ("STRIPE_WEBHOOK_SECRET_ID", "stripe-webhook"),
        ("STRIPE_SMOKE_SECRET_ID", "stripe-smoke"),
        ("STRIPE_WEBHOOK_SECRET", SIGNING_SECRET),
        ("LOG_LEVEL", "error"),
    ] {
        command.env(name, value);
    }
    command
}

/// API Gateway's event for a signed, paid checkout.
pub(super) fn event() -> Result<String, Error> {
    let session = json!({
        "id": "cs_test_a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6", "object": "checkout.session", "livemode": false,
        "mode": "payment", "status": "complete", "payment_status": "paid", "amount_total": 100, "currency": "cad",
        "metadata": {"tier": "quick", "q0": "Should I open a second bakery?", "qn": "1"},
        "customer_details": {"email": "customer@example.com"},
    });
    let body = json!({
        "id": "evt_bench", "object": "event", "type": "checkout.session.completed", "created": 1_763_596_800,
        "livemode": false, "data": {"object": session},
    })
    .to_string();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let mut mac = Hmac::<Sha256>::new_from_slice(SIGNING_SECRET.as_bytes())
        .map_err(|error| Error::Refused(format!("signing the event: {error}")))?;
    mac.update(format!("{now}.{body}").as_bytes());
    let signature = format!("t={now},v1={}", hex::encode(mac.finalize().into_bytes()));
    Ok(gateway_event(
        "/api/webhook",
        &json!({"content-type": "application/json", "stripe-signature": signature}),
        &body,
    ))
}

/// API Gateway's event for a POST.
pub(super) fn gateway_event(path: &str, headers: &Value, body: &str) -> String {
    let lists: Map<String, Value> =
        headers.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), json!([value]))).collect();
    json!({
        "resource": path, "path": path, "httpMethod": "POST", "headers": headers, "multiValueHeaders": lists,
        "queryStringParameters": null, "multiValueQueryStringParameters": null, "pathParameters": null, "stageVariables": null,
        "requestContext": {
            "accountId": "000000000000", "apiId": "bench", "stage": "live", "httpMethod": "POST", "protocol": "HTTP/1.1",
            "path": format!("/live{path}"), "resourcePath": path, "resourceId": "bench", "requestId": "bench",
            "identity": {"sourceIp": "127.0.0.1"},
        },
        "body": body, "isBase64Encoded": false,
    })
    .to_string()
}

/// Installs the Node function's packages under target/ and bundles it into one file, like a deployment.
fn bundle_node(bench: &Bench) -> Result<PathBuf, Error> {
    let (source, target) = (repository()?.join(NODE), bench.dir.file("node-webhook"));
    fs::create_dir_all(&target).map_err(Error::io("creating the peer's directory"))?;
    for name in ["package.json", "handler.mjs", "main.mjs"] {
        fs::copy(source.join(name), target.join(name)).map_err(Error::io(format!("copying {name}")))?;
    }
    let bundle = target.join("bundle.mjs");
    let require = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";
    let bundling = format!(
        "npx --no-install esbuild main.mjs --bundle --minify --platform=node --target=node20 --format=esm --banner:js=\"{require}\" \
         --outfile={}",
        bundle.display()
    );
    for (name, script) in [("npm", "npm install --silent --no-audit --no-fund"), ("esbuild", bundling.as_str())] {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(&target).stdout(Stdio::null());
        bench.supervisor.check(name, &mut command)?;
    }
    Ok(bundle)
}
