//! The ports of Stripe and of the mailbox.

use super::Ports;
use crate::defects::Defect;
use async_trait::async_trait;
use domain::{
    CheckoutSession, PaymentStatus, SessionId, Timestamp,
    money::PaymentId,
    ports::{
        CompletedSessions, CreatedCheckoutSession, Ledger, MailError, Mailbox, NewCheckoutSession, NewRefund,
        OutgoingMail, PaymentError, PaymentRefunds, PaymentReports, Payments, RelayDrafts, ReportsSince, SaveError,
        StorageError, Versioned,
    },
    relay::{RelayDraft, RelayDraftId, RelayMailbox},
    sale::Draft,
};
use std::time::Duration;

#[async_trait]
impl Payments for Ports<'_> {
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let mut session = self.world.session(id).await?;
        if self.has(Defect::UnpaidReadsPaid) {
            session.payment_status = PaymentStatus::Paid;
        }
        if self.has(Defect::PaidReadsUnpaid) {
            session.payment_status = PaymentStatus::Unpaid;
        }
        if self.has(Defect::QuestionReplaced) && session.idea.is_some() {
            session.idea = Some("Should I open another shop?".to_owned());
        }
        Ok(session)
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        self.world.create_session(new).await
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        self.world.promotion_code(code).await
    }
}

#[async_trait]
impl Ledger for Ports<'_> {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<NewRefund, PaymentError> {
        match self.defect {
            Some(Defect::RefundLost) => Ok(NewRefund::NothingLeft),
            _ => self.world.refund(payment, idempotency_key).await,
        }
    }

    async fn refunds(&self, payment: &PaymentId) -> Result<PaymentRefunds, PaymentError> {
        self.world.refunds(payment).await
    }

    async fn reports_since(
        &self,
        since: ReportsSince,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError> {
        if self.has(Defect::ReportsUnlisted) {
            return Ok(PaymentReports::default());
        }
        self.world.reports_since(since, now, from).await
    }

    async fn slowest_method(&self) -> Result<Duration, PaymentError> {
        self.world.slowest_method().await
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        self.world.session_of(payment).await
    }

    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError> {
        if self.has(Defect::CompletedSessionsUnlisted) {
            return Ok(CompletedSessions::default());
        }
        self.world.completed_since(since, from).await
    }
}

#[async_trait]
impl Mailbox for Ports<'_> {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        self.vendor(&self.relay()).create_draft(mail).await
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        match self.defect {
            Some(Defect::MailLost) => Ok(()),
            Some(Defect::MailErrorSwallowed) => {
                let _ = self.vendor(&self.relay()).send_draft(draft).await;
                Ok(())
            }
            Some(Defect::SentDraftSentAgain) => {
                self.put_back(draft);
                self.vendor(&self.relay()).send_draft(draft).await
            }
            _ => self.vendor(&self.relay()).send_draft(draft).await,
        }
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let exists = self.vendor(&self.relay()).draft_exists(draft).await?;
        Ok(match self.defect {
            Some(Defect::SentDraftSentAgain) => true,
            _ => exists,
        })
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        Ok(self.vendor(&self.relay()).was_sent(draft).await? || self.has(Defect::GoneDraftReadsSent))
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.vendor(&self.relay()).discard_draft(draft).await
    }

    fn can_be_probed(&self) -> bool {
        self.vendor(&self.relay()).can_be_probed()
    }
}

/// The drafts of mails that a service sends which keeps none.
#[async_trait]
impl RelayDrafts for Ports<'_> {
    async fn draft(&self, id: &RelayDraftId) -> Result<Option<Versioned<RelayDraft>>, StorageError> {
        self.world.draft(id).await
    }

    async fn save(&self, id: &RelayDraftId, draft: &RelayDraft, expected: u64) -> Result<u64, SaveError> {
        let drafts: &dyn RelayDrafts = self.world;
        let saved = drafts.save(id, draft, expected).await?;
        if self.has(Defect::MailClaimLost) && *draft == RelayDraft::Claimed {
            let mut state = self.world.state();
            if let Some((_, mail)) = state.relay_claims.iter().rev().find(|(claimed, _)| claimed == id).cloned() {
                state.relay_drafts.insert(id.clone(), Versioned { value: RelayDraft::Ready(mail), version: saved });
            }
        }
        Ok(saved)
    }

    async fn discard(&self, id: &RelayDraftId) -> Result<(), StorageError> {
        self.world.discard(id).await
    }

    async fn link(&self, message: &str, session: &SessionId) -> Result<(), StorageError> {
        self.world.link(message, session).await
    }

    async fn linked(&self, message: &str) -> Result<Option<SessionId>, StorageError> {
        self.world.linked(message).await
    }
}

impl Ports<'_> {
    /// The mailbox of a world in which a service sends mails that keeps none.
    fn relay(&self) -> RelayMailbox<'_> {
        RelayMailbox { drafts: self, relay: self.world, randomness: self.world }
    }

    /// The mailbox of this world.
    fn vendor<'a>(&'a self, relay: &'a RelayMailbox<'a>) -> &'a dyn Mailbox {
        if self.world.state().relays_mails { relay } else { self.world }
    }

    /// Puts a draft that was sent back among the drafts.
    fn put_back(&self, draft: &Draft) {
        let mut state = self.world.state();
        if let Some(sent) = state.sent.iter().find(|(sent, _)| sent.id == draft.id).cloned() {
            state.drafts.insert(draft.id.clone(), sent);
        }
    }
}
