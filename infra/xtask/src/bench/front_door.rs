//! Hostile and paying clients at the front door of a separate stack: how many Stripe calls hostile clients cause, and
//! how much they delay paying customers. Limited, and on this machine only.

use super::{Bench, UNSCHEDULED, median, on_stack, report};
use crate::{
    error::Error,
    http::{Caller, HttpClient, client},
};
use axum::{
    body::Body,
    http::{Method, Request},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How long paying customers are measured alone, and then together with hostile clients.
const QUIET: Duration = Duration::from_secs(20);
const BUSY: Duration = Duration::from_secs(60);

/// The number of hostile clients, and the pause of each between two requests: about fifty requests a second together,
/// as many as the gateway allows for one route.
const HOSTILE: u64 = 10;
const HOSTILE_PAUSE: Duration = Duration::from_millis(200);
const PAYING_PAUSE: Duration = Duration::from_millis(500);

/// The most Stripe calls per hostile request, and the greatest delay factor for a paying customer.
const MOST_CALLS: f64 = 0.02;
const MOST_DELAY: f64 = 2.0;

pub(super) fn front_door(bench: &Bench) -> Result<(), Error> {
    on_stack(bench, &UNSCHEDULED, || measure(bench))
}

fn measure(bench: &Bench) -> Result<(), Error> {
    let stack = bench.dir.stack()?;
    let caller = Caller::new()?;
    let session = delivered_sale(&caller, &stack.site, &stack.sandbox)?;
    let load = Load { site: &stack.site, session: &session, client: client(), hostile: AtomicU64::new(0) };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Error::io("starting the clients"))?;
    let mut quiet = runtime.block_on(load.paying(QUIET));
    let (mut busy, ()) = runtime.block_on(async { tokio::join!(load.paying(BUSY), load.all_hostile(BUSY)) });
    let (_, calls) = caller.get(&format!("{}/control/calls?target=stripe", stack.sandbox))?;
    let caused = calls.as_array().into_iter().flatten().filter(|call| call.to_string().contains("hostile")).count();
    let requests = load.hostile.load(Ordering::Relaxed);
    #[allow(clippy::cast_precision_loss)]
    let ratio = caused as f64 / requests.max(1) as f64;
    report(&json!({ "name": "front-door/stripe-calls", "value": ratio, "unit": "per hostile request",
        "target": MOST_CALLS, "hostile_requests": requests, "calls": caused }));
    let (before, during) = (median(&mut quiet), median(&mut busy));
    report(&json!({ "name": "front-door/paying", "value": during, "unit": "ms", "quiet": before,
        "ratio": during / before, "target": MOST_DELAY, "p95": at(&busy, 95), "quiet_p95": at(&quiet, 95),
        "requests": busy.len() }));
    Ok(())
}

/// The value that this percentage of the sorted values does not exceed.
fn at(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Buys a verdict and waits for it; returns the session's id.
fn delivered_sale(caller: &Caller, site: &str, sandbox: &str) -> Result<String, Error> {
    let order = json!({ "tier": "quick", "query": "Should I open a second shop next spring?" });
    let (_, bought) = caller.post(&format!("{site}/api/checkout"), &order)?;
    let session = bought["session_id"].as_str().unwrap_or_default().to_owned();
    let pays = json!({ "session_id": session, "email": "bench@customers.example.com" });
    caller.post(&format!("{sandbox}/control/stripe/pay"), &pays)?;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        let (status, _) = caller.get(&format!("{site}/api/verdict?session_id={session}"))?;
        if status == 200 {
            return Ok(session);
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Err(Error::Refused("the verdict to measure with was not delivered within a minute".to_owned()))
}

struct Load<'a> {
    site: &'a str,
    session: &'a str,
    client: HttpClient,
    /// Hostile requests so far.
    hostile: AtomicU64,
}

impl Load<'_> {
    /// The milliseconds of each reply to a paying customer, who alternately opens the verdict and buys another one.
    async fn paying(&self, duration: Duration) -> Vec<f64> {
        let order = json!({ "tier": "quick", "query": "Should I hire a second baker?" });
        let (begin, mut taken) = (Instant::now(), Vec::new());
        while begin.elapsed() < duration {
            for (method, path, body) in [
                (Method::GET, format!("/api/verdict?session_id={}", self.session), None),
                (Method::POST, "/api/checkout".to_owned(), Some(&order)),
            ] {
                let asked = Instant::now();
                if self.call(method, &path, body).await {
                    taken.push(asked.elapsed().as_secs_f64() * 1000.0);
                }
                tokio::time::sleep(PAYING_PAUSE).await;
            }
        }
        taken
    }

    async fn all_hostile(&self, duration: Duration) {
        let clients = (0..HOSTILE).map(|client| self.hostile(client, duration));
        futures_util::future::join_all(clients).await;
    }

    /// Guesses ids and codes, sends invalid requests, and forges events.
    async fn hostile(&self, client: u64, duration: Duration) {
        let begin = Instant::now();
        for number in 0u64.. {
            if begin.elapsed() >= duration {
                return;
            }
            let mark = format!("{client:04}{number:08}");
            let guess = json!({ "tier": "quick", "query": "Should I?", "referral_code": format!("hostile{mark}") });
            let (method, path, body) = match number % 5 {
                0 | 1 => (Method::GET, format!("/api/verdict?session_id=cs_test_hostile{mark}"), None),
                2 => (Method::GET, format!("/api/verdict?session_id=hostile{mark}"), None),
                3 => (Method::POST, "/api/checkout".to_owned(), Some(guess)),
                _ => (Method::POST, "/api/webhook".to_owned(), Some(json!({ "type": "hostile" }))),
            };
            self.call(method, &path, body.as_ref()).await;
            self.hostile.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(HOSTILE_PAUSE).await;
        }
    }

    /// Whether the reply was a success.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> bool {
        let body = body.map_or_else(Body::empty, |value| Body::from(value.to_string()));
        let request = Request::builder().method(method).uri(format!("{}{path}", self.site)).body(body);
        let Ok(request) = request else { return false };
        let Ok(reply) = self.client.request(request).await else { return false };
        let succeeded = reply.status().is_success();
        reply.into_body().collect().await.is_ok() && succeeded
    }
}
