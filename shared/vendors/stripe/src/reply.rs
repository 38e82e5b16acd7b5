//! Interprets Stripe's replies: a plain function of status, header and body.

use domain::ports::PaymentError;
use serde_json::Value;

/// Why a call failed, for operators. It contains no text of Stripe, because Stripe's messages quote parameters, which
/// contain questions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("the connection failed")]
    Connection(#[source] reqwest::Error),
    #[error("no answer within the time allowed")]
    OutOfTime,
    #[error("the answer was {status} ({code})")]
    Status { status: u16, code: String },
    #[error("the reply is too long")]
    TooLong,
    #[error("the reply is not what was expected: {0}")]
    Unexpected(&'static str),
    #[error("the reply's session cannot be read")]
    Session(#[from] crate::SessionError),
}

impl From<CallError> for PaymentError {
    fn from(error: CallError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: PaymentError,
    /// Whether the same request may be sent again.
    pub(crate) retriable: bool,
}

/// Interprets a status other than 2xx. `should_retry` is the `Stripe-Should-Retry` header, which takes precedence over
/// the status; without it 409 (the key's first request is still running) and 5xx are retriable.
///
/// A failure of Stripe itself that it replays for the key is not an answer, now or later.
pub(crate) fn refusal(status: u16, should_retry: Option<&str>, replayed: bool, body: &[u8]) -> Failure {
    if replayed && status >= 500 {
        return Failure { error: PaymentError::Replayed, retriable: false };
    }
    let retriable = match should_retry {
        Some("true") => true,
        Some("false") => false,
        _ => status == 409 || status >= 500,
    };
    let code = code(body);
    let error = match status {
        403 => PaymentError::Forbidden(code),
        404 => PaymentError::NotFound,
        // 409 and 429 are temporary, and so is 401: Stripe refuses our key, not the request. A status outside 4xx is
        // not the request's fault.
        400..=499 if !matches!(status, 401 | 408 | 409 | 429) => PaymentError::Refused(code),
        _ => CallError::Status { status, code }.into(),
    };
    Failure { error, retriable }
}

/// Whether Stripe refused our key, or a call that the key has no permission for.
pub(crate) fn is_key_refused(error: &PaymentError) -> bool {
    match error {
        PaymentError::Forbidden(_) => true,
        PaymentError::Unavailable(source) => {
            matches!(source.downcast_ref(), Some(CallError::Status { status: 401, .. }))
        }
        _ => false,
    }
}

/// `error.code`, or else `error.type`, reduced to the characters of Stripe's codes.
fn code(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    reduced(error["code"].as_str().or_else(|| error["type"].as_str()).unwrap_or("unknown"))
}

/// A word of Stripe's, reduced to the characters of Stripe's codes.
pub(crate) fn reduced(word: &str) -> String {
    let known = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_';
    word.chars().filter(known).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides_and_then_the_status() {
        for (status, header, retriable) in [
            (400, None, false),
            (402, None, false),
            (404, None, false),
            (409, None, true),
            (429, None, false),
            (429, Some("true"), true),
            (400, Some("true"), true),
            (500, None, true),
            (503, None, true),
            (500, Some("false"), false),
            (409, Some("false"), false),
            (500, Some("maybe"), true),
            (302, None, false),
        ] {
            assert_eq!(refusal(status, header, false, b"").retriable, retriable, "{status} {header:?}");
        }
    }

    #[test]
    fn refusals_carry_a_code_and_nothing_else() {
        let refused = |status, body: &str| match refusal(status, None, false, body.as_bytes()).error {
            PaymentError::Refused(code) => code,
            other => panic!("{other:?}"),
        };
        let body =
            r#"{"error":{"type":"invalid_request_error","code":"resource_missing","message":"No such x: 'a@b'"}}"#;
        assert_eq!(refused(400, body), "resource_missing");
        assert_eq!(refused(402, r#"{"error":{"type":"card_error"}}"#), "card_error");
        assert_eq!(refused(402, "<html>"), "unknown");
        assert_eq!(refused(400, r#"{"error":{"code":"A@b.c: <x>\n_1"}}"#), "bcx_1");
        assert_eq!(refused(400, &format!(r#"{{"error":{{"code":"{}"}}}}"#, "a".repeat(999))).len(), 60);
    }

    #[test]
    fn a_key_without_the_permission_is_told_from_a_wrong_request() {
        let error = refusal(403, None, false, br#"{"error":{"code":"more_permissions_required"}}"#).error;
        assert!(is_key_refused(&error));
        assert!(matches!(error, PaymentError::Forbidden(code) if code == "more_permissions_required"));
        assert!(!is_key_refused(&refusal(400, None, false, b"").error));
    }

    #[test]
    fn what_may_pass_is_unavailable() {
        for status in [302, 401, 408, 409, 429, 500, 502, 503] {
            let error = refusal(status, None, false, br#"{"error":{"code":"lock_timeout"}}"#).error;
            assert_eq!(is_key_refused(&error), status == 401);
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert_eq!(source, format!("the answer was {status} (lock_timeout)"));
        }
        assert!(matches!(refusal(404, None, false, b"").error, PaymentError::NotFound));
        for status in [500, 503] {
            let failure = refusal(status, Some("true"), true, b"");
            assert!(matches!(failure.error, PaymentError::Replayed) && !failure.retriable, "{status}");
        }
        assert!(matches!(refusal(402, None, true, b"").error, PaymentError::Refused(_)), "an answer all the same");
    }
}
