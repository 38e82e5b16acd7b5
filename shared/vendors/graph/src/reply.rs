//! Interprets refusals of Graph and of the login service: plain functions (Email Retry, INV-05).

use domain::ports::MailError;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

/// The shortest wait after 429, even if the reply asks for less.
const MIN_THROTTLE: Duration = Duration::from_secs(60);

/// The longest wait that is accepted.
const MAX_THROTTLE: Duration = Duration::from_secs(24 * 3600);

/// The longest reply that is read. A message's text makes it long: Exchange limits a mail to 36 MB by default, and its
/// text not at all. The smallest function that reads texts has 256 MB.
const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;

/// The code of a 404 that is said of the named message. Others are said of the mailbox, and come and go while it is moved
/// or its licence changes (`ErrorNonExistentMailbox`, `MailboxNotEnabledForRESTAPI`, `ResourceNotFound`).
const NO_SUCH_ITEM: &str = "ErrorItemNotFound";

/// The connection failed before or after the request was sent, or the reply does not name what was made; for operators.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    #[error("the connection failed")]
    Connection(#[source] reqwest::Error),
    #[error("no answer in time")]
    OutOfTime,
    #[error("the reply does not name the draft")]
    NoDraft,
}

impl Lost {
    /// The error with all its causes, for a log line: the port's errors have no room for them.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }
}

impl From<reqwest::Error> for Lost {
    /// Removes the address, because it contains the mailbox's address and the draft's id.
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() { Self::OutOfTime } else { Self::Connection(error.without_url()) }
    }
}

/// The body, cut at 8 MiB: a longer one does not parse.
pub(crate) async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = MAX_REPLY_BYTES - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if body.len() == MAX_REPLY_BYTES {
            break;
        }
    }
    Ok(body)
}

/// The wait that a reply asks for.
pub(crate) fn retry_after_of(headers: &HeaderMap) -> Option<Duration> {
    retry_after(headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()))
}

/// Parses the `Retry-After` header in seconds; Graph sends no dates.
fn retry_after(value: Option<&str>) -> Option<Duration> {
    let seconds = value?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_THROTTLE))
}

fn throttled(status: u16, retry_after: Option<Duration>) -> Option<MailError> {
    match (status, retry_after) {
        (429, wait) => Some(MailError::Throttled { status, wait: wait.unwrap_or(MIN_THROTTLE).max(MIN_THROTTLE) }),
        (503, Some(wait)) => Some(MailError::Throttled { status, wait }),
        _ => None,
    }
}

/// Interprets a status of Graph other than 2xx, with its code.
pub(crate) fn refusal(status: u16, retry_after: Option<Duration>, code: &str) -> MailError {
    throttled(status, retry_after).unwrap_or(match status {
        403 => MailError::Forbidden(status),
        404 if code == NO_SUCH_ITEM => MailError::NoSuchDraft,
        // 401 after a refresh, the mailbox itself is missing for a while, or it is busy with the same item.
        401 | 404 | 408 | 409 | 412 | 423 => MailError::Unavailable(status),
        400..=499 => MailError::Rejected,
        _ => MailError::Unavailable(status),
    })
}

/// Interprets a status of the login service other than 2xx. Every refusal needs a human: a lost consent
/// (`invalid_grant`), a wrong or expired client secret, a scope that was never granted.
pub(crate) fn login_refusal(status: u16, retry_after: Option<Duration>, code: &str) -> MailError {
    throttled(status, retry_after).unwrap_or(match status {
        408 => MailError::Unavailable(status),
        400..=499 if code != "temporarily_unavailable" => MailError::ConsentRefused,
        _ => MailError::Unavailable(status),
    })
}

/// The vendor's code for a failure, reduced to the characters of such codes; its messages may contain addresses.
pub(crate) fn code(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    // Graph: {"error":{"code":…}}; login: {"error":…}.
    let word = body["error"]["code"].as_str().or_else(|| body["error"].as_str()).unwrap_or("unknown");
    word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_graph() {
        let plain = |status| format!("{:?}", refusal(status, None, "unknown"));
        for status in [400, 402, 413, 415, 422] {
            assert_eq!(plain(status), "Rejected");
        }
        assert_eq!(plain(403), "Forbidden(403)");
        assert_eq!(format!("{:?}", refusal(404, None, "ErrorItemNotFound")), "NoSuchDraft");
        assert_eq!(format!("{:?}", refusal(404, None, "ErrorNonExistentMailbox")), "Unavailable(404)");
        for status in [302, 401, 404, 408, 409, 412, 423, 500, 502, 503, 504, 507] {
            assert_eq!(plain(status), format!("Unavailable({status})"));
        }
    }

    #[test]
    fn waits_are_obeyed_and_bounded() {
        let wait = |status, header: Option<&str>| match refusal(status, retry_after(header), "unknown") {
            MailError::Throttled { status: carried, wait } if carried == status => Some(wait.as_secs()),
            _ => None,
        };
        assert_eq!(wait(429, None), Some(60));
        assert_eq!(wait(429, Some("5")), Some(60));
        assert_eq!(wait(429, Some(" 120 ")), Some(120));
        assert_eq!(wait(429, Some("soon")), Some(60));
        assert_eq!(wait(429, Some("-1")), Some(60));
        assert_eq!(wait(429, Some("18446744073709551615")), Some(86_400));
        assert_eq!(wait(503, Some("5")), Some(5));
        assert_eq!(wait(503, None), None);
        assert_eq!(wait(500, Some("5")), None);
    }

    #[test]
    fn statuses_of_the_login_service() {
        let judged = |status, code| format!("{:?}", login_refusal(status, None, code));
        assert_eq!(judged(400, "invalid_grant"), "ConsentRefused");
        assert_eq!(judged(401, "invalid_client"), "ConsentRefused");
        assert_eq!(judged(400, "temporarily_unavailable"), "Unavailable(400)");
        assert_eq!(judged(500, "unknown"), "Unavailable(500)");
        assert_eq!(judged(302, "unknown"), "Unavailable(302)");
        assert_eq!(judged(429, "unknown"), "Throttled { status: 429, wait: 60s }");
    }

    #[test]
    fn codes_are_words() {
        assert_eq!(code(br#"{"error":{"code":"ErrorItemNotFound","message":"a@b"}}"#), "ErrorItemNotFound");
        assert_eq!(code(br#"{"error":"invalid_grant","error_description":"a@b"}"#), "invalid_grant");
        assert_eq!(code(br#"{"error":{"code":"a@b: <x>\n"}}"#), "abx");
        assert_eq!(code(b"<html>"), "unknown");
    }
}
