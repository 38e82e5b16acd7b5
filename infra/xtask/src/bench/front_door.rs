//! Hostile and paying clients at the front door of a separate stack: how many Stripe calls hostile clients cause, and
//! how much they delay paying customers. Limited, and on this machine only. The benchmark fails if either is too much.

use super::{Bench, median, on_stack, report};
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

/// The most Stripe calls per hostile request, and the greatest factor between the 99th percentiles of paying customers'
/// answers beside hostile clients and without them.
const MOST_CALLS: f64 = 0.02;
const MOST_DELAY: f64 = 2.0;

pub(super) fn front_door(bench: &Bench) -> Result<(), Error> {
    // The limit that customers have; the local stack has none, because all its requests come from one network.
    on_stack(bench, &["UnknownIdsPerNetwork=3"], || measure(bench))
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
    let quiet = runtime.block_on(load.paying(QUIET));
    let (busy, ()) = runtime.block_on(async { tokio::join!(load.paying(BUSY), load.all_hostile(BUSY)) });
    let (_, calls) = caller.get(&format!("{}/control/calls?target=stripe", stack.sandbox))?;
    let caused = calls.as_array().into_iter().flatten().filter(|call| call.to_string().contains("hostile")).count();
    let requests = load.hostile.load(Ordering::Relaxed);
    #[allow(clippy::cast_precision_loss)]
    let ratio = caused as f64 / requests.max(1) as f64;
    report(&json!({ "name": "front-door/stripe-calls", "value": ratio, "unit": "per hostile request",
        "target": MOST_CALLS, "hostile_requests": requests, "calls": caused }));
    let (mut before, mut during) = (quiet.taken.clone(), busy.taken.clone());
    report(&json!({ "name": "front-door/paying", "value": median(&mut during), "unit": "ms",
        "quiet": median(&mut before), "p99": p99(&busy.taken), "quiet_p99": p99(&quiet.taken),
        "slowdown": p99(&busy.taken) / p99(&quiet.taken), "target_slowdown": MOST_DELAY, "requests": busy.taken.len(),
        "failures": quiet.failures + busy.failures }));
    let broken = broken(ratio, requests, &quiet, &busy);
    if broken.is_empty() { Ok(()) } else { Err(Error::Refused(format!("front-door: {}", broken.join("; ")))) }
}

/// The answers to paying customers.
#[derive(Default)]
struct Paying {
    /// The milliseconds of each success.
    taken: Vec<f64>,
    /// The number of replies that were no success, and of requests without a reply.
    failures: u64,
}

/// What was promised and does not hold.
fn broken(calls: f64, hostile: u64, quiet: &Paying, busy: &Paying) -> Vec<String> {
    let mut broken = Vec::new();
    if hostile == 0 || quiet.taken.is_empty() || busy.taken.is_empty() {
        broken.push("a client got no answers, so nothing is measured".to_owned());
    }
    if calls > MOST_CALLS {
        broken.push(format!("{calls:.3} Stripe calls per hostile request, {MOST_CALLS} allowed"));
    }
    if quiet.failures + busy.failures > 0 {
        let (before, during) = (quiet.failures, busy.failures);
        broken.push(format!("{during} requests of paying customers failed ({before} before the hostile clients came)"));
    }
    let (before, during) = (p99(&quiet.taken), p99(&busy.taken));
    if during > MOST_DELAY * before {
        broken
            .push(format!("99 of 100 paying customers wait up to {during:.0} ms, {before:.0} without hostile clients"));
    }
    broken
}

/// The value that 99 of 100 values do not exceed.
fn p99(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * 99).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
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
    /// The answers to a paying customer, who alternately opens the verdict and buys another one.
    async fn paying(&self, duration: Duration) -> Paying {
        let order = json!({ "tier": "quick", "query": "Should I hire a second baker?" });
        let (begin, mut paying) = (Instant::now(), Paying::default());
        while begin.elapsed() < duration {
            for (method, path, body) in [
                (Method::GET, format!("/api/verdict?session_id={}", self.session), None),
                (Method::POST, "/api/checkout".to_owned(), Some(&order)),
            ] {
                let asked = Instant::now();
                if self.call(method, &path, body).await {
                    paying.taken.push(asked.elapsed().as_secs_f64() * 1000.0);
                } else {
                    paying.failures += 1;
                }
                tokio::time::sleep(PAYING_PAUSE).await;
            }
        }
        paying
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

#[cfg(test)]
mod tests {
    use super::*;

    fn paying(taken: &[f64], failures: u64) -> Paying {
        Paying { taken: taken.to_vec(), failures }
    }

    #[test]
    fn each_promise_that_does_not_hold_fails_the_benchmark() {
        let quiet = paying(&[10.0; 100], 0);
        let found = |calls, busy: &Paying| broken(calls, 100, &quiet, busy).join("; ");
        assert_eq!(found(0.02, &paying(&[20.0; 100], 0)), "");
        assert!(found(0.021, &paying(&[20.0; 100], 0)).contains("Stripe calls"));
        assert!(found(0.0, &paying(&[10.0; 100], 1)).contains("1 requests of paying customers failed"));
        let late = |count: usize| [vec![10.0; 100 - count], vec![21.0; count]].concat();
        assert_eq!(found(0.0, &paying(&late(1), 0)), "", "one of a hundred may be late");
        assert!(found(0.0, &paying(&late(2), 0)).contains("wait up to 21 ms"));
        assert!(found(0.0, &paying(&[], 0)).contains("nothing is measured"));
    }
}
