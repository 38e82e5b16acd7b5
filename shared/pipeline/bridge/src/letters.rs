//! Mails the members the letters about grants, expiries and revocations, on a schedule.
//!
//! A letter's draft is recorded before it is sent, and no other draft of the letter is ever sent. After a crash or a lost
//! reply the next run continues at the interrupted step.

use crate::{
    BridgeError, Ports, commit, drafts, load,
    reply::{addressed, page},
    sealed::Person,
};
use domain::{
    Timestamp,
    chat::{Bridge, Letter, MailStep, Notice, SubscriberId},
    due::Report,
    mail::Draft,
    ports::{MailError, Mailbox, OutgoingMail, StorageError, Versioned},
    sending::{self, Sending},
    texts,
};
use std::time::Duration;

/// The time limit of one run. The next run handles the rest.
const SHARE: Duration = Duration::from_secs(20);

/// A letter that cannot be sent for this long is abandoned with an alert.
const SENT_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// The ports of a run.
#[derive(Clone, Copy)]
pub struct Letters<'a> {
    /// The stores of Bridges.
    pub bridges: Ports<'a>,
    /// The mailbox.
    pub mailbox: &'a dyn Mailbox,
    /// The site's address.
    pub site: &'a str,
}

/// The reason why a letter is not sent yet.
#[derive(Debug, thiserror::Error)]
enum NotSent {
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    #[error("the mailbox did not take the letter")]
    Mailbox(#[source] MailError),
}

/// Mails the due letters, at most one page of them. A letter that fails does not stop the others.
///
/// # Errors
/// [`StorageError`] if they cannot be listed.
pub async fn mail_letters(letters: Letters<'_>) -> Result<Report, StorageError> {
    let journal = letters.bridges.journal;
    let mut report = Report::default();
    let until = journal.clock.now().plus(SHARE);
    for who in journal.store.letters_due(journal.clock.now()).await? {
        report.due += 1;
        if journal.clock.now() >= until {
            report.left += 1;
            continue;
        }
        if let Err(error) = look(letters, &who).await {
            report.failed += 1;
            let error = &error as &dyn std::error::Error;
            tracing::error!(subscriber = who.prefix(), error, "a letter about the Bridge is not sent");
        }
    }
    Ok(report)
}

/// Handles one Bridge. The list lags behind, so the Bridge's own state decides.
async fn look(letters: Letters<'_>, who: &SubscriberId) -> Result<(), NotSent> {
    let ports = letters.bridges;
    let mut held = load(ports, who).await?;
    let expired = commit(ports, held.bridge, |bridge, now| Ok(bridge.expire(now))).await;
    (held.bridge, _) = expired.map_err(BridgeError::from)?;
    let Some(letter) = held.bridge.value.unsent_letter().cloned() else { return Ok(()) };
    let Some(person) = held.person(ports.keys).await? else { return Ok(()) };
    let outcome = send(letters, held.bridge.clone(), &letter, &person).await;
    let is_old = ports.journal.clock.now().since(letter.since()) >= SENT_WITHIN;
    let is_sent = match outcome {
        Ok(true) => true,
        Ok(false) => return Ok(()),
        // The mailbox refuses this mail for good.
        Err(NotSent::Mailbox(MailError::Rejected)) => false,
        Err(NotSent::Mailbox(_)) if is_old => false,
        Err(error) => return Err(error),
    };
    let bridge = ports.journal.load(who).await.map_err(BridgeError::from)?;
    let end = |bridge: &mut Bridge, _| Ok(bridge.end_letter(&letter, is_sent));
    let _: (_, Result<_, _>) = commit(ports, bridge, end).await.map_err(BridgeError::from)?;
    Ok(())
}

/// Sends a letter's recorded draft, or records one and sends it. Returns `false` if another run handles the letter.
async fn send(
    letters: Letters<'_>,
    bridge: Versioned<Bridge>,
    letter: &Letter,
    person: &Person,
) -> Result<bool, NotSent> {
    let mailbox = letters.mailbox;
    let sending = match letter.mail() {
        MailStep::Sent => return Ok(false),
        MailStep::Drafted(draft) => sending::settle(mailbox, draft).await,
        MailStep::Waiting => {
            let mail = mail(letters.site, person, &bridge.value, letter)?;
            let record = |bridge: &mut Bridge, draft: &Draft, _| bridge.record_letter_draft(letter, draft);
            let (_, recorded) =
                drafts::record(letters.bridges, mailbox, bridge, &mail, NotSent::Mailbox, record).await?;
            let Ok(draft) = recorded else { return Ok(false) };
            sending::send(mailbox, &draft).await
        }
    };
    match sending {
        Sending::Sent => Ok(true),
        // The folder of sent mails lags behind: the next run checks again.
        Sending::Gone => Err(NotSent::Mailbox(MailError::NoSuchDraft)),
        Sending::Refused(error) | Sending::Unknown(error) => Err(NotSent::Mailbox(error)),
    }
}

fn mail(site: &str, person: &Person, bridge: &Bridge, letter: &Letter) -> Result<OutgoingMail, BridgeError> {
    let (subject, body, until) = match letter.notice() {
        Notice::Granted { expires } => (texts::BRIDGE_GRANTED_SUBJECT, texts::BRIDGE_GRANTED_BODY, expires),
        Notice::Expired => (texts::BRIDGE_EXPIRED_SUBJECT, texts::BRIDGE_EXPIRED_BODY, letter.since()),
        Notice::Revoked => (texts::BRIDGE_REVOKED_SUBJECT, texts::BRIDGE_REVOKED_BODY, letter.since()),
        Notice::Declined => (texts::BRIDGE_DECLINED_SUBJECT, texts::BRIDGE_DECLINED_BODY, letter.since()),
    };
    addressed(person, bridge, subject, body.replace("{link}", &page(site)).replace("{until}", &minute(until)))
}

/// A time for readers: `2027-03-01 00:00 UTC`.
fn minute(at: Timestamp) -> String {
    let iso = at.to_iso();
    format!("{} UTC", iso.get(..16).unwrap_or(&iso).replace('T', " "))
}
