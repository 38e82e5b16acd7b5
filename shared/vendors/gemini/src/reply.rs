//! Interprets Gemini's replies: plain functions of status and body.

use domain::ports::{ModelError, ModelReply};
use serde_json::{Value, json};
use std::time::Duration;

/// A damaged reply; for operators, without its text.
#[derive(Debug, thiserror::Error)]
#[error("the reply is not JSON")]
pub(crate) struct NotJson;

/// Stages of a model that need no warning.
const QUIET_STAGES: [&str; 5] =
    ["MODEL_STAGE_UNSPECIFIED", "STABLE", "PREVIEW", "EXPERIMENTAL", "UNSTABLE_EXPERIMENTAL"];

/// Finish reasons of a refused question. Every other one than `STOP` is that of a failed call, also one that this version
/// does not know: the vendor adds reasons for its own failures, and a refusal ends a paid sale.
const REFUSALS: [&str; 7] =
    ["BLOCKLIST", "IMAGE_PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "PROHIBITED_CONTENT", "SAFETY", "SPII"];

/// The longest delay that a vendor may ask for; a longer one is shortened to it.
const LONGEST_DELAY: Duration = Duration::from_secs(3_600);

/// Parses a reply with status 200. `model` is the requested one, used if the reply does not name its model.
pub(crate) fn parse(body: &[u8], model: &str) -> Result<ModelReply, ModelError> {
    interpret(&json(body)?, model)
}

fn json(body: &[u8]) -> Result<Value, ModelError> {
    serde_json::from_slice(body).map_err(|_| ModelError::Network(Box::new(NotJson)))
}

fn interpret(body: &Value, model: &str) -> Result<ModelReply, ModelError> {
    // Any reason says that the prompt is blocked, and every attempt has the same prompt.
    let block_reason = &body["promptFeedback"]["blockReason"];
    if !block_reason.is_null() {
        return Err(no_verdict(block_reason.as_str().unwrap_or_default()));
    }
    let candidate = &body["candidates"][0];
    if candidate.is_null() {
        return Err(incomplete("NO_CANDIDATES"));
    }
    match candidate["finishReason"].as_str() {
        Some("STOP") => {}
        Some(reason) if REFUSALS.contains(&reason) => return Err(no_verdict(reason)),
        Some(reason) => return Err(incomplete(reason)),
        None => return Err(incomplete("NO_FINISH_REASON")),
    }
    let text = text(candidate);
    if text.trim().is_empty() {
        return Err(incomplete("NO_TEXT"));
    }
    let version = body["modelVersion"].as_str().map(version).filter(|version| !version.is_empty());
    Ok(ModelReply {
        text,
        model_version: version.unwrap_or_else(|| model.to_owned()),
        status_warning: warning(&body["modelStatus"]),
    })
}

/// A reply that arrives in events. Each event is a reply of its own, with the next part of the text.
#[derive(Default)]
pub(crate) struct Streamed {
    text: String,
    /// The reply without its text: of each field the latest value.
    rest: Value,
    has_candidate: bool,
    finish_reason: Value,
}

impl Streamed {
    /// Adds an event. Returns whether it has more text.
    ///
    /// # Errors
    /// [`ModelError`] when the event is not JSON, or reports that the call failed after it had begun: the status of the
    /// reply is 200 then.
    pub(crate) fn take(&mut self, event: &[u8]) -> Result<bool, ModelError> {
        let event = json(event)?;
        require_no_error(&event)?;
        for field in ["promptFeedback", "modelVersion", "modelStatus"] {
            if !event[field].is_null() {
                self.rest[field] = event[field].clone();
            }
        }
        let candidate = &event["candidates"][0];
        self.has_candidate |= !candidate.is_null();
        if !candidate["finishReason"].is_null() {
            self.finish_reason = candidate["finishReason"].clone();
        }
        let text = text(candidate);
        self.text.push_str(&text);
        Ok(!text.is_empty())
    }

    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Interprets the events as one reply. `rest` is what the stream has outside of them.
    ///
    /// # Errors
    /// [`ModelError`] also when `rest` reports that the call failed, even after an event that says that the reply ends.
    /// Anything else outside of the events is ignored.
    pub(crate) fn end(mut self, rest: &[u8], model: &str) -> Result<ModelReply, ModelError> {
        let rest: Value = serde_json::from_slice(rest).unwrap_or_default();
        require_no_error(&rest)?;
        if self.has_candidate {
            let content = json!({ "parts": [{ "text": self.text }] });
            self.rest["candidates"] = json!([{ "content": content, "finishReason": self.finish_reason }]);
        }
        interpret(&self.rest, model)
    }
}

/// Refuses a part of a stream that reports a failure of the call.
fn require_no_error(part: &Value) -> Result<(), ModelError> {
    let Some(error) = part.get("error") else { return Ok(()) };
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
    Err(refusal(status, part.to_string().as_bytes()))
}

/// The text of the candidate, without the model's thinking.
fn text(candidate: &Value) -> String {
    let parts = candidate["content"]["parts"].as_array().into_iter().flatten();
    parts.filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str()).collect()
}

pub(crate) fn no_verdict(reason: &str) -> ModelError {
    ModelError::NoVerdict(word(reason))
}

fn incomplete(reason: &str) -> ModelError {
    ModelError::Incomplete(word(reason))
}

fn word(reason: &str) -> String {
    let word: String = reason.chars().filter(|c| c.is_ascii_uppercase() || *c == '_').take(40).collect();
    if word.is_empty() { "UNKNOWN".to_owned() } else { word }
}

/// `RetryInfo.retryDelay`, in the form of protobuf's durations ("36s", "0.5s").
fn retry_delay(detail: &Value) -> Option<Duration> {
    detail["@type"].as_str().filter(|name| name.ends_with("google.rpc.RetryInfo"))?;
    let seconds: f64 = detail["retryDelay"].as_str()?.strip_suffix('s')?.parse().ok()?;
    let delay = Duration::try_from_secs_f64(seconds).ok()?;
    (!delay.is_zero()).then(|| delay.min(LONGEST_DELAY))
}

/// The version for the audit log, reduced to valid characters.
fn version(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/')).take(100).collect()
}

/// The stage and retirement time of a model that will be retired: only these two fields of the status, because its
/// sentences are foreign text.
fn warning(status: &Value) -> Option<String> {
    let quiet = match status {
        Value::Null => true,
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            name == "modelStage" && value.as_str().is_some_and(|stage| QUIET_STAGES.contains(&stage))
        }),
        _ => false,
    };
    let word = |value: &Value| -> String {
        let known = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
        value.as_str().unwrap_or_default().chars().filter(known).take(35).collect()
    };
    let words = [word(&status["modelStage"]), word(&status["retirementTime"])];
    let reported = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    (!quiet).then(|| if reported.is_empty() { "UNKNOWN_STAGE".to_owned() } else { reported })
}

/// Interprets a status other than 2xx (Gemini Timeout, invariant 4).
pub(crate) fn refusal(status: u16, body: &[u8]) -> ModelError {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let details = || body["error"]["details"].as_array().into_iter().flatten();
    let daily = |detail: &Value| {
        let violations = detail["violations"].as_array().into_iter().flatten();
        violations.filter_map(|violation| violation["quotaId"].as_str()).any(|quota| quota.contains("PerDay"))
    };
    match status {
        429 if details().any(daily) => ModelError::QuotaExhausted,
        429 | 503 if details().any(|detail| retry_delay(detail).is_some()) => {
            ModelError::Throttled(details().filter_map(retry_delay).max().unwrap_or_default())
        }
        408 | 429 | 500..=599 => ModelError::Unavailable(status),
        401 | 403 => ModelError::Unauthorized(status),
        // Gemini replies 400 to a wrong or expired key.
        400 if details().any(|detail| detail["reason"] == "API_KEY_INVALID") => ModelError::Unauthorized(status),
        402 => ModelError::Account(status),
        400 if body["error"]["status"] == "FAILED_PRECONDITION" => ModelError::Account(status),
        404 => ModelError::UnknownModel,
        _ => ModelError::BadRequest(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &Value) -> Result<ModelReply, ModelError> {
        parse(body.to_string().as_bytes(), "asked-model")
    }

    fn candidate(parts: &Value) -> Value {
        json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    }

    #[test]
    fn thoughts_are_skipped_and_text_is_put_together() {
        let mut body = candidate(&json!([
            {"text": "let me think", "thought": true}, {"text": "{\"a\":"}, {"inlineData": {}}, {"text": "1}", "thought": false}
        ]));
        assert_eq!(
            parsed(&body).unwrap(),
            ModelReply { text: "{\"a\":1}".into(), model_version: "asked-model".into(), status_warning: None }
        );
        body["modelVersion"] = json!("gemini-3.5-flash-lite\r\nX: <b>");
        assert_eq!(parsed(&body).unwrap().model_version, "gemini-3.5-flash-liteXb");
    }

    #[test]
    fn what_is_no_verdict_is_named_in_capitals() {
        let reason = |body: Value| match parsed(&body) {
            Err(ModelError::NoVerdict(reason)) => reason,
            Err(error @ ModelError::Incomplete(_)) if error.is_retriable() => error.to_string(),
            other => panic!("{other:?}"),
        };
        let failed = |reason: &str| format!("the reply is incomplete: {reason}");
        let finished =
            |word: Value| json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": word}]});
        for word in ["SAFETY", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST"] {
            assert_eq!(reason(finished(json!(word))), word);
        }
        for word in ["MAX_TOKENS", "MALFORMED_RESPONSE", "OTHER", "RECITATION", "LANGUAGE", "A_REASON_OF_TOMORROW"] {
            assert_eq!(reason(finished(json!(word))), failed(word));
        }
        assert_eq!(reason(finished(json!("stop: the customer asked <b>"))), failed("UNKNOWN"));
        assert_eq!(reason(finished(json!("A".repeat(500)))), failed(&"A".repeat(40)));
        assert_eq!(reason(finished(json!(null))), failed("NO_FINISH_REASON"));
        assert_eq!(reason(json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})), "PROHIBITED_CONTENT");
        let mut both = candidate(&json!([{"text": "x"}]));
        both["promptFeedback"] = json!({"blockReason": "OTHER"});
        assert_eq!(reason(both), "OTHER");
        for body in [json!({}), json!([]), json!(null), json!({"candidates": []}), json!({"candidates": {}})] {
            assert_eq!(reason(body), failed("NO_CANDIDATES"));
        }
        for parts in
            [json!([]), json!(null), json!([{"text": " "}]), json!([{"text": "x", "thought": true}]), json!("x")]
        {
            assert_eq!(reason(candidate(&parts)), failed("NO_TEXT"));
        }
    }

    fn streamed(events: &[Value]) -> Result<ModelReply, ModelError> {
        let mut streamed = Streamed::default();
        for event in events {
            streamed.take(event.to_string().as_bytes())?;
        }
        streamed.end(b"", "asked-model")
    }

    #[test]
    fn events_make_the_reply_that_one_call_would_get() {
        let part = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}, "index": 0}]});
        let mut first = part("{\"reply\":\"A");
        first["modelVersion"] = json!("m-1");
        first["modelStatus"] = json!({"modelStage": "LEGACY"});
        let thought = json!({"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": true}]}}]});
        let last = json!({"candidates": [{"content": {"parts": [{"text": "\"}"}]}, "finishReason": "STOP"}]});
        let usage = json!({"usageMetadata": {"totalTokenCount": 3}});
        let reply = streamed(&[first.clone(), thought, usage.clone(), part("."), last.clone()]).unwrap();
        let expected = ModelReply {
            text: "{\"reply\":\"A.\"}".into(),
            model_version: "m-1".into(),
            status_warning: Some("LEGACY".into()),
        };
        assert_eq!(reply, expected);
        let problem = |events: &[Value]| streamed(events).unwrap_err().to_string();
        assert_eq!(problem(&[first.clone()]), "the reply is incomplete: NO_FINISH_REASON");
        assert_eq!(problem(&[]), "the reply is incomplete: NO_CANDIDATES");
        assert_eq!(problem(&[usage]), "the reply is incomplete: NO_CANDIDATES");
        let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        assert_eq!(problem(&[blocked]), "no verdict in the reply: SAFETY");
        let cut = json!({"candidates": [{"finishReason": "MAX_TOKENS"}]});
        assert_eq!(problem(&[first.clone(), cut]), "the reply is incomplete: MAX_TOKENS");
        for (code, error) in [(503, "the model answered 503"), (429, "the model answered 429")] {
            let failed = json!({"error": {"code": code, "status": "X"}});
            assert_eq!(problem(&[first.clone(), failed, last.clone()]), error, "a part is not a reply");
        }
        assert_eq!(problem(&[first, json!({"error": {}})]), "the model answered 500");
        assert!(Streamed::default().take(b"[{").unwrap_err().is_retriable());
    }

    #[test]
    fn a_broken_reply_may_be_asked_for_again() {
        for body in ["", "<html>", "{\"candidates\":["] {
            assert!(parse(body.as_bytes(), "m").unwrap_err().is_retriable());
        }
    }

    #[test]
    fn only_a_status_worth_knowing_is_a_warning() {
        let status = |status: Value| {
            let mut body = candidate(&json!([{"text": "x"}]));
            body["modelStatus"] = status;
            parsed(&body).unwrap().status_warning
        };
        for quiet in [json!(null), json!({}), json!({"modelStage": "STABLE"}), json!({"modelStage": "PREVIEW"})] {
            assert_eq!(status(quiet), None);
        }
        let retiring = json!({"modelStage": "STABLE", "retirementTime": "2026-12-01T00:00:00Z"});
        assert_eq!(status(retiring).as_deref(), Some("STABLE 2026-12-01T00:00:00Z"));
        for loud in [
            json!({"modelStage": "DEPRECATED"}),
            json!({"modelStage": 7}),
            json!({"message": "x"}),
            json!("DEPRECATED"),
        ] {
            assert!(status(loud.clone()).is_some(), "{loud}");
        }
        let foreign = json!({"modelStage": "LEGACY\n<b> | a@b", "message": "what the customer asked"});
        assert_eq!(status(foreign).as_deref(), Some("LEGACYbab"), "none of its sentences");
        assert_eq!(status(json!({"message": "x"})).as_deref(), Some("UNKNOWN_STAGE"));
        assert!(status(json!({"modelStage": "A".repeat(500), "retirementTime": "1".repeat(500)})).unwrap().len() <= 80);
    }

    #[test]
    fn every_status_has_its_meaning() {
        let plain = |status| format!("{:?}", refusal(status, b"<html>"));
        for status in [408, 429, 500, 501, 502, 503, 504, 529] {
            assert_eq!(plain(status), format!("Unavailable({status})"));
        }
        for status in [401, 403] {
            assert_eq!(plain(status), format!("Unauthorized({status})"));
        }
        for status in [302, 400, 405, 413, 422] {
            assert_eq!(plain(status), format!("BadRequest({status})"));
        }
        assert_eq!(plain(402), "Account(402)");
        assert_eq!(plain(404), "UnknownModel");
    }

    #[test]
    fn a_delay_that_is_asked_for_is_a_minimum() {
        let throttled = |status, delay: Value| {
            let detail = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay});
            refusal(status, json!({"error": {"details": [{"@type": "other"}, detail]}}).to_string().as_bytes())
        };
        for (delay, millis) in [("36s", 36_000), ("0.5s", 500), ("7.25s", 7_250), ("99999s", 3_600_000)] {
            assert!(
                matches!(throttled(429, json!(delay)), ModelError::Throttled(it) if it == Duration::from_millis(millis))
            );
        }
        assert!(matches!(throttled(503, json!("2s")), ModelError::Throttled(_)));
        for nonsense in
            [json!("soon"), json!("-3s"), json!("0s"), json!(36), json!(null), json!("1e400s"), json!("NaNs")]
        {
            assert!(matches!(throttled(429, nonsense.clone()), ModelError::Unavailable(429)), "{nonsense}");
        }
    }

    #[test]
    fn details_tell_a_daily_quota_and_a_bad_key_apart() {
        let quota = |id: &str| {
            let detail =
                json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]});
            let body = json!({"error": {"code": 429, "details": [{"@type": "other"}, detail]}});
            refusal(429, body.to_string().as_bytes())
        };
        assert!(matches!(quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), ModelError::QuotaExhausted));
        assert!(matches!(quota("GenerateRequestsPerMinutePerProjectPerModel"), ModelError::Unavailable(429)));
        let key =
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}});
        assert!(matches!(refusal(400, key.to_string().as_bytes()), ModelError::Unauthorized(400)));
    }

    #[test]
    fn a_condition_of_our_account_is_no_refused_question() {
        for (code, status, message) in [
            (402, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
            (400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
        ] {
            let body = json!({"error": {"code": code, "message": message, "status": status}}).to_string();
            assert!(matches!(refusal(code, body.as_bytes()), ModelError::Account(it) if it == code), "{message}");
            let begun = Streamed::default().take(body.as_bytes());
            assert!(matches!(begun, Err(ModelError::Account(it)) if it == code), "in a stream: {message}");
        }
        let question = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT"}}).to_string();
        assert!(matches!(refusal(400, question.as_bytes()), ModelError::BadRequest(400)));
    }
}
