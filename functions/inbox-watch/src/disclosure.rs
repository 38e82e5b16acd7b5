//! Detects messages that may disclose self-harm. The record and the alert come before every other step. The sender gets
//! sources of help if the mailbox confirms the address. A person reads the message like any other.

use crate::{alerts::alert, state::digest};
use audit::Noted;
use authority::{Evaluation, evaluate};
use domain::{Timestamp, alert::Severity, inbox::Incoming, query::MAX_CHARACTERS};
use serde_json::json;

/// Evaluates the beginning of a message, at most as many characters as a question may have. Returns the evaluation if
/// the message may disclose self-harm. `text` is its new text, empty if it cannot be read; `locale` selects the country
/// of the resources.
pub(crate) fn disclosure(message: &Incoming, text: &str, locale: Option<&str>) -> Option<Evaluation> {
    // A reply repeats an earlier subject.
    let subject = if message.in_reply_to().is_none() { message.subject.as_str() } else { "" };
    let read: String = subject.chars().chain(['\n']).chain(text.chars()).take(MAX_CHARACTERS).collect();
    Some(evaluate(&read, locale)).filter(Evaluation::is_crisis)
}

/// Adds the record and the alert about a disclosure. Neither contains a word of it.
pub(crate) fn report(
    noted: Noted<()>,
    id: &str,
    sender: &str,
    is_authenticated: bool,
    disclosed: &Evaluation,
    now: Timestamp,
) -> Noted<()> {
    let facts = json!({ "message": digest(id), "sender": sender, "authority": disclosed.envelope() });
    let unconfirmed = if is_authenticated { "" } else { "; its sender is not confirmed and gets no mail" };
    let detail = format!("a message may disclose self-harm: read it now{unconfirmed}");
    let alert = alert(Severity::Critical, now, "DISCLOSURE", &digest(id), &detail);
    noted.recording("authority_evaluated", facts).alerting(alert)
}
