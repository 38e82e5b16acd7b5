//! A mail in Graph's form.

use domain::{inbox::Acknowledgement, ports::OutgoingMail, sale::Draft};
use serde_json::{Value, json};

/// The header that names a mail's sale to its receivers, including in a bounce; Graph accepts custom headers that begin
/// with `x-`. The copy in Sent Items does not have it, because Graph leaves internet headers out there.
const SESSION_HEADER: &str = "x-oracle-session";

/// The extended property that names a mail's sale to us: it is kept when a draft becomes a sent mail. The GUID is the
/// namespace of our properties; a mailbox stores the pair permanently, so neither part must ever change.
pub(crate) const SESSION_PROPERTY: &str = "String {7d2c5b0e-3f64-4a51-9c0d-42a5c1e7b042} Name x-oracle-session";

/// The body of the call that creates a draft.
pub(crate) fn draft(mail: &OutgoingMail) -> Value {
    json!({
        "subject": one_line(&mail.subject),
        "body": {"contentType": "Text", "content": mail.body},
        "toRecipients": [{"emailAddress": {"address": mail.to.expose()}}],
        "internetMessageHeaders": [{"name": SESSION_HEADER, "value": mail.session_id.as_str()}],
        "singleValueExtendedProperties": [{"id": SESSION_PROPERTY, "value": mail.session_id.as_str()}],
    })
}

/// Replaces line breaks, because one in a subject would begin another header.
fn one_line(subject: &str) -> String {
    subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The body of the call that creates the draft of an acknowledgement. RFC 3834 requires `Auto-Submitted`, but Graph
/// allows only names that begin with `x-`. The header used here keeps Exchange and compatible servers from replying
/// automatically.
///
/// The sale that the message belongs to is named to us only, not to the recipient, who may not be its buyer.
pub(crate) fn acknowledgement(mail: &Acknowledgement) -> Value {
    let mut draft = json!({
        "subject": one_line(&mail.subject),
        "body": {"contentType": "Text", "content": mail.body},
        "toRecipients": [{"emailAddress": {"address": mail.to.expose()}}],
        "internetMessageHeaders": [{"name": "X-Auto-Response-Suppress", "value": "All"}],
    });
    if let Some(session) = &mail.session {
        draft["singleValueExtendedProperties"] = json!([{"id": SESSION_PROPERTY, "value": session.as_str()}]);
    }
    draft
}

/// Parses the created draft. It needs both ids, otherwise it could be neither sent nor found.
pub(crate) fn created(reply: &[u8]) -> Option<Draft> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let text = |name: &str| reply[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Draft { id: text("id")?, internet_message_id: text("internetMessageId")? })
}

/// Whether a message is a draft, if the reply says so.
pub(crate) fn is_draft(reply: &[u8]) -> Option<bool> {
    serde_json::from_slice::<Value>(reply).ok()?["isDraft"].as_bool()
}

/// Whether a list of messages contains this one. Graph filters the list, but its filter is not trusted.
pub(crate) fn lists(reply: &[u8], internet_message_id: &str) -> Option<bool> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    Some(reply["value"].as_array()?.iter().any(|message| message["internetMessageId"] == internet_message_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{EmailAddress, SessionId};

    #[test]
    fn a_draft_is_plain_text_and_a_subject_is_one_line() {
        let mail = OutgoingMail {
            to: EmailAddress::parse("someone@example.com").unwrap(),
            subject: "Your verdict\r\nBcc: evil@example.com".into(),
            body: "<b>not bold</b>\n".into(),
            session_id: SessionId::parse("cs_test_1").unwrap(),
        };
        assert_eq!(
            draft(&mail),
            json!({
                "subject": "Your verdict  Bcc: evil@example.com",
                "body": {"contentType": "Text", "content": "<b>not bold</b>\n"},
                "toRecipients": [{"emailAddress": {"address": "someone@example.com"}}],
                "internetMessageHeaders": [{"name": "x-oracle-session", "value": "cs_test_1"}],
                "singleValueExtendedProperties": [{
                    "id": "String {7d2c5b0e-3f64-4a51-9c0d-42a5c1e7b042} Name x-oracle-session", "value": "cs_test_1",
                }],
            })
        );
    }

    #[test]
    fn replies_are_read_or_not_at_all() {
        let draft = created(br#"{"id":"A1","internetMessageId":"<1@x>","isDraft":true}"#).unwrap();
        assert_eq!((draft.id.as_str(), draft.internet_message_id.as_str()), ("A1", "<1@x>"));
        for reply in [
            "",
            "{}",
            "[]",
            r#"{"id":"A1"}"#,
            r#"{"id":"","internetMessageId":"x"}"#,
            r#"{"id":1,"internetMessageId":"x"}"#,
        ] {
            assert_eq!(created(reply.as_bytes()), None, "{reply}");
        }
        assert_eq!(is_draft(br#"{"isDraft":true}"#), Some(true));
        assert_eq!(is_draft(br#"{"isDraft":false}"#), Some(false));
        assert_eq!(is_draft(br#"{"isDraft":"true"}"#), None);
        assert_eq!(
            lists(br#"{"value":[{"internetMessageId":"<2@x>"},{"internetMessageId":"<1@x>"}]}"#, "<1@x>"),
            Some(true)
        );
        assert_eq!(lists(br#"{"value":[{"internetMessageId":"<2@x>"},{}]}"#, "<1@x>"), Some(false));
        assert_eq!(lists(br#"{"value":[]}"#, "<1@x>"), Some(false));
        assert_eq!(lists(br"{}", "<1@x>"), None);
    }
}
