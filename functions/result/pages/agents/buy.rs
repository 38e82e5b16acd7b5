// cargo add x402-reqwest@2 x402-chain-eip155@2 alloy-signer-local@2 reqwest@0.13 tokio@1
//     --features x402-chain-eip155/client,x402-chain-eip155/telemetry,x402-reqwest/json,reqwest/json,tokio/full
use alloy_signer_local::PrivateKeySigner;
use std::sync::Arc;
use x402_chain_eip155::V2Eip155ExactClient;
use x402_reqwest::{ReqwestWithPayments, ReqwestWithPaymentsBuild, X402Client};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wallet: PrivateKeySigner = std::env::var("WALLET_KEY")?.parse()?;
    let payments = X402Client::new().register(V2Eip155ExactClient::new(Arc::new(wallet)));
    let client = reqwest::Client::new().with_payments(payments).build();

    let question = [("query", "Should we open a second shop next spring?")];
    let question = std::collections::BTreeMap::from(question);
    let reply = client.post("https://oracle.example/query").json(&question).send().await?;
    println!("{}", reply.text().await?);
    Ok(())
}
