//! Checks the archive, the audit log and the alerts.

use super::{Checked, Checker};
use crate::{cast::Customer, rules::Rule};
use domain::{
    SessionId,
    mail::{Letter, Mail},
};
use testkit::world::State;

impl Checker {
    pub(super) fn archived(&mut self, state: &State, customer: &Customer, session: &SessionId) -> Checked {
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
    pub(super) fn published(&mut self, state: &State, session: &SessionId) -> Checked {
        let seen = self.seen.entry(session.clone()).or_default();
        let Some(head) = state.sales.get(session).and_then(|(sale, _)| sale.audit()) else {
            return Err(Rule::Recorded.broken("a record of a sale that was not saved"));
        };
        let key = |number: u64| audit::chain::key(&head.opened, &format!("session/{}", session.as_str()), number);
        while let Some(line) = state.log.get(&key(seen.published + 1)) {
            if seen.published == 0 {
                seen.tip = audit::hash::sha256(b"");
            }
            let follows = line.contains(&format!("\"prev\":\"{}\"", seen.tip));
            Rule::Chain.require(follows, || format!("record {} does not follow", seen.published + 1))?;
            Rule::Private.require(!line.contains('@') && !line.contains("shop number"), || {
                "customer text in the log".to_owned()
            })?;
            seen.tip = audit::hash::sha256(line.as_bytes());
            seen.published += 1;
        }
        let (published, count) = (seen.published, head.count);
        Rule::Recorded.require(published <= count, || format!("{published} records published, {count} saved"))
    }

    pub(super) fn alerted(&mut self, state: &State) -> Checked {
        let new = state.alerts.get(self.alerts_read..).unwrap_or_default();
        self.alerts_read = state.alerts.len();
        let private = |line: &str| !line.contains('@') && !line.contains("shop number");
        Rule::Private.require(new.iter().all(|alert| private(&alert.line)), || "customer text in an alert".to_owned())
    }

    /// Checks the whole log of a world in which nothing is in work.
    pub(crate) fn at_rest(&self, state: &State, customers: &[Customer]) -> Checked {
        for (session, (sale, _)) in &state.sales {
            let traces = || state.traces(session, &forgotten_text(state, customers, session));
            let left = if sale.is_erased() { traces() } else { Vec::new() };
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
                let names = |line: &str| line.contains("DEAD_LETTER") && line.contains(session.reference());
                let is_alerted = state.alerts.iter().chain(&state.logged_alerts).any(|it| names(&it.line));
                let broken = || format!("the dead {} letter of {} was not kept", letter.as_str(), session.as_str());
                Rule::Reviewable.require(kept || is_alerted, broken)?;
            }
        }
        let damage = state.log_damage();
        Rule::Chain.require(damage.is_empty(), || format!("the log is damaged: {damage:?}"))
    }
}

/// A text that no store may have any more: the words of all of a customer's questions. Empty while another sale of the
/// customer is not erased.
fn forgotten_text(state: &State, customers: &[Customer], session: &SessionId) -> String {
    let Some(of_sale) = customers.iter().find(|it| it.session.as_ref() == Some(session)) else {
        return String::new();
    };
    let is_erased = |session: &SessionId| state.sales.get(session).is_none_or(|(sale, _)| sale.is_erased());
    let mut own = customers.iter().filter(|it| it.buyer() == of_sale.buyer());
    let all_erased = own.all(|it| it.session.as_ref().is_none_or(is_erased));
    if all_erased { format!("shop number {} ", of_sale.buyer()) } else { String::new() }
}
