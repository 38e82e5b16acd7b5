//! What customers, Stripe and chance do.

use super::{Mishap, Outcome, Script, Simulator, What, Work, promises::PROMISE};
use crate::{
    answer::HELD_TERM,
    cast::{Customer, Payment},
    deployment::SIGNING_SECRET,
    faults::{HOUR, MINUTE, SECOND},
    queues::QUEUES,
};
use domain::{
    PaymentStatus, SessionId, Timestamp,
    mail::{Letter, Mail},
    message::{Message, OrderedBy},
};
use serde_json::json;

const COMPLETED: &str = "checkout.session.completed";
const LATE_PAYMENT: &str = "checkout.session.async_payment_succeeded";

impl Simulator<'_> {
    /// Puts the beginning on the agenda.
    pub(crate) fn begin(&mut self) {
        for customer in self.buyers() {
            let when = self.random.between(0, 4 * MINUTE);
            self.in_a_while(when, What::Arrive { customer, attempt: 1 });
        }
        self.schedule();
        if self.faults.faults_until == 0 {
            return;
        }
        if self.random.chance(100) {
            let (when, queue) = (self.random.between(0, 20 * MINUTE), self.random.below(QUEUES.len() as u64));
            self.in_a_while(when, What::Garbage { queue: usize::try_from(queue).unwrap_or(0) });
        }
        if self.random.chance(100) {
            self.in_a_while(MINUTE, What::Stranger);
        }
        if self.random.chance(350) {
            self.arrange_mishap();
        }
    }

    /// Puts a script on the agenda.
    pub(crate) fn follow(&mut self, script: Script) {
        let every = script.arrivals / i64::try_from(self.buyers().len().max(1)).unwrap_or(1);
        for (customer, turn) in self.buyers().zip(0..) {
            self.in_a_while(turn * every + every / 2, What::Arrive { customer, attempt: 1 });
        }
        if let Some((kind, when)) = script.mishap {
            self.in_a_while(when, What::Mishap { kind, customer: 0 });
        }
        if let Some((decision, when)) = script.decision {
            self.in_a_while(when, What::Decide { customer: 0, decision, attempt: 1 });
        }
        if let Some(when) = script.reconcile {
            self.in_a_while(when, What::Reconcile);
            // If it dies, the next day's comparison does the work.
            self.horizon = self.now() + when + 50 * HOUR;
        }
        self.script = Some(script);
        self.schedule();
    }

    /// Schedules a mishap for one of the customers, if this world has one.
    fn arrange_mishap(&mut self) {
        let kind = self.random.pick(&Mishap::DRAWN).unwrap_or(Mishap::CacheLost);
        let customer = usize::try_from(self.random.below(self.customers.len() as u64)).unwrap_or(0);
        for _ in 0..12 {
            let when = self.random.between(MINUTE, 40 * MINUTE);
            self.in_a_while(when, What::Mishap { kind, customer });
        }
        for _ in 0..3 {
            let when = self.random.between(MINUTE, HOUR + 30 * MINUTE);
            self.in_a_while(when, What::Look { customer });
        }
    }

    pub(super) fn customer_does(&mut self, what: What) {
        match what {
            What::Arrive { customer, attempt } => self.arrive(customer, attempt),
            What::Pay { customer, late } => self.pay(customer, late),
            What::Event { customer, kind, paid, attempt } => self.event(customer, kind, paid, attempt),
            What::Look { customer } => self.look(customer),
            What::Stranger => {
                let deployment = self.deployment;
                let asks = async move { Outcome::Replied(deployment.page("cs_test_unknown_to_everybody").await) };
                self.invoke(Work::Page, None, 0, 0, asks);
            }
            What::Mishap { kind, customer } => self.mishap(kind, customer),
            What::Garbage { queue } => {
                self.tally.count_fault("unreadable message");
                self.enqueue(queue, r#"{"kind":"riddle"}"#.to_owned(), None, 1, 0);
            }
            What::Forged { customer } => self.forged(customer),
            What::Reconcile => self.reconcile(),
            What::OperatorsLook => self.operators_look(),
            What::Decide { customer, decision, attempt } => self.decide(customer, decision, attempt),
            What::PaymentChanges { customer, change } => self.payment_changes(customer, change),
            What::PaymentEvent { customer, reported, attempt } => self.payment_event(customer, reported, attempt),
            What::Post { customer, text, attempt } => self.post(customer, text, attempt),
            What::Write { customer, said } => self.write(customer, said),
            What::Inbox => self.inbox(),
            What::Deadlines
            | What::Poll(_)
            | What::TimeOut(_)
            | What::Due { .. }
            | What::Again { .. }
            | What::Promise { .. } => {}
        }
    }

    fn arrive(&mut self, number: usize, attempt: u32) {
        let Some(customer) = self.customers.get(number) else { return };
        if customer.by_link {
            if let Ok(id) = SessionId::parse(format!("cs_test_L{number:03}_payment_link_L{number:07}")) {
                self.record_session(number, id);
            }
            return;
        }
        let mut body = json!({ "tier": customer.tier.key(), "query": customer.question });
        if self.script.is_some() || self.random.chance(200) {
            body["referral_code"] = "FRIEND".into();
        }
        let deployment = self.deployment;
        let buys = async move { Outcome::Replied(deployment.checkout(body.to_string()).await) };
        self.invoke(Work::Checkout { attempt }, Some(number), 0, 0, buys);
    }

    pub(super) fn record_session(&mut self, number: usize, id: SessionId) {
        let now = Timestamp::from_millis(self.now());
        let Some(customer) = self.customers.get_mut(number) else { return };
        customer.session = Some(id.clone());
        let customer = customer.clone();
        if let Some(relative) = self.relative(number) {
            self.customers[relative].session = Some(id.followup());
        }
        let mut session = customer.stripe_session(id.clone());
        session.created = Some(now);
        self.world.state().sessions.insert(id, session);
        let when = self.random.between(5 * SECOND, 2 * MINUTE);
        self.in_a_while(when, What::Pay { customer: number, late: false });
        if let Some(script) = &self.script {
            for when in script.looks.clone() {
                self.in_a_while(when, What::Look { customer: number });
            }
            return;
        }
        for _ in 0..self.random.below(5) {
            let when = when + self.random.between(-5 * SECOND, 6 * MINUTE);
            self.in_a_while(when, What::Look { customer: number });
        }
        if self.random.chance(400) {
            let when = self.random.between(10 * MINUTE, 90 * MINUTE);
            self.in_a_while(when, What::Look { customer: number });
        }
    }

    fn pay(&mut self, number: usize, late: bool) {
        let now = self.now();
        let Some(customer) = self.customers.get_mut(number) else { return };
        let Some(id) = customer.session.clone() else { return };
        let paid = late || customer.payment == Payment::Card;
        if paid {
            customer.paid_at = Some(now);
        }
        let (payment, lost) = (customer.payment, customer.events_lost);
        if let Some(session) = self.world.state().sessions.get_mut(&id) {
            session.stage = domain::SessionStage::Complete;
            session.payment_status = if paid { PaymentStatus::Paid } else { PaymentStatus::Unpaid };
        }
        let kind = if late { LATE_PAYMENT } else { COMPLETED };
        self.trace(|| format!("customer {number}: {kind}, paid: {paid}"));
        let wait = self.random.between(200, if self.has_faults_now() { 3 * MINUTE } else { 5 * SECOND });
        if !lost {
            self.in_a_while(wait, What::Event { customer: number, kind, paid, attempt: 1 });
        }
        match payment {
            Payment::Slow if !late => {
                let wait = self.random.between(MINUTE, 15 * MINUTE);
                self.in_a_while(wait, What::Pay { customer: number, late: true });
            }
            Payment::Never if self.faults.faults_until > 0 && self.random.chance(500) => {
                self.in_a_while(MINUTE, What::Forged { customer: number });
            }
            _ => {}
        }
        if paid {
            let begins = self.promise_begins();
            // If Stripe's events are lost, the daily comparison finds the payment; the second one at the latest.
            let begins = if lost { begins + 48 * HOUR } else { begins };
            self.at(begins + PROMISE, What::Promise { customer: number });
            self.arrange_afterwards(number);
        }
    }

    fn event(&mut self, number: usize, kind: &'static str, paid: bool, attempt: u32) {
        let Some(event) = self.customers.get(number).and_then(|customer| customer.event(kind, paid)) else { return };
        let (deployment, signed_at) = (self.deployment, Timestamp::from_millis(self.now()));
        let tells = async move { Outcome::Replied(deployment.webhook(SIGNING_SECRET, signed_at, event).await) };
        self.invoke(Work::Webhook { kind, paid, attempt }, Some(number), 0, 0, tells);
    }

    fn look(&mut self, number: usize) {
        // A follow-up is shown on the page of the sale that includes it.
        let number = self.customers.get(number).map_or(number, Customer::buyer);
        let Some(session) = self.customers.get(number).and_then(|customer| customer.session.clone()) else { return };
        let deployment = self.deployment;
        let looks = async move { Outcome::Replied(deployment.page(session.as_str()).await) };
        self.invoke(Work::Page, Some(number), 0, 0, looks);
    }

    /// An order for a session that is not paid: no code of ours sends one, and none may act on it.
    fn forged(&mut self, number: usize) {
        let Some(session_id) = self.customers.get(number).and_then(|customer| customer.session.clone()) else { return };
        let order = Message::order(session_id, Timestamp::from_millis(self.now()), OrderedBy::Webhook);
        self.tally.count_fault("forged order");
        self.enqueue(0, serde_json::to_string(&order).unwrap_or_default(), Some(number), 1, 0);
    }

    fn mishap(&mut self, kind: Mishap, number: usize) {
        let Some(customer) = self.customers.get_mut(number) else { return };
        let (Some(id), None) = (customer.session.clone(), customer.mishap) else { return };
        let mut state = self.world.state();
        let what = match kind {
            Mishap::CacheLost => state.cache.remove(&id).map(|_| "cache entry lost"),
            Mishap::CacheCorrupt => {
                let corrupt = state.cache.contains_key(&id) && state.corrupt_entries.insert(id);
                corrupt.then_some("cache entry corrupt")
            }
            Mishap::CacheContaminated => state.cache.get_mut(&id).map(|cached| {
                cached.verdict.summary = format!("The {HELD_TERM} says yes.");
                "cache entry contaminated"
            }),
            Mishap::CacheAndArchiveLost => {
                state.archive.remove(&id);
                state.cache.remove(&id).map(|_| "cache entry and archive lost")
            }
            Mishap::DraftRemoved => {
                let recorded = state.sales.get(&id).and_then(|(sale, _)| match sale.letter(Letter::Verdict) {
                    Mail::Sending { progress, .. } | Mail::Retrying { progress, .. } => progress.draft.clone(),
                    _ => None,
                });
                recorded.and_then(|draft| state.drafts.remove(&draft.id)).map(|_| "draft removed by hand")
            }
            // Nothing is lost, so no rule becomes lenient.
            Mishap::ListChanged => {
                let held = state.quarantine.iter_mut().filter(|(session, _)| *session == id);
                held.for_each(|(_, payload)| *payload = payload.replace(HELD_TERM, "model"));
                None
            }
        };
        drop(state);
        if let Some(what) = what {
            customer.mishap = Some(what);
            if let Some(relative) = self.relative(number) {
                self.customers[relative].mishap = Some(what);
            }
            self.tally.count_fault(what);
            self.trace(|| format!("customer {number}: {what}"));
        }
    }
}
