//! Mails the members the letters about grants, expiries and revocations, and removes the mails of erased Bridges, on a
//! schedule.
//!
//! A letter's draft is recorded before it is sent, and no other draft of the letter is ever sent. After a crash or a lost
//! reply a later run continues at the interrupted step, once no other run can be sending the draft.

use crate::{
    Ports, commit, drafts, load,
    reply::{addressed, page},
    sealed::Person,
    unreadable,
};
use audit::{BridgeJournal, Change};
use domain::{
    SessionId, StepError, Timestamp,
    audit_trail::Audited,
    chat::{AccessChange, AccessLetter, Bridge, MailStep, SubscriberId},
    due::{self, Report},
    mail::Draft,
    ports::{MailError, Mailbox, OutgoingMail, StorageError, StoredMails, Versioned},
    sending::{self, MOVED_WITHIN, Sending},
    texts,
};
use std::time::Duration;

/// The time limit of one run. The next run handles the rest.
const SHARE: Duration = Duration::from_secs(20);

/// How many mails of one erased Bridge a run removes.
const REMOVED_AT_ONCE: usize = 50;

/// A letter that cannot be sent for this long since the first attempt is abandoned with an alert.
const SENT_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// The ports of a run.
#[derive(Clone, Copy)]
pub struct Letters<'a> {
    /// The stores of Bridges.
    pub bridges: Ports<'a>,
    /// The mailbox.
    pub mailbox: &'a dyn Mailbox,
    /// The mails in it, for those of erased Bridges.
    pub mails: &'a dyn StoredMails,
    /// The site's address.
    pub site: &'a str,
}

/// The reason why a letter is not sent yet, or mails are not removed yet.
#[derive(Debug, thiserror::Error)]
enum NotHandled {
    #[error(transparent)]
    Bridge(#[from] StepError),
    #[error("the mailbox did not take the letter")]
    Mailbox(#[source] MailError),
    #[error("the mails of the erased Bridge are not removed")]
    Mails(#[source] MailError),
}

/// Handles the due Bridges, at most one page of them: mails letters, removes the mails of erased Bridges, and publishes records
/// and alerts that an earlier step could not publish. One that fails does not stop the others.
///
/// # Errors
/// [`StorageError`] if they cannot be listed.
pub async fn mail_letters(letters: Letters<'_>) -> Result<Report, StorageError> {
    let BridgeJournal { store, clock, .. } = letters.bridges.journal;
    let until = clock.now().plus(SHARE);
    let due = store.letters_due(clock.now()).await?;
    let look = |who: SubscriberId| async move {
        look(letters, &who).await.inspect_err(|error| {
            let error = error as &dyn std::error::Error;
            tracing::error!(subscriber = who.prefix(), error, "a Bridge is not handled; the next run tries again");
        })
    };
    Ok(due::run(clock, until.since(clock.now()), due, look).await)
}

/// Handles one Bridge. The list lags behind, so the Bridge's own state decides.
async fn look(letters: Letters<'_>, who: &SubscriberId) -> Result<(), NotHandled> {
    let ports = letters.bridges;
    let mut held = load(ports, who).await?;
    held.bridge = ports.journal.flush(held.bridge).await;
    if let Some(due) = held.bridge.value.mails_due() {
        if ports.journal.clock.now() < due {
            return Ok(());
        }
        let Some(bridge) = remove_mails(letters, held.bridge).await? else { return Ok(()) };
        held.bridge = bridge;
    }
    let expired = commit(ports, held.bridge, |bridge, now| Ok(bridge.expire(now))).await;
    (held.bridge, _) = expired?;
    let Some(letter) = held.bridge.value.unsent_letter().cloned() else { return Ok(()) };
    let Some(person) = held.person(ports.keys).await? else { return Ok(()) };
    let outcome = send(letters, held.bridge.clone(), &letter, &person).await;
    // Since the first attempt: after an outage of the schedule, a letter has all of its attempts.
    let is_old = letter.tried_at().is_some_and(|at| ports.journal.clock.now().since(at) >= SENT_WITHIN);
    let is_sent = match outcome {
        Ok(true) => true,
        Ok(false) => return Ok(()),
        // The mailbox refuses this mail for good.
        Err(NotHandled::Mailbox(MailError::Rejected)) => false,
        Err(NotHandled::Mailbox(_)) if is_old => false,
        Err(error @ NotHandled::Mailbox(_)) if letter.tried_at().is_none() => {
            record_try(ports, who, &letter).await?;
            return Err(error);
        }
        Err(error) => return Err(error),
    };
    let bridge = ports.journal.load(who).await.map_err(StepError::from)?;
    let end = |bridge: &mut Bridge, _| Ok(bridge.end_letter(&letter, is_sent));
    let _: (_, Result<_, _>) = commit(ports, bridge, end).await?;
    Ok(())
}

/// Records the first attempt at a letter, unless its draft is recorded and has its time.
async fn record_try(ports: Ports<'_>, who: &SubscriberId, letter: &AccessLetter) -> Result<(), NotHandled> {
    let bridge = ports.journal.load(who).await.map_err(StepError::from)?;
    let record = |bridge: &mut Bridge, now| {
        if bridge.record_letter_try(letter, now) { Change::save(()) } else { Change::nothing(()) }
    };
    ports.journal.commit(bridge, record).await.map_err(StepError::from)?.settle().await;
    Ok(())
}

/// Claims the recorded draft of a letter. Returns `false` if another run may be sending it: what a second request to send
/// does until the mailbox has moved the draft is not documented.
async fn claim(ports: Ports<'_>, bridge: Versioned<Bridge>, letter: &AccessLetter) -> Result<bool, NotHandled> {
    let claim = |bridge: &mut Bridge, now| {
        if bridge.claim_letter(letter, MOVED_WITHIN, now) { Change::save(true) } else { Change::nothing(false) }
    };
    let (_, is_ours) = ports.journal.commit(bridge, claim).await.map_err(StepError::from)?.settle().await;
    Ok(is_ours)
}

/// Removes the mails of an erased Bridge from the mailbox: the drafts, the sent mails, and the member's answers to them. Returns
/// `None` if some are left for the next run, as after a crash.
async fn remove_mails(
    letters: Letters<'_>,
    bridge: Versioned<Bridge>,
) -> Result<Option<Versioned<Bridge>>, NotHandled> {
    let name = SessionId::parse(bridge.value.stream()).map_err(|_| unreadable("name"))?;
    let removed = letters.mails.remove_of_sale(&name, bridge.value.posted_mails(), REMOVED_AT_ONCE).await;
    if removed.map_err(NotHandled::Mails)?.is_none() {
        return Ok(None);
    }
    let removed = |bridge: &mut Bridge, _| Ok(bridge.record_mails_removed());
    let (bridge, _) = commit(letters.bridges, bridge, removed).await?;
    Ok(Some(bridge))
}

/// Sends a letter's recorded draft, or records one and sends it. Returns `false` if another run handles the letter, or may
/// be sending it.
async fn send(
    letters: Letters<'_>,
    bridge: Versioned<Bridge>,
    letter: &AccessLetter,
    person: &Person,
) -> Result<bool, NotHandled> {
    let mailbox = letters.mailbox;
    let sending = match letter.mail() {
        MailStep::Sent => return Ok(false),
        MailStep::Drafted(draft) => {
            if !claim(letters.bridges, bridge, letter).await? {
                return Ok(false);
            }
            sending::settle(mailbox, draft).await
        }
        MailStep::Waiting => {
            let mail = mail(letters.site, person, &bridge.value, letter)?;
            let record = |bridge: &mut Bridge, draft: &Draft, now| bridge.record_letter_draft(letter, draft, now);
            let (_, recorded) =
                drafts::record(letters.bridges, mailbox, bridge, &mail, NotHandled::Mailbox, record).await?;
            let Ok(draft) = recorded else { return Ok(false) };
            sending::send(mailbox, &draft).await
        }
    };
    match sending {
        Sending::Sent => Ok(true),
        // The folder of sent mails lags behind or could not be checked: the next run checks again.
        Sending::Gone | Sending::Unchecked(_) => Err(NotHandled::Mailbox(MailError::NoSuchDraft)),
        Sending::Refused(error) | Sending::Unknown(error) => Err(NotHandled::Mailbox(error)),
    }
}

fn mail(site: &str, person: &Person, bridge: &Bridge, letter: &AccessLetter) -> Result<OutgoingMail, StepError> {
    let (subject, body, until) = match letter.kind() {
        AccessChange::Granted { expires } => (texts::BRIDGE_GRANTED_SUBJECT, texts::BRIDGE_GRANTED_BODY, expires),
        AccessChange::Expired => (texts::BRIDGE_EXPIRED_SUBJECT, texts::BRIDGE_EXPIRED_BODY, letter.since()),
        AccessChange::Revoked => (texts::BRIDGE_REVOKED_SUBJECT, texts::BRIDGE_REVOKED_BODY, letter.since()),
        AccessChange::Declined => (texts::BRIDGE_DECLINED_SUBJECT, texts::BRIDGE_DECLINED_BODY, letter.since()),
    };
    addressed(person, bridge, subject, body.replace("{link}", &page(site)).replace("{until}", &minute(until)))
}

/// A time for readers: `2027-03-01 00:00 UTC`.
fn minute(at: Timestamp) -> String {
    let iso = at.to_iso();
    format!("{} UTC", iso.get(..16).unwrap_or(&iso).replace('T', " "))
}
