//! Checks every reply and every prompt.

mod stores;

use super::{
    alerted::Alerted,
    asked::Asked,
    people::{id, word},
    promises::{Checked, Promise},
    stripe::{MONTH, Period},
    threads::Threads,
};
use domain::{Timestamp, chat::SubscriberId};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use testkit::world::State;

/// The maximum time that access continues after a paid period (Product Tiers, GAP-2).
const GRACE: Duration = Duration::from_secs(7 * 24 * 3600);

/// The replies that one person received.
#[derive(Clone, Debug, Default)]
struct Left {
    replies: BTreeMap<u64, BTreeSet<String>>,
    /// The time of the reply to each exchange's erasure: requests that begin later must not show the exchange.
    erased: BTreeMap<u64, Timestamp>,
}

/// The checker's knowledge of a world besides its stores.
#[derive(Debug)]
pub(super) struct Checker {
    /// The owner of each exchange.
    pub(super) owners: BTreeMap<u64, usize>,
    pub(super) subscribers: Vec<SubscriberId>,
    /// The paid periods, by person, and the invoices that payment-events has processed.
    pub(super) periods: Vec<(usize, Period)>,
    pub(super) known: BTreeSet<String>,
    /// The invoices that a comparison with Stripe has to find.
    listed: BTreeSet<String>,
    /// Exchanges whose owners have requested erasure, whether or not the request was answered.
    pub(super) wished: BTreeSet<u64>,
    pub(super) threads: Threads,
    pub(super) alerted: Alerted,
    left: Vec<Left>,
    tokens: BTreeSet<String>,
    /// The cookies of sessions that a sign-out has ended: whose they were, and the time of its reply.
    ended: BTreeMap<String, (usize, Timestamp)>,
    /// The tasks that asked the model, by exchange: the authority gate has let the message of each through.
    evaluated: BTreeMap<u64, BTreeSet<u64>>,
}

impl Checker {
    pub(super) fn new(subscribers: Vec<SubscriberId>) -> Self {
        let left = vec![Left::default(); subscribers.len()];
        Self {
            owners: BTreeMap::new(),
            threads: Threads::new(&subscribers),
            alerted: Alerted::default(),
            subscribers,
            periods: Vec::new(),
            known: BTreeSet::new(),
            listed: BTreeSet::new(),
            wished: BTreeSet::new(),
            left,
            tokens: BTreeSet::new(),
            ended: BTreeMap::new(),
            evaluated: BTreeMap::new(),
        }
    }

    /// Checks a prompt that the model received for this request, whose task has this id.
    pub(super) fn prompted(&mut self, task: u64, asked: &Asked, prompt: &str) -> Checked {
        if let Some(exchange) = asked.exchange {
            self.evaluated.entry(exchange).or_default().insert(task);
        }
        for (exchange, owner) in &self.owners {
            if !prompt.contains(&word(*exchange)) {
                continue;
            }
            Promise::Own.require(*owner == asked.person, || {
                format!("a prompt of person {} has exchange {exchange} of person {owner}", asked.person)
            })?;
            // The message of this request does not come from the memory.
            let is_own = asked.exchange == Some(*exchange);
            let erased = self.left[*owner].erased.get(exchange);
            Promise::Erased.require(is_own || erased.is_none_or(|at| asked.began < *at), || {
                format!("a prompt has the erased exchange {exchange}")
            })?;
        }
        Ok(())
    }

    /// Checks a reply.
    pub(super) fn replied(&mut self, asked: &Asked, status: u16, body: &str, now: Timestamp) -> Checked {
        let answer: Value = serde_json::from_str(body).unwrap_or_default();
        Promise::Filtered.require(!body.contains("CSDM"), || format!("a blocked term is delivered: {body}"))?;
        self.signed_out(asked, status, now)?;
        self.threads.replied(asked, status, body, now)?;
        match (asked.call, status) {
            ("GET exchange", 202) => self.begun(asked, &answer["replies"].to_string()),
            ("POST exchange" | "POST other" | "GET exchange", 200) => self.exchanged(asked, &answer, now),
            ("POST exchange" | "POST other", 402) => {
                let owed = self.owed(asked.person, asked.began, now);
                Promise::PaidAccess.require(owed.is_none(), || {
                    format!("person {} has paid and is asked to pay: {owed:?}", asked.person)
                })
            }
            ("POST declined", _) => {
                let has_help = answer["resources"].as_array().is_some_and(|resources| !resources.is_empty());
                Promise::Help.require(status == 401 || (status == 422 && has_help), || {
                    format!("a disclosure of person {} is answered {status}: {body}", asked.person)
                })
            }
            ("GET memory", 200) => self.exported(asked, body),
            ("DELETE memory", 202) => {
                let left = &mut self.left[asked.person];
                for exchange in left.replies.keys().chain(&asked.had) {
                    left.erased.entry(*exchange).or_insert(now);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn exchanged(&mut self, asked: &Asked, answer: &Value, now: Timestamp) -> Checked {
        let Some(exchange) = asked.exchange else { return Ok(()) };
        let owner = self.owners.get(&exchange).copied();
        Promise::Own.require(owner == Some(asked.person), || {
            format!("person {} reads exchange {exchange} of {owner:?}", asked.person)
        })?;
        if answer.get("free_left").is_none() {
            let may = self.may_have_access(asked.person, now) || self.threads.was_open(asked.person, asked.began);
            Promise::PaidAccess.require(may, || format!("person {} has access without a payment", asked.person))?;
        }
        let was_wished = self.wished.contains(&exchange);
        let left = &mut self.left[asked.person];
        if was_wished && !asked.had.contains(&exchange) {
            // The account no longer has the id: a new message under it is a different exchange.
            left.replies.remove(&exchange);
            left.erased.remove(&exchange);
        }
        if answer["apology"] == true {
            let answered = left.replies.contains_key(&exchange);
            return Promise::OneReply
                .require(!answered, || format!("exchange {exchange} was answered, and is apologised for"));
        }
        let erased = left.erased.get(&exchange).is_some_and(|at| asked.began >= *at);
        Promise::Erased.require(!erased, || format!("exchange {exchange} was erased and is answered"))?;
        let replies = left.replies.entry(exchange).or_default();
        replies.insert(answer["replies"].to_string());
        let many = replies.len();
        Promise::OneReply.require(many == 1, || format!("exchange {exchange} has {many} replies"))
    }

    /// Checks the beginnings of the replies to an exchange in progress.
    fn begun(&self, asked: &Asked, begun: &str) -> Checked {
        for (exchange, owner) in self.owners.iter().filter(|(exchange, _)| begun.contains(&word(**exchange))) {
            let is_own = *owner == asked.person && asked.exchange == Some(*exchange);
            Promise::Own.require(is_own, || format!("person {} reads of exchange {exchange}", asked.person))?;
            let erased = self.left[*owner].erased.get(exchange).is_some_and(|at| asked.began >= *at);
            let is_erased = erased && asked.had.contains(exchange);
            Promise::Erased.require(!is_erased, || format!("exchange {exchange} was erased and its reply is begun"))?;
        }
        Ok(())
    }

    fn exported(&self, asked: &Asked, body: &str) -> Checked {
        for (exchange, owner) in &self.owners {
            if !body.contains(&word(*exchange)) {
                continue;
            }
            Promise::Own.require(*owner == asked.person, || format!("an export has exchange {exchange} of {owner}"))?;
            let erased = self.left[*owner].erased.get(exchange).is_some_and(|at| asked.began >= *at);
            Promise::Erased.require(!erased, || format!("an export has the erased exchange {exchange}"))?;
        }
        Ok(())
    }

    /// Checks the final contents of a person's memory: it must contain each exchange that was answered and not erased.
    pub(super) fn remembered(&self, person: usize, export: &str, besides: &BTreeSet<u64>) -> Checked {
        let answered = self.left[person].replies.keys();
        let mut kept = answered.filter(|exchange| !self.wished.contains(exchange) && !besides.contains(exchange));
        let missing = kept.find(|exchange| !export.contains(&word(**exchange)));
        Promise::NotForNothing.require(missing.is_none(), || format!("the memory lacks exchange {missing:?}"))
    }

    /// Checks a sign-in by a link.
    pub(super) fn signed_in(&mut self, token: &str, is_other_browser: bool) -> Checked {
        Promise::SignIn.require(!is_other_browser, || "a link signed another browser in".to_owned())?;
        let is_new = self.tokens.insert(token.to_owned());
        Promise::SignIn.require(is_new, || "a link signed in twice".to_owned())
    }

    /// Checks that an ended session gives no access, and notes the sessions that a sign-out ends. Who discloses self-harm
    /// gets the sources of help without a session, and a sign-out without one succeeds too.
    fn signed_out(&mut self, asked: &Asked, status: u16, now: Timestamp) -> Checked {
        let ended = asked.cookie.as_ref().and_then(|cookie| self.ended.get(cookie));
        let is_ended = ended.is_some_and(|(_, at)| asked.began >= *at);
        let is_denied = matches!(status, 401 | 429 | 503) || matches!(asked.call, "POST declined" | "DELETE session");
        Promise::SignIn.require(!is_ended || is_denied, || {
            format!("person {} has signed out, and {} is answered {status}", asked.person, asked.call)
        })?;
        if status == 200 {
            for cookie in &asked.ends {
                self.ended.entry(cookie.clone()).or_insert((asked.person, now));
            }
        }
        Ok(())
    }

    /// The cookies of a person's ended sessions.
    pub(super) fn ended(&self, person: usize) -> Vec<String> {
        let own = self.ended.iter().filter(|(_, (whose, _))| *whose == person);
        own.map(|(cookie, _)| cookie.clone()).collect()
    }

    /// A period that is paid, processed, and not refunded or disputed from `from` to `until`.
    pub(super) fn owed(&self, person: usize, from: Timestamp, until: Timestamp) -> Option<&Period> {
        let mut own = self.periods.iter().filter(|(whose, _)| *whose == person).map(|(_, period)| period);
        own.find(|period| {
            let is_known = self.known.contains(period.invoice.as_str());
            is_known && period.from <= from && until < period.until && period.was_always_kept(until)
        })
    }

    /// Notes a complete comparison that began then. It finds every invoice that was paid in the month before, however
    /// old the invoice is.
    pub(super) fn compared(&mut self, began: Timestamp) {
        let paid = self.periods.iter().map(|(_, period)| period);
        let listed = paid.filter(|period| period.from < began && began < period.from.plus(MONTH));
        self.listed.extend(listed.map(|period| period.invoice.as_str().to_owned()));
    }

    /// Whether a payment can justify access at this time.
    fn may_have_access(&self, person: usize, now: Timestamp) -> bool {
        let mut own = self.periods.iter().filter(|(whose, _)| *whose == person);
        own.any(|(_, period)| period.from <= now && now < period.until.plus(GRACE))
    }

    /// Checks the plan in the reply to `me` after all of Stripe's reports have been processed.
    pub(super) fn access(&self, person: usize, plan: &str, now: Timestamp) -> Checked {
        let own = || self.periods.iter().filter(|(whose, _)| *whose == person).map(|(_, period)| period);
        let owed = own().filter(|period| period.from <= now && now < period.until && period.is_kept(now));
        let owed = owed.map(|period| period.plan).max();
        let rank = |plan: &str| ["free", "chat", "pro"].iter().position(|known| *known == plan);
        let at_least = owed.map_or("free", domain::chat::PaidPlan::key);
        Promise::PaidAccess
            .require(rank(plan) >= rank(at_least), || format!("person {person} paid for {at_least} and has {plan}"))?;
        let may = own().any(|period| now < period.until.plus(GRACE) && period.is_kept(now));
        Promise::PaidAccess.require(may || plan == "free", || format!("person {person} has {plan} without a payment"))
    }
}

/// The numbers of the exchanges in an account.
pub(super) fn had(state: &State, subscriber: &SubscriberId, among: &[u64]) -> Vec<u64> {
    let Some((account, _)) = state.accounts.get(subscriber) else { return Vec::new() };
    let known = |exchange: &&u64| {
        domain::chat::ExchangeId::parse(id(**exchange)).is_ok_and(|id| account.exchange(&id).is_some())
    };
    among.iter().filter(known).copied().collect()
}
