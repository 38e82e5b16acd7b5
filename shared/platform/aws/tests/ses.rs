//! Mails against SES's replies: what counts as sent, as certainly not sent, and as unknown.

#![allow(clippy::unwrap_used)]

mod server;

use aws::{Connection, SesRelay};
use domain::{
    EmailAddress, SessionId,
    ports::{MailError, OutgoingMail, Relay},
};
use serde_json::{Value, json};
use server::{LOST, Reply, Server, nobody};

fn relay(url: &str) -> SesRelay {
    let connection = Connection::from_environment(|name| match name {
        "AWS_REGION" => Some("us-east-1".to_owned()),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
        _ => None,
    });
    let sender = EmailAddress::parse("oracle@example.com").unwrap();
    SesRelay::new(&connection.unwrap(), Some(url.to_owned()), sender)
}

fn mail() -> OutgoingMail {
    OutgoingMail {
        to: EmailAddress::parse("buyer@example.com").unwrap(),
        subject: "Your verdict ✓".to_owned(),
        body: "Line one\n\nLine two".to_owned(),
        session_id: SessionId::parse("cs_test_1").unwrap(),
    }
}

#[tokio::test]
async fn a_mail_is_one_request_as_plain_text_and_its_reply_names_its_id() {
    let server = Server::start([(200, json!({ "MessageId": "0100-abc" }).to_string())]).await;
    assert_eq!(relay(&server.url).send(&mail()).await.unwrap(), "0100-abc");
    let seen = server.seen();
    let request: Value = serde_json::from_str(&seen[0]).unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(request["FromEmailAddress"], "oracle@example.com");
    assert_eq!(request["Destination"], json!({ "ToAddresses": ["buyer@example.com"] }));
    let message = &request["Content"]["Simple"];
    assert_eq!(message["Subject"], json!({ "Data": "Your verdict ✓", "Charset": "UTF-8" }));
    assert_eq!(message["Body"], json!({ "Text": { "Data": "Line one\n\nLine two", "Charset": "UTF-8" } }));
}

#[tokio::test]
async fn a_refusal_is_certain_and_a_lost_reply_is_not_and_neither_is_tried_again() {
    let refused = |status: u16, kind: &str| -> Reply { (status, json!({ "__type": kind, "message": "" }).to_string()) };
    for (reply, expected) in [
        (refused(400, "MessageRejected"), "Rejected"),
        (refused(400, "BadRequestException"), "Rejected"),
        (refused(400, "AccountSuspendedException"), "Forbidden"),
        (refused(400, "SendingPausedException"), "Forbidden"),
        (refused(400, "MailFromDomainNotVerifiedException"), "Forbidden"),
        (refused(400, "LimitExceededException"), "Throttled"),
        (refused(400, "ThrottlingException"), "Throttled"),
        (refused(400, "Throttling"), "Throttled"),
        (refused(403, "AccessDeniedException"), "Forbidden"),
        (refused(404, "NotFoundException"), "Forbidden"),
        (refused(429, "TooManyRequestsException"), "Throttled"),
        (refused(503, "ServiceUnavailable"), "Unavailable"),
        (refused(500, "InternalFailure"), "OutcomeUnknown"),
        (refused(502, ""), "OutcomeUnknown"),
        ((200, "{".to_owned()), "OutcomeUnknown"),
        (LOST, "OutcomeUnknown"),
    ] {
        let server = Server::start([reply.clone()]).await;
        let error = relay(&server.url).send(&mail()).await.unwrap_err();
        assert!(format!("{error:?}").starts_with(expected), "{reply:?}: {error:?}");
        assert_eq!(server.seen().len(), 1, "{reply:?}: SES has no idempotency key");
    }
}

#[tokio::test]
async fn nothing_was_sent_where_nobody_listens() {
    let error = relay(&nobody().await).send(&mail()).await.unwrap_err();
    assert!(matches!(error, MailError::Unavailable(0)), "{error:?}");
}
