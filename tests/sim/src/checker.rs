//! Checks the rules at every step: after each effect, on what it changed.

mod follow_ups;
mod messages;
mod pages;
mod records;
mod saved;

use crate::{
    answer::{HELD_TERM, REPLACED_TERM},
    breaker_policy,
    cast::Customer,
    faults::HOUR,
    rules::{Rule, Violation},
};
use domain::{
    CachedVerdict, Sale, SessionId, Timestamp,
    breaker::Breaker,
    mail::{Letter, Mail},
    retry::RetryTable,
};
use std::collections::{BTreeMap, BTreeSet};
use testkit::{Fault, world::Crossing, world::State};

pub(crate) type Checked = Result<(), Violation>;

/// The checker's knowledge of an invocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation {
    /// The owner of its claims: the queue message, if there is one.
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
    /// Whether any port but the table failed in it.
    pub(crate) has_other_faults: bool,
}

/// The first of the models that the simulated deployment asks.
const FIRST_MODEL: &str = "model-a";

/// The checker's knowledge of a sale.
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
    /// Who has approved the question since the authority gate declined it, and since when people have allowed an answer.
    approvers: BTreeSet<String>,
    allowed_since: Option<i64>,
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
    /// Records a fault that justifies putting the sale on a human's list.
    fn record_fault(&mut self, name: &str, fault: Fault) {
        self.model_refused |= fault == Fault::Refuse(400) && name == "model.ask";
        self.mail_refused |= matches!(fault, Fault::Refuse(400 | 401 | 403)) && name.starts_with("mailbox.");
    }
}

/// The rules' memory of a world.
pub(crate) struct Checker {
    seen: BTreeMap<SessionId, Seen>,
    /// Whether every invocation's clock is right: only then do leases exclude each other.
    clocks_are_right: bool,
    /// When a sale whose model call failed is tried again.
    retries: RetryTable,
    alerts_read: usize,
}

/// Whether a text has no term that customers must not read.
pub(crate) fn is_clean(text: &str) -> bool {
    !text.contains(HELD_TERM) && !text.contains(REPLACED_TERM)
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
            self.seen.entry(session.clone()).or_default().record_fault(crossing.name, fault);
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

    /// Checks every sale after an effect of an invocation that may concern all of them.
    pub(crate) fn crossed_by_all(&mut self, state: &State, customers: &[Customer], crossing: Crossing) -> Checked {
        if !matches!(crossing.fault, None | Some(Fault::LoseReply | Fault::CrashAfter)) {
            return Ok(());
        }
        for customer in customers {
            self.changed(state, customer, crossing)?;
        }
        self.alerted(state)
    }

    /// Checks one sale after an effect of an invocation for another sale.
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
        // People may have allowed an answer for a day, in which the invocation began.
        let allowed_since = self.seen.get(session).and_then(|seen| seen.allowed_since);
        let is_in_time = |since: i64| invocation.began < since + 24 * HOUR || !self.clocks_are_right;
        let may = customer.is_sold || allowed_since.is_some_and(is_in_time);
        Rule::Authority.require(may, || "the model is asked what must not be answered".to_owned())?;
        let late = self.gone_since(session).is_some_and(|since| since < invocation.began) && self.clocks_are_right;
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

    /// Since when the money of a sale is gone, or about to go. A follow-up's is that of the sale which includes it.
    fn gone_since(&self, session: &SessionId) -> Option<i64> {
        self.since(session, |seen| seen.gone_since)
    }

    /// The earlier moment of a sale and of the one that includes it.
    fn since(&self, session: &SessionId, moment: fn(&Seen) -> Option<i64>) -> Option<i64> {
        let both = [session, &session.paid_session()].map(|id| self.seen.get(id).and_then(moment));
        both.into_iter().flatten().min()
    }

    /// An invocation that begins after the erasure of a sale, or of the one that includes it, does nothing about it.
    fn not_forgotten(&self, session: &SessionId, invocation: &Invocation, what: &str) -> Checked {
        let erased_since = self.since(session, |seen| seen.erased_since);
        let late = erased_since.is_some_and(|since| since < invocation.began);
        Rule::Forgotten.require(!late, || format!("{what} after the sale was erased"))
    }
}
