//! Measures the toll's own time for `cargo xtask bench toll`: the duration of a sale with a store, log, model and chain
//! that take no time. With a facilitator's URL as its argument it sells over HTTP instead and uses that facilitator;
//! its first line of output is its own URL.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "it is run to be read")]

#[path = "../tests/support/mod.rs"]
mod support;

use alloy_primitives::{B256, U256};
use audit::{FunctionJournal, TollJournal};
use axum::{Router, body::Bytes, extract::State, http::HeaderMap, response::Response, routing::post};
use chain::{
    Authorization, FacilitatorClient,
    wire::{PAYMENT_REQUIRED, PAYMENT_RESPONSE},
};
use domain::ports::ModelReply;
use retrieval::Library;
use runtime::{System, http::Request};
use serde_json::json;
use std::{sync::Arc, time::Instant};
use support::*;
use testkit::{World, run};
use toll::{Corpus, Ports, handle};

/// The number of sales, enough for a 95th percentile.
const SALES: u64 = 400;

fn main() {
    match std::env::args().nth(1) {
        Some(facilitator) => serve(&facilitator),
        None => overhead(),
    }
}

fn overhead() {
    let world = world();
    let library = Library::default();
    let required = required(&send(&world, unpaid("/query", QUESTION)).unwrap());
    let accepted = &required.accepts[0];
    let (mut asked, mut sold) = (Vec::new(), Vec::new());
    for number in 0..SALES {
        let authorization = Authorization {
            from: PAYER,
            to: accepted.pay_to,
            value: accepted.amount.parse().unwrap(),
            valid_after: U256::from(NOW - 600),
            valid_before: U256::from(NOW + 300),
            nonce: B256::from(U256::from(number + 1)),
        };
        let payload = signed(&authorization, KEY);
        let payment =
            json!({ "x402Version": 2, "resource": required.resource, "accepted": accepted, "payload": payload });
        let ports = Ports { corpus: Corpus { notes: &world, corpora: &world, library: &library }, ..ports(&world) };
        for (request, status, times) in
            [(unpaid("/query", QUESTION), 402, &mut asked), (paid("/query", QUESTION, &payment), 200, &mut sold)]
        {
            let begin = Instant::now();
            let reply = run(handle(ports, &settings(), request)).unwrap();
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
            assert_eq!(reply.status(), status, "{}", reply.body());
        }
    }
    report("toll/price", &mut asked);
    report("toll/overhead", &mut sold);
}

fn report(name: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!("{}", json!({ "name": name, "value": at(50), "unit": "ms", "p95": at(95), "sales": times.len() }));
}

/// The state of one process.
struct Shop {
    world: World,
    facilitator: FacilitatorClient,
    library: Library,
}

fn serve(facilitator: &str) {
    let world = World::default();
    world.state().model = Some(Box::new(|_, _| {
        let text = json!({ "verdict": "GREEN", "summary": "Demand is real and the format fits." }).to_string();
        Ok(ModelReply { text, model_version: "m-1".to_owned(), status_warning: None })
    }));
    let facilitator = FacilitatorClient::new(facilitator).unwrap();
    let shop = Arc::new(Shop { world, facilitator, library: Library::default() });
    let app = Router::new().route("/query", post(sell)).with_state(shop);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("http://{}", listener.local_addr().unwrap());
        axum::serve(listener, app).await.unwrap();
    });
}

async fn sell(State(shop): State<Arc<Shop>>, headers: HeaderMap, body: Bytes) -> Response<String> {
    let world = &shop.world;
    let journal = TollJournal { store: world, log: world, alerts: world, clock: &System };
    let rejections = FunctionJournal { function: "toll", notes: world, log: world, alerts: world, clock: &System };
    let corpus = Corpus { notes: world, corpora: world, library: &shop.library };
    let ports = Ports {
        journal,
        rejections,
        corpus,
        facilitator: &shop.facilitator,
        pause: &System,
        randomness: &System,
        ..ports(world)
    };
    let request = Request::post("/query", body.to_vec());
    let payment = headers.get("payment-signature").and_then(|value| value.to_str().ok());
    let request =
        payment.into_iter().fold(request, |request, payment| request.with_header("payment-signature", payment));
    let reply = handle(ports, &settings(), request).await;
    let response = Response::builder().status(reply.status()).header("content-type", "application/json");
    let response = [PAYMENT_REQUIRED, PAYMENT_RESPONSE].into_iter().fold(response, |response, name| {
        reply.header_value(name).into_iter().fold(response, |response, value| response.header(name, value))
    });
    response.body(reply.body().to_owned()).unwrap()
}
