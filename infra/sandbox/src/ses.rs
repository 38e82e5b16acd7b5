//! Simulates the one call of Amazon SES that sends a mail. SES keeps no mail and has no idempotency key: a request that
//! is sent twice is a mail twice.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::is_email;
use crate::credentials::GRAPH_SENDER;
use crate::graph::store::time;
use crate::http::{Reply, Request};
use crate::state::State;

const MOST_RECIPIENTS: usize = 50;
/// How the message id of every mail ends that SES sends.
const MESSAGE_ID_END: &str = "@email.amazonses.com>";

struct SesError {
    status: u16,
    kind: &'static str,
    message: String,
}

fn refused(status: u16, kind: &'static str, message: impl Into<String>) -> SesError {
    SesError { status, kind, message: message.into() }
}

/// A request of `SendEmail` with simple content.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct SendEmail {
    from_email_address: String,
    destination: Destination,
    content: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Destination {
    to_addresses: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Content {
    simple: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Message {
    subject: Text,
    body: Body,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Body {
    text: Text,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Text {
    data: String,
    charset: Option<String>,
}

pub(crate) fn handle(state: &mut State, request: &Request) -> Reply {
    let reply = match send(state, request) {
        Ok(id) => Reply::json(200, json!({ "MessageId": id })),
        Err(SesError { status, kind, message }) => {
            Reply::json(status, json!({ "message": message })).with_header("x-amzn-ErrorType", kind.to_owned())
        }
    };
    reply.with_header("x-amzn-RequestId", state.identifiers.uuid())
}

fn send(state: &mut State, request: &Request) -> Result<String, SesError> {
    if request.method != hyper::Method::POST || !request.path.ends_with("/v2/email/outbound-emails") {
        return Err(refused(404, "NotFoundException", format!("Unknown operation {}", request.path)));
    }
    if !request.header("authorization").starts_with("AWS4-HMAC-SHA256 ") {
        return Err(refused(403, "MissingAuthenticationTokenException", "Missing Authentication Token"));
    }
    let mail: SendEmail = serde_json::from_slice(&request.body)
        .map_err(|error| refused(400, "SerializationException", error.to_string()))?;
    let sender = &mail.from_email_address;
    if !sender.eq_ignore_ascii_case(GRAPH_SENDER) {
        let message = format!("Email address is not verified. The following identities failed the check: {sender}");
        return Err(refused(400, "MessageRejected", message));
    }
    let recipients = &mail.destination.to_addresses;
    if recipients.is_empty() || recipients.len() > MOST_RECIPIENTS {
        return Err(refused(400, "BadRequestException", format!("{} recipients", recipients.len())));
    }
    if let Some(address) = recipients.iter().find(|address| !is_email(address)) {
        return Err(refused(400, "BadRequestException", format!("Illegal address: {address}")));
    }
    let Message { subject, body } = &mail.content.simple;
    if subject.data.contains(['\r', '\n']) {
        return Err(refused(400, "BadRequestException", "Subject contains a line break"));
    }
    // Without a character set the text has to be ASCII.
    if [subject, &body.text].iter().any(|text| text.charset.is_none() && !text.data.is_ascii()) {
        return Err(refused(400, "BadRequestException", "Charset is missing"));
    }
    let now = time(state.now());
    let in_this_second = state.mailbox.accepted.iter().rev().take_while(|mail| mail["at"] == now);
    if in_this_second.filter(|mail| is_from_ses(mail)).count() >= state.config.ses_mails_per_second {
        return Err(refused(400, "ThrottlingException", "Maximum sending rate exceeded."));
    }
    let id = format!("0100{}", state.identifiers.token(56));
    let accepted = record(&mail, &id, &now);
    state.mailbox.accepted.push(accepted);
    Ok(id)
}

/// The mail as `/control/mails` lists it. SES replaces the message id by its own id of the mail.
fn record(mail: &SendEmail, id: &str, at: &str) -> Value {
    json!({
        "to": mail.destination.to_addresses.join(", "),
        "subject": mail.content.simple.subject.data,
        "body": mail.content.simple.body.text.data,
        "at": at,
        "headers": {},
        "from": mail.from_email_address,
        "content_type": "text",
        "internet_message_id": format!("<{id}{MESSAGE_ID_END}"),
        "conversation_id": null,
    })
}

/// Whether SES accepted the mail, and not the mailbox.
fn is_from_ses(mail: &Value) -> bool {
    mail["internet_message_id"].as_str().is_some_and(|id| id.ends_with(MESSAGE_ID_END))
}
