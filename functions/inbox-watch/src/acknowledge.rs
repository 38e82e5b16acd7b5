//! Acknowledges one message with a recorded draft that is sent once, like customers' mails
//! (infra/decisions/mail-drafts.md).

use crate::{
    alerts::alert_not_sent,
    error::WatchError,
    state::{Ended, InboxState, digest},
    watch::Watch,
};
use audit::Noted;
use domain::{
    EmailAddress, SessionId,
    inbox::Acknowledgement,
    mail::Draft,
    ports::MailError,
    sending::{self, Sending},
};

impl Watch<'_> {
    /// Creates the draft, records it, and sends the recorded one.
    pub(crate) async fn acknowledge(
        &mut self,
        id: &str,
        to: EmailAddress,
        subject: String,
        body: String,
        session: Option<SessionId>,
    ) -> Result<(), WatchError> {
        let mail = Acknowledgement { to, subject, body, session };
        let draft = match self.ports.inbox.create_acknowledgement(&mail).await {
            Ok(draft) => draft,
            Err(error @ MailError::Throttled { .. }) => return Err(error.into()),
            // The mailbox may have created a draft nevertheless: a draft that is not recorded is never sent.
            Err(error) => return self.not_sent(id, &error).await,
        };
        match self.commit_state(|state: &mut InboxState, _| Noted::save(state.drafted(id, &draft))).await {
            Ok(true) => {}
            // Another run handles the message.
            Ok(false) | Err(WatchError::Overtaken) => {
                self.discard(id, &draft).await;
                return Err(WatchError::Overtaken);
            }
            // The draft may be recorded nevertheless: then the next run sends it, otherwise it is never sent.
            Err(error) => return Err(error),
        }
        let sending = sending::send(self.ports.mailbox, &draft).await;
        self.conclude(id, &draft, sending).await
    }

    /// Finds out whether a recorded draft was sent, before anything else is done with it.
    pub(crate) async fn settle(&mut self, id: &str, draft: &Draft) -> Result<(), WatchError> {
        match sending::settle(self.ports.mailbox, draft).await {
            // An earlier attempt may have sent it, and the mailbox still shows the draft.
            Sending::Refused(error) if error.is_retriable() => Err(error.into()),
            sending => self.conclude(id, draft, sending).await,
        }
    }

    async fn conclude(&mut self, id: &str, draft: &Draft, sending: Sending) -> Result<(), WatchError> {
        match sending {
            Sending::Sent => self.finish(id, "sent", Ended::Well, None).await,
            // The sent-items folder lags behind: the next run checks again, and finally an alert reports the outcome as
            // unknown.
            Sending::Gone => Err(MailError::NoSuchDraft.into()),
            Sending::Refused(error @ MailError::Throttled { .. })
            | Sending::Unknown(error)
            | Sending::Unchecked(error) => Err(error.into()),
            Sending::Refused(error) => self.dropped(id, draft, &error).await,
        }
    }

    /// The mailbox refused to send a draft: it is certainly not sent, and must not be sent later.
    async fn dropped(&mut self, id: &str, draft: &Draft, error: &MailError) -> Result<(), WatchError> {
        self.discard(id, draft).await;
        self.not_sent(id, error).await
    }

    /// Removes a draft that will not be sent.
    async fn discard(&self, id: &str, draft: &Draft) {
        if self.ports.mailbox.discard_draft(draft).await.is_err() {
            tracing::warn!(message = digest(id), "a draft that will not be sent could not be removed");
        }
    }

    /// Inbox Watch, FM-4 and G5: the failure is alerted, and the acknowledgement is not retried.
    async fn not_sent(&mut self, id: &str, error: &MailError) -> Result<(), WatchError> {
        let kind = self.at_hand(id).and_then(|at_hand| at_hand.answer).map(|answer| answer.kind).unwrap_or_default();
        let alert = alert_not_sent(kind, error, id, self.now());
        self.finish(id, "not_sent", Ended::NotSent, Some(alert)).await
    }
}
