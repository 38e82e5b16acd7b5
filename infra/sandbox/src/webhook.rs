//! Signs events like Stripe and delivers them, with a limited number of retries.

use std::{sync::Arc, time::Duration};

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::{calls, state::Shared};

/// The Stripe-Signature header for a body: HMAC-SHA256 over `{t}.{body}`, keyed with the whole secret.
pub(crate) fn signature(secret: &str, now: Timestamp, body: &str) -> String {
    let time = now.as_second();
    // An HMAC accepts a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    mac.update(format!("{time}.{body}").as_bytes());
    format!("t={time},v1={}", hex::encode(mac.finalize().into_bytes()))
}

#[derive(Clone)]
pub(crate) struct Attempt {
    /// `None` without a reply.
    status: Option<u16>,
    body: Value,
}

impl Attempt {
    pub(crate) fn is_accepted(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    pub(crate) fn was_answered(&self) -> bool {
        self.status.is_some()
    }

    pub(crate) fn value(&self) -> Value {
        match self.status {
            Some(status) => json!({"status": status, "body": self.body}),
            None => json!({"status": null, "body": null, "error": self.body}),
        }
    }
}

/// Delivers the queued events one by one, in the background, until the sandbox is reset.
pub(crate) fn deliver_unreported(shared: &Arc<Shared>) {
    let resets = shared.watch_resets();
    let events = std::mem::take(&mut shared.lock().unreported);
    if events.is_empty() {
        return;
    }
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        for event in &events {
            if resets.has_changed().unwrap_or(true) {
                break;
            }
            deliver(&shared, event).await;
        }
    });
}

/// Delivers an event once and returns the result. If it was not accepted, further attempts follow in the background
/// after the configured pauses.
pub(crate) async fn deliver(shared: &Arc<Shared>, event: &Value) -> Attempt {
    let resets = shared.watch_resets();
    let body = event.to_string();
    let first = attempt(shared, event, &body, 1).await;
    let pauses = shared.lock().config.webhook_retry_pauses_ms.clone();
    if first.is_accepted() || pauses.is_empty() {
        return first;
    }
    let shared = Arc::clone(shared);
    let event = event.clone();
    tokio::spawn(async move {
        for (number, pause) in (2..).zip(pauses) {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            // After a reset the event is obsolete.
            if resets.has_changed().unwrap_or(true) || attempt(&shared, &event, &body, number).await.is_accepted() {
                break;
            }
        }
    });
    first
}

async fn attempt(shared: &Shared, event: &Value, body: &str, number: u32) -> Attempt {
    let (address, signature, now) = {
        let state = shared.lock();
        let now = state.now();
        // Each attempt has a new signature with its own time.
        let signature = signature(&state.config.webhook_secret, now, body);
        if number == 1 {
            calls::record(state.config.record.as_deref(), &json!({ "target": "event", "event": event }));
        }
        (state.config.webhook_address(), signature, now)
    };
    let attempt = match &address {
        Some(address) => post(shared, address, signature, body).await,
        None => {
            Attempt { status: None, body: json!("no webhook address: POST /control/configure {\"site\": …} first") }
        }
    };
    let mut record = attempt.value();
    record["at"] = json!(now.to_string());
    record["attempt"] = json!(number);
    record["event"] = event["id"].clone();
    record["type"] = event["type"].clone();
    record["url"] = json!(address);
    shared.lock().deliveries.push(record);
    attempt
}

async fn post(shared: &Shared, address: &str, signature: String, body: &str) -> Attempt {
    let request = shared
        .client
        .post(address)
        .header("Content-Type", "application/json; charset=utf-8")
        .header("Stripe-Signature", signature)
        .header("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
        .body(body.to_owned());
    let answered = async {
        let response = request.send().await?;
        let status = response.status().as_u16();
        Ok::<_, reqwest::Error>((status, response.text().await?))
    };
    match answered.await {
        Ok((status, text)) => {
            Attempt { status: Some(status), body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
        }
        Err(error) => Attempt { status: None, body: json!(with_causes(&error)) },
    }
}

/// An error with its causes, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::signature;

    #[test]
    fn the_signature_is_stripes() {
        let now = Timestamp::from_second(1_763_596_800).unwrap();
        let body = r#"{"id":"evt_1","object":"event"}"#;
        assert_eq!(
            signature("whsec_test_secret", now, body),
            "t=1763596800,v1=f89a2a4014c9df11f36d753566bac36ac27e41903e7d63d7545a08667a12da68"
        );
    }
}
