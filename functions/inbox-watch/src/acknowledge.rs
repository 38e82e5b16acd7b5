//! The acknowledgement of one message: a draft that was recorded, sent once, as customers' mails are
//! (infra/decisions/mail-drafts.md).

use crate::{
    answer,
    error::WatchError,
    memory::{Ended, Memory, digest},
    trouble::alert,
    watch::Watch,
};
use audit::Noted;
use domain::{
    EmailAddress,
    alert::Severity,
    inbox::Acknowledgement,
    mail::Draft,
    ports::MailError,
    sending::{self, Sending},
};

impl Watch<'_> {
    /// Drafts it, records the draft, and sends that.
    pub(crate) async fn acknowledge(
        &mut self,
        id: &str,
        to: EmailAddress,
        subject: &str,
        body: String,
    ) -> Result<(), WatchError> {
        let mail = Acknowledgement { to, subject: answer::subject(subject), body };
        let draft = match self.ports.inbox.create_acknowledgement(&mail).await {
            Ok(draft) => draft,
            Err(error @ MailError::Throttled(_)) => return Err(error.into()),
            // Whether or not the mailbox made one: a draft that nobody recorded is never sent.
            Err(error) => return self.not_sent(id, &error).await,
        };
        match self.note(|memory: &mut Memory, _| Noted::save(memory.drafted(id, &draft))).await {
            Ok(true) => {}
            // Another run has the message.
            Ok(false) | Err(WatchError::Overtaken) => {
                self.discard(id, &draft).await;
                return Err(WatchError::Overtaken);
            }
            // It may be recorded all the same: then the next run sends it, and otherwise nobody does.
            Err(error) => return Err(error),
        }
        let sending = sending::send(self.ports.mailbox, &draft).await;
        self.conclude(id, &draft, sending).await
    }

    /// Finds out what became of a recorded draft before anything else is done with it.
    pub(crate) async fn settle(&mut self, id: &str, draft: &Draft) -> Result<(), WatchError> {
        let sending = sending::settle(self.ports.mailbox, draft).await;
        self.conclude(id, draft, sending).await
    }

    async fn conclude(&mut self, id: &str, draft: &Draft, sending: Sending) -> Result<(), WatchError> {
        match sending {
            Sending::Sent => self.finish(id, "sent", Ended::Well, None).await,
            // Sent items lag behind: the next run looks again, and at last it is announced as unknown.
            Sending::Gone => Err(MailError::NoSuchDraft.into()),
            Sending::Refused(error @ MailError::Throttled(_)) | Sending::Unknown(error) => Err(error.into()),
            Sending::Refused(error) => self.dropped(id, draft, &error).await,
        }
    }

    /// The mailbox refused to send a draft: it is certainly not sent, and must not be later.
    async fn dropped(&mut self, id: &str, draft: &Draft, error: &MailError) -> Result<(), WatchError> {
        self.discard(id, draft).await;
        self.not_sent(id, error).await
    }

    /// Removes a draft that nobody will send.
    async fn discard(&self, id: &str, draft: &Draft) {
        if self.ports.mailbox.discard_draft(draft).await.is_err() {
            tracing::warn!(message = digest(id), "a draft that will not be sent could not be removed");
        }
    }

    /// Inbox Watch, FM-4 and G5: it is announced, and not tried again.
    async fn not_sent(&mut self, id: &str, error: &MailError) -> Result<(), WatchError> {
        let detail = format!("an acknowledgement was not sent ({}): it is not tried again", error.code());
        let alert = alert(Severity::Error, self.now(), "AUTORESPONSE", &digest(id), &detail);
        self.finish(id, "not_sent", Ended::NotSent, Some(alert)).await
    }
}
