//! A draft, recorded before it is sent: only a recorded draft is ever sent, and the mailbox sends a draft once.

use super::{Attempt, Delivery, Outcome};
use crate::failure::Failure;
use audit::{Change, Record, digest};
use domain::{
    Sale, StepError,
    alert::Severity,
    mail::Draft,
    ports::{OutgoingMail, Versioned},
    sending::{self, Sending},
};

impl Delivery<'_> {
    pub(super) async fn draft_and_send(
        &self,
        sale: Versioned<Sale>,
        mail: &OutgoingMail,
        first_hash: Option<String>,
        record: Record,
    ) -> Result<Outcome, StepError> {
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
        let keep = |sale: &mut Sale, _| {
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
        let (sale, kept) = self.ports.journal.commit(sale, keep).await?.unsettled();
        if !kept {
            // Another worker took over and recorded its own draft, so this one must never go out.
            if self.ports.mailbox.discard_draft(&draft).await.is_err() {
                self.alert(Severity::Warn, "MAIL_DRAFT", "a surplus draft could not be removed").await;
            }
            return Ok(Outcome::Ended(Attempt::Busy));
        }
        self.send(sale, &draft).await
    }

    /// Sends a recorded draft.
    async fn send(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, StepError> {
        let sending = sending::send(self.ports.mailbox, draft).await;
        self.settled(sale, sending).await
    }

    /// Finds out what became of a draft that somebody recorded before anything else is done with it.
    pub(super) async fn settle_draft(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, StepError> {
        let sending = sending::settle(self.ports.mailbox, draft).await;
        self.settled(sale, sending).await
    }

    async fn settled(&self, sale: Versioned<Sale>, sending: Sending) -> Result<Outcome, StepError> {
        let failure = match sending {
            Sending::Sent => return self.sent(sale).await,
            Sending::Gone => Failure::lost_track(),
            Sending::Refused(error) | Sending::Unknown(error) => Failure::of(&error),
        };
        Ok(Outcome::Failed(Box::new(sale), failure))
    }
}
