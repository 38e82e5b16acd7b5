//! Errors in Stripe's form.

use serde_json::json;

use crate::http::Reply;

/// A refused call.
#[derive(Debug)]
pub(crate) struct StripeError {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) message: String,
    pub(crate) param: Option<String>,
}

impl StripeError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { status: 400, kind: "invalid_request_error", code: None, message: message.into(), param: None }
    }

    /// An invalid parameter.
    pub(crate) fn param(
        code: impl Into<Option<&'static str>>,
        param: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { code: code.into(), param: Some(param.into()), ..Self::invalid(message) }
    }

    pub(crate) fn unauthorized(message: String) -> Self {
        Self { status: 401, ..Self::invalid(message) }
    }

    /// A missing object: 404 if the path names it, 400 if parameter `param` does.
    pub(crate) fn missing(object: &str, id: &str, param: Option<&str>) -> Self {
        Self {
            status: if param.is_some() { 400 } else { 404 },
            ..Self::param("resource_missing", param.unwrap_or("id"), format!("No such {object}: '{id}'"))
        }
    }

    pub(crate) fn required(param: &str) -> Self {
        Self::param("parameter_missing", param, format!("Missing required param: {param}."))
    }

    pub(crate) fn into_reply(self, request_id: &str) -> Reply {
        let mut error = json!({
            "type": self.kind,
            "message": self.message,
            "request_log_url": format!("https://dashboard.stripe.com/test/logs/{request_id}"),
        });
        if let Some(code) = self.code {
            error["code"] = json!(code);
            error["doc_url"] = json!(format!("https://stripe.com/docs/error-codes/{}", code.replace('_', "-")));
        }
        if let Some(param) = self.param {
            error["param"] = json!(param);
        }
        Reply::json(self.status, json!({"error": error}))
    }
}
