//! The form of a reply of the chat. What it says is the content filter's and the authority gate's to judge.

use serde_json::Value;

/// The longest reply, in characters.
pub const LONGEST_REPLY: usize = 6_000;

/// Why a text is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// It is no JSON object with a text in `reply` and nothing else.
    #[error("the reply is malformed")]
    Malformed,
    /// There is nothing in it.
    #[error("the reply is empty")]
    Empty,
    /// It is longer than [`LONGEST_REPLY`].
    #[error("the reply is too long")]
    TooLong,
    /// It repeats the message and says nothing else.
    #[error("the reply repeats the message")]
    Echo,
    /// It has markup or a link, which are shown as they are written.
    #[error("the reply has markup")]
    Markup,
}

/// The text of a model's reply to a message.
///
/// # Errors
/// [`NoReply`]
pub fn chat_reply(raw: &str, message: &str) -> Result<String, NoReply> {
    let Ok(Value::Object(fields)) = serde_json::from_str(raw) else { return Err(NoReply::Malformed) };
    let text = match (fields.len(), fields.get("reply")) {
        (1, Some(Value::String(text))) => text.trim(),
        _ => return Err(NoReply::Malformed),
    };
    if !text.chars().any(char::is_alphanumeric) {
        return Err(NoReply::Empty);
    }
    if text.chars().count() > LONGEST_REPLY {
        return Err(NoReply::TooLong);
    }
    if text.eq_ignore_ascii_case(message.trim()) {
        return Err(NoReply::Echo);
    }
    if ["://", "```", "</", "](", "**"].iter().any(|mark| text.contains(mark)) {
        return Err(NoReply::Markup);
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reply_is_one_text() {
        let raw = |text: &str| json!({ "reply": text }).to_string();
        assert_eq!(chat_reply(&raw(" Ask two of them first. "), "How?"), Ok("Ask two of them first.".to_owned()));
        for (text, problem) in [
            (raw(""), NoReply::Empty),
            (raw(" … "), NoReply::Empty),
            (raw(&"a".repeat(6_001)), NoReply::TooLong),
            (raw("how?"), NoReply::Echo),
            (raw("See https://example.com"), NoReply::Markup),
            (raw("**Do** it"), NoReply::Markup),
            ("{}".to_owned(), NoReply::Malformed),
            ("Ask them.".to_owned(), NoReply::Malformed),
            (r#"{"reply":"a","to":"b"}"#.to_owned(), NoReply::Malformed),
            (r#"{"reply":["a"]}"#.to_owned(), NoReply::Malformed),
        ] {
            assert_eq!(chat_reply(&text, "How?"), Err(problem), "{text:.40}");
        }
    }
}
