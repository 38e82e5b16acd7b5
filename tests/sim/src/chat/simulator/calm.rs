//! The end of a world: faults have ended, the schedules run, and every person calls again.

use super::{Simulator, What};
use crate::chat::{
    alerted::raised,
    chaos::{MINUTE, SECOND},
    people::{Act, Browser},
    promises::{Broken, Checked, Promise},
    stripe::DAY,
};
use domain::Alert;
use serde_json::Value;
use testkit::Random;

impl Simulator<'_> {
    /// Runs the end without faults: every person signs in, requests all of their exchanges again, and reads their
    /// memory.
    pub(super) fn calm(&mut self) -> Checked {
        let (chaos, mut random) = (self.chaos.clone(), Random::new(self.random.next(), 14));
        self.functions.world.surround(Box::new(move |name, _| chaos.passage(&mut random, name, true)));
        self.functions.world.state().mailbox_says.clear();
        let now = self.now() + 2 * MINUTE;
        self.at(now, What::Reconcile);
        for hours in 0..4 {
            self.at(now + hours * 61 * MINUTE, What::Deadlines);
        }
        self.until_quiet()?;
        self.checker.erasures_ended(&self.functions.world)?;
        for person in 0..self.people.len() {
            self.stay_signed_out(person)?;
            self.come_back(person)?;
            let exchanges = self.people[person].exchanges.clone();
            for exchange in exchanges {
                self.settle(person, exchange)?;
            }
            let export = self.insist(person, Act::Export, &[200])?;
            self.checker.remembered(person, &export.to_string(), &self.others)?;
            self.leave(person)?;
            self.fresh(person)?;
            for days in [0, 11, 31] {
                self.functions.world.state().now += i64::from(days) * i64::try_from(DAY.as_millis()).unwrap_or(0);
                if days > 0 {
                    self.people[person].browsers[0].session = None;
                    self.come_back(person)?;
                }
                let answer = self.insist(person, Act::Me, &[200])?;
                let now = self.timestamp();
                self.checker.access(person, answer["plan"].as_str().unwrap_or_default(), now)?;
            }
        }
        self.count_alerts();
        self.checker.at_rest(&self.functions.world)
    }

    /// Counts the alerts by their operations.
    fn count_alerts(&mut self) {
        let state = self.functions.world.state();
        for operation in raised(&state).filter_map(Alert::parts).map(|parts| parts.operation) {
            self.tally.count(format!("alert {operation}"));
        }
    }

    /// Sends the cookie of each session that the person has ended.
    fn stay_signed_out(&mut self, person: usize) -> Checked {
        for cookie in self.checker.ended(person) {
            self.people[person].browsers[0].session = Some(cookie);
            self.act(person, 0, Act::Me);
            self.until_quiet()?;
            let is_out = self.last.as_ref().is_some_and(|(status, _)| *status == 401);
            Promise::SignIn
                .require(is_out, || format!("an ended session of person {person} is answered {:?}", self.last))?;
        }
        Ok(())
    }

    fn come_back(&mut self, person: usize) -> Checked {
        self.people[person].browsers[0] = Browser::default();
        self.sign_in(person, 0);
        self.until_quiet()?;
        self.sign_in(person, 0);
        self.until_quiet()?;
        let is_in = self.people[person].browsers[0].session.is_some();
        Promise::Recovers.require(is_in, || format!("person {person} cannot sign in: {:?}", self.last))
    }

    /// Repeats one request until it is answered.
    fn insist(&mut self, person: usize, act: Act, expected: &[u16]) -> Result<Value, Broken> {
        for _ in 0..12 {
            self.act(person, 0, act);
            self.until_quiet()?;
            match &self.last {
                Some((status, body)) if expected.contains(status) => {
                    return Ok(serde_json::from_str(body).unwrap_or_default());
                }
                Some((429, _)) => self.functions.world.state().now += 61 * MINUTE,
                _ => self.functions.world.state().now += 40 * SECOND,
            }
        }
        let detail = format!("person {person}: {act:?} is answered {:?}", self.last);
        Err(Broken { promise: Promise::Recovers, detail })
    }

    /// Checks that an exchange has ended: answered, apologised for, erased, or never accepted.
    fn settle(&mut self, person: usize, exchange: u64) -> Checked {
        if self.others.contains(&exchange) {
            self.insist(person, Act::AskAgain(exchange), &[200, 402, 409, 410])?;
            return self.insist(person, Act::Look(exchange), &[200, 404, 410]).map(drop);
        }
        self.insist(person, Act::AskAgain(exchange), &[200, 402, 410]).map(drop)
    }

    /// Sends one more message: it must be answered if the person pays or has a free exchange left.
    fn fresh(&mut self, person: usize) -> Checked {
        // The offers of this hour may be used up.
        self.functions.world.state().now += 61 * MINUTE;
        let answer = self.insist(person, Act::Me, &[200])?;
        let is_free = answer["plan"] == "free";
        let is_left = answer["free_left"].as_u64().unwrap_or(0) > 0;
        self.act(person, 0, Act::Ask);
        self.until_quiet()?;
        let Some(exchange) = self.people[person].exchanges.last().copied() else { return Ok(()) };
        if is_free && !is_left {
            // A link to Stripe: to the payment page, or to the portal where an overdue invoice is paid.
            let leads = |body: &str| body.contains("pay.example") || body.contains("portal.example");
            let is_offer = self.last.as_ref().is_some_and(|(status, body)| *status == 402 && leads(body));
            return Promise::ThreeFree.require(is_offer, || format!("a fourth is not an offer: {:?}", self.last));
        }
        self.insist(person, Act::AskAgain(exchange), &[200]).map(drop)
    }
}
