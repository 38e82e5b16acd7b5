//! Detects messages that may disclose self-harm. The record and the alert come before every other step. The sender gets
//! sources of help if the mailbox confirms the address. A person reads the message like any other.

use crate::{
    alerts::alert,
    error::WatchError,
    state::{InboxState, NewDisclosure, digest},
    watch::Watch,
};
use audit::Noted;
use authority::{Evaluation, evaluate};
use domain::{
    EmailAddress, Timestamp,
    alert::Severity,
    inbox::{Incoming, is_authenticated},
    query::MAX_CHARACTERS,
};
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

impl Watch<'_> {
    /// Records that a message may disclose self-harm, and alerts operators to it once. After a record of the subject
    /// alone, the evaluation of the text is recorded too: it may require an escalation that the subject does not.
    pub(crate) async fn record_disclosure(
        &mut self,
        id: &str,
        message: &Incoming,
        address: &EmailAddress,
        disclosed: &Evaluation,
        by_subject: bool,
    ) -> Result<(), WatchError> {
        let sender = self.keys.current.email_tag(address);
        let is_authenticated = is_authenticated(message);
        let record = |state: &mut InboxState, now| {
            let new = state.record_disclosure(id, by_subject);
            report(new, id, &sender, is_authenticated, disclosed, now)
        };
        self.commit_state(record).await
    }
}

/// Saves a disclosure that is new, with a record and, if it is the message's first, an alert. Neither has its words.
fn report(
    new: NewDisclosure,
    id: &str,
    sender: &str,
    is_authenticated: bool,
    disclosed: &Evaluation,
    now: Timestamp,
) -> Noted<()> {
    if new == NewDisclosure::Nothing {
        return Noted::nothing(());
    }
    let facts = json!({ "message": digest(id), "sender": sender, "authority": disclosed.envelope() });
    let noted = Noted::save(()).recording("authority_evaluated", facts);
    if new == NewDisclosure::Text {
        return noted;
    }
    let unconfirmed = if is_authenticated { "" } else { "; its sender is not confirmed and gets no mail" };
    let detail = format!("a message may disclose self-harm: read it now{unconfirmed}");
    let alert = alert(Severity::Critical, now, "DISCLOSURE", &digest(id), &detail);
    noted.alerting(alert)
}
