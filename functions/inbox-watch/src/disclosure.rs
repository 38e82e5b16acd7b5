//! A message that may disclose self-harm is answered at once with sources of help, whoever sent it. A person reads it
//! as any other message.

use crate::{memory::digest, trouble::alert};
use audit::Noted;
use authority::{Evaluation, evaluate};
use domain::{Timestamp, alert::Severity, inbox::Incoming, query::MAX_CHARACTERS};
use serde_json::json;

/// Evaluates the beginning of a message, at most as many characters as a question may have. Returns the evaluation if
/// the message may disclose self-harm. `text` is its new text; `locale` selects the country of the resources.
pub(crate) fn disclosure(message: &Incoming, text: &str, locale: Option<&str>) -> Option<Evaluation> {
    // A reply repeats an earlier subject.
    let subject = if message.in_reply_to().is_none() { message.subject.as_str() } else { "" };
    let read: String = subject.chars().chain(['\n']).chain(text.chars()).take(MAX_CHARACTERS).collect();
    Some(evaluate(&read, locale)).filter(Evaluation::is_crisis)
}

/// Adds the record and the alert about a disclosure. Neither contains a word of it.
pub(crate) fn report<A>(noted: Noted<A>, id: &str, sender: &str, disclosed: &Evaluation, now: Timestamp) -> Noted<A> {
    let facts = json!({ "message": digest(id), "sender": sender, "authority": disclosed.envelope() });
    let detail = "a message may disclose self-harm, and its sender gets the sources of help: read it now";
    let alert = alert(Severity::Error, now, "DISCLOSURE", &digest(id), detail);
    noted.recording("authority_evaluated", facts).alerting(alert)
}
