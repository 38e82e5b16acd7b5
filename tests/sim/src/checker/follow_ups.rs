//! Checks follow-ups and the inbox.

use super::{Checked, Checker, Customer, Invocation, is_clean};
use crate::{
    follow_up::{FollowUp, Said, Text},
    rules::{Rule, Violation},
};
use audit::sale_events::message_digest;
use domain::{
    Sale, SessionId, Submission,
    inbox::{FollowupReply, INQUIRIES, Inquiry},
    money::Money,
    relay::id_of_reply,
    sale::Fulfilment,
    texts,
};
use runtime::http::Reply;
use serde_json::Value;
use testkit::{
    inbox::Unread,
    world::{Delivered, State},
};

/// The sale that mails of inbox-watch count as being about.
const ACKNOWLEDGEMENT: &str = "cs_acknowledgement";

fn sale<'s>(state: &'s State, session: &SessionId) -> Option<&'s Sale> {
    state.sales.get(session).map(|(sale, _)| sale)
}

impl Checker {
    /// A follow-up's sale was opened with this text.
    pub(crate) fn opened(
        state: &State,
        customer: &Customer,
        buyer: &Customer,
        kept: &Submission,
    ) -> Result<Text, Violation> {
        let paid = buyer.session.as_ref().and_then(|session| sale(state, session));
        let offered = paid.is_some_and(Sale::offers_followup);
        Rule::FollowUp.require(offered, || "a follow-up is opened that is not offered".to_owned())?;
        let asked = customer.follow_up.as_ref().and_then(|follow_up| follow_up.find(kept.query.as_str()));
        let Some(text) = asked else {
            return Err(Rule::FollowUp.broken("a follow-up with a text that the customer did not send"));
        };
        let refused = !text.is_sold && customer.mishap.is_none();
        Rule::Authority.require(!refused, || "a follow-up is opened that must not be answered".to_owned())?;
        Ok(text.clone())
    }

    /// The page has answered an order of a follow-up.
    pub(crate) fn posted(state: &State, customer: &Customer, text: usize, reply: &Reply) -> Checked {
        let Some((session, follow_up)) = customer.session.as_ref().zip(customer.follow_up.as_ref()) else {
            return Ok(());
        };
        let asked = follow_up.text(text);
        let is_erased = sale(state, &session.paid_session()).is_some_and(Sale::is_erased);
        let kept = state.submissions.get(session).map(|kept| kept.query.as_str());
        let is_kept = kept == Some(asked.text.as_str()) || is_erased;
        Rule::NothingBlocked.require(is_clean(reply.body()), || "a page shows a blocked term".to_owned())?;
        match reply.status() {
            202 => Rule::FollowUp.require(is_kept, || "a follow-up is accepted, and its text is not kept".to_owned()),
            409 if reply.body().contains("followup_used") => {
                let is_used = is_erased || kept.is_some_and(|kept| kept != asked.text);
                Rule::FollowUp.require(is_used, || "a follow-up is called used, and is not".to_owned())
            }
            409 => {
                let is_used = state.sales.contains_key(session);
                Rule::FollowUp.require(!is_used, || "a follow-up exists, and is called not offered".to_owned())
            }
            422 => {
                let is_sold = asked.is_sold && customer.mishap.is_none();
                Rule::Authority.require(!is_sold, || "a follow-up is refused that is sold".to_owned())
            }
            410 => Rule::Forgotten.require(is_erased, || "a follow-up's page says that it was erased".to_owned()),
            503 => Ok(()),
            other => Err(Rule::FollowUp.broken(format!("an order of a follow-up is answered {other}"))),
        }
    }

    /// What the page of the sale says of its follow-up.
    pub(crate) fn followed(state: &State, customer: &Customer, invocation: &Invocation, reply: &Reply) -> Checked {
        let body: Value = serde_json::from_str(reply.body()).unwrap_or_default();
        let (Some(session), 200) = (customer.session.as_ref(), reply.status()) else { return Ok(()) };
        let own = sale(state, session);
        let is = |is_so: fn(&Fulfilment) -> bool| own.is_some_and(|sale| is_so(sale.fulfilment()));
        let is_stopped = own.is_some_and(|sale| *sale.money() != Money::Kept || sale.is_erased());
        let is_true = match body["followup_status"].as_str() {
            // Without the table the archive's verdict is shown alone.
            None => own.is_none() || is_stopped || invocation.has_no_table,
            Some("available") => customer.paid_at.is_none_or(|opened_at| opened_at >= invocation.began),
            Some("delivered") => {
                let followup = &body["followup"];
                let is_own = followup["query_withheld"] == true || followup["query"] == customer.question.as_str();
                Rule::FollowUp.require(is_own, || "a page shows another follow-up's question".to_owned())?;
                own.is_some()
            }
            Some("pending") => own.is_some(),
            Some("failed") => is(|it| matches!(it, Fulfilment::Failed { .. })) || is_stopped || customer.operated,
            Some("in_review") => is(|it| matches!(it, Fulfilment::InReview { .. })) || is_stopped || customer.operated,
            Some("declined") => own.is_some_and(|sale| sale.declined().is_some()) || customer.operated,
            Some(_) => false,
        };
        Rule::FollowUp.require(is_true, || format!("a page calls its follow-up {}", body["followup_status"]))
    }

    /// A mail that answers a message went out.
    pub(crate) fn answered(state: &State, customers: &[Customer]) -> Checked {
        let answers = || {
            let sent = state.sent.iter().map(|(_, letter)| letter);
            sent.filter(|letter| letter.session.as_str() == ACKNOWLEDGEMENT)
        };
        let Some(last) = answers().next_back() else { return Ok(()) };
        Rule::NothingBlocked.require(is_clean(&last.body) && is_clean(&last.subject), || {
            "an answer with a blocked term went out".to_owned()
        })?;
        let written = |follow_up: &FollowUp, is_answered: fn(&Said) -> bool| {
            follow_up.written.iter().filter(|written| is_answered(&written.said)).count()
        };
        let from_buyer: usize = customers
            .iter()
            .filter(|customer| customer.address() == last.to)
            .filter_map(|customer| customer.follow_up.as_ref())
            .map(|follow_up| written(follow_up, |said| matches!(said, Said::Asks(_) | Said::Nothing)))
            .sum();
        let from_stranger = last.to == "stranger@example.com";
        let to = |answer: &&Delivered| answer.to == last.to;
        let is_known = from_stranger || answers().filter(to).count() <= from_buyer;
        Rule::FollowUp.require(is_known, || "more answers than messages that wait for one".to_owned())?;
        for (text, name) in [(texts::FOLLOWUP_ORDERED, "ordered"), (texts::FOLLOWUP_USED, "used")] {
            let times = answers().filter(to).filter(|answer| answer.body == text).count();
            Rule::FollowUp.require(times <= 1, || format!("a customer is written {times} times that it is {name}"))?;
            let wrong = from_stranger && times > 0;
            Rule::FollowUp.require(!wrong, || "a stranger's message is answered as a follow-up".to_owned())?;
        }
        Ok(())
    }

    /// Every message was announced, and led to a follow-up or is before a person.
    pub(crate) fn replies_at_rest(state: &State, customers: &[Customer]) -> Checked {
        let alerts = || state.alerts.iter().chain(&state.logged_alerts);
        let inquiries = inquiries(state);
        for customer in customers {
            let Some((session, follow_up)) = customer.session.as_ref().zip(customer.follow_up.as_ref()) else {
                continue;
            };
            let Some(paid) = sale(state, &session.paid_session()).filter(|sale| !sale.is_erased()) else { continue };
            let kept = state.submissions.get(session).map(|kept| kept.query.as_str());
            for written in &follow_up.written {
                let Some(unread) = state.inbox.iter().find(|unread| unread.arrival.id == written.id) else { continue };
                let alerted = alerts().any(|alert| alert.line.contains(&message_digest(&written.id)[..12]));
                let found = paid.replies().iter().find(|reply| reply.message == written.id);
                let is_unlinked =
                    || is_unlinked(state, unread) && inquiries.iter().any(|inquiry| inquiry.message == written.id);
                let is_known = found.is_some() || alerted || written.said == Said::OutOfOffice || is_unlinked();
                Rule::FollowUp.require(is_known, || format!("a message leads to nothing: {:?}", written.said))?;
                let Some(reply) = found else { continue };
                let ordered = reply.followup == Some(FollowupReply::Ordered);
                match written.said {
                    Said::Asks(text) if ordered => {
                        let is_kept = kept == Some(follow_up.text(text).text.as_str());
                        Rule::FollowUp.require(is_kept, || "a reply counts as ordered, and is not".to_owned())?;
                    }
                    _ => {
                        Rule::FollowUp.require(!ordered, || format!("ordered by {:?}", written.said))?;
                        Rule::HumanAlerted.require(alerted, || "a reply waits, and no alert names it".to_owned())?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The messages that a person answers.
fn inquiries(state: &State) -> Vec<Inquiry> {
    let document = state.notes.get(INQUIRIES).map_or("", |(document, _)| document.as_str());
    let note: Value = serde_json::from_str(document).unwrap_or_default();
    serde_json::from_value(note["memory"]["open"].clone()).unwrap_or_default()
}

/// Whether a message replies to a mail whose id is unknown: the service that sends mails accepted it, and its reply was
/// lost.
fn is_unlinked(state: &State, unread: &Unread) -> bool {
    let id = unread.message.in_reply_to().and_then(id_of_reply);
    id.is_some_and(|id| !state.relay_links.contains_key(id))
}
