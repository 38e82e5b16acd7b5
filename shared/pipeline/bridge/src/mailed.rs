//! A member's answer by mail, which is posted like a message on the page.

use crate::{Held, Ports, StepNotTaken, customer::post_text, reply::id_of};
use domain::{
    EmailAddress, SessionId, StepError,
    chat::{BRIDGE_PREFIX, Message, SubscriberId},
};

/// The Bridge that a mail of ours was about, by the name that the mailbox stores with it ([`crate::reply::addressed`]).
#[must_use]
pub fn subscriber_of(name: &SessionId) -> Option<SubscriberId> {
    SubscriberId::parse(name.as_str().strip_prefix(BRIDGE_PREFIX)?).ok()
}

/// Posts a mail's text under an id that follows from the mailbox's id of the mail, so that a mail is posted once. Returns
/// whether the thread has the text: it has it only if the sender's address is the one that accepted the agreement, and
/// while access is granted. `sender` must be authenticated.
///
/// # Errors
/// [`StepError`]
pub async fn post_mail(
    ports: Ports<'_>,
    held: Held,
    mail: &str,
    sender: &EmailAddress,
    text: &Message,
) -> Result<bool, StepError> {
    if !held.bridge.value.is_granted(ports.journal.clock.now()) {
        return Ok(false);
    }
    let person = held.person(ports.keys).await?;
    // Stricter than sign-in, which takes all spellings of a mailbox for one: not every host does.
    let is_member = person.is_some_and(|person| person.address.eq_ignore_ascii_case(sender.expose()));
    let id = id_of(mail).filter(|_| is_member);
    let Some(id) = id else { return Ok(false) };
    // Who receives the mail evaluates it and answers a disclosure.
    match post_text(ports, held, &id, text, None, Some(mail)).await {
        Ok(_) => Ok(true),
        // Access ended meanwhile, or the thread is full: a person reads the mail.
        Err(StepNotTaken::Refused(_)) => Ok(false),
        Err(StepNotTaken::Bridge(error)) => Err(error),
    }
}
