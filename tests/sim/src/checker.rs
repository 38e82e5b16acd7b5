//! Checks the rules at every step: after each effect, on what it changed.

mod follow_ups;
mod outages;
mod saved;

use crate::{
    breaker_policy,
    cast::{Customer, HELD_TERM, REPLACED_TERM},
    faults::SECOND,
    rules::{Rule, Violation},
};
use domain::{
    CachedVerdict, Sale, SessionId, Timestamp,
    breaker::Breaker,
    inbox::INQUIRIES,
    mail::{Letter, Mail},
    message::{Message, OrderedBy},
    money::Money,
    retry::RetryTable,
    sale::Fulfilment,
    texts,
};
use runtime::http::Reply;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use testkit::{Fault, world::Crossing, world::State};

pub(crate) type Checked = Result<(), Violation>;

/// What is known of an invocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation {
    /// Who makes claims in it: the queue message, if there is one.
    pub(crate) owner: Option<String>,
    /// How often it asked the model.
    pub(crate) asked: u32,
    /// Whether it has a reply that must not be asked for again.
    pub(crate) answered: bool,
    /// When it began.
    pub(crate) began: i64,
    /// Whether it saw that the first model's breaker is open.
    pub(crate) refused_by_breaker: bool,
    /// Whether it could not read the sale with its verdict.
    pub(crate) has_no_table: bool,
    /// Whether anything else than the table failed in it.
    pub(crate) has_other_faults: bool,
}

/// The first of the models that the simulated deployment asks.
const FIRST_MODEL: &str = "model-a";

/// What was seen of a sale so far.
#[derive(Default)]
struct Seen {
    sale: Option<Sale>,
    archived: Option<CachedVerdict>,
    archived_since: Option<i64>,
    /// The first verdict that was cached.
    first: Option<CachedVerdict>,
    /// Whether the model or the mailbox refused for good.
    model_refused: bool,
    mail_refused: bool,
    /// Whether a refund was ever authorised, and when the money was first known to be gone.
    authorised: bool,
    gone_since: Option<i64>,
    /// When the sale was erased.
    erased_since: Option<i64>,
    /// How often operators count as reminded.
    reminders: usize,
    /// How many records tell of a silent drop.
    drops: usize,
    /// Number and hash of the last record in the log.
    published: u64,
    tip: String,
}

impl Seen {
    /// Notes what may be the cause of an end before a human.
    fn note(&mut self, name: &str, fault: Fault) {
        self.model_refused |= fault == Fault::Refuse(400) && name == "model.ask";
        self.mail_refused |= matches!(fault, Fault::Refuse(400 | 401 | 403)) && name.starts_with("mailbox.");
    }
}

/// The rules' memory of a world.
pub(crate) struct Checker {
    seen: BTreeMap<SessionId, Seen>,
    /// Whether every invocation's clock is right, so that leases mean what they say.
    clocks_are_right: bool,
    /// When a sale whose model call failed is tried again.
    retries: RetryTable,
    alerts_read: usize,
}

/// Whether a text is free of what customers must not read.
pub(crate) fn is_clean(text: &str) -> bool {
    !text.contains(HELD_TERM) && !text.contains(REPLACED_TERM)
}

/// Which letter a mail is.
fn kind(subject: &str) -> Option<Letter> {
    let kinds = [
        (texts::VERDICT_MAIL_SUBJECT, Letter::Verdict),
        (texts::SILENT_DROP_SUBJECT, Letter::SilentDrop),
        (texts::DIVERGENCE_SUBJECT, Letter::Divergence),
        (texts::REFUND_SUBJECT, Letter::Refund),
        (texts::DECLINED_SUBJECT, Letter::Refund),
    ];
    kinds.into_iter().find(|(known, _)| *known == subject).map(|(_, letter)| letter)
}

/// Whether this owner has the claim on one of the mails.
fn delivers(sale: &Sale, by: &str) -> bool {
    let owned = |letter| matches!(sale.letter(letter), Mail::Sending { owner, .. } if owner == by);
    Letter::ALL.into_iter().any(owned)
}

impl Checker {
    pub(crate) fn new(clocks_are_right: bool, retries: RetryTable) -> Self {
        Self { seen: BTreeMap::new(), clocks_are_right, retries, alerts_read: 0 }
    }

    /// An effect was begun for this customer's sale.
    pub(crate) fn crossed(
        &mut self,
        state: &State,
        customer: &Customer,
        invocation: &mut Invocation,
        crossing: Crossing,
    ) -> Checked {
        if let (Some(fault), Some(session)) = (crossing.fault, customer.session.as_ref()) {
            self.seen.entry(session.clone()).or_default().note(crossing.name, fault);
        }
        if crossing.name == "breaker.load" {
            Self::read_breaker(state, invocation, crossing.fault);
        }
        let is_of_table = crossing.name.starts_with("store.");
        invocation.has_no_table |= crossing.name == "store.load_with_verdict" && crossing.fault.is_some();
        invocation.has_other_faults |= !is_of_table && crossing.fault.is_some();
        // A model that is not known was not asked: it costs no attempt (infra/decisions/models.md).
        invocation.asked += u32::from(crossing.name == "model.ask" && crossing.fault != Some(Fault::Refuse(404)));
        let done = matches!(crossing.fault, None | Some(Fault::LoseReply | Fault::CrashAfter));
        let Some(session) = customer.session.as_ref().filter(|_| done) else { return Ok(()) };
        match crossing.name {
            "store.save" => self.saved(state, customer, session),
            "ledger.refund" => self.refunded(state, customer, session),
            "mailbox.send_draft" | "mailbox.hand_over" => self.sent(state, customer, session, invocation),
            "mailbox.create_draft" => {
                let sale = state.sales.get(session).map(|(sale, _)| sale);
                Rule::PaidOnly.require(customer.paid_at.is_some(), || "a draft for an unpaid session".to_owned())?;
                let owned = |sale: &Sale| invocation.owner.as_ref().is_some_and(|owner| delivers(sale, owner));
                let claimed = !self.clocks_are_right || sale.is_some_and(owned);
                Rule::Claims.require(claimed, || "a draft was made without a claim".to_owned())
            }
            "model.ask" => self.asked(state, customer, session, invocation, crossing.fault.is_some()),
            // An operator's command about a follow-up may record a decision about the sale that includes it.
            "log.publish" if session.is_followup() => self.changed(state, customer, crossing),
            "log.publish" => self.published(state, session),
            "archive.keep" => self.archived(state, customer, session),
            "alerts.raise" => self.alerted(state),
            _ => Ok(()),
        }
    }

    /// An effect of an invocation that is about every sale: whatever it changed.
    pub(crate) fn crossed_by_all(&mut self, state: &State, customers: &[Customer], crossing: Crossing) -> Checked {
        if !matches!(crossing.fault, None | Some(Fault::LoseReply | Fault::CrashAfter)) {
            return Ok(());
        }
        for customer in customers {
            self.changed(state, customer, crossing)?;
        }
        self.alerted(state)
    }

    /// What an effect of an invocation changed about one sale, although the invocation is not that sale's.
    pub(crate) fn changed(&mut self, state: &State, customer: &Customer, crossing: Crossing) -> Checked {
        if !matches!(crossing.fault, None | Some(Fault::LoseReply | Fault::CrashAfter)) {
            return Ok(());
        }
        let saved = customer.session.as_ref().and_then(|session| Some((session, &state.sales.get(session)?.0)));
        let Some((session, sale)) = saved else { return Ok(()) };
        match crossing.name {
            "log.publish" if sale.audit().is_none() => Ok(()),
            "store.save" => self.saved(state, customer, session),
            "ledger.refund" => self.refunded(state, customer, session),
            "log.publish" => self.published(state, session),
            _ => Ok(()),
        }
    }

    /// A worker that reads an open breaker must not ask the model. Where the breaker cannot be read, calls go on.
    fn read_breaker(state: &State, invocation: &mut Invocation, fault: Option<Fault>) {
        let now = Timestamp::from_millis(state.now);
        let open = |breaker: &Breaker| breaker.refuses_until(now, &breaker_policy()).is_some();
        let is_open = state.breakers.get(FIRST_MODEL).is_some_and(|(breaker, _)| open(breaker));
        invocation.refused_by_breaker = fault.is_none() && invocation.asked == 0 && is_open;
    }

    /// Stripe was asked for a refund.
    fn refunded(&self, state: &State, customer: &Customer, session: &SessionId) -> Checked {
        let payment = customer.payment_id();
        let times =
            payment.map_or(0, |payment| state.refunds_of(&payment).filter(|made| !made.status.is_void()).count());
        Rule::Money.require(times <= 1, || "the money went back twice".to_owned())?;
        let authorised = self.seen.get(&session.paid_session()).is_some_and(|seen| seen.authorised);
        Rule::Money.require(times == 0 || authorised, || "money went back without an authority".to_owned())
    }

    fn asked(
        &self,
        state: &State,
        customer: &Customer,
        session: &SessionId,
        invocation: &mut Invocation,
        faulty: bool,
    ) -> Checked {
        Rule::PaidOnly.require(customer.paid_at.is_some(), || "the model is asked for an unpaid session".to_owned())?;
        Rule::Authority.require(customer.is_sold, || "the model is asked what must not be answered".to_owned())?;
        let gone_since = self.seen.get(session).and_then(|seen| seen.gone_since);
        let late = gone_since.is_some_and(|since| since < invocation.began) && self.clocks_are_right;
        Rule::Money.require(!late, || "the model is asked after the money had gone back".to_owned())?;
        self.not_forgotten(session, invocation, "the model is asked")?;
        let calls = invocation.asked;
        Rule::Model.require(calls <= 3, || format!("call {calls} in one invocation"))?;
        Rule::Model.require(!invocation.answered, || "asked again after a reply that is final".to_owned())?;
        invocation.answered = customer.answer.is_final() && !faulty;
        // The next model of the list serves while the first one's circuit is open.
        let is_first = state.prompts.last().is_some_and(|(model, _)| model == FIRST_MODEL);
        let refused = is_first && invocation.refused_by_breaker && self.clocks_are_right;
        Rule::Model.require(!refused, || "the model is asked although its circuit is open".to_owned())?;
        // A sale that was erased after the worker began has no claim any more; `not_forgotten` checks the order.
        let owned = |(sale, _): &(Sale, u64)| {
            sale.is_erased() || invocation.owner.as_ref().is_some_and(|owner| sale.generates(owner))
        };
        let claimed = !self.clocks_are_right || state.sales.get(session).is_some_and(owned);
        Rule::Claims.require(claimed, || "the model is asked without a claim".to_owned())
    }

    /// An invocation that begins after the erasure of a sale does nothing about it.
    fn not_forgotten(&self, session: &SessionId, invocation: &Invocation, what: &str) -> Checked {
        let erased_since = self.seen.get(session).and_then(|seen| seen.erased_since);
        let late = erased_since.is_some_and(|since| since < invocation.began);
        Rule::Forgotten.require(!late, || format!("{what} after the sale was erased"))
    }

    /// A draft went out.
    fn sent(&self, state: &State, customer: &Customer, session: &SessionId, invocation: &Invocation) -> Checked {
        let Some((draft, letter)) = state.sent.iter().rev().find(|(_, letter)| letter.session == *session) else {
            return Ok(());
        };
        let Some(kind) = kind(&letter.subject) else { return Err(Rule::OneMail.broken("a mail that is no letter")) };
        let same = state.sent.iter().filter(|(_, it)| it.session == *session && it.subject == letter.subject);
        Rule::OneMail.require(same.count() <= 1, || format!("a second {} mail went out", kind.as_str()))?;
        let gone_since = self.seen.get(session).and_then(|seen| seen.gone_since);
        let late =
            kind != Letter::Refund && self.clocks_are_right && gone_since.is_some_and(|since| since < invocation.began);
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
            // Its worker had begun before: the sale forgets drafts as everything else.
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
                let is_right = sale.declined().is_some() == (letter.subject == texts::DECLINED_SUBJECT);
                Rule::Authority.require(is_right, || "a refund letter for another reason".to_owned())?;
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

    fn archived(&mut self, state: &State, customer: &Customer, session: &SessionId) -> Checked {
        let seen = self.seen.entry(session.clone()).or_default();
        let now = state.archive.get(session);
        if let Some(before) = &seen.archived {
            let same = now == Some(before) || customer.mishap.is_some();
            return Rule::FirstVerdict.require(same, || "the archived verdict was replaced".to_owned());
        }
        seen.archived = now.cloned();
        seen.archived_since = Some(state.now);
        Ok(())
    }

    /// The newest record of a stream follows from the one before it.
    fn published(&mut self, state: &State, session: &SessionId) -> Checked {
        let seen = self.seen.entry(session.clone()).or_default();
        let Some(head) = state.sales.get(session).and_then(|(sale, _)| sale.audit()) else {
            return Err(Rule::Recorded.broken("a record of a sale that was not saved"));
        };
        let key = |number: u64| audit::chain::key(&head.opened, &format!("session/{}", session.as_str()), number);
        while let Some(line) = state.log.get(&key(seen.published + 1)) {
            if seen.published == 0 {
                seen.tip = audit::digest::sha256(b"");
            }
            let follows = line.contains(&format!("\"prev\":\"{}\"", seen.tip));
            Rule::Chain.require(follows, || format!("record {} does not follow", seen.published + 1))?;
            Rule::Private.require(!line.contains('@') && !line.contains("shop number"), || {
                "customer text in the log".to_owned()
            })?;
            seen.tip = audit::digest::sha256(line.as_bytes());
            seen.published += 1;
        }
        let (published, count) = (seen.published, head.count);
        Rule::Recorded.require(published <= count, || format!("{published} records published, {count} saved"))
    }

    fn alerted(&mut self, state: &State) -> Checked {
        let new = state.alerts.get(self.alerts_read..).unwrap_or_default();
        self.alerts_read = state.alerts.len();
        let private = |line: &str| !line.contains('@') && !line.contains("shop number");
        Rule::Private.require(new.iter().all(|alert| private(&alert.line)), || "customer text in an alert".to_owned())
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
        // What is on record as ordered is asked about until Stripe says what it is.
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
        let tells_of_refund = sale.is_some_and(|sale| sale.is_to_send(Letter::Refund));
        // An operator may erase the sale between another one's decision and its message.
        let is_erased = sale.is_some_and(Sale::is_erased);
        let early = right.starts_with("email") && !can_be_read && !regenerates && !tells_of_refund && !is_erased;
        Rule::CacheBeforeMail.require(!early, || "a mail is ordered before there is a verdict".to_owned())
    }

    /// A page was answered.
    pub(crate) fn page(&self, state: &State, customer: &Customer, invocation: &Invocation, reply: &Reply) -> Checked {
        let asked_at = invocation.began;
        self.served_from_archive(customer, invocation, reply)?;
        let sale = customer.session.as_ref().and_then(|session| state.sales.get(session)).map(|(sale, _)| sale);
        Rule::NothingBlocked.require(is_clean(reply.body()), || "a page shows a blocked term".to_owned())?;
        if let Some(Fulfilment::Erased { at, .. }) = sale.map(Sale::fulfilment) {
            let known = at.as_millis() < asked_at;
            let says_so = matches!(reply.status(), 410 | 503);
            Rule::Forgotten.require(says_so || !known, || format!("an erased page answers {}", reply.status()))?;
        }
        let paid = customer.paid_at.is_some();
        match reply.status() {
            200 => {
                Rule::PaidOnly.require(paid, || "an unpaid session is shown a verdict".to_owned())?;
                let held = (!customer.answer.is_sold() || customer.unusable) && !customer.operated;
                Rule::Page.require(!held, || "a page shows what should not exist".to_owned())?;
                let body: Value = serde_json::from_str(reply.body()).unwrap_or_default();
                let withheld = body["query_withheld"] == true;
                let own = withheld || body["query"] == customer.question.as_str();
                Rule::Page.require(own, || "a page shows another sale's question".to_owned())?;
                Rule::Page.require(body["tier"] == customer.tier.key(), || "another tier".to_owned())
            }
            402 => {
                // What Stripe said a moment before the payment is remembered for five seconds of the process's clock.
                let was_paid = customer.paid_at.is_some_and(|at| at + 5 * SECOND < asked_at);
                Rule::Page
                    .require(!was_paid || !self.clocks_are_right, || "a page calls a paid session unpaid".to_owned())
            }
            500 => {
                let ended = sale.is_some_and(|sale| {
                    matches!(
                        sale.fulfilment(),
                        Fulfilment::Failed { .. } | Fulfilment::Unusable { .. } | Fulfilment::Erased { .. }
                    ) || *sale.money() != Money::Kept
                });
                Rule::Page.require(ended, || "a page reports a failure of a sale that has not failed".to_owned())
            }
            422 => {
                let declined = sale.is_some_and(|sale| sale.declined().is_some());
                Rule::Authority.require(declined && !customer.is_sold, || "a page declines what is sold".to_owned())
            }
            // An operator's decision may have come while the page was being answered.
            202 | 404 | 503 => Ok(()),
            410 => {
                let erased = sale.is_some_and(Sale::is_erased);
                Rule::Forgotten.require(erased, || "a page says that it was erased".to_owned())
            }
            other => Err(Rule::Page.broken(format!("a page answers {other}"))),
        }
    }

    /// The whole log of a world that has come to rest.
    pub(crate) fn at_rest(&self, state: &State) -> Checked {
        let mut keys = BTreeSet::new();
        for (session, (sale, _)) in &state.sales {
            let left = if sale.is_erased() { state.traces(session, "") } else { Vec::new() };
            Rule::Forgotten.require(left.is_empty(), || format!("erased, and still in: {}", left.join(", ")))?;
            let reminders = self.seen.get(session).map_or(0, |seen| seen.reminders);
            let reminds = |line: &str| line.starts_with("[ORACLE-DEADLINES]") && line.contains(session.reference());
            // An alert that is saved with its sale is raised by the next worker.
            let alerts = state.alerts.iter().chain(&state.logged_alerts).chain(sale.alerts());
            let alerts = alerts.filter(|alert| reminds(&alert.line)).count();
            Rule::HumanAlerted.require(alerts >= reminders, || format!("{reminders} reminders, {alerts} alerts"))?;
            for letter in Letter::ALL {
                let Mail::Dead { .. } = sale.letter(letter) else { continue };
                let prefix = format!("{}/{}-", session.as_str(), letter.as_str());
                let kept = state.dead_letters.keys().any(|key| key.starts_with(&prefix));
                let is_alerted =
                    state.alerts.iter().chain(&state.logged_alerts).any(|it| it.line.contains("DEAD_LETTER"));
                let broken = || format!("the dead {} letter of {} was not kept", letter.as_str(), session.as_str());
                Rule::Reviewable.require(kept || is_alerted, broken)?;
            }
            let Some(head) = &sale.audit() else { continue };
            let mut previous = audit::digest::sha256(b"");
            let waiting: BTreeMap<&str, &str> =
                sale.outbox().iter().map(|entry| (entry.key.as_str(), entry.line.as_str())).collect();
            for number in 1..=head.count {
                let key = audit::chain::key(&head.opened, &format!("session/{}", session.as_str()), number);
                let line = state.log.get(&key).map(String::as_str).or_else(|| waiting.get(key.as_str()).copied());
                let Some(line) = line else {
                    return Err(Rule::Recorded.broken(format!("record {number} of {} is lost", head.count)));
                };
                Rule::Chain.require(line.contains(&format!("\"prev\":\"{previous}\"")), || {
                    format!("the chain is broken at {number}")
                })?;
                previous = audit::digest::sha256(line.as_bytes());
                keys.insert(key);
            }
            Rule::Chain.require(previous == head.hash, || "the head is not the last record".to_owned())?;
        }
        // Evaluations before payment, and messages in the inbox, belong to no sale: these functions have streams of their own.
        let streams: Vec<_> = checkout::STREAMS.into_iter().chain([inbox_watch::FUNCTION, INQUIRIES]).collect();
        let of_function = |key: &str| streams.iter().any(|name| key.contains(&format!("/function/{name}/")));
        let strays = state.log.keys().filter(|key| !keys.contains(*key) && !of_function(key)).count();
        Rule::Recorded.require(strays == 0, || format!("{strays} records without their change"))
    }
}
