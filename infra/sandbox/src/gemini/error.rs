//! Gemini's reply to a refused call.

use serde_json::{Value, json};

use crate::http::Reply;

/// A refused call.
#[derive(Debug)]
pub(crate) struct GeminiError {
    pub(super) code: u16,
    pub(super) status: &'static str,
    pub(super) message: String,
    pub(super) details: Value,
}

impl GeminiError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: 400, status: "INVALID_ARGUMENT", message: message.into(), details: Value::Null }
    }

    pub(super) fn not_found(message: String) -> Self {
        Self { code: 404, status: "NOT_FOUND", ..Self::invalid(message) }
    }

    pub(super) fn into_reply(self) -> Reply {
        let mut error = json!({"code": self.code, "message": self.message, "status": self.status});
        if !self.details.is_null() {
            error["details"] = self.details;
        }
        Reply::json(self.code, json!({"error": error}))
    }
}
