//! How a paid sale may end: delivered, or before a human who was told.

use crate::{
    cast::Customer,
    rules::{Rule, Violation},
};
use domain::{
    Alert, Metric, Sale,
    mail::{Letter, Mail},
    money::Money,
    open_work::Work,
    sale::Fulfilment,
};
use testkit::world::State;

/// How a sale ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// On the page and in the mailbox.
    Delivered,
    /// On the page; there is no address, and operators know.
    PageOnly,
    /// Held by the content filter; a human decides.
    Held,
    /// No verdict could be made; a human decides.
    Failed,
    /// The authority gate declined the question, and people may still approve it.
    Declined,
    /// The model call failed, the sale is tried again on its table, and operators know.
    VerdictWaits,
    /// A queue refuses its message for hours, operators know, and it goes on by itself afterwards.
    QueueRefuses,
    /// Tier or question did not arrive; operators know and the customer was asked.
    Unusable,
    /// The mail was given up or its outcome is unknown; a human decides.
    MailUndecided,
    /// The mail is tried again on its schedule, and operators know.
    MailWaits,
    /// The money went back.
    Refunded,
    /// It was decided that the money goes back, and Stripe has not confirmed.
    RefundUnderWay,
    /// The refund came back; a human issues it again.
    RefundFailed,
    /// The customer's bank has the money, and operators know.
    Disputed,
    /// Given up by a queue, behind an alarm.
    DeadLetter,
    /// Erased, as the customer asked.
    Erased,
    /// Never paid.
    NotPaid,
}

/// Where a sale's messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// In a dead-letter queue.
    GivenUp,
    /// In a queue.
    Waiting,
    /// There are none.
    Nowhere,
}

/// How the sale of a customer ended, or why it has not. `is_refused`: a queue took no message for long, until lately.
///
/// # Errors
/// [`Rule::EndsInTime`] where it is still on its way, [`Rule::Orphaned`] where nobody will come for it,
/// [`Rule::HumanTold`] where it ended and nobody knows.
pub(crate) fn end(state: &State, customer: &Customer, at: Whereabouts, is_refused: bool) -> Result<End, Violation> {
    let (Some(session), true) = (customer.session.as_ref(), customer.paid_at.is_some()) else {
        return Ok(End::NotPaid);
    };
    let Some((sale, _)) = state.sales.get(session) else {
        return match at {
            Whereabouts::GivenUp => Ok(End::DeadLetter),
            // Stripe keeps its event and delivers it again, behind an alarm.
            _ if is_refused && state.measurements.iter().any(|it| it.metric == Metric::EventNotQueued) => {
                Ok(End::QueueRefuses)
            }
            _ => Err(Rule::EndsInTime.broken("paid, and nobody knows of it")),
        };
    };
    let case = Case { state, customer, sale, at };
    match case.end() {
        // It waits in a dead-letter queue, behind an alarm.
        Err(open) if at == Whereabouts::GivenUp && [Rule::EndsInTime, Rule::Orphaned].contains(&open.rule) => {
            Ok(End::DeadLetter)
        }
        Err(open) if is_refused && [Rule::EndsInTime, Rule::Orphaned].contains(&open.rule) => {
            case.told("[ORACLE-DEADLINES]").map(|()| End::QueueRefuses)
        }
        end => end,
    }
}

/// A sale whose end is looked for.
struct Case<'a> {
    state: &'a State,
    customer: &'a Customer,
    sale: &'a Sale,
    at: Whereabouts,
}

impl Case<'_> {
    fn alerts(&self) -> impl Iterator<Item = &Alert> {
        self.state.alerts.iter().chain(&self.state.logged_alerts)
    }

    fn told(&self, what: &str) -> Result<(), Violation> {
        let session = self.sale.session_id();
        let (prefix, reference) = (session.prefix(), session.reference());
        let known = self
            .alerts()
            .any(|alert| (alert.line.contains(prefix) || alert.line.contains(reference)) && alert.line.contains(what));
        Rule::HumanTold.require(known, || format!("nobody was told ({what})"))
    }

    /// Before a human who was told, and who finds the sale in this list.
    fn before_a_human(&self, what: &str, list: Work, end: End) -> Result<End, Violation> {
        self.told(what)?;
        let listed = self.sale.open_work().map(|open| open.work);
        // A record or an alert that could not be written yet comes first.
        let listed = listed == Some(list) || listed == Some(Work::InFlight);
        Rule::HumanTold.require(listed, || format!("not in the list {}", list.as_str()))?;
        Ok(end)
    }

    fn left(&self, what: &str) -> Violation {
        let rule = if self.at == Whereabouts::Nowhere { Rule::Orphaned } else { Rule::EndsInTime };
        rule.broken(what)
    }

    fn end(&self) -> Result<End, Violation> {
        if let Fulfilment::Erased { removed_at, .. } = self.sale.fulfilment() {
            let open = || Rule::EndsInTime.broken("erased, and not everything is removed");
            return removed_at.map(|_| End::Erased).ok_or_else(open);
        }
        match self.sale.money() {
            Money::Kept => {}
            Money::Refunded { .. } => return self.refunded(),
            Money::RefundAuthorised { .. } => return Ok(End::RefundUnderWay),
            Money::RefundFailed { .. } => {
                return self.before_a_human("REFUND", Work::RefundFailed, End::RefundFailed);
            }
            Money::Disputed { .. } => return self.told("DISPUTE").map(|()| End::Disputed),
        }
        match self.sale.fulfilment() {
            Fulfilment::InReview { .. } => self.before_a_human("[ORACLE-QUARANTINE] CRITICAL", Work::Review, End::Held),
            Fulfilment::Failed { .. } if self.sale.declined().is_some() => self.declined(),
            Fulfilment::Failed { .. } => self.before_a_human("[ORACLE-VERDICT] CRITICAL", Work::Failed, End::Failed),
            Fulfilment::Unusable { .. } => self.unusable(),
            Fulfilment::Ready { .. } => self.ready(),
            // Lost altogether after it was mailed: it is made again when the page is looked at again.
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. }
                if self.sale.regenerated_at().is_some() && matches!(self.sale.mail(), Mail::Sent { .. }) =>
            {
                Ok(End::Delivered)
            }
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } if self.sale.model_wait().is_some() => {
                // What a circuit does to many sales is told once.
                let circuit = self.alerts().any(|alert| alert.line.contains("| CIRCUIT |"));
                self.told("[ORACLE-VERDICT]").or_else(|untold| if circuit { Ok(()) } else { Err(untold) })?;
                if self.at == Whereabouts::Nowhere {
                    return Err(Rule::Orphaned.broken("the verdict is to be tried again, and has no message"));
                }
                Ok(End::VerdictWaits)
            }
            Fulfilment::Ordered { .. } => Err(self.left("the verdict is ordered, and nothing more")),
            Fulfilment::Generating { .. } => Err(self.left("the verdict is still being made")),
            Fulfilment::Erased { .. } => Ok(End::Erased),
        }
    }

    /// Nothing that nobody may approve is charged and kept; the rest waits for people, and then goes back too.
    fn declined(&self) -> Result<End, Violation> {
        let waits = self.sale.declined().is_some_and(domain::sale::Declined::is_for_humans);
        let told = self.before_a_human("[ORACLE-VERDICT] CRITICAL", Work::Declined, End::Declined)?;
        if waits { Ok(told) } else { Err(Rule::EndsInTime.broken("charged for what nobody may answer, and kept")) }
    }

    /// All that Stripe told of has come by now.
    fn refunded(&self) -> Result<End, Violation> {
        let back = self.customer.payment_id().is_some_and(|payment| {
            let made = self.state.refunds_of(&payment).any(|made| !made.status.is_void());
            made || self.state.given_back.contains(&payment)
        });
        Rule::Money.require(back, || "refunded, says the sale, and Stripe says no".to_owned())?;
        match self.sale.letter(Letter::Refund) {
            // By a human who writes, or by the bank; or the customer knows.
            Mail::NotOrdered | Mail::Sent { .. } | Mail::NoAddress => Ok(End::Refunded),
            Mail::Dead { .. } => self.before_a_human("DEAD LETTER", Work::DeadLetter, End::Refunded),
            Mail::Unknown { .. } => self.before_a_human("[ORACLE-EMAIL] CRITICAL", Work::UnknownMail, End::Refunded),
            Mail::Retrying { .. } => self.waits(),
            Mail::Sending { progress, .. } if progress.failures.len() > 1 => self.waits(),
            Mail::Ordered | Mail::Sending { .. } | Mail::Held => Err(self.left("a customer is to hear of the refund")),
        }
    }

    fn unusable(&self) -> Result<End, Violation> {
        self.told("[SILENT-DROP] session=")?;
        match self.sale.notice() {
            Mail::Retrying { .. } => self.waits(),
            Mail::Sending { progress, .. } if progress.failures.len() > 1 => self.waits(),
            mail if mail.is_pending() => Err(self.left("the customer is being asked")),
            Mail::NotOrdered if !self.sale.is_resubmitted() => Err(self.left("the customer was never asked")),
            _ => self.before_a_human("[SILENT-DROP] session=", Work::Unusable, End::Unusable),
        }
    }

    fn ready(&self) -> Result<End, Violation> {
        if !self.state.cache.contains_key(self.sale.session_id()) && self.customer.mishap.is_none() {
            return Err(Rule::EndsInTime.broken("ready, and nothing is cached"));
        }
        match self.sale.mail() {
            Mail::Sent { .. } => Ok(End::Delivered),
            Mail::NoAddress => self.told("no e-mail address").map(|()| End::PageOnly),
            Mail::Dead { .. } => self.before_a_human("DEAD LETTER", Work::DeadLetter, End::MailUndecided),
            Mail::Unknown { .. } => {
                self.before_a_human("[ORACLE-EMAIL] CRITICAL", Work::UnknownMail, End::MailUndecided)
            }
            Mail::Held => self.told("[ORACLE-QUARANTINE] CRITICAL").map(|()| End::Held),
            Mail::Retrying { .. } => self.waits(),
            Mail::NotOrdered => Err(self.left("no mail was ever ordered")),
            Mail::Ordered => Err(self.left("the mail is ordered, and nothing more")),
            Mail::Sending { progress, .. } if progress.failures.len() > 1 => self.waits(),
            Mail::Sending { .. } => Err(self.left("the mail is still being sent")),
        }
    }

    /// The spec's schedule alone takes 2 h 35 min, and operators hear of every failure but the first.
    fn waits(&self) -> Result<End, Violation> {
        self.told("[ORACLE-EMAIL] ERROR")?;
        if self.at == Whereabouts::Nowhere {
            return Err(Rule::Orphaned.broken("the mail is to be tried again, and has no message"));
        }
        Ok(End::MailWaits)
    }
}
