//! What the stack's topics tell operators: the sandbox subscribes to them as a webhook of an on-call service would, so
//! that alerts are seen where mails are.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    http::{Reply, Request},
    state::Shared,
};

/// So many are kept.
const MOST: usize = 500;

/// One message of SNS's: a subscription is confirmed, a notification is kept.
pub(crate) async fn receive(shared: &Arc<Shared>, request: &Request, topic: &str) -> Reply {
    if request.method != hyper::Method::POST {
        return Reply::empty(405).with_header("Allow", "POST");
    }
    let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
        return Reply::json(400, json!({"error": "not a message of SNS's"}));
    };
    match (message["Type"].as_str(), message["SubscribeURL"].as_str()) {
        (Some("SubscriptionConfirmation"), Some(url)) => {
            // The emulator's own address, on this machine.
            let confirmed = shared.client.get(url).send().await.is_ok_and(|reply| reply.status().is_success());
            Reply::json(if confirmed { 200 } else { 502 }, json!({"confirmed": confirmed}))
        }
        (Some("Notification"), _) => {
            let mut state = shared.lock();
            let alert = json!({
                "topic": topic, "line": message["Message"], "subject": message["Subject"],
                "at": state.now().to_string(),
            });
            if state.alerts.len() == MOST {
                state.alerts.remove(0);
            }
            state.alerts.push(alert);
            Reply::json(200, json!({"received": true}))
        }
        _ => Reply::json(400, json!({"error": "neither a confirmation nor a notification"})),
    }
}
