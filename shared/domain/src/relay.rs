//! A mailbox on a service that sends mails and keeps none, such as Amazon SES. Drafts are our own: a draft is claimed
//! before its mail is handed over, so a mail is handed over at most once (infra/decisions/mail-vendors.md).

mod draft;

use crate::{
    EmailAddress, SessionId,
    mail::Draft,
    ports::{MailError, Mailbox, OutgoingMail, Randomness, Relay, RelayDrafts, SaveError, Versioned},
};
use async_trait::async_trait;
pub use draft::{RelayDraft, RelayDraftId, RelayMail};

impl RelayMail {
    /// The parts of this mail.
    #[must_use]
    pub fn new(mail: &OutgoingMail) -> Self {
        Self { to: mail.to.expose().to_owned(), subject: mail.subject.clone(), body: mail.body.clone() }
    }

    fn outgoing(&self, session: &SessionId) -> Result<OutgoingMail, MailError> {
        Ok(OutgoingMail {
            to: EmailAddress::parse(&self.to).map_err(|_| MailError::Rejected)?,
            subject: self.subject.clone(),
            body: self.body.clone(),
            session_id: session.clone(),
        })
    }
}

/// The message id that SES gives a mail: a reply names it in In-Reply-To. `id` is the one that SES answers.
///
/// SES writes `@email.amazonses.com` in us-east-1 and `@{region}.amazonses.com` elsewhere, so only the part before the
/// host identifies a mail.
#[must_use]
pub fn id_of_reply(in_reply_to: &str) -> Option<&str> {
    let id = in_reply_to.strip_prefix('<')?.strip_suffix('>')?;
    let (id, host) = id.split_once('@')?;
    let is_id = (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_id && host.ends_with(".amazonses.com")).then_some(id)
}

/// A mailbox whose drafts are stored by us and whose mails a service sends.
pub struct RelayMailbox<'a> {
    /// The stored drafts.
    pub drafts: &'a dyn RelayDrafts,
    /// The service.
    pub relay: &'a dyn Relay,
    /// Makes the tokens of drafts.
    pub randomness: &'a dyn Randomness,
}

/// The store of drafts failed, and has alerted: nothing was sent, and a later attempt may succeed.
const UNAVAILABLE: MailError = MailError::Unavailable(0);

impl RelayMailbox<'_> {
    async fn find(&self, draft: &Draft) -> Result<Option<(RelayDraftId, Versioned<RelayDraft>)>, MailError> {
        let Some(id) = RelayDraftId::of(draft) else { return Ok(None) };
        let found = self.drafts.draft(&id).await.map_err(|_| UNAVAILABLE)?;
        Ok(found.map(|found| (id, found)))
    }
}

#[async_trait]
impl Mailbox for RelayMailbox<'_> {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        let id = RelayDraftId { session: mail.session_id.clone(), token: self.randomness.token() };
        match self.drafts.save(&id, &RelayDraft::Ready(RelayMail::new(mail)), 0).await {
            Ok(_) => Ok(id.draft()),
            Err(SaveError::Conflict | SaveError::Storage(_)) => Err(UNAVAILABLE),
        }
    }

    /// Claims the draft, hands its mail over, and records the outcome.
    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let Some((id, Versioned { value: RelayDraft::Ready(mail), version })) = self.find(draft).await? else {
            return Err(MailError::NoSuchDraft);
        };
        let outgoing = mail.outgoing(&id.session)?;
        let claimed = match self.drafts.save(&id, &RelayDraft::Claimed, version).await {
            Ok(claimed) => claimed,
            Err(SaveError::Conflict) => return Err(MailError::NoSuchDraft),
            Err(SaveError::Storage(_)) => return Err(UNAVAILABLE),
        };
        match self.relay.send(&outgoing).await {
            Ok(message) => {
                // If this fails, the draft stays claimed, which is safe: its mail is not handed over again.
                drop(self.drafts.save(&id, &RelayDraft::Sent, claimed).await);
                // If this fails, a reply to the mail is an inquiry, which a person reads.
                drop(self.drafts.link(&message, &id.session).await);
                Ok(())
            }
            Err(error @ MailError::OutcomeUnknown(_)) => Err(error),
            Err(error) => {
                // If this fails, a human decides about the mail.
                drop(self.drafts.save(&id, &RelayDraft::Ready(mail), claimed).await);
                Err(error)
            }
        }
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let found = self.find(draft).await?;
        Ok(matches!(found, Some((_, Versioned { value: RelayDraft::Ready(_), .. }))))
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        let found = self.find(draft).await?;
        Ok(matches!(found, Some((_, Versioned { value: RelayDraft::Sent, .. }))))
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let Some(id) = RelayDraftId::of(draft) else { return Ok(()) };
        self.drafts.discard(&id).await.map_err(|_| UNAVAILABLE)
    }

    /// Drafts are looked up in our own store, which says nothing about the service.
    fn can_be_probed(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
