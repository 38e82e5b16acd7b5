//! What the log's bucket says of new objects: S3's event messages.

use serde::Deserialize;

/// Why a message says nothing of the log.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableNotice {
    /// It is none of S3's.
    #[error("not an event message of S3's")]
    Form(#[from] serde_json::Error),
    /// It speaks of another bucket.
    #[error("an event message of another bucket")]
    OtherBucket,
}

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
    bucket: Bucket,
    object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
}

#[derive(Deserialize)]
struct Object {
    /// Encoded as in a form: a space is a plus.
    key: String,
}

/// The keys of the objects in this bucket that a message speaks of; none for S3's test message.
///
/// # Errors
/// [`UnreadableNotice`].
pub fn keys(body: &str, bucket: &str) -> Result<Vec<String>, UnreadableNotice> {
    let decoded = |key: &str| form_urlencoded::parse(key.as_bytes()).next().map(|(key, _)| key.into_owned());
    match serde_json::from_str(body)? {
        Notice::Events { records } if records.iter().any(|event| event.s3.bucket.name != bucket) => {
            Err(UnreadableNotice::OtherBucket)
        }
        Notice::Events { records } => Ok(records.iter().filter_map(|event| decoded(&event.s3.object.key)).collect()),
        Notice::Test { .. } => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded_and_the_test_message_has_none() {
        let event = |bucket: &str, key: &str| {
            format!(r#"{{"s3":{{"bucket":{{"name":"{bucket}"}},"object":{{"key":"{key}","size":7}}}}}}"#)
        };
        let (ours, odd) = (event("log", "2026-04-16/session/cs_test_1/000001.json"), event("log", "a+b%3D%26c"));
        let body = format!(r#"{{"Records":[{ours},{odd}]}}"#);
        assert_eq!(keys(&body, "log").unwrap(), ["2026-04-16/session/cs_test_1/000001.json", "a b=&c"]);
        let test = r#"{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"t","Bucket":"b"}"#;
        assert_eq!(keys(test, "log").unwrap(), Vec::<String>::new());
        for body in ["", "{}", "[]", r#"{"Records":[{}]}"#, r#"{"Event":"other"}"#] {
            assert!(matches!(keys(body, "log"), Err(UnreadableNotice::Form(_))), "{body}");
        }
        let other = format!(r#"{{"Records":[{ours},{}]}}"#, event("other", "x"));
        assert!(matches!(keys(&other, "log"), Err(UnreadableNotice::OtherBucket)));
    }
}
