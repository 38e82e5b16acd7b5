//! How a paid sale may end: delivered, or on a human's list with an alert.

use crate::{
    cast::Customer,
    rules::{Rule, Violation},
};
use domain::{
    Alert, Metric, Sale, SessionId,
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
    /// The authority gate declined the question: people may still approve it, or its customer has a verdict.
    Declined,
    /// The model call failed, the sale is tried again on its table, and operators know.
    VerdictWaits,
    /// A queue refuses its message for hours; operators were alerted, and the sale continues by itself afterwards.
    QueueRefuses,
    /// Tier or question did not arrive; operators know and the customer was asked.
    Unusable,
    /// The mail is a dead letter, or its outcome is unknown; a human decides.
    MailUndecided,
    /// The mail is tried again on its schedule, and operators know.
    MailWaits,
    /// The money went back.
    Refunded,
    /// A refund is authorised, and Stripe has not confirmed it; or a follow-up waits for what becomes of its session's
    /// money.
    RefundUnderWay,
    /// The refund came back; a human issues it again.
    RefundFailed,
    /// The customer's bank has the money, and operators know.
    Disputed,
    /// Its message is in a dead-letter queue, which has an alarm.
    DeadLetter,
    /// Erased, as the customer asked.
    Erased,
    /// Never paid.
    NotPaid,
    /// A follow-up that was never ordered.
    NotOrdered,
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

/// How the sale of a customer ended, or why it has not. `is_refused`: a queue refused messages for long, until
/// recently.
///
/// # Errors
/// [`Rule::EndsInTime`] if it is still in work, [`Rule::Orphaned`] if it has no message that continues it,
/// [`Rule::HumanAlerted`] if it ended without an alert.
pub(crate) fn end(state: &State, customer: &Customer, at: Whereabouts, is_refused: bool) -> Result<End, Violation> {
    let (Some(session), true) = (customer.session.as_ref(), customer.paid_at.is_some()) else {
        return Ok(if customer.follow_up.is_some() { End::NotOrdered } else { End::NotPaid });
    };
    let Some((sale, _)) = state.sales.get(session) else {
        return match at {
            Whereabouts::GivenUp => Ok(End::DeadLetter),
            // Stripe keeps its event and delivers it again, behind an alarm.
            _ if is_refused && state.measurements.iter().any(|it| it.metric == Metric::EventNotQueued) => {
                Ok(End::QueueRefuses)
            }
            _ => Err(Rule::EndsInTime.broken("paid, and without a sale")),
        };
    };
    let case = Case { state, customer, sale, at };
    let is_stopped = is_stopped(state, sale);
    match case.end() {
        // It waits in a dead-letter queue, behind an alarm.
        // So may the report that a refund failed.
        Err(open)
            if at == Whereabouts::GivenUp && [Rule::EndsInTime, Rule::Orphaned, Rule::Money].contains(&open.rule) =>
        {
            Ok(End::DeadLetter)
        }
        // Stripe's report about the money of its session ends it.
        Err(open) if is_stopped && [Rule::EndsInTime, Rule::Orphaned].contains(&open.rule) => Ok(End::RefundUnderWay),
        Err(open) if is_refused && [Rule::EndsInTime, Rule::Orphaned].contains(&open.rule) => {
            case.require_alert("[ORACLE-DEADLINES]").map(|()| End::QueueRefuses)
        }
        end => end,
    }
}

/// Whether this is a follow-up that the session which includes it stops.
pub(crate) fn is_stopped(state: &State, sale: &Sale) -> bool {
    sale.is_followup() && includes(state, sale.session_id()).is_some_and(Sale::stops_followup)
}

/// The sale that includes a follow-up; any other sale itself.
fn includes<'s>(state: &'s State, session: &SessionId) -> Option<&'s Sale> {
    state.sales.get(&session.paid_session()).map(|(sale, _)| sale)
}

/// A sale whose end is determined.
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

    fn require_alert(&self, what: &str) -> Result<(), Violation> {
        let known = self.alerts().any(|alert| self.is_named(&alert.line) && alert.line.contains(what));
        Rule::HumanAlerted.require(known, || format!("no alert names the sale ({what})"))
    }

    /// Whether a line names the sale. A follow-up's reference begins with that of the session that includes it.
    fn is_named(&self, line: &str) -> bool {
        let session = self.sale.session_id();
        line.contains(session.reference()) && line.contains(session.followup().reference()) == session.is_followup()
    }

    /// Whether the sale is on this list for humans, with an alert.
    fn before_a_human(&self, what: &str, list: Work, end: End) -> Result<End, Violation> {
        self.require_alert(what)?;
        self.listed(list)?;
        Ok(end)
    }

    fn listed(&self, list: Work) -> Result<(), Violation> {
        let work = self.sale.open_work().map(|open| open.work);
        // Unpublished records and alerts precede this work on the list. So do disputes, bounced refunds and unread
        // replies; their rows also name a mail that is undecided.
        let first = [Work::InFlight, Work::Reply, Work::Dispute, Work::RefundFailed];
        let listed = work.is_some_and(|work| work == list || first.contains(&work));
        Rule::HumanAlerted.require(listed, || format!("not in the list {}, but: {work:?}", list.as_str()))
    }

    fn left(&self, what: &str) -> Violation {
        let rule = if self.at == Whereabouts::Nowhere { Rule::Orphaned } else { Rule::EndsInTime };
        rule.broken(what)
    }

    fn end(&self) -> Result<End, Violation> {
        if let Fulfilment::Erased { removed_at, owed, .. } = self.sale.fulfilment() {
            let open = || Rule::EndsInTime.broken("erased, and not everything is removed");
            removed_at.ok_or_else(open)?;
            if *owed && *self.sale.money() == Money::Kept {
                // It is alerted with the daily reminder.
                self.listed(Work::Owed)?;
            }
            return Ok(End::Erased);
        }
        match self.sale.money() {
            Money::Kept => {}
            // A follow-up's money is its session's, whose alerts and lists are about both.
            Money::Disputed { .. } if self.sale.is_followup() => return Ok(End::Disputed),
            Money::RefundFailed { .. } if self.sale.is_followup() => return Ok(End::RefundFailed),
            Money::Refunded { .. } => return self.refunded(),
            Money::RefundAuthorised { .. } => return Ok(End::RefundUnderWay),
            Money::RefundFailed { .. } => {
                return self.before_a_human("REFUND", Work::RefundFailed, End::RefundFailed);
            }
            Money::Disputed { .. } => return self.require_alert("DISPUTE").map(|()| End::Disputed),
        }
        match self.sale.fulfilment() {
            Fulfilment::InReview { .. } => self.before_a_human("[ORACLE-QUARANTINE] CRITICAL", Work::Review, End::Held),
            Fulfilment::Failed { .. } if self.sale.declined().is_some() => self.declined(),
            Fulfilment::Failed { .. } => self.before_a_human("[ORACLE-VERDICT] CRITICAL", Work::Failed, End::Failed),
            Fulfilment::Unusable { .. } => self.unusable(),
            Fulfilment::Ready { .. } => self.ready(),
            // Both copies were lost after the mail was sent: the next request for the page has the verdict generated
            // again.
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. }
                if self.sale.regenerated_at().is_some() && matches!(self.sale.mail(), Mail::Sent { .. }) =>
            {
                Ok(End::Delivered)
            }
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } if self.sale.model_wait().is_some() => {
                // An open circuit stops many sales and is alerted once.
                let circuit = self.alerts().any(|alert| alert.line.contains("| CIRCUIT |"));
                self.require_alert("[ORACLE-VERDICT]")
                    .or_else(|violation| if circuit { Ok(()) } else { Err(violation) })?;
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

    /// A question that no person may approve is refunded at once, or ends the sale if no policy refunds it; another
    /// waits for people first.
    fn declined(&self) -> Result<End, Violation> {
        if self.sale.is_declined_for_good() {
            return self.require_alert("[ORACLE-VERDICT] CRITICAL").map(|()| End::Declined);
        }
        let end = self.before_a_human("[ORACLE-VERDICT] CRITICAL", Work::Declined, End::Declined)?;
        if self.sale.declined().is_some_and(domain::sale::Declined::is_for_humans) {
            Ok(end)
        } else {
            Err(Rule::EndsInTime.broken("charged for a question that must not be answered, and not refunded"))
        }
    }

    /// Every event of Stripe's has arrived by now.
    fn refunded(&self) -> Result<End, Violation> {
        let back = self.customer.payment_id().is_some_and(|payment| {
            let made = self.state.refunds_of(&payment).any(|made| !made.status.is_void());
            made || self.state.given_back.contains(&payment)
        });
        Rule::Money.require(back, || "refunded, says the sale, and Stripe says no".to_owned())?;
        match self.sale.letter(Letter::Refund) {
            // A human writes to the customer, the bank does, or the customer knows already.
            Mail::NotOrdered | Mail::Sent { .. } | Mail::NoAddress => Ok(End::Refunded),
            Mail::Dead { .. } => self.before_a_human("DEAD LETTER", Work::DeadLetter, End::Refunded),
            Mail::Unknown { .. } => self.before_a_human("[ORACLE-EMAIL] CRITICAL", Work::UnknownMail, End::Refunded),
            Mail::Retrying { .. } => self.waits(),
            Mail::Sending { progress, .. } if progress.failures.len() > 1 => self.waits(),
            Mail::Ordered | Mail::Sending { .. } | Mail::Held => Err(self.left("a customer is to hear of the refund")),
        }
    }

    fn unusable(&self) -> Result<End, Violation> {
        self.require_alert("[SILENT-DROP] session=")?;
        match self.sale.notice() {
            Mail::Retrying { .. } => self.waits(),
            Mail::Sending { progress, .. } if progress.failures.len() > 1 => self.waits(),
            mail if mail.is_pending() => Err(self.left("the customer is being asked")),
            Mail::NotOrdered if !self.sale.is_resubmitted() => Err(self.left("the customer was never asked")),
            Mail::NotOrdered => self.before_a_human(Sale::UNANNOUNCED, Work::Unusable, End::Unusable),
            _ => self.before_a_human("[SILENT-DROP] session=", Work::Unusable, End::Unusable),
        }
    }

    fn ready(&self) -> Result<End, Violation> {
        if !self.state.cache.contains_key(self.sale.session_id()) && self.customer.mishap.is_none() {
            return Err(Rule::EndsInTime.broken("ready, and nothing is cached"));
        }
        // The archive has the first verdict when the cache loses it.
        let is_archived = matches!(self.sale.fulfilment(), Fulfilment::Ready { archived: true, .. });
        match self.sale.mail() {
            Mail::Sent { .. } | Mail::NoAddress if !is_archived && self.customer.mishap.is_none() => {
                Err(self.left("delivered, and not archived"))
            }
            Mail::Sent { .. } => Ok(End::Delivered),
            Mail::NoAddress => self.require_alert("no e-mail address").map(|()| End::PageOnly),
            Mail::Dead { .. } => self.before_a_human("DEAD LETTER", Work::DeadLetter, End::MailUndecided),
            Mail::Unknown { .. } => {
                self.before_a_human("[ORACLE-EMAIL] CRITICAL", Work::UnknownMail, End::MailUndecided)
            }
            Mail::Held => self.require_alert("[ORACLE-QUARANTINE] CRITICAL").map(|()| End::Held),
            Mail::Retrying { .. } => self.waits(),
            Mail::NotOrdered => Err(self.left("no mail was ever ordered")),
            Mail::Ordered => Err(self.left("the mail is ordered, and nothing more")),
            Mail::Sending { progress, .. } if progress.failures.len() > 1 => self.waits(),
            Mail::Sending { .. } => Err(self.left("the mail is still being sent")),
        }
    }

    /// The spec's schedule alone takes 2 h 35 min, and operators hear of every failure but the first.
    fn waits(&self) -> Result<End, Violation> {
        self.require_alert("[ORACLE-EMAIL] ERROR")?;
        if self.at == Whereabouts::Nowhere {
            return Err(Rule::Orphaned.broken("the mail is to be tried again, and has no message"));
        }
        Ok(End::MailWaits)
    }
}
