//! Operators, who look at their lists and decide.

use super::{Outcome, Simulator, What, Work, promises::PROMISE};
use crate::{
    faults::{HOUR, MINUTE},
    operator::{Answered, Decision, decide},
};
use domain::{mail::Mail, open_work::Work as OpenKind};

impl Simulator<'_> {
    /// Operators look at their lists, and decide some of what they find.
    pub(super) fn operators_look(&mut self) {
        for number in 0..self.customers.len() {
            let session = self.customers[number].session.clone();
            let work = session.and_then(|session| {
                let state = self.world.state();
                Some((state.sales.get(&session)?.0.open_work()?.work, self.customers[number].paid_at?))
            });
            let anything = self.random.below(100);
            let decision = match work.map(|(work, _)| work) {
                Some(OpenKind::Review) => {
                    self.random.pick(&[Decision::Approve, Decision::Replace, Decision::Replace, Decision::Refund])
                }
                Some(OpenKind::Unusable) => {
                    self.random.pick(&[Decision::Resubmit, Decision::Resubmit, Decision::Refund])
                }
                Some(OpenKind::Failed) => self.random.pick(&[Decision::Reattempt, Decision::Refund]),
                Some(OpenKind::Declined) => self.random.pick(&[Decision::Allow, Decision::Allow, Decision::Reject]),
                Some(OpenKind::DeadLetter) => {
                    self.random.pick(&[Decision::Redrive, Decision::Redrive, Decision::Refund])
                }
                Some(OpenKind::UnknownMail | OpenKind::Refund | OpenKind::RefundFailed) => Some(Decision::Refund),
                // An operator may enter any command at any time; the command refuses what does not fit the sale.
                Some(OpenKind::InFlight) if anything < 30 => self.random.pick(&[Decision::Refund, Decision::Redrive]),
                _ => None,
            };
            let decision = match anything {
                96.. if self.is_known(number) => Some(Decision::Erase),
                90..96 if self.has_mail(number) => Some(Decision::SendAgain),
                0..70 => decision,
                _ => None,
            };
            if let Some(decision) = decision {
                self.in_a_while(0, What::Decide { customer: number, decision, attempt: 1 });
            }
        }
        let again = self.random.between(20 * MINUTE, 12 * HOUR);
        if self.now() + again < self.horizon {
            self.in_a_while(again, What::OperatorsLook);
        }
    }

    /// Whether the customer has paid and there is a sale of it.
    fn is_known(&self, number: usize) -> bool {
        let customer = self.customers.get(number).filter(|customer| customer.paid_at.is_some());
        let session = customer.and_then(|customer| customer.session.as_ref());
        session.is_some_and(|session| self.world.state().sales.contains_key(session))
    }

    /// Whether the mail of the customer's verdict is delivered.
    fn has_mail(&self, number: usize) -> bool {
        let session = self.customers.get(number).and_then(|customer| customer.session.as_ref());
        let state = self.world.state();
        let sale = session.and_then(|session| state.sales.get(session));
        sale.is_some_and(|(sale, _)| matches!(sale.mail(), Mail::Sent { .. }))
    }

    pub(super) fn decide(&mut self, number: usize, decision: Decision, attempt: u32) {
        let begins = self.promise_begins();
        let Some(customer) = self.customers.get(number) else { return };
        let Some(session) = customer.session.clone() else { return };
        let (deployment, tier, submission) = (self.deployment, customer.tier, customer.submission());
        for number in [Some(number), self.relative(number)].into_iter().flatten() {
            self.customers[number].operated = true;
            self.customers[number].restarted_at = Some(begins);
        }
        let decides = async move { Outcome::Answered(decide(deployment, decision, session, tier, submission).await) };
        self.invoke(Work::Operator { decision, attempt }, Some(number), 0, 0, decides);
        if self.script.is_none() {
            self.at(begins + PROMISE, What::Promise { customer: number });
        }
    }

    /// An operator whose command did not say that it was done repeats it.
    pub(super) fn decided(&mut self, customer: Option<usize>, decision: Decision, attempt: u32, answer: Answered) {
        if answer == Answered::Done {
            *self.tally.decisions.entry(decision.name()).or_default() += 1;
        }
        if let (Some(customer), Answered::Broken, 1..=4) = (customer, answer, attempt) {
            self.in_a_while(MINUTE, What::Decide { customer, decision, attempt: attempt + 1 });
        }
    }
}
