//! The actions of people: sign in, ask, read, erase, subscribe.

use super::{Outcome, Simulator, What, Work};
use crate::chat::{
    asked::Asked,
    chaos::SECOND,
    checker::had,
    people::{Act, DISCLOSURE, id, text},
    promises::Checked,
};
use domain::chat::PaidPlan;
use runtime::http::{Reply, Request};
use serde_json::json;

/// The numbers of declined messages are greater than those of exchanges and of texts on the Bridge.
const FIRST_DISCLOSURE: u64 = 8000;

impl Simulator<'_> {
    pub(super) fn person(&mut self, person: usize) {
        let browser = usize::try_from(self.random.below(self.people[person].browsers.len() as u64)).unwrap_or(0);
        if self.people[person].browsers[browser].session.is_none() {
            self.sign_in(person, browser);
        } else if self.has_sign_outs && self.outs.chance(80) {
            self.act(person, browser, Act::SignOutEverywhere);
        } else {
            if self.has_disclosures && self.apart.chance(200) {
                self.disclose(person, browser);
            }
            let act = self.people[person].act(&mut self.random);
            self.act(person, browser, act);
        }
    }

    /// Sends a message that the authority gate declines.
    fn disclose(&mut self, person: usize, browser: usize) {
        self.disclosures += 1;
        let body = json!({ "id": id(FIRST_DISCLOSURE + self.disclosures), "text": DISCLOSURE }).to_string();
        let cookie = self.people[person].browsers[browser].session.clone().unwrap_or_default();
        let request =
            Request::post("/api/chat/exchanges", body).with_header("cookie", &format!("__Host-chat_session={cookie}"));
        self.send(person, browser, "POST declined", None, request, None, None);
    }

    /// Requests a link, or follows the last mailed one.
    pub(super) fn sign_in(&mut self, person: usize, browser: usize) {
        let is_other = !self.is_calm && self.random.chance(60);
        let asking = match self.people[person].browsers[browser].asking.clone() {
            Some(_) if is_other => Some("0123456789abcdef".repeat(4)),
            held => held,
        };
        let link = self.link(person);
        let reads = self.is_calm || !self.random.chance(150);
        if let (Some(held), Some(token), true) = (asking, link, reads) {
            let body = json!({ "token": token }).to_string();
            let request =
                Request::post("/api/chat/session", body).with_header("cookie", &format!("__Host-chat_login={held}"));
            self.send(person, browser, "POST session", None, request, Some((token, is_other)), None);
            self.later(person);
            return;
        }
        let spelling = self.random.pick(&[0, 1, 2]).unwrap_or(0);
        let body = json!({ "email": self.people[person].spellings[spelling] }).to_string();
        // At rest people ask from another network, whose links no earlier request has used up.
        let network = if self.is_calm { "198.51.100.1" } else { "203.0.113.1" };
        let mut request = Request::post("/api/chat/login", body).with_address(network);
        if let Some(held) = &self.people[person].browsers[browser].asking {
            request = request.with_header("cookie", &format!("__Host-chat_login={held}"));
        }
        self.send(person, browser, "POST login", None, request, None, None);
        self.later(person);
    }

    /// Schedules an action soon after a person signs in.
    fn later(&mut self, person: usize) {
        if !self.is_calm {
            self.at(self.now() + 4 * SECOND, What::Person(person));
        }
    }

    /// The token of the last link in a person's mailbox.
    fn link(&self, person: usize) -> Option<String> {
        let state = self.functions.world.state();
        let mut mails = state.sent.iter().rev();
        let (_, mail) = mails.find(|(_, mail)| self.people[person].spellings.contains(&mail.to))?;
        Some(mail.body.split("/chat?token=").nth(1)?.split_whitespace().next()?.to_owned())
    }

    pub(super) fn act(&mut self, person: usize, browser: usize, act: Act) {
        let cookie = self.people[person].browsers[browser].session.clone().unwrap_or_default();
        let with = |request: Request| request.with_header("cookie", &format!("__Host-chat_session={cookie}"));
        let asking = |exchange: u64, text: String| {
            with(Request::post("/api/chat/exchanges", json!({ "id": id(exchange), "text": text }).to_string()))
        };
        let (call, exchange, request, buys) = match act {
            Act::Ask => {
                self.exchanges += 1;
                let exchange = self.exchanges;
                self.people[person].exchanges.push(exchange);
                self.checker.owners.insert(exchange, person);
                for _ in 0..if self.is_calm { 0 } else { 3 } {
                    let when = self.now() + self.random.between(500, 8 * SECOND);
                    self.at(when, What::Follow(person, browser, exchange));
                }
                ("POST exchange", Some(exchange), asking(exchange, text(exchange)), None)
            }
            Act::AskAgain(exchange) => ("POST exchange", Some(exchange), asking(exchange, text(exchange)), None),
            Act::AskOther(exchange) => {
                self.others.insert(exchange);
                ("POST other", Some(exchange), asking(exchange, "Should we close the first bakery?".to_owned()), None)
            }
            Act::Look(exchange) => {
                let path = format!("/api/chat/exchanges/{}", id(exchange));
                ("GET exchange", Some(exchange), with(Request::get(&path)), None)
            }
            Act::Me => ("GET me", None, with(Request::get("/api/chat/me")), None),
            Act::Export => ("GET memory", None, with(Request::get("/api/chat/memory")), None),
            Act::Erase => {
                self.checker.wished.extend(&self.people[person].exchanges);
                self.checker.threads.wish(person);
                self.beside(person, browser);
                ("DELETE memory", None, with(Request::delete("/api/chat/memory")), None)
            }
            Act::Subscribe(plan) => {
                let body = json!({ "plan": plan.key() }).to_string();
                ("POST subscribe", None, with(Request::post("/api/chat/subscribe", body)), Some(plan))
            }
            Act::Portal => ("POST portal", None, with(Request::post("/api/chat/portal", "{}")), None),
            Act::SignOut => ("DELETE session", None, with(Request::delete("/api/chat/session")), None),
            Act::SignOutEverywhere => {
                let request = with(Request::delete("/api/chat/session")).with_body(r#"{"everywhere":true}"#);
                ("DELETE sessions", None, request, None)
            }
        };
        self.send(person, browser, call, exchange, request, None, buys);
    }

    /// Opens other tabs beside an erasure.
    fn beside(&mut self, person: usize, browser: usize) {
        if self.is_calm || !self.beside.chance(500) {
            return;
        }
        for _ in 0..self.beside.between(1, 3) {
            let when = self.now() + self.beside.between(0, 200);
            self.at(when, What::Tab(person, browser));
        }
    }

    /// Asks or reads in another tab.
    pub(super) fn tab(&mut self, person: usize, browser: usize) {
        self.tally.count("beside an erasure");
        let known = self.beside.pick(&self.people[person].exchanges);
        let act = match (self.beside.below(4), known) {
            (0, Some(known)) => Act::AskAgain(known),
            (1, _) => Act::Export,
            _ => Act::Ask,
        };
        self.act(person, browser, act);
    }

    #[allow(clippy::too_many_arguments, reason = "one place sends every request")]
    pub(super) fn send(
        &mut self,
        person: usize,
        browser: usize,
        call: &'static str,
        exchange: Option<u64>,
        request: Request,
        token: Option<(String, bool)>,
        buys: Option<PaidPlan>,
    ) {
        let had = had(&self.functions.world.state(), &self.checker.subscribers[person], &self.people[person].exchanges);
        let cookie = self.people[person].browsers[browser].session.clone();
        let ends = match call {
            "DELETE session" => self.people[person].sessions(browser, false),
            "DELETE sessions" => self.people[person].sessions(browser, true),
            _ => Vec::new(),
        };
        let asked = Asked { person, call, exchange, began: self.timestamp(), had, cookie, ends };
        let functions = self.functions;
        self.begin(Work::Request { asked, browser, token, buys }, async move {
            Outcome::Replied(functions.chat(request).await)
        });
    }

    /// Checks a reply, and stores its cookies in the browser.
    pub(super) fn replied(
        &mut self,
        asked: &Asked,
        browser: usize,
        token: Option<(String, bool)>,
        buys: Option<PaidPlan>,
        reply: &Reply,
    ) -> Checked {
        let (status, body) = (reply.status(), reply.body().to_owned());
        self.trace(|| format!("person {} {} {:?} {status} {body}", asked.person, asked.call, asked.exchange));
        self.tally.count(format!("{} {status}", asked.call));
        if status == 202 && body.contains("replies") {
            self.tally.count("beginning");
        }
        let now = self.timestamp();
        self.checker.replied(asked, status, &body, now)?;
        let held = reply.header_value("set-cookie").and_then(|cookie| {
            let (name, rest) = cookie.split_once('=')?;
            Some((name.to_owned(), rest.split(';').next()?.to_owned()))
        });
        if let (Some((token, is_other)), 200) = (&token, status) {
            self.checker.signed_in(token, *is_other)?;
        }
        // Some replies are lost on their way to the customer.
        let is_lost = !self.is_calm && self.random.chance(80);
        let at = &mut self.people[asked.person].browsers[browser];
        match held {
            Some((name, value)) if !is_lost => match name.as_str() {
                "__Host-chat_login" => at.asking = Some(value),
                _ => at.session = (!value.is_empty()).then_some(value),
            },
            _ if status == 401 => at.session = None,
            _ => {}
        }
        // The offer after the free exchanges leads to the payment page too.
        let offered = self.people[asked.person].buys.filter(|plan| status == 402 && *plan == PaidPlan::Chat);
        if let Some(plan) = buys.filter(|_| status == 200).or(offered)
            && body.contains("pay.example")
        {
            self.pay(asked.person, plan);
        }
        self.last = Some((status, body));
        Ok(())
    }
}
