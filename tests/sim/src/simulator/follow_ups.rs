//! Customers who order follow-ups, on the page and by mail, and the function that watches the inbox.

use super::{Outcome, Simulator, What, Work, promises::PROMISE};
use crate::{
    checker::{Checked, Checker},
    faults::{MINUTE, SECOND},
    follow_up::{FollowUp, Said, Way, Written},
};
use audit::sale_events::message_digest;
use domain::{
    Timestamp,
    inbox::{Arrival, Incoming, ReceivedAt},
    texts,
};
use runtime::http::Reply;
use serde_json::{Value, json};
use testkit::{
    inbox::{Unread, relay_message},
    world::Delivered,
};

/// How often inbox-watch runs.
const INBOX_EVERY: i64 = 2 * MINUTE;

/// How often a customer who gets no answer asks.
const MOST_ATTEMPTS: u32 = 5;

impl Simulator<'_> {
    /// The customers who come and pay.
    pub(super) fn buyers(&self) -> std::ops::Range<usize> {
        let first = self.customers.iter().position(|customer| customer.follow_up.is_some());
        0..first.unwrap_or(self.customers.len())
    }

    /// A customer's follow-up, or the customer of a follow-up.
    pub(super) fn relative(&self, number: usize) -> Option<usize> {
        let buyer = self.customers.get(number)?.buyer();
        if buyer != number {
            return Some(buyer);
        }
        self.customers.iter().position(|it| it.follow_up.as_ref().is_some_and(|follow_up| follow_up.of == number))
    }

    fn follow_up_mut(&mut self, buyer: usize) -> Option<(usize, &mut FollowUp)> {
        let number = self.relative(buyer)?;
        Some((number, self.customers.get_mut(number)?.follow_up.as_mut()?))
    }

    /// A mail went out: to a customer, who may write back or look at the page, or to one who wrote.
    pub(super) fn mailed(&mut self, customer: Option<usize>) -> Checked {
        let Some(buyer) = customer else { return Checker::answered(&self.world.state(), &self.customers) };
        let session = self.customers.get(buyer).and_then(|customer| customer.session.clone());
        let state = self.world.state();
        let is_verdict = state.sent.iter().any(|(_, letter)| {
            Some(&letter.session) == session.as_ref() && letter.subject == texts::VERDICT_MAIL_SUBJECT
        });
        drop(state);
        let is_scripted = self.script.is_some();
        let Some((number, follow_up)) = self.follow_up_mut(buyer).filter(|(number, _)| is_verdict && *number != buyer)
        else {
            return Ok(());
        };
        if follow_up.way != Way::Reply && !is_scripted {
            let when = self.random.between(30 * SECOND, 30 * MINUTE);
            self.in_a_while(when, What::Look { customer: buyer });
        }
        self.writes_back(number);
        Ok(())
    }

    /// The page offers a follow-up: the customer asks.
    pub(super) fn looked(&mut self, buyer: usize, reply: &Reply) {
        let body: Value = serde_json::from_str(reply.body()).unwrap_or_default();
        let is_scripted = self.script.is_some();
        let Some((customer, follow_up)) = self.follow_up_mut(buyer) else { return };
        let posts = follow_up.way != Way::Reply && !follow_up.has_posted;
        if reply.status() != 200 || body["followup_status"] != "available" || !posts {
            return;
        }
        follow_up.has_posted = true;
        if is_scripted {
            return self.in_a_while(30 * SECOND, What::Post { customer, text: 0, attempt: 1 });
        }
        let when = self.random.between(2 * SECOND, 10 * MINUTE);
        self.in_a_while(when, What::Post { customer, text: 0, attempt: 1 });
        // A double click, another tab at nearly the same moment, and a second follow-up later.
        for (thousandths, text, most) in [(200, 0, 2 * SECOND), (150, 1, SECOND / 20), (200, 1, 40 * MINUTE)] {
            if self.random.chance(thousandths) {
                let later = when + self.random.between(0, most);
                self.in_a_while(later, What::Post { customer, text, attempt: 1 });
            }
        }
    }

    /// The verdict's mail has arrived: the customer replies to it.
    fn writes_back(&mut self, customer: usize) {
        let is_scripted = self.script.is_some();
        let Some(follow_up) = self.customers[customer].follow_up.as_mut() else { return };
        if follow_up.way == Way::Page || follow_up.has_written {
            return;
        }
        follow_up.has_written = true;
        if is_scripted {
            return self.in_a_while(2 * MINUTE, What::Write { customer, said: Said::Asks(0) });
        }
        let when = self.random.between(30 * SECOND, 30 * MINUTE);
        self.in_a_while(when, What::Write { customer, said: Said::Asks(0) });
        for (thousandths, said) in [
            (300, Said::Asks(0)),
            (300, Said::Asks(1)),
            (250, Said::OutOfOffice),
            (100, Said::Nothing),
            (100, Said::Stranger(0)),
            (100, Said::Unvouched(1)),
        ] {
            if self.random.chance(thousandths) {
                let when = self.random.between(SECOND, 60 * MINUTE);
                self.in_a_while(when, What::Write { customer, said });
            }
        }
    }

    /// A customer orders a follow-up on the page.
    pub(super) fn post(&mut self, number: usize, text: usize, attempt: u32) {
        let Some(customer) = self.customers.get(number) else { return };
        let Some((session, follow_up)) = customer.session.as_ref().zip(customer.follow_up.as_ref()) else { return };
        let body = json!({ "session_id": session.paid_session().as_str(), "query": follow_up.text(text).text });
        let deployment = self.deployment;
        let posts = async move { Outcome::Replied(deployment.followup(body.to_string()).await) };
        self.invoke(Work::FollowUp { text, attempt }, Some(number), 0, 0, posts);
    }

    /// A customer who got no answer asks again.
    pub(super) fn posts_again(&mut self, customer: usize, text: usize, attempt: u32) {
        if attempt < MOST_ATTEMPTS {
            self.in_a_while(20 * SECOND, What::Post { customer, text, attempt: attempt + 1 });
        }
    }

    /// The page has answered.
    pub(super) fn posted(&mut self, number: usize, text: usize, attempt: u32, reply: &Reply) -> Checked {
        let state = self.world.state();
        let Some(customer) = self.customers.get(number) else { return Ok(()) };
        Checker::posted(&state, customer, text, reply)?;
        drop(state);
        match reply.status() {
            202 => self.tally.count_follow_up("accepted by the page"),
            409 => self.tally.count_follow_up("not offered, or used"),
            422 => {
                self.tally.count_follow_up("refused by the authority gate");
                if text == 0 {
                    self.in_a_while(MINUTE, What::Post { customer: number, text: 1, attempt: 1 });
                }
            }
            503 => self.posts_again(number, text, attempt),
            _ => {}
        }
        Ok(())
    }

    /// A follow-up's sale exists: from here on it is a sale like any other.
    pub(super) fn opened(&mut self, work: &Work) -> Checked {
        let begins = self.promise_begins();
        for number in self.buyers().end..self.customers.len() {
            let state = self.world.state();
            let customer = &self.customers[number];
            let kept = customer.session.as_ref().and_then(|session| {
                state.sales.get(session)?;
                state.submissions.get(session)
            });
            let Some(kept) = kept.filter(|_| customer.paid_at.is_none()) else { continue };
            let text = Checker::opened(&state, customer, &self.customers[customer.buyer()], kept)?;
            let now = state.now;
            drop(state);
            let customer = &mut self.customers[number];
            customer.paid_at = Some(now);
            (customer.question, customer.is_sold) = (text.text, text.is_sold);
            let ordered = if *work == Work::Inbox { "ordered by a reply" } else { "ordered on the page" };
            self.tally.count_follow_up(ordered);
            self.trace(|| format!("customer {number}: {ordered}"));
            self.at(begins + PROMISE, What::Promise { customer: number });
        }
        Ok(())
    }

    /// A message comes into the inbox. A customer who asked to be forgotten writes no more.
    pub(super) fn write(&mut self, number: usize, said: Said) {
        let now = Timestamp::from_millis(self.now());
        let Some(customer) = self.customers.get_mut(number) else { return };
        let address = customer.address();
        let Some((session, follow_up)) = customer.session.as_ref().zip(customer.follow_up.as_mut()) else { return };
        let paid = session.paid_session();
        let mut state = self.world.state();
        if state.sales.get(&paid).is_none_or(|(sale, _)| sale.is_erased()) {
            return;
        }
        let id = format!("message-{number}-{}", follow_up.written.len());
        follow_up.written.push(Written { id: id.clone(), said });
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let vouched = header("Authentication-Results", "dmarc=pass header.from=example.com");
        let (sender, headers, text) = match said {
            Said::Asks(text) => (address, vec![vouched], follow_up.text(text).text.clone()),
            Said::OutOfOffice => {
                let text = format!("I am away until shop number {} opens.", follow_up.of);
                (address, vec![vouched, header("Auto-Submitted", "auto-replied")], text)
            }
            Said::Nothing => (address, vec![vouched], String::new()),
            Said::Stranger(text) => {
                ("stranger@example.com".to_owned(), vec![vouched], follow_up.text(text).text.clone())
            }
            Said::Unvouched(text) => {
                let failed = header("Authentication-Results", "dmarc=fail header.from=example.com");
                (address, vec![failed], follow_up.text(text).text.clone())
            }
        };
        let second = format!("{}Z", now.to_iso().get(..19).unwrap_or_default());
        let arrival = Arrival { received_at: ReceivedAt::parse(second).ok(), id };
        let subject = format!("Re: {}", texts::VERDICT_MAIL_SUBJECT);
        let mut message = Incoming { sender, subject, conversation: None, headers };
        if state.relays_mails {
            // The mailbox does not know the mail; the reply names the id that the service gave it.
            let is_verdict =
                |letter: &Delivered| letter.session == paid && letter.subject == texts::VERDICT_MAIL_SUBJECT;
            let place = state.sent.iter().position(|(_, letter)| is_verdict(letter)).unwrap_or(usize::MAX);
            let id = format!("<{}@email.amazonses.com>", relay_message(place));
            message.headers.push(header("In-Reply-To", &id));
        } else {
            let conversation = format!("conversation of {}", paid.as_str());
            state.conversations.insert(conversation.clone(), paid);
            message.conversation = Some(conversation);
        }
        state.inbox.push(Unread { arrival, message, text });
        drop(state);
        self.tally.count_follow_up("message in the inbox");
        self.trace(|| format!("customer {number} writes: {said:?}"));
        if !self.watches_inbox {
            self.watches_inbox = true;
            let wait = if self.script.is_some() { INBOX_EVERY } else { self.random.between(0, INBOX_EVERY) };
            self.in_a_while(wait, What::Inbox);
        }
    }

    /// Inbox-watch runs. It runs every two minutes, and runs that find nothing to do are left out.
    pub(super) fn inbox(&mut self) {
        self.watches_inbox = self.has_unread_messages() && self.now() < self.horizon + super::schedules::LONGEST;
        if !self.watches_inbox {
            return;
        }
        let deployment = self.deployment;
        self.counted += 1;
        let run = format!("run-{}", self.counted);
        let runs = async move {
            deployment.watch_inbox(&run).await;
            Outcome::Ran
        };
        self.invoke(Work::Inbox, None, 0, 0, runs);
        self.in_a_while(INBOX_EVERY, What::Inbox);
    }

    /// Whether the function has not seen a message, or is not done with one.
    fn has_unread_messages(&self) -> bool {
        let state = self.world.state();
        let memory = state.notes.get(inbox_watch::FUNCTION).map_or("", |(document, _)| document.as_str());
        let is_seen = |unread: &Unread| memory.contains(&message_digest(&unread.arrival.id));
        let fields: Value = serde_json::from_str(memory).unwrap_or_default();
        let is_idle = fields["memory"]["at_hand"].as_array().is_none_or(Vec::is_empty);
        !is_idle || !state.inbox.iter().all(is_seen)
    }
}
