//! What the log's bucket says of new objects: S3's event messages.

use serde::Deserialize;

/// A message that is none of S3's.
#[derive(Debug, thiserror::Error)]
#[error("not an event message of S3's")]
pub struct UnreadableNotice(#[source] serde_json::Error);

#[derive(Deserialize)]
#[serde(untagged)]
enum Notice {
    #[serde(rename_all = "PascalCase")]
    Events { records: Vec<Event> },
    /// S3 sends one when the queue is set up.
    #[serde(rename_all = "PascalCase")]
    Test {
        #[serde(rename = "Event")]
        _event: TestEvent,
    },
}

#[derive(Deserialize)]
enum TestEvent {
    #[serde(rename = "s3:TestEvent")]
    TestEvent,
}

#[derive(Deserialize)]
struct Event {
    s3: Parts,
}

#[derive(Deserialize)]
struct Parts {
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    /// Encoded as in a form: a space is a plus.
    key: String,
}

/// The keys of the objects that a message speaks of; none for S3's test message.
///
/// # Errors
/// [`UnreadableNotice`].
pub fn keys(body: &str) -> Result<Vec<String>, UnreadableNotice> {
    let decoded = |key: &str| form_urlencoded::parse(key.as_bytes()).next().map(|(key, _)| key.into_owned());
    match serde_json::from_str(body).map_err(UnreadableNotice)? {
        Notice::Events { records } => Ok(records.iter().filter_map(|event| decoded(&event.s3.object.key)).collect()),
        Notice::Test { .. } => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded_and_the_test_message_has_none() {
        let event = |key: &str| format!(r#"{{"eventName":"ObjectCreated:Put","s3":{{"object":{{"key":"{key}","size":7}}}}}}"#);
        let body = format!(r#"{{"Records":[{},{}]}}"#, event("2026-04-16/session/cs_test_1/000001.json"), event("a+b%3D%26c"));
        assert_eq!(keys(&body).unwrap(), ["2026-04-16/session/cs_test_1/000001.json", "a b=&c"]);
        let test = r#"{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"t","Bucket":"b"}"#;
        assert_eq!(keys(test).unwrap(), Vec::<String>::new());
        for body in ["", "{}", "[]", r#"{"Records":[{}]}"#, r#"{"Event":"other"}"#] {
            assert!(keys(body).is_err(), "{body}");
        }
    }
}
