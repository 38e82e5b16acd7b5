//! Checks the mails that were sent, and the messages that went into queues.

use super::{Checked, Checker, Invocation, is_clean};
use crate::{cast::Customer, rules::Rule};
use domain::{
    CachedVerdict, Sale, SessionId,
    mail::{Letter, Mail},
    message::{Message, OrderedBy},
    sale::Fulfilment,
    texts,
};
use testkit::world::State;

/// The kind of letter that a mail is.
pub(super) fn kind(subject: &str) -> Option<Letter> {
    let kinds = [
        (texts::VERDICT_MAIL_SUBJECT, Letter::Verdict),
        (texts::SILENT_DROP_SUBJECT, Letter::SilentDrop),
        (texts::DIVERGENCE_SUBJECT, Letter::Divergence),
        (texts::REFUND_SUBJECT, Letter::Refund),
        (texts::DECLINED_SUBJECT, Letter::Refund),
    ];
    kinds.into_iter().find(|(known, _)| *known == subject).map(|(_, letter)| letter)
}

impl Checker {
    /// A draft went out.
    pub(super) fn sent(
        &self,
        state: &State,
        customer: &Customer,
        session: &SessionId,
        invocation: &Invocation,
    ) -> Checked {
        let Some((draft, letter)) = state.sent.iter().rev().find(|(_, letter)| letter.session == *session) else {
            return Ok(());
        };
        let Some(kind) = kind(&letter.subject) else { return Err(Rule::OneMail.broken("a mail that is no letter")) };
        let same = state.sent.iter().filter(|(_, it)| it.session == *session && it.subject == letter.subject);
        // An operator may send the verdict's mail once more.
        let is_sent_again = state.sales.get(session).is_some_and(|(sale, _)| sale.is_sent_again());
        let most = 1 + usize::from(kind == Letter::Verdict && is_sent_again);
        Rule::OneMail.require(same.count() <= most, || format!("more than {most} {} mails went out", kind.as_str()))?;
        let is_gone = self.gone_since(session).is_some_and(|since| since < invocation.began);
        let late = kind != Letter::Refund && self.clocks_are_right && is_gone;
        Rule::Money.require(!late, || "a mail went out after the money had gone back".to_owned())?;
        self.not_forgotten(session, invocation, "a mail went out")?;
        Rule::PaidOnly.require(customer.paid_at.is_some(), || "a mail for an unpaid session".to_owned())?;
        Rule::NothingBlocked.require(is_clean(&letter.body) && is_clean(&letter.subject), || {
            "a mail with a blocked term went out".to_owned()
        })?;
        Rule::Private.require(letter.to == customer.address(), || "a mail went to another address".to_owned())?;
        let Some((sale, _)) = state.sales.get(session) else {
            return Err(Rule::States.broken("a mail without a sale"));
        };
        if sale.is_erased() {
            // Its worker began before the erasure, which also removed the recorded draft.
            return Ok(());
        }
        let recorded = match sale.letter(kind) {
            Mail::Sending { progress, .. } | Mail::Retrying { progress, .. } | Mail::Dead { progress, .. } => {
                progress.draft.as_ref() == Some(draft)
            }
            Mail::NotOrdered | Mail::Ordered => false,
            _ => true,
        };
        Rule::OneMail.require(recorded, || "an unrecorded draft went out".to_owned())?;
        match kind {
            Letter::Verdict => {}
            Letter::Refund => {
                // An operator may hand in another question while the mail after a disclosure is being sent.
                let is_crisis = letter.body.starts_with(texts::CRISIS);
                let is_right = sale.declined().is_some() == (letter.subject == texts::DECLINED_SUBJECT)
                    || is_crisis && sale.is_resubmitted();
                Rule::Authority.require(is_right, || "a refund letter for another reason".to_owned())?;
                if is_crisis {
                    // It waits for no refund.
                    return Ok(());
                }
                let back = customer.payment_id().is_some_and(|payment| {
                    state.refunds_of(&payment).next().is_some() || state.given_back.contains(&payment)
                });
                return Rule::Money.require(back, || "a refund letter went out without a refund".to_owned());
            }
            Letter::Divergence => {
                return Rule::States.require(sale.regenerated_at().is_some(), || {
                    "a divergence letter went out without a regeneration".to_owned()
                });
            }
            Letter::SilentDrop => {
                let unusable = matches!(sale.fulfilment(), Fulfilment::Unusable { .. }) || customer.operated;
                return Rule::States
                    .require(unusable, || "a customer is asked for a question whose sale is not unusable".to_owned());
            }
        }
        let shown = self.seen.get(session).and_then(|seen| seen.first.as_ref());
        let current = state.cache.get(session).or_else(|| state.archive.get(session)).or(shown);
        let summary = |cached: &CachedVerdict| letter.body.contains(&cached.verdict.summary);
        let same = customer.mishap.is_some() || current.is_some_and(summary) || shown.is_some_and(summary);
        Rule::CacheBeforeMail.require(same, || "a mail shows another verdict than its page".to_owned())
    }

    /// A message went into a queue.
    pub(crate) fn queued(state: &State, customer: &Customer, queue: &str, message: &Message) -> Checked {
        let right = match message {
            Message::Order { .. } => "orders",
            Message::Mail { .. } => "email",
            Message::MailRetry { .. } => "email-retry",
            Message::Notice { .. } => "notices",
            Message::PaymentChanged { .. } | Message::SubscriptionChanged { .. } => "payments",
        };
        Rule::Queues.require(queue == right, || format!("a message for {right} went into {queue}"))?;
        let own = match message {
            Message::PaymentChanged { payment, .. } => Some(payment) == customer.payment_id().as_ref(),
            _ => message.session_id() == customer.session.as_ref(),
        };
        Rule::Queues.require(own, || "a message about another sale".to_owned())?;
        // The deadlines function asks about an ordered sale until Stripe reports its state.
        let asks = matches!(message, Message::Order { ordered_by: OrderedBy::Deadlines, .. });
        let paid = customer.paid_at.is_some() || asks;
        Rule::PaidOnly.require(paid, || format!("{queue}: a message for an unpaid session"))?;
        let sale = message.session_id().and_then(|session| state.sales.get(session)).map(|(sale, _)| sale);
        let fulfilment = sale.map(|sale| sale.fulfilment());
        let can_be_read = matches!(
            fulfilment,
            Some(Fulfilment::Ready { .. } | Fulfilment::Unusable { .. } | Fulfilment::InReview { .. })
        );
        let regenerates = sale.is_some_and(|sale| sale.regenerated_at().is_some());
        // An operator may hand in another question between a disclosure and the message about its mail.
        let is_letter = matches!(
            message,
            Message::Mail { letter: Letter::Refund, .. } | Message::MailRetry { letter: Letter::Refund, .. }
        );
        let tells_of_refund = sale.is_some_and(|sale| {
            sale.is_to_send(Letter::Refund) || is_letter && *sale.letter(Letter::Refund) != Mail::NotOrdered
        });
        // An operator may erase the sale between another one's decision and its message.
        let is_erased = sale.is_some_and(Sale::is_erased);
        let early = right.starts_with("email") && !can_be_read && !regenerates && !tells_of_refund && !is_erased;
        Rule::CacheBeforeMail.require(!early, || "a mail is ordered before there is a verdict".to_owned())
    }
}
