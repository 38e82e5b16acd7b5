//! Sells one fixed answer behind x402-axum at the toll's price. The argument is the facilitator's address; the first line on
//! standard output is its own.

use axum::{Json, Router, routing::post};
use serde_json::{Value, json};
use x402_axum::X402Middleware;
use x402_chain_eip155::{KnownNetworkEip155, V2Eip155Exact, chain::ChecksummedAddress};
use x402_types::networks::USDC;

const PAY_TO: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

async fn answer() -> Json<Value> {
    Json(json!({ "verdict": { "verdict": "GREEN", "summary": "Demand is real and the format fits." } }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let facilitator = std::env::args().nth(1).ok_or("the facilitator's address is missing")?;
    let payments = X402Middleware::try_new(&facilitator)?;
    let pay_to: ChecksummedAddress = PAY_TO.parse()?;
    let price = V2Eip155Exact::price_tag(pay_to, USDC::base_sepolia().parse("0.05")?);
    let app = Router::new().route("/query", post(answer).layer(payments.with_price_tag(price)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
