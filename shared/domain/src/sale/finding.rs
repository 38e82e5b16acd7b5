//! A hit of a newer block list in a delivered verdict: an operator decides, and nothing happens automatically. The
//! customer has the verdict and keeps it.

use super::{Decision, Event, Fulfilment, NewVerdict, Part, Refused, Sale};
use crate::{Timestamp, operator::Operator};
use serde::{Deserialize, Serialize};

/// The result of checking a delivered verdict with a newer block list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The version of the block list.
    pub list: String,
    /// The number of terms that the list blocks in it.
    pub terms: usize,
    /// When it was found.
    pub at: Timestamp,
    /// The operator's decision, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// An operator's decision about a finding. A refund is a decision about the sale, and also closes the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The verdict stays unchanged.
    Dismissed,
    /// Another text replaced it on the page.
    Replaced,
}

impl Sale {
    /// The latest finding.
    #[must_use]
    pub const fn finding(&self) -> Option<&Finding> {
        self.finding.as_ref()
    }

    /// The finding that waits for an operator's decision.
    #[must_use]
    pub fn open_finding(&self) -> Option<&Finding> {
        let is_ready = matches!(self.fulfilment, Fulfilment::Ready { .. });
        self.finding.as_ref().filter(|finding| is_ready && finding.settled.is_none())
    }

    /// Whether the page shows the delivered verdict although today's block list would hold it: a human has to decide
    /// about it, or has dismissed the finding.
    #[must_use]
    pub fn keeps_page(&self) -> bool {
        self.finding.as_ref().is_some_and(|finding| finding.settled != Some(Settled::Replaced))
    }

    /// Records that a newer block list would hold the delivered verdict.
    ///
    /// # Errors
    /// [`Refused`] unless there is a verdict and its money, and this list has no finding yet.
    pub fn found_again(&mut self, list: &str, terms: usize, now: Timestamp) -> Result<Event, Refused> {
        self.require_ready("found again")?;
        if !self.is_money_kept() {
            return Err(self.refuse_money("found again"));
        }
        if self.finding.as_ref().is_some_and(|finding| finding.list == list) {
            return Err(self.refuse_finding("found again"));
        }
        self.finding = Some(Finding { list: list.to_owned(), terms, at: now, settled: None });
        Ok(Event::FoundAgain)
    }

    /// Dismisses the finding: the verdict stays.
    ///
    /// # Errors
    /// [`Refused`] without an open finding.
    pub fn dismiss_finding(&mut self, operator: &Operator) -> Result<Event, Refused> {
        self.settle_finding(Settled::Dismissed)?;
        Ok(Event::FindingDismissed(operator.clone()))
    }

    /// Replaces the verdict on the page.
    ///
    /// # Errors
    /// [`Refused`] without an open finding.
    pub fn replace_finding(
        &mut self,
        operator: &Operator,
        new: NewVerdict<'_>,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        self.settle_finding(Settled::Replaced)?;
        let verdict = Some((new.colour, self.record_verdict(new.colour, new.verdict_hash, now)));
        let (operator, received_at) = (operator.clone(), self.received_at);
        Ok(Event::Freed { decision: Decision::Replace, operator, received_at, verdict })
    }

    /// A refusal because of the finding's state.
    fn refuse_finding(&self, to: &'static str) -> Refused {
        let from = match self.finding.as_ref().map(|finding| finding.settled) {
            None => "missing",
            Some(None) => "open",
            Some(Some(Settled::Dismissed)) => "dismissed",
            Some(Some(Settled::Replaced)) => "replaced",
        };
        Refused { part: Part::Finding, from, to }
    }

    fn settle_finding(&mut self, how: Settled) -> Result<(), Refused> {
        if self.open_finding().is_none() {
            return Err(self.refuse_finding("settled"));
        }
        if let Some(finding) = &mut self.finding {
            finding.settled = Some(how);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Colour, SessionId, mail::Mail, money::Money, open_work::Work};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn delivered() -> Sale {
        let mut sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0));
        sale.fulfilment = Fulfilment::Ready { at: at(1), archived: true };
        sale.mail = Mail::Sent { at: at(2) };
        sale
    }

    fn operator() -> Operator {
        Operator::parse("dana", Some("read it")).unwrap()
    }

    fn work(sale: &Sale) -> Option<Work> {
        sale.open_work().map(|open| open.work)
    }

    #[test]
    fn a_finding_is_an_operators_until_it_is_settled_and_each_list_finds_once() {
        let mut sale = delivered();
        assert!(!sale.keeps_page() && sale.dismiss_finding(&operator()).is_err());
        assert!(sale.found_again("1", 2, at(3)).is_ok() && sale.found_again("1", 2, at(4)).is_err());
        assert_eq!((work(&sale), sale.keeps_page()), (Some(Work::Finding), true));
        assert_eq!(sale.open_work().unwrap().due, at(3 + 24 * 3600));
        assert!(matches!(sale.fulfilment, Fulfilment::Ready { .. }), "the sale stays delivered");
        sale.dismiss_finding(&operator()).unwrap();
        assert_eq!((work(&sale), sale.keeps_page()), (None, true));
        assert_eq!(sale.finding().map(|finding| finding.settled), Some(Some(Settled::Dismissed)));
        assert!(sale.found_again("1", 2, at(5)).is_err(), "a human has read it");
        sale.found_again("2", 1, at(6)).unwrap();
        let new = NewVerdict { colour: Colour::Red, verdict_hash: "h" };
        sale.replace_finding(&operator(), new, at(7)).unwrap();
        assert_eq!((work(&sale), sale.keeps_page()), (None, false), "what was replaced is not shown again");
        assert!(sale.replace_finding(&operator(), new, at(7)).is_err());
    }

    #[test]
    fn a_refund_ends_a_finding_and_nothing_is_found_in_what_was_refunded_or_is_being_made() {
        let mut sale = delivered();
        sale.found_again("1", 2, at(3)).unwrap();
        sale.money = Money::Refunded { at: at(4) };
        assert_eq!(work(&sale), None);
        assert!(sale.found_again("2", 2, at(5)).is_err());
        let mut ordered = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0));
        assert!(ordered.found_again("1", 2, at(3)).is_err());
    }
}
