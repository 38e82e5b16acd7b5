//! Records a draft before it is sent: only recorded drafts are sent, and the mailbox sends a draft once.

use super::{Attempt, Delivery, Outcome};
use crate::failure;
use audit::{Change, Record, hash};
use domain::{
    Sale, StepError,
    alert::Severity,
    mail::{Draft, Failure},
    ports::{OutgoingMail, Versioned},
    sale::Rendered,
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
        let hash = hash::sha256(format!("{}\n\n{}", mail.subject, mail.body).as_bytes());
        // The mail after a disclosure has no verdict. A dispute that begins between two attempts takes a sentence out
        // of it, and so does a verdict mail that turns out to be sent.
        let may_differ = sale.value.is_crisis();
        if first_hash.is_some_and(|first| first != hash && !may_differ) {
            return Ok(Outcome::Failed(Box::new(sale), failure::changed(), None));
        }
        let rendered = Rendered { body_hash: hash, email_tag: self.ports.audit_key.email_tag(&mail.to) };
        let draft = match self.ports.mailbox.create_draft(mail).await {
            Ok(draft) => draft,
            // The mailbox may have created a draft nevertheless: a draft that is not recorded is never sent.
            Err(error) => {
                let failure = Failure::from(&error);
                self.ports.circuit.record(self.is_early(&sale.value), Some(&failure)).await;
                return Ok(Outcome::Failed(Box::new(sale), failure, Some(rendered)));
            }
        };
        let keep = |sale: &mut Sale, now| {
            let (letter, owner) = (self.order.letter, &self.order.message_id);
            let recorded = sale.delivering(letter, owner).and_then(|progress| progress.draft.as_ref());
            if recorded == Some(&draft) {
                // The reply to this very write was lost, and another worker has saved since.
                return Change::nothing(sale.may_send(letter));
            }
            match sale.mail_drafted(letter, owner, &draft, &rendered) {
                Ok(event) => Change::of(&event, &self.context(now).with_evidence([record.clone()]), true),
                Err(_) => Change::nothing(false),
            }
        };
        let (sale, kept) = self.ports.journal.commit(sale, keep).await?.unsettled();
        if !kept {
            // Another worker took over and recorded its own draft, so this one must never be sent.
            if self.ports.mailbox.discard_draft(&draft).await.is_err() {
                self.alert(Severity::Warn, "MAIL_DRAFT", "a surplus draft could not be removed").await;
            }
            return Ok(Outcome::Ended(Attempt::Later));
        }
        self.send(sale, &draft).await
    }

    /// Sends a recorded draft.
    async fn send(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, StepError> {
        let sending = sending::send(self.ports.mailbox, draft).await;
        self.settled(sale, sending).await
    }

    /// Finds out whether a recorded draft was sent, before anything else is done with it.
    pub(super) async fn settle_draft(&self, sale: Versioned<Sale>, draft: &Draft) -> Result<Outcome, StepError> {
        let sending = sending::settle(self.ports.mailbox, draft).await;
        self.settled(sale, sending).await
    }

    async fn settled(&self, sale: Versioned<Sale>, sending: Sending) -> Result<Outcome, StepError> {
        let is_early = self.is_early(&sale.value);
        let progress = sale.value.delivering(self.order.letter, &self.order.message_id);
        let may_have_gone = progress.is_some_and(|progress| progress.may_have_gone);
        // Whether the mail has gone nevertheless says nothing about the mailbox.
        let (of_mailbox, of_mail) = match sending {
            Sending::Sent => {
                self.ports.circuit.record(is_early, None).await;
                return self.sent(sale).await;
            }
            Sending::Gone => (failure::lost_track(), failure::lost_track()),
            Sending::Refused(error) => (Failure::from(&error), Failure::from(&error)),
            Sending::Unknown(error) => (Failure::from(&error), failure::not_confirmed(&error, may_have_gone)),
            Sending::Unchecked(error) => (Failure::from(&error), failure::unchecked(&error)),
        };
        self.ports.circuit.record(is_early, Some(&of_mailbox)).await;
        Ok(Outcome::Failed(Box::new(sale), of_mail, None))
    }
}
