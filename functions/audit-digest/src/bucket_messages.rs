//! Parses the bucket's messages about new objects: S3 event messages.

use serde::Deserialize;

/// Why a message cannot be read as an event of the log's bucket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreadableMessage {
    /// The body is not an S3 event message.
    #[error("not an event message of S3's")]
    Form(#[from] serde_json::Error),
    /// The event is about another bucket.
    #[error("an event message of another bucket")]
    OtherBucket,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum BucketMessage {
    #[serde(rename_all = "PascalCase")]
    Events { records: Vec<Event> },
    /// S3 sends one test message when the notification is set up.
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
#[serde(rename_all = "camelCase")]
pub(crate) struct Object {
    /// The key. In the message it is form-encoded (a plus is a space); here it is decoded.
    pub(crate) key: String,
    /// The length in bytes; `None` in a message that an operator sent.
    pub(crate) size: Option<u64>,
    /// The version that was written; `None` in a message that an operator sent.
    pub(crate) version_id: Option<String>,
}

/// The objects of this bucket that a message reports; empty for S3's test message.
///
/// # Errors
/// [`UnreadableMessage`].
pub(crate) fn objects(body: &str, bucket: &str) -> Result<Vec<Object>, UnreadableMessage> {
    let decoded = |object: Object| {
        let (key, _) = form_urlencoded::parse(object.key.as_bytes()).next()?;
        Some(Object { key: key.into_owned(), ..object })
    };
    match serde_json::from_str(body)? {
        BucketMessage::Events { records } if records.iter().any(|event| event.s3.bucket.name != bucket) => {
            Err(UnreadableMessage::OtherBucket)
        }
        BucketMessage::Events { records } => {
            Ok(records.into_iter().filter_map(|event| decoded(event.s3.object)).collect())
        }
        BucketMessage::Test { .. } => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded_and_the_test_message_has_none() {
        let event = |bucket: &str, key: &str| {
            format!(
                r#"{{"s3":{{"bucket":{{"name":"{bucket}"}},"object":{{"key":"{key}","size":7,"versionId":"v"}}}}}}"#
            )
        };
        let (ours, odd) = (event("log", "2026-04-16/session/cs_test_1/000001.json"), event("log", "a+b%3D%26c"));
        let body = format!(r#"{{"Records":[{ours},{odd}]}}"#);
        let keys = |body: &str, bucket: &str| -> Result<Vec<String>, _> {
            objects(body, bucket).map(|objects| objects.into_iter().map(|object| object.key).collect())
        };
        assert_eq!(keys(&body, "log").unwrap(), ["2026-04-16/session/cs_test_1/000001.json", "a b=&c"]);
        let first = &objects(&body, "log").unwrap()[0];
        assert_eq!((first.size, first.version_id.as_deref()), (Some(7), Some("v")));
        let test = r#"{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"t","Bucket":"b"}"#;
        assert_eq!(keys(test, "log").unwrap(), Vec::<String>::new());
        for body in ["", "{}", "[]", r#"{"Records":[{}]}"#, r#"{"Event":"other"}"#] {
            assert!(matches!(keys(body, "log"), Err(UnreadableMessage::Form(_))), "{body}");
        }
        let other = format!(r#"{{"Records":[{ours},{}]}}"#, event("other", "x"));
        assert!(matches!(keys(&other, "log"), Err(UnreadableMessage::OtherBucket)));
    }
}
