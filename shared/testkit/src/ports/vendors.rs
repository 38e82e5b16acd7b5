//! Stripe, Gemini and Graph, in a [`World`].

use super::{page, planned};
use crate::{
    faults::Trouble,
    world::{Delivered, World},
};
use async_trait::async_trait;
use domain::{
    CheckoutSession, PaymentStatus, SessionId, Timestamp,
    mail::Draft,
    money::{ObjectId, PaymentId, PaymentReport, RefundStatus},
    ports::{
        CompletedSessions, CreatedCheckoutSession, Ledger, Listener, MadeRefund, MailError, Mailbox, Model, ModelError,
        ModelReply, NewCheckoutSession, NewRefund, OutgoingMail, PaymentError, PaymentRefunds, PaymentReports,
        Payments, Prompt, Randomness, ReportsSince,
    },
    smoke::{Facts, SmokeSessions},
};
use std::time::Duration;

pub(super) fn payment_trouble(trouble: Trouble) -> PaymentError {
    match trouble {
        Trouble::Failed | Trouble::Refused(500..) => PaymentError::Unavailable(planned()),
        Trouble::Refused(404) => PaymentError::NotFound,
        Trouble::Refused(403) => PaymentError::Forbidden("403".to_owned()),
        Trouble::Refused(status) => PaymentError::Refused(status.to_string()),
    }
}

pub(super) fn mail_trouble(trouble: Trouble) -> MailError {
    match trouble {
        Trouble::Failed => MailError::OutcomeUnknown(planned()),
        Trouble::Refused(400) => MailError::Rejected,
        Trouble::Refused(403) => MailError::Forbidden(403),
        Trouble::Refused(429) => MailError::Throttled { status: 429, wait: Duration::from_secs(60) },
        Trouble::Refused(status) => MailError::Unavailable(status),
    }
}

pub(super) fn delivered(mail: &OutgoingMail) -> Delivered {
    let (session, to) = (mail.session_id.clone(), mail.to.expose().to_owned());
    Delivered { session, to, subject: mail.subject.clone(), body: mail.body.clone() }
}

#[async_trait]
impl Ledger for World {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<NewRefund, PaymentError> {
        let write = self.boundary("ledger.refund", |state| {
            let paid_for = state.sessions.values().find(|session| session.payment.as_ref() == Some(payment));
            let amount = paid_for.and_then(|session| session.amount_total);
            if let Some(made) = state.refunds_of(payment).find(|made| made.key.as_deref() == Some(idempotency_key)) {
                return Ok(NewRefund::Made(made));
            }
            if let Some(code) = state.refund_refused.clone() {
                return Err(PaymentError::Refused(code));
            }
            if state.given_back.contains(payment) || state.refunds_of(payment).any(|made| !made.status.is_void()) {
                return Ok(NewRefund::NothingLeft);
            }
            let status = state.refund_status.unwrap_or(RefundStatus::Succeeded);
            let id = ObjectId::parse(format!("re_{}", state.refunds.len() + 1)).unwrap_or_else(|_| ObjectId::unnamed());
            let made = MadeRefund { id, amount, status, key: Some(idempotency_key.to_owned()) };
            state.refunds.push((payment.clone(), made.clone()));
            Ok(NewRefund::Made(made))
        });
        write.await.unwrap_or_else(|trouble| Err(payment_trouble(trouble)))
    }

    async fn refunds(&self, payment: &PaymentId) -> Result<PaymentRefunds, PaymentError> {
        let read = self.boundary("ledger.refunds", |state| PaymentRefunds {
            made: state.refunds_of(payment).collect(),
            unknown: state.unknown_refunds.clone(),
        });
        read.await.map_err(payment_trouble)
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        let read = self.boundary("ledger.session_of", |state| {
            state.sessions.values().find(|session| session.payment.as_ref() == Some(payment)).cloned()
        });
        read.await.map_err(payment_trouble)
    }

    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError> {
        let read = self.boundary("ledger.completed_since", |state| {
            let since = |session: &&CheckoutSession| session.created.is_none_or(|created| created >= since);
            let completed = |session: &&CheckoutSession| session.payment_status != PaymentStatus::Unpaid;
            let paid: Vec<_> = state.sessions.values().filter(completed).filter(since).cloned().collect();
            let (sessions, next) = page(&paid, from);
            CompletedSessions { sessions, next }
        });
        let page = read.await.map_err(payment_trouble)?;
        match from.map(str::parse::<usize>) {
            Some(Err(_)) => Err(PaymentError::Refused("resource_missing".to_owned())),
            _ => Ok(page),
        }
    }

    async fn reports_since(
        &self,
        since: ReportsSince,
        _now: Timestamp,
        _from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError> {
        let listed = |(created, payment, report): &(Timestamp, PaymentId, PaymentReport)| {
            let since = if matches!(report, PaymentReport::Dispute { .. }) { since.disputes } else { since.refunds };
            (*created >= since).then(|| (payment.clone(), report.clone()))
        };
        let read = self.boundary("ledger.reports_since", |state| PaymentReports {
            reports: state.reports.iter().filter_map(listed).collect(),
            unreadable: state.unreadable.clone(),
            next: None,
        });
        read.await.map_err(payment_trouble)
    }

    async fn slowest_method(&self) -> Result<Duration, PaymentError> {
        self.boundary("ledger.slowest_method", |state| state.slowest_method).await.map_err(payment_trouble)
    }
}

#[async_trait]
impl Payments for World {
    async fn is_of_other_mode(&self, _id: &SessionId) -> bool {
        self.state().other_mode
    }

    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let read = self.boundary("payments.session", |state| state.sessions.get(id).cloned());
        read.await.map_err(payment_trouble)?.ok_or(PaymentError::NotFound)
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        let write = self.boundary("payments.create_session", |state| {
            state.created.push(new.clone());
            // The first twelve characters name a session in logs and the last eight in alerts, so both differ.
            let number = state.created.len();
            let id = format!("cs_test_{number:04}_created_{number:08}");
            SessionId::parse(id.as_str()).map(|id| {
                let url = format!("https://pay.example/{}", id.as_str());
                CreatedCheckoutSession { id, url, amount_total: state.checkout_total }
            })
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

/// This has no boundary, because no customer's data depends on it.
#[async_trait]
impl SmokeSessions for World {
    async fn facts(&self, id: &SessionId) -> Result<Facts, PaymentError> {
        self.state().smoke_sessions.get(id).cloned().ok_or(PaymentError::NotFound)
    }
}

/// The delay that a throttled model asks for.
pub const MODEL_DELAY: Duration = Duration::from_secs(20);

fn model_trouble(trouble: Trouble) -> ModelError {
    match trouble {
        Trouble::Refused(429) => ModelError::Throttled(MODEL_DELAY),
        Trouble::Failed => ModelError::Timeout,
        Trouble::Refused(404) => ModelError::UnknownModel,
        Trouble::Refused(400) => ModelError::BadRequest(400),
        Trouble::Refused(status @ (401 | 403)) => ModelError::Unauthorized(status),
        Trouble::Refused(status) => ModelError::Unavailable(status),
    }
}

#[async_trait]
impl Model for World {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let call = self.boundary("model.ask", |state| state.asked(model, prompt));
        call.await.unwrap_or_else(|trouble| Err(model_trouble(trouble)))
    }

    /// The same call as `ask`, played in sentences. A lost reply breaks off after the first half of its text.
    async fn stream(
        &self,
        model: &str,
        prompt: &Prompt,
        listener: &mut dyn Listener,
    ) -> Result<ModelReply, ModelError> {
        let mut written = String::new();
        let call = self.boundary("model.ask", |state| {
            let outcome = state.asked(model, prompt);
            if let Ok(reply) = &outcome {
                written.clone_from(&reply.text);
            }
            outcome
        });
        let outcome = call.await;
        let heard = if outcome.is_ok() { written.len() } else { written.len() / 2 };
        let pause = self.state().sentence_time;
        let mut end = 0;
        for sentence in written.split_inclusive('.') {
            end += sentence.len();
            if end > heard {
                break;
            }
            listener.hear(&written[..end]).await;
            self.wait(pause).await;
        }
        outcome.unwrap_or_else(|trouble| Err(model_trouble(trouble)))
    }
}

#[async_trait]
impl Mailbox for World {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        let token = self.token();
        let write = self.boundary("mailbox.create_draft", |state| {
            let draft = Draft { id: format!("draft-{token}"), internet_message_id: format!("<{token}@mail>") };
            state.mail_calls.push(("create", state.now));
            if let Some(refusal) = state.mailbox_says.pop_front().flatten() {
                return Err(refusal);
            }
            state.drafts.insert(draft.id.clone(), (draft.clone(), delivered(mail)));
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
            let letter = state.draft(&draft.id).cloned().ok_or(MailError::NoSuchDraft)?;
            if state.draft_lag == 0 {
                state.drafts.remove(&draft.id);
            }
            let now = state.now;
            state.sent.push(letter);
            state.sent_at.push(now);
            Ok(())
        });
        write.await.unwrap_or_else(|trouble| {
            Err(match trouble {
                Trouble::Refused(500 | 502 | 504) => MailError::OutcomeUnknown(planned()),
                trouble => mail_trouble(trouble),
            })
        })
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let read = self.boundary("mailbox.draft_exists", |state| state.draft(&draft.id).is_some());
        read.await.map_err(|_| MailError::Unavailable(503))
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        let read = self.boundary("mailbox.was_sent", |state| {
            if state.now < state.mailbox_returns_at {
                return Err(MailError::Unavailable(503));
            }
            let known_until = state.now - state.sent_items_lag.max(state.draft_lag);
            let sent = state.sent.iter().zip(&state.sent_at).filter(|(_, at)| **at <= known_until);
            let mut there = sent.filter(|((sent, _), _)| !state.removed_mails.contains(&sent.id));
            Ok(there.any(|((sent, _), _)| sent.internet_message_id == draft.internet_message_id))
        });
        read.await.unwrap_or(Err(MailError::Unavailable(503)))
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let write = self.boundary("mailbox.discard_draft", |state| drop(state.drafts.remove(&draft.id)));
        write.await.map_err(|_| MailError::Unavailable(503))
    }

    fn can_be_probed(&self) -> bool {
        true
    }
}
