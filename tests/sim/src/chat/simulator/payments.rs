//! The payments on Stripe's page, and Stripe's reports about them.

use super::{Outcome, Simulator, What, Work};
use crate::chat::{
    chaos::{DAYS, MINUTE, SECOND},
    stripe::{Reported, life},
};
use domain::{
    Timestamp,
    chat::{BillingReport, PaidPlan},
    message::{Message, ReportedBy},
};

impl Simulator<'_> {
    /// Lets a person pay on Stripe's page.
    pub(super) fn pay(&mut self, person: usize, plan: PaidPlan) {
        if self.is_calm || !self.random.chance(700) {
            return;
        }
        let start = self.now() + self.random.between(SECOND, 2 * MINUTE);
        let is_new = !self
            .checker
            .periods
            .iter()
            .any(|(whose, period)| *whose == person && period.until > Timestamp::from_millis(start));
        // Some people pay on the page of another day too.
        if !is_new && !self.apart.chance(500) {
            return;
        }
        self.subscriptions += 1;
        let Some(life) =
            life(&mut self.random, &mut self.beside, self.subscriptions, plan, Timestamp::from_millis(start))
        else {
            return;
        };
        self.tally.count("subscription");
        self.checker.periods.extend(life.periods.iter().map(|period| (person, period.clone())));
        for period in &life.periods {
            let subscriber = self.checker.subscribers[person].clone();
            let invoice = life.reported.iter().find_map(|(_, reported)| match reported {
                Reported::Billing(_, report @ BillingReport::InvoicePaid { id, .. }) if *id == period.invoice => {
                    Some(report)
                }
                _ => None,
            });
            let invoice = invoice.map(|report| (period.payment.clone(), (subscriber, report.clone())));
            self.functions.world.state().invoices.extend(invoice);
        }
        for (at, reported) in life.reported {
            self.at(at.as_millis(), What::Stripe(person, reported));
        }
    }

    /// Applies a change at Stripe: updates its list, and sends its event.
    pub(super) fn stripe(&mut self, person: usize, reported: Reported) {
        let subscriber = self.checker.subscribers[person].clone();
        let received_at = self.timestamp();
        let message = match reported {
            Reported::Billing(created, report) => {
                self.tally.count("Stripe: billing");
                self.functions.world.state().billing.push((created, subscriber.clone(), report.clone()));
                Message::subscription_changed(subscriber, report, ReportedBy::Event, received_at)
            }
            Reported::Payment(payment, report) => {
                self.tally.count("Stripe: payment");
                self.functions.world.state().reports.push((received_at, payment.clone(), report.clone()));
                Message::payment_changed(payment, report, received_at)
            }
        };
        if self.beside.chance(100) {
            self.tally.count("old report repeated");
            let at = self.now() + self.beside.between(4 * DAYS, 40 * DAYS);
            self.at(at, What::Deliver(message.clone()));
        }
        if self.random.chance(self.chaos.lost) {
            self.tally.count("event lost");
            self.compare_tomorrow();
            return;
        }
        let times = if self.random.chance(self.chaos.duplicates) { 2 } else { 1 };
        for _ in 0..times {
            let delay = if self.random.chance(self.chaos.late) {
                self.random.between(0, 3 * DAYS)
            } else {
                self.random.between(0, 5 * SECOND)
            };
            let at = self.now() + delay;
            self.at(at, What::Deliver(message.clone()));
        }
    }

    /// Schedules the daily comparison. The others, which repeat only what is known, are left out.
    pub(super) fn compare_tomorrow(&mut self) {
        let tomorrow = (self.now() / DAYS + 1) * DAYS;
        if self.compares_at.is_none_or(|at| at < tomorrow) {
            self.compares_at = Some(tomorrow);
            self.at(tomorrow, What::Reconcile);
        }
    }

    pub(super) fn reconcile(&mut self) {
        let functions = self.functions;
        self.begin(Work::Comparison, async move { Outcome::Handled(functions.reconcile().await.is_ok()) });
    }

    pub(super) fn deliver(&mut self, message: Message) {
        let functions = self.functions;
        let copy = message.clone();
        self.begin(Work::Event(message), async move { Outcome::Handled(functions.payment_event(copy).await) });
    }
}
