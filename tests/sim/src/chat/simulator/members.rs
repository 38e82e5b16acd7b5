//! What members and operators do on the Bridge.

use super::{Outcome, Simulator, What, Work};
use crate::chat::{
    chaos::{DAYS, MINUTE, SECOND},
    functions::Decision,
    people::{id, text},
    promises::{Checked, Promise},
};
use domain::{
    Timestamp,
    chat::{BridgeState, CURRENT_AGREEMENT, Message},
    ports::MailError,
};
use runtime::http::Request;
use serde_json::json;

/// The numbers of texts on the Bridge. Exchanges have smaller ones.
const FIRST: u64 = 5000;

/// What a member does on the page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Status,
    Accept,
    Post(u64),
    Read,
}

impl Simulator<'_> {
    /// Draws what happens on the Bridges in one burst.
    pub(super) fn bridges(&mut self, at: i64) {
        if !self.has_bridges {
            return;
        }
        for person in 0..self.people.len() {
            for _ in 0..self.beside.between(6, 16) {
                let when = at + self.beside.between(10 * SECOND, 3 * MINUTE);
                self.at(when, What::Bridge(person));
            }
        }
        for _ in 0..self.beside.between(2, 5) {
            let when = at + self.beside.between(20 * SECOND, 6 * MINUTE);
            self.at(when, What::Deadlines);
        }
    }

    /// Draws the next act of a member or of the operators.
    pub(super) fn bridge(&mut self, person: usize) {
        if self.apart.chance(60) {
            self.tally.count("mail refused");
            self.functions.world.state().mailbox_says.push_back(Some(MailError::Rejected));
        }
        let signed_in = self.people[person].browsers.iter().position(|browser| browser.session.is_some());
        let written = self.written(person);
        match (self.beside.below(100), signed_in, written) {
            (0..15, Some(browser), _) => self.member(person, browser, Step::Accept),
            (15..34, ..) => {
                let most = self.beside.pick(&[2 * MINUTE, DAYS, 40 * DAYS]).unwrap_or(DAYS);
                let expires = self.timestamp().as_millis() + most;
                self.operate(person, Decision::Grant(Timestamp::from_millis(expires)));
            }
            (34..54, Some(browser), _) => {
                let number = self.write(person, true);
                self.member(person, browser, Step::Post(number));
            }
            (54..60, Some(browser), Some((number, true))) => self.member(person, browser, Step::Post(number)),
            (60..68, Some(browser), _) => self.member(person, browser, Step::Read),
            (68..72, Some(browser), _) => self.member(person, browser, Step::Status),
            (72..84, ..) => {
                let number = self.write(person, false);
                self.reply(person, number);
            }
            (84..92, _, Some((number, false))) => self.reply(person, number),
            (92..98, ..) => self.operate(person, Decision::Revoke),
            (98.., Some(browser), _) => self.act(person, browser, crate::chat::people::Act::Erase),
            _ => {}
        }
    }

    /// The last text on a person's Bridge, and whether the person wrote it, unless an erasure concerns it.
    fn written(&self, person: usize) -> Option<(u64, bool)> {
        let mut own = self.texts.iter().rev().filter(|(whose, ..)| *whose == person);
        own.next()
            .map(|(_, number, by_member)| (*number, *by_member))
            .filter(|(number, _)| self.checker.threads.again(*number))
    }

    fn write(&mut self, person: usize, by_member: bool) -> u64 {
        let number = FIRST + self.texts.len() as u64;
        self.texts.push((person, number, by_member));
        self.checker.owners.insert(number, person);
        let now = self.timestamp();
        self.checker.threads.wrote(number, person, by_member, now);
        number
    }

    fn member(&mut self, person: usize, browser: usize, step: Step) {
        let cookie = format!(
            "__Host-chat_session={}",
            self.people[person].browsers[browser].session.clone().unwrap_or_default()
        );
        let (call, number, request) = match step {
            Step::Status => ("GET bridge", None, Request::get("/api/chat/bridge")),
            Step::Read => ("GET messages", None, Request::get("/api/chat/bridge/messages")),
            Step::Accept => {
                let body = json!({
                    "version": CURRENT_AGREEMENT.version,
                    "sha256": CURRENT_AGREEMENT.sha256,
                    "name": "A Member",
                    "email": self.people[person].spellings[0],
                });
                ("POST acceptance", None, Request::post("/api/chat/bridge/acceptance", body.to_string()))
            }
            Step::Post(number) => {
                let body = json!({ "id": id(number), "text": text(number) }).to_string();
                ("POST message", Some(number), Request::post("/api/chat/bridge/messages", body))
            }
        };
        self.send(person, browser, call, number, request.with_header("cookie", &cookie), None, None);
    }

    fn reply(&mut self, person: usize, number: u64) {
        if let Ok(message) = Message::parse(&text(number)) {
            self.operate(person, Decision::Reply(message));
        }
    }

    fn operate(&mut self, person: usize, decision: Decision) {
        self.trace(|| format!("operator: {decision:?} for person {person}"));
        let (functions, who) = (self.functions, self.checker.subscribers[person].clone());
        self.begin(Work::Schedule, async move {
            functions.decide(&who, decision).await;
            Outcome::Ran
        });
    }

    /// Ends a person's Bridge without faults: the thread can be read, and no message can be posted after a revocation.
    pub(super) fn leave(&mut self, person: usize) -> Checked {
        if !self.has_bridges {
            return Ok(());
        }
        for step in [Step::Status, Step::Read] {
            self.member(person, 0, step);
            self.until_quiet()?;
            let is_read = self.last.as_ref().is_some_and(|(status, _)| *status == 200);
            Promise::Recovers.require(is_read, || format!("person {person}: {step:?} is answered {:?}", self.last))?;
        }
        self.operate(person, Decision::Revoke);
        self.until_quiet()?;
        let stage = self.checker.threads.stage(person);
        let is_closed = matches!(stage, BridgeState::Offered | BridgeState::Revoked);
        Promise::OnlyGranted
            .require(is_closed, || format!("the Bridge of person {person} is {stage} after a revocation"))?;
        let number = self.write(person, true);
        for _ in 0..2 {
            self.member(person, 0, Step::Post(number));
            self.until_quiet()?;
            self.functions.world.state().now += 61 * MINUTE;
        }
        let is_refused = self.last.as_ref().is_some_and(|(status, _)| *status == 403);
        Promise::OnlyGranted.require(is_refused, || format!("a message after a revocation: {:?}", self.last))?;
        self.deadlines();
        self.until_quiet()
    }
}
