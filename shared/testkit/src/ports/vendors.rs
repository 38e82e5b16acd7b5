//! Stripe, Gemini and Graph, as a [`World`] has them.

use super::{PAGE, planned};
use crate::{
    faults::Trouble,
    world::{Delivered, World},
};
use async_trait::async_trait;
use domain::{
    CheckoutSession, SessionId, Timestamp,
    mail::Draft,
    money::PaymentId,
    ports::{
        CreatedCheckoutSession, Ledger, MailError, Mailbox, Model, ModelError, ModelReply, NewCheckoutSession,
        OutgoingMail, PaidSessions, PaymentError, Payments, Prompt, Randomness, RefundStatus,
    },
    smoke::{Facts, SmokeSessions},
};
use std::time::Duration;

fn payment_trouble(trouble: Trouble) -> PaymentError {
    match trouble {
        Trouble::Failed | Trouble::Refused(500..) => PaymentError::Unavailable(planned()),
        Trouble::Refused(404) => PaymentError::NotFound,
        Trouble::Refused(status) => PaymentError::Refused(status.to_string()),
    }
}

fn mail_trouble(trouble: Trouble) -> MailError {
    match trouble {
        Trouble::Failed => MailError::OutcomeUnknown(planned()),
        Trouble::Refused(400) => MailError::Rejected,
        Trouble::Refused(403) => MailError::Forbidden(403),
        Trouble::Refused(429) => MailError::Throttled(Duration::from_secs(60)),
        Trouble::Refused(status) => MailError::Unavailable(status),
    }
}

#[async_trait]
impl Ledger for World {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<RefundStatus, PaymentError> {
        let write = self.boundary("ledger.refund", |state| {
            if state.given_back.contains(payment) {
                return Err(PaymentError::Refused("charge_already_refunded".to_owned()));
            }
            let status = state.refund_status.unwrap_or(RefundStatus::Succeeded);
            if status != RefundStatus::Failed {
                state.refunds.insert(idempotency_key.to_owned(), payment.clone());
            }
            Ok(status)
        });
        write.await.unwrap_or_else(|trouble| Err(payment_trouble(trouble)))
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        let read = self.boundary("ledger.session_of", |state| {
            state.sessions.values().find(|session| session.payment.as_ref() == Some(payment)).cloned()
        });
        read.await.map_err(payment_trouble)
    }

    async fn paid_since(&self, since: Timestamp, from: Option<&str>) -> Result<PaidSessions, PaymentError> {
        let read = self.boundary("ledger.paid_since", |state| {
            let since = |session: &&CheckoutSession| session.created.is_none_or(|created| created >= since);
            let paid: Vec<_> = state.sessions.values().filter(|session| session.is_paid()).filter(since).collect();
            let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            let sessions: Vec<_> = paid.iter().skip(skip).take(PAGE).copied().cloned().collect();
            let next = (skip + sessions.len() < paid.len()).then(|| (skip + sessions.len()).to_string());
            PaidSessions { sessions, next }
        });
        read.await.map_err(payment_trouble)
    }
}

#[async_trait]
impl Payments for World {
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let read = self.boundary("payments.session", |state| state.sessions.get(id).cloned());
        read.await.map_err(payment_trouble)?.ok_or(PaymentError::NotFound)
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        let write = self.boundary("payments.create_session", |state| {
            state.created.push(new.clone());
            let id = format!("cs_test_created_{:08}", state.created.len());
            SessionId::parse(id.as_str())
                .map(|parsed| CreatedCheckoutSession { id: parsed, url: format!("https://pay.example/{id}") })
        });
        match write.await {
            Ok(Ok(created)) => Ok(created),
            Ok(Err(_)) => Err(PaymentError::Refused("bad id".to_owned())),
            Err(trouble) => Err(payment_trouble(trouble)),
        }
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        let read = self.boundary("payments.promotion_code", |state| state.promotion_codes.get(code).cloned());
        read.await.map_err(payment_trouble)
    }
}

/// No boundary of its own: nothing of a customer's depends on it.
#[async_trait]
impl SmokeSessions for World {
    async fn facts(&self, id: &SessionId) -> Result<Facts, PaymentError> {
        self.state().smoke_sessions.get(id).cloned().ok_or(PaymentError::NotFound)
    }
}

#[async_trait]
impl Model for World {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let call = self.boundary("model.ask", |state| {
            state.prompts.push((model.to_owned(), prompt.clone()));
            let next = state.answers.pop_front();
            next.or_else(|| state.model.as_mut().map(|answer| answer(model, prompt)))
                .unwrap_or(Err(ModelError::Unavailable(503)))
        });
        call.await.unwrap_or_else(|trouble| match trouble {
            Trouble::Failed => Err(ModelError::Timeout),
            Trouble::Refused(404) => Err(ModelError::UnknownModel),
            Trouble::Refused(400) => Err(ModelError::BadRequest(400)),
            Trouble::Refused(status @ (401 | 403)) => Err(ModelError::Unauthorized(status)),
            Trouble::Refused(status) => Err(ModelError::Unavailable(status)),
        })
    }
}

#[async_trait]
impl Mailbox for World {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        let token = self.token();
        let write = self.boundary("mailbox.create_draft", |state| {
            let draft = Draft { id: format!("draft-{token}"), internet_message_id: format!("<{token}@mail>") };
            let letter = Delivered {
                session: mail.session_id.clone(),
                to: mail.to.expose().to_owned(),
                subject: mail.subject.clone(),
                body: mail.body.clone(),
            };
            state.mail_calls.push(("create", state.now));
            if let Some(refusal) = state.mailbox_says.pop_front().flatten() {
                return Err(refusal);
            }
            state.drafts.insert(draft.id.clone(), (draft.clone(), letter));
            Ok(draft)
        });
        write.await.unwrap_or_else(|trouble| Err(mail_trouble(trouble)))
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let write = self.boundary("mailbox.send_draft", |state| {
            state.mail_calls.push(("send", state.now));
            if let Some(refusal) = state.mailbox_says.pop_front().flatten() {
                return Err(refusal);
            }
            let letter = state.drafts.remove(&draft.id);
            let now = state.now;
            state.sent.push(letter.ok_or(MailError::NoSuchDraft)?);
            state.sent_at.push(now);
            Ok(())
        });
        write.await.unwrap_or_else(|trouble| Err(mail_trouble(trouble)))
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let read = self.boundary("mailbox.draft_exists", |state| state.drafts.contains_key(&draft.id));
        read.await.map_err(|_| MailError::Unavailable(503))
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        let read = self.boundary("mailbox.was_sent", |state| {
            let known_until = state.now - state.sent_items_lag;
            let sent = state.sent.iter().zip(&state.sent_at).filter(|(_, at)| **at <= known_until);
            let mut there = sent.filter(|((sent, _), _)| !state.removed_mails.contains(&sent.id));
            there.any(|((sent, _), _)| sent.internet_message_id == draft.internet_message_id)
        });
        read.await.map_err(|_| MailError::Unavailable(503))
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let write = self.boundary("mailbox.discard_draft", |state| drop(state.drafts.remove(&draft.id)));
        write.await.map_err(|_| MailError::Unavailable(503))
    }
}
