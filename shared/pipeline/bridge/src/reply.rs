//! Checks an operator's reply, posts it, and mails it once.
//!
//! The draft's id is recorded before the draft is sent, and no other draft of the reply is ever sent. Repeating the
//! same reply continues at the interrupted step.

use crate::{
    Ports, commit, drafts, load, of_memory,
    sealed::{Person, unsent_reply},
    unreadable,
};
use audit::hash::sha256;
use domain::{
    EmailAddress, SessionId, StepError, Timestamp,
    audit_trail::Audited,
    chat::{Bridge, BridgeRefused, BridgeState, ExchangeId, MailStep, Message, SubscriberId},
    mail::Draft,
    operator::Operator,
    ports::{MailError, Mailbox, OutgoingMail, Versioned},
    sending::{self, Sending},
    texts,
};
use filter::{Filter, Outcome};

/// The reason why a reply was not posted or not mailed.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// The content filter found terms that no customer may read. Nothing was posted.
    #[error("the content filter refuses the text, nothing was posted: {}", .0.join(", "))]
    Filtered(Vec<String>),
    /// The state does not allow it.
    #[error(transparent)]
    Refused(#[from] BridgeRefused),
    /// The reply is on the page, but its mail is not sent.
    #[error("the reply is on the page, but its mail is not sent: repeat the command")]
    NotMailed(#[source] MailError),
    /// The mailbox lists the draft neither among the drafts nor yet among the sent items.
    #[error(
        "the mail's draft is gone and not among the sent items yet: repeat the command in some minutes, or look for \
         the mail and record what you find with oracle bridge settle"
    )]
    OutcomeUnknown,
    /// The mail may have been sent, and the mailbox still has its draft or could not be checked.
    #[error("the mail may be on its way: repeat the command in five minutes")]
    Unsettled(#[source] MailError),
    /// The Bridge could not be used.
    #[error(transparent)]
    Bridge(#[from] StepError),
}

/// A reply that is posted and mailed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replied {
    /// Its id.
    pub id: ExchangeId,
}

/// Posts a reply and mails it. `answers` is the customer's last message that the operator has read, if there is one.
/// The caller names it, because the thread may have grown since: what the customer wrote meanwhile waits for a reply
/// of its own, and a repeated command is recognised.
///
/// # Errors
/// [`ReplyError`]
pub async fn reply(
    ports: Ports<'_>,
    mailbox: &dyn Mailbox,
    site: &str,
    who: &SubscriberId,
    operator: &Operator,
    answers: Option<&ExchangeId>,
    text: &Message,
) -> Result<Replied, ReplyError> {
    let checked = Filter::embedded().check(text.as_str());
    if checked.outcome != Outcome::Pass {
        return Err(ReplyError::Filtered(checked.hits.into_iter().map(|hit| hit.term).collect()));
    }
    let held = load(ports, who).await?;
    let now = ports.journal.clock.now();
    if !held.bridge.value.can_mail(now) {
        return Err(BridgeRefused::Closed(held.bridge.value.state(now)).into());
    }
    let person = held.person(ports.keys).await?.ok_or_else(|| unreadable("address"))?;
    let sealer = held.sealer(ports.keys).await?;
    // A command whose mail failed says to repeat it. Repeated, it sends the mail of the reply that is posted already.
    let messages = sealer.open_thread(held.bridge.value.thread())?;
    if let Some(unsent) = unsent_reply(&messages, text) {
        let mail = mail(site, &person, &held.bridge.value, text, now)?;
        send(ports, mailbox, held.bridge, &unsent.id, &mail).await?;
        return Ok(Replied { id: unsent.id.clone() });
    }
    let sealed = sealer.seal_reply(answers, text.as_str())?;
    let id = id_of(&sealed).ok_or_else(|| unreadable("reply"))?;
    let memory = held.memory().to_owned();
    let step = |bridge: &mut Bridge, now| of_memory(bridge, &memory)?.reply(&id, operator, answers, &sealed, now);
    let (bridge, posted) = commit(ports, held.bridge, step).await?;
    posted?;
    let mail = mail(site, &person, &bridge.value, text, now)?;
    send(ports, mailbox, bridge, &id, &mail).await?;
    Ok(Replied { id })
}

/// The id of a message, derived from bytes that are the same whenever the message is repeated: a reply's sealed text, or
/// the mailbox's id of a mail.
pub(crate) fn id_of(repeated: &str) -> Option<ExchangeId> {
    let digits = sha256(repeated.as_bytes());
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    ExchangeId::parse([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")).ok()
}

fn mail(
    site: &str,
    person: &Person,
    bridge: &Bridge,
    text: &Message,
    now: Timestamp,
) -> Result<OutgoingMail, StepError> {
    let has_ended = bridge.state(now) == BridgeState::Expired;
    let body = if has_ended { texts::BRIDGE_LAST_REPLY_BODY } else { texts::BRIDGE_REPLY_BODY };
    let body = body.replace("{link}", &page(site)).replace("{reply}", text.as_str());
    addressed(person, bridge, texts::BRIDGE_REPLY_SUBJECT, body)
}

/// The address of the Bridge's page.
pub(crate) fn page(site: &str) -> String {
    format!("{site}/chat#bridge")
}

/// A mail to the member. The mailbox stores the Bridge's name with it, so that an answer can be linked to the Bridge.
pub(crate) fn addressed(
    person: &Person,
    bridge: &Bridge,
    subject: &str,
    body: String,
) -> Result<OutgoingMail, StepError> {
    let to = EmailAddress::parse(&person.address).map_err(|_| unreadable("address"))?;
    let session_id = SessionId::parse(bridge.stream()).map_err(|_| unreadable("name"))?;
    Ok(OutgoingMail { to, subject: subject.to_owned(), body, session_id })
}

async fn send(
    ports: Ports<'_>,
    mailbox: &dyn Mailbox,
    mut bridge: Versioned<Bridge>,
    id: &ExchangeId,
    mail: &OutgoingMail,
) -> Result<(), ReplyError> {
    let step = |bridge: &Bridge| bridge.message(id).and_then(|post| post.mail().cloned());
    let mut is_new = false;
    if step(&bridge.value) == Some(MailStep::Waiting) {
        let record = |bridge: &mut Bridge, draft: &Draft, now| bridge.record_draft(id, draft, now);
        let recorded;
        (bridge, recorded) = drafts::record(ports, mailbox, bridge, mail, ReplyError::NotMailed, record).await?;
        match recorded {
            Ok(_) => is_new = true,
            // Another command has recorded a draft meanwhile: that one is sent.
            Err(BridgeRefused::NoSuchMail) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    let Some(MailStep::Drafted(draft)) = step(&bridge.value) else { return Ok(()) };
    // A draft of an interrupted command may be older than a revocation.
    let now = ports.journal.clock.now();
    if !bridge.value.can_mail(now) {
        return Err(BridgeRefused::Closed(bridge.value.state(now)).into());
    }
    let sending = if is_new { sending::send(mailbox, &draft).await } else { sending::settle(mailbox, &draft).await };
    match sending {
        Sending::Sent => {}
        Sending::Gone => return Err(ReplyError::OutcomeUnknown),
        Sending::Unknown(error) | Sending::Unchecked(error) => return Err(ReplyError::Unsettled(error)),
        Sending::Refused(error) => return Err(ReplyError::NotMailed(error)),
    }
    let (_, mailed) = commit(ports, bridge, |bridge, _| bridge.record_mailed(id)).await?;
    mailed?;
    Ok(())
}
