//! A draft, recorded before it is sent: only a recorded draft is ever sent, and the mailbox sends a draft once.

use super::{Attempt, DeliverError, Delivery, Outcome};
use crate::failure::Failure;
use audit::{Change, Record, digest};
use domain::{
    Sale,
    alert::Severity,
    mail::Draft,
    ports::{MailError, OutgoingMail, Versioned},
};

impl Delivery<'_> {
    pub(super) async fn draft_and_send(
        &self,
        sale: Versioned<Sale>,
        mail: &OutgoingMail,
        first_hash: Option<String>,
        record: Record,
    ) -> Result<Outcome, DeliverError> {
        let hash = digest::sha256(format!("{}\n\n{}", mail.subject, mail.body).as_bytes());
        if first_hash.is_some_and(|first| first != hash) {
            return Ok(Outcome::Failed(Box::new(sale), Failure::changed()));
        }
        let tag = self.ports.audit_key.email_tag(&mail.to);
        let draft = match self.ports.mailbox.create_draft(mail).await {
            Ok(draft) => draft,
            // Whether or not the mailbox made one: a draft that nobody recorded is never sent.
            Err(error) => {
                let mut sale = sale;
                sale.value.email_tag = Some(tag);
                if let Some(progress) = sale.value.delivering(self.order.letter, &self.order.message_id) {
                    progress.body_hash = Some(hash);
                }
                return Ok(Outcome::Failed(Box::new(sale), Failure::of(&error)));
            }
        };
        let keep = |sale: &mut Sale| {
            let may_go = self.may_go(sale);
            match sale.delivering(self.order.letter, &self.order.message_id) {
                // The reply to this very write was lost, and somebody else saved after it.
                Some(progress) if progress.draft.as_ref() == Some(&draft) => Change::nothing(may_go),
                Some(progress) if progress.draft.is_none() && may_go => {
                    progress.draft = Some(draft.clone());
                    progress.body_hash = Some(hash.clone());
                    sale.email_tag = Some(tag.clone());
                    Change::recorded(vec![record.clone()], true)
                }
                _ => Change::nothing(false),
            }
        };
        let (sale, kept) = self.ports.journal.commit(sale, keep).await?;
        if !kept && !domain::planted("surplus-draft-sent") {
            // Another worker took over and recorded its own draft, so this one must never go out.
            if self.ports.mailbox.discard_draft(&draft).await.is_err() {
                self.alert(Severity::Warn, "MAIL_DRAFT", "a surplus draft could not be removed").await;
            }
            return Ok(Outcome::Ended(Attempt::Busy));
        }
        self.send(sale, &draft).await
    }

    /// Sends a recorded draft.
    async fn send(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, DeliverError> {
        if domain::planted("mail-recorded-before-it-is-sent") {
            return self.sent(sale).await;
        }
        match self.ports.mailbox.send_draft(draft).await {
            Ok(()) => self.sent(sale).await,
            Err(MailError::OutcomeUnknown(_) | MailError::NoSuchDraft) => self.settle_draft(sale, draft).await,
            Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
        }
    }

    /// Finds out what became of a recorded draft before anything else is done with it (pitfall: retrying a mail
    /// on a time-out without looking whether the first one went).
    pub(super) async fn settle_draft(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, DeliverError> {
        match self.ports.mailbox.draft_exists(draft).await {
            // Still a draft: it was not sent, and sending it is safe, for the mailbox sends it once.
            Ok(true) => match self.ports.mailbox.send_draft(draft).await {
                Ok(()) => self.sent(sale).await,
                // The first send was still under way when we looked: now it is done.
                Err(MailError::NoSuchDraft) => self.settle_gone(sale, draft).await,
                Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
            },
            Ok(false) => self.settle_gone(sale, draft).await,
            Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
        }
    }

    /// The draft is gone: it was sent, unless somebody removed it. Sent items can lag behind.
    async fn settle_gone(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, DeliverError> {
        match self.ports.mailbox.was_sent(draft).await {
            Ok(true) => self.sent(sale).await,
            Ok(false) if domain::planted("gone-draft-called-sent") => self.sent(sale).await,
            Ok(false) => Ok(Outcome::Failed(Box::new(sale), Failure::lost_track())),
            Err(error) => Ok(Outcome::Failed(Box::new(sale), Failure::of(&error))),
        }
    }
}
