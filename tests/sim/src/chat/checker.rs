//! Checks every reply, every prompt, and the stores at the end.

use super::{
    people::{id, word},
    promises::{Checked, Promise},
    stripe::{MONTH, Period},
    threads::Threads,
};
use domain::{
    Timestamp,
    audit_trail::Audited,
    chat::{BillingReport, FREE_EXCHANGES, SubscriberId},
};
use memory::{
    Digest, Handle,
    log::{self, Record},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use testkit::{World, world::State};

/// The maximum time that access continues after a paid period (Product Tiers, GAP-2).
const GRACE: Duration = Duration::from_secs(7 * 24 * 3600);

/// The context of a request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) person: usize,
    /// The method and path, without ids.
    pub(super) call: &'static str,
    pub(super) exchange: Option<u64>,
    pub(super) began: Timestamp,
    /// The exchanges in the person's account or memory when the request began.
    pub(super) had: Vec<u64>,
}

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
    left: Vec<Left>,
    tokens: BTreeSet<String>,
}

impl Checker {
    pub(super) fn new(subscribers: Vec<SubscriberId>) -> Self {
        let left = vec![Left::default(); subscribers.len()];
        Self {
            owners: BTreeMap::new(),
            threads: Threads::new(&subscribers),
            subscribers,
            periods: Vec::new(),
            known: BTreeSet::new(),
            listed: BTreeSet::new(),
            wished: BTreeSet::new(),
            left,
            tokens: BTreeSet::new(),
        }
    }

    /// Checks a prompt that the model received for this request.
    pub(super) fn prompted(&self, asked: &Asked, prompt: &str) -> Checked {
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

    /// Checks that erasures end by the schedule alone: no request has arrived since the faults ended.
    pub(super) fn erasures_ended(&self, world: &World) -> Checked {
        let state = world.state();
        let open = state.accounts.values().filter(|(account, _)| account.is_erasing()).count();
        Promise::Erased.require(open == 0, || format!("{open} erasures do not end by themselves"))
    }

    /// Checks a sign-in by a link.
    pub(super) fn signed_in(&mut self, token: &str, is_other_browser: bool) -> Checked {
        Promise::SignIn.require(!is_other_browser, || "a link signed another browser in".to_owned())?;
        let is_new = self.tokens.insert(token.to_owned());
        Promise::SignIn.require(is_new, || "a link signed in twice".to_owned())
    }

    /// A period that is paid, processed, and not refunded or disputed from `from` to `until`.
    pub(super) fn owed(&self, person: usize, from: Timestamp, until: Timestamp) -> Option<&Period> {
        let mut own = self.periods.iter().filter(|(whose, _)| *whose == person).map(|(_, period)| period);
        own.find(|period| {
            let is_known = self.known.contains(period.invoice.as_str());
            is_known && period.from <= from && until < period.until && period.was_always_kept(until)
        })
    }

    /// Notes a complete comparison that began then. It finds every invoice that was paid in the month before, however old
    /// the invoice is.
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

    /// Checks the stores after the faults have ended and every person has called again.
    pub(super) fn at_rest(&self, world: &World) -> Checked {
        let state = world.state();
        let records: Vec<Value> = state.log.values().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for (person, subscriber) in self.subscribers.iter().enumerate() {
            let Some((account, _)) = state.accounts.get(subscriber) else { continue };
            let own = |status: &'static str| {
                let own = records.iter().filter(|record| record["session_id"] == account.stream());
                own.filter(move |record| record["event"] == "chat" && record["status"] == status)
            };
            let mut answered = BTreeMap::<u64, u32>::new();
            for record in own("ANSWERED") {
                *answered.entry(number(&record["details"]["exchange"])).or_default() += 1;
            }
            let twice = answered.iter().any(|(exchange, times)| *times > 1 && !self.wished.contains(exchange));
            Promise::Recorded.require(!twice, || format!("person {person} has two records of one reply"))?;
            let free = own("ANSWERED").filter(|record| record["details"]["plan"] == "free").count();
            let used = FREE_EXCHANGES - account.free_left();
            Promise::ThreeFree
                .require(free <= FREE_EXCHANGES as usize, || format!("person {person} got {free} free"))?;
            let text = || format!("person {person}: {used} are counted, {free} were answered");
            Promise::NotForNothing.require(free == used as usize, text)?;
            for exchange in self.left[person].replies.keys() {
                Promise::Recorded.require(answered.contains_key(exchange), || format!("{exchange} has no record"))?;
            }
            for exchange in answered.keys().filter(|exchange| !self.wished.contains(*exchange)) {
                let has_reply = self.left[person].replies.contains_key(exchange);
                let text = || format!("exchange {exchange} is counted, and nobody can read its reply");
                Promise::NotForNothing.require(has_reply, text)?;
            }
            Promise::Erased.require(!account.is_erasing(), || format!("an erasure of person {person} has no end"))?;
            let waiting = account.trail().outbox().len();
            Promise::Recorded.require(waiting == 0, || format!("{waiting} records of person {person} wait"))?;
            let unlogged = account.unlogged().count();
            Promise::NotForNothing.require(unlogged == 0, || format!("the memory lacks {unlogged} replies"))?;
            Self::generations(&state, account.memory().as_str())?;
        }
        for (subscriber, (known, _)) in &state.subscribers {
            let waiting = known.trail().outbox().len();
            Promise::Recorded.require(waiting == 0, || format!("{waiting} records of {subscriber:?} wait"))?;
        }
        for (_, subscriber, report) in &state.billing {
            Self::reported(&state, subscriber, report)?;
        }
        let unknown = self.listed.difference(&self.known).next();
        Promise::PaidAccess
            .require(unknown.is_none(), || format!("a comparison did not find the paid invoice {unknown:?}"))?;
        self.threads.at_rest(&state)?;
        self.sealed(&state)
    }

    /// Checks that a report of a subscription is stored, or a later one.
    pub(super) fn reported(state: &State, subscriber: &SubscriberId, report: &BillingReport) -> Checked {
        let BillingReport::Subscription { id, state: reported } = report else { return Ok(()) };
        let known = state.subscribers.get(subscriber).map(|(known, _)| known.billing().subscriptions());
        let stored = known.and_then(|known| known.get(id));
        let is_latest = stored.is_some_and(|stored| stored.status.has_ended() || stored.at >= reported.at);
        Promise::Latest.require(is_latest, || format!("{stored:?} is stored after {reported:?}"))
    }

    /// Checks after every step that no earlier memory of a person has a key.
    pub(super) fn keys(state: &State) -> Checked {
        for current in state.accounts.values().map(|(account, _)| account.memory()) {
            let Some((name, number)) = split(&current) else { continue };
            let is_earlier = |key: &&String| split(key).is_some_and(|(of, earlier)| of == name && earlier < number);
            let kept = state.memory_keys.keys().find(is_earlier);
            Promise::Erased.require(kept.is_none(), || format!("the key of an erased memory is stored: {kept:?}"))?;
        }
        Ok(())
    }

    /// Checks that each earlier memory of a person ends with its erasure.
    fn generations(state: &State, current: &str) -> Checked {
        let Some((name, number)) = split(current) else { return Ok(()) };
        for earlier in 0..number {
            let name = format!("{name}-{earlier}");
            let stored = state.memory_logs.get(&name).map_or(&[][..], Vec::as_slice);
            let records: Vec<Record> = stored
                .iter()
                .map(|record| Record {
                    seq: record.seq,
                    prev: Digest::from_bytes(record.prev),
                    hash: Digest::from_bytes(record.hash),
                    body: record.body.clone(),
                })
                .collect();
            let is_whole = Handle::parse(&name).is_ok_and(|campaign| log::verify(&campaign, &records).is_ok());
            let text = || format!("the log of memory {earlier} does not end with its erasure");
            Promise::Erased.require(is_whole && log::erasure_of(&records).is_some(), text)?;
        }
        Ok(())
    }

    fn sealed(&self, state: &State) -> Checked {
        let bodies: Vec<_> =
            state.memory_logs.values().flatten().map(|record| String::from_utf8_lossy(&record.body)).collect();
        let bridges: Vec<_> = state.bridges.values().map(|(bridge, _)| bridge).collect();
        let accounts: Vec<_> = state.accounts.values().map(|(account, _)| account).collect();
        let stored = format!(
            "{} {} {:?} {:?} {:?} {:?} {:?} {bodies:?}",
            serde_json::to_string(&accounts).unwrap_or_default(),
            serde_json::to_string(&bridges).unwrap_or_default(),
            state.beginnings.values(),
            state.logins,
            state.chat_sessions,
            state.log,
            state.alerts,
        );
        let words = self.owners.keys().find(|exchange| stored.contains(&word(**exchange)));
        Promise::Sealed.require(words.is_none(), || format!("a store has the words of exchange {words:?}"))?;
        Promise::Sealed.require(!stored.contains("gmail"), || "a store has an address".to_owned())
    }
}

/// A memory's name without its number, and its number.
fn split(memory: &str) -> Option<(&str, u32)> {
    let (name, number) = memory.rsplit_once('-')?;
    Some((name, number.parse().ok()?))
}

/// The number of an exchange's id.
pub(super) fn number(found: &Value) -> u64 {
    let last = found.as_str().and_then(|text| text.rsplit('-').next());
    last.and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

/// The numbers of the exchanges in an account.
pub(super) fn had(state: &State, subscriber: &SubscriberId, among: &[u64]) -> Vec<u64> {
    let Some((account, _)) = state.accounts.get(subscriber) else { return Vec::new() };
    let known = |exchange: &&u64| {
        domain::chat::ExchangeId::parse(id(**exchange)).is_ok_and(|id| account.exchange(&id).is_some())
    };
    among.iter().filter(known).copied().collect()
}
