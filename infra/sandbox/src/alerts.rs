//! The messages of the stack's topics: the sandbox subscribes to them like the webhook of an on-call service, so that
//! alerts can be seen beside mails.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    http::{Reply, Request},
    state::Shared,
};

/// The most messages that are kept.
const MOST: usize = 500;

/// Handles one SNS message: confirms a subscription, stores a notification.
pub(crate) async fn receive(shared: &Arc<Shared>, request: &Request, topic: &str) -> Reply {
    if request.method != hyper::Method::POST {
        return Reply::empty(405).with_header("Allow", "POST");
    }
    let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
        return Reply::json(400, json!({"error": "not a message of SNS's"}));
    };
    match (message["Type"].as_str(), message["SubscribeURL"].as_str()) {
        (Some("SubscriptionConfirmation"), Some(url)) => {
            // The address is the emulator's own, on this machine.
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
