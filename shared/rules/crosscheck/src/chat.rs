//! Checks the form of a chat reply. The content filter and the authority gate check its content.

use serde_json::Value;

/// The longest reply, in characters.
pub const LONGEST_REPLY: usize = 6_000;

/// The reason why a text is not a valid reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// It is not a JSON object with a text in `reply` and no other field.
    #[error("the reply is malformed")]
    Malformed,
    /// The text is empty.
    #[error("the reply is empty")]
    Empty,
    /// It is longer than [`LONGEST_REPLY`].
    #[error("the reply is too long")]
    TooLong,
    /// It only repeats the message.
    #[error("the reply repeats the message")]
    Echo,
    /// It contains markup or a link, which the page would show as raw text.
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
    check(text, message)?;
    Ok(text.to_owned())
}

fn check(text: &str, message: &str) -> Result<(), NoReply> {
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
    Ok(())
}

/// The beginning of a reply that the model is still writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Its whole sentences.
    pub text: String,
    /// Whether the reply has no more text.
    pub is_complete: bool,
}

/// The whole sentences of a reply that the model is still writing; `None` before the first one ends, and when the form
/// is invalid already.
#[must_use]
pub fn beginning(raw: &str, message: &str) -> Option<Beginning> {
    let rest = ["{", "\"reply\"", ":", "\""].iter().try_fold(raw, |rest, mark| rest.trim_start().strip_prefix(mark))?;
    let (text, rest) = decode(rest)?;
    let is_complete = match rest.map(str::trim) {
        None => false,
        Some("" | "}") => true,
        Some(_) => return None,
    };
    let end = if is_complete { text.len() } else { end_of_sentences(&text) };
    let text = text[..end].trim();
    check(text, message).ok()?;
    Some(Beginning { text: text.to_owned(), is_complete })
}

/// Decodes the content of a JSON string from after its opening quote, up to an escape that is not whole yet. Returns it
/// with what follows the closing quote, if that is there. `None` when it is not valid JSON.
fn decode(raw: &str) -> Option<(String, Option<&str>)> {
    let bytes = raw.as_bytes();
    let mut end = 0;
    let closed = loop {
        match bytes.get(end) {
            None => break false,
            Some(b'"') => break true,
            Some(b'\\') => match escape_length(&bytes[end..]) {
                Some(length) => end += length,
                None => break false,
            },
            Some(_) => end += 1,
        }
    };
    let text = serde_json::from_str(&format!("\"{}\"", &raw[..end])).ok()?;
    Some((text, closed.then(|| &raw[end + 1..])))
}

/// The length of the escape at the beginning; `None` while it is not whole.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    let length = match (bytes.get(1)?, bytes.get(2), bytes.get(3)) {
        (b'u', None, _) | (b'u', _, None) => return None,
        // The first half of a pair of surrogates.
        (b'u', Some(b'd' | b'D'), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B')) => 12,
        (b'u', ..) => 6,
        _ => 2,
    };
    (bytes.len() >= length).then_some(length)
}

/// Where the last whole sentence ends: at a mark that white space follows, or at the end of a line.
fn end_of_sentences(text: &str) -> usize {
    let mut end = 0;
    let mut is_ended = false;
    for (at, character) in text.char_indices() {
        if character == '\n' || (character.is_whitespace() && is_ended) {
            end = at;
        }
        is_ended = match character {
            '.' | '!' | '?' | '…' => true,
            '"' | '\'' | '”' | '’' | ')' | ']' => is_ended,
            _ => false,
        };
    }
    end
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

    fn begun(raw: &str) -> Option<String> {
        beginning(raw, "How?").map(|beginning| beginning.text)
    }

    #[test]
    fn a_beginning_has_only_whole_sentences() {
        for (raw, expected) in [
            ("", None),
            ("{\"re", None),
            (" { \"reply\" : \"Ask", None),
            (r#"{"reply":"Ask two."#, None),
            (r#"{"reply":"Ask two. "#, Some("Ask two.")),
            (r#"{"reply":"Ask 2.5 of them. Or"#, Some("Ask 2.5 of them.")),
            (r#"{"reply":"He said \"no!\" And"#, Some("He said \"no!\"")),
            (r#"{"reply":"First line\nSecond"#, Some("First line")),
            (r#"{"reply":"Ask two. See https://a. "#, None),
            (r#"{"reply":"how?","to":"b"}"#, None),
            (r#"{"reply":"Ask two. Now.","#, None),
            (r#"{"reply":["Ask two. "#, None),
            (r#"["Ask two. "#, None),
            (r#"{"reply":"Ask \x two. Now"#, None),
        ] {
            assert_eq!(begun(raw).as_deref(), expected, "{raw}");
        }
        let whole = Beginning { text: "Ask two. Now".to_owned(), is_complete: true };
        for end in ["\"", "\"}", "\" }\n"] {
            assert_eq!(beginning(&format!(r#"{{"reply":"Ask two. Now{end}"#), "How?"), Some(whole.clone()), "{end}");
        }
    }

    #[test]
    fn every_beginning_of_a_reply_begins_its_text() {
        let text = "Ask \"two\" of them.\nThen, für 🍁 \\ more… wait! Is (it?) enough.";
        let escaped: String = json!(text)
            .to_string()
            .chars()
            .map(|c| match c {
                '🍁' => r"\ud83c\uDF41".to_owned(),
                'ü' => r"\u00fc".to_owned(),
                c => c.to_string(),
            })
            .collect();
        let raw = format!("{{\"reply\":{escaped}}}");
        assert_eq!(chat_reply(&raw, "How?").as_deref(), Ok(text));
        let mut found = std::collections::BTreeSet::new();
        for end in (0..=raw.len()).filter(|end| raw.is_char_boundary(*end)) {
            let Some(beginning) = begun(&raw[..end]) else { continue };
            assert!(text.starts_with(&beginning), "{beginning}");
            found.insert(beginning.len());
        }
        assert_eq!(found.len(), 5, "{found:?}");
    }
}
