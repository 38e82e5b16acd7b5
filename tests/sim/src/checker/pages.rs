//! Checks the replies of pages.

use super::{Checked, Checker, Invocation, is_clean};
use crate::{cast::Customer, faults::SECOND, rules::Rule};
use domain::{Sale, money::Money, sale::Fulfilment};
use runtime::http::Reply;
use serde_json::Value;
use testkit::world::State;

impl Checker {
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
                // The process keeps Stripe's reply of a moment before the payment for five seconds of its clock.
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
            // The customer asked about an unpaid session too often within a minute.
            429 => Rule::Page.require(sale.is_none(), || "a page of a known sale is limited".to_owned()),
            // An operator's decision may have come while the page was being answered.
            202 | 404 | 503 => Ok(()),
            410 => {
                let erased = sale.is_some_and(Sale::is_erased);
                Rule::Forgotten.require(erased, || "a page says that it was erased".to_owned())
            }
            other => Err(Rule::Page.broken(format!("a page answers {other}"))),
        }
    }

    /// A page that cannot read the table shows the archived verdict, unless the filter would have to change it.
    /// Verdicts that were archived while the page was being answered, and erased ones, are left out.
    fn served_from_archive(&self, customer: &Customer, invocation: &Invocation, reply: &Reply) -> Checked {
        let seen = customer.session.as_ref().and_then(|session| self.seen.get(session));
        let Some(seen) = seen.filter(|_| invocation.has_no_table && !invocation.has_other_faults) else {
            return Ok(());
        };
        let was_archived = seen.archived_since.is_some_and(|since| since < invocation.began);
        let clean = seen.archived.as_ref().is_some_and(|kept| kept.verdict.texts().into_iter().all(is_clean));
        let expected = was_archived && clean && seen.erased_since.is_none() && customer.mishap.is_none();
        Rule::ServedFromArchive.require(!expected || reply.status() == 200, || {
            format!("an archived verdict, and a page without the table answers {}", reply.status())
        })
    }
}
