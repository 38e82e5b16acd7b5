//! Idempotency-Key: replies are stored for 24 hours and replayed; changed parameters are refused.

use std::collections::HashMap;

use hyper::body::Bytes;
use jiff::{SignedDuration, Timestamp};

use super::error::StripeError;
use crate::http::{Reply, Request};

const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);
const KEY_CHARACTERS: usize = 255;

#[derive(Default)]
pub(crate) struct Replies(HashMap<String, Kept>);

struct Kept {
    at: Timestamp,
    path: String,
    parameters: Bytes,
    reply: Reply,
}

impl Replies {
    /// The stored reply, if this key was used before.
    pub(crate) fn find(&mut self, key: &str, request: &Request, now: Timestamp) -> Result<Option<Reply>, StripeError> {
        if key.chars().count() > KEY_CHARACTERS {
            return Err(StripeError::invalid(format!(
                "Idempotency keys can be at most {KEY_CHARACTERS} characters long."
            )));
        }
        self.0.retain(|_, kept| now.duration_since(kept.at) < KEPT_FOR);
        let Some(kept) = self.0.get(key) else {
            return Ok(None);
        };
        if kept.path != request.path || kept.parameters != request.body {
            return Err(StripeError {
                kind: "idempotency_error",
                ..StripeError::invalid(format!(
                    "Keys for idempotent requests can only be used for the same endpoint and with the same \
                     parameters they were first used with. Try using a key other than '{key}' if you meant \
                     to execute a different request."
                ))
            });
        }
        Ok(Some(kept.reply.clone().with_header("Idempotent-Replayed", "true")))
    }

    /// Stores a reply, including a refusal: the same key gets the same reply for a day. Nothing is stored for a call
    /// without a key.
    pub(crate) fn keep(&mut self, key: &str, request: &Request, reply: &Reply, now: Timestamp) {
        if key.is_empty() {
            return;
        }
        let kept = Kept { at: now, path: request.path.clone(), parameters: request.body.clone(), reply: reply.clone() };
        self.0.insert(key.to_owned(), kept);
    }
}
