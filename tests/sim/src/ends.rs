//! How a paid sale may end: delivered, or before a human who was told.

use crate::{
    cast::Customer,
    rules::{Rule, Violation},
};
use domain::sale::{Fulfilment, Mail};
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
    /// Tier or question did not arrive; operators know and the customer was asked.
    Unusable,
    /// The mail failed or its outcome is unknown; a human decides.
    MailUndecided,
    /// Given up by a queue, behind an alarm.
    DeadLetter,
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

/// How the sale of a customer ended, or why it has not.
///
/// # Errors
/// [`Rule::EndsInTime`] where it is still on its way, [`Rule::Orphaned`] where nobody will come for it, [`Rule::HumanTold`] where it ended and nobody knows.
pub(crate) fn end(state: &State, customer: &Customer, at: Whereabouts) -> Result<End, Violation> {
    let (Some(session), true) = (customer.session.as_ref(), customer.paid_at.is_some()) else {
        return Ok(End::NotPaid);
    };
    if at == Whereabouts::GivenUp {
        return Ok(End::DeadLetter);
    }
    let Some((sale, _)) = state.sales.get(session) else {
        return Err(Rule::EndsInTime.broken("paid, and nobody knows of it"));
    };
    let told = |what: &str| {
        let mut alerts = state.alerts.iter().chain(&state.undelivered_alerts);
        let about = |line: &str| line.contains(session.prefix()) && line.contains(what);
        let known = alerts.any(|alert| about(&alert.line));
        Rule::HumanTold.require(known, || format!("nobody was told ({what})"))
    };
    let left = |what: &str| {
        let rule = if at == Whereabouts::Nowhere { Rule::Orphaned } else { Rule::EndsInTime };
        rule.broken(what)
    };
    match &sale.fulfilment {
        Fulfilment::InReview { .. } => told("[ORACLE-QUARANTINE] CRITICAL").map(|()| End::Held),
        Fulfilment::Failed { .. } => told("[ORACLE-VERDICT] CRITICAL").map(|()| End::Failed),
        Fulfilment::Ready { .. } | Fulfilment::Unusable { .. } => {
            let unusable = matches!(sale.fulfilment, Fulfilment::Unusable { .. });
            if unusable {
                told("[SILENT-DROP] session=")?;
            } else if !state.cache.contains_key(session) && customer.mishap.is_none() {
                return Err(Rule::EndsInTime.broken("ready, and nothing is cached"));
            }
            match &sale.mail {
                Mail::Sent { .. } if unusable => Ok(End::Unusable),
                Mail::Sent { .. } => Ok(End::Delivered),
                Mail::NoAddress => {
                    told("no e-mail address").map(|()| if unusable { End::Unusable } else { End::PageOnly })
                }
                Mail::Failed { .. } | Mail::Unknown => told("[ORACLE-EMAIL] CRITICAL").map(|()| End::MailUndecided),
                Mail::Held => told("[ORACLE-QUARANTINE] CRITICAL").map(|()| End::Held),
                Mail::NotOrdered => Err(Rule::EndsInTime.broken("no mail was ever ordered")),
                Mail::Ordered => Err(Rule::EndsInTime.broken("the mail is ordered, and nothing more")),
                Mail::Sending { .. } => Err(left("the mail is still being sent")),
            }
        }
        // Lost altogether after it was mailed: it is made again when the page is looked at again.
        Fulfilment::Ordered { .. } | Fulfilment::Generating { .. }
            if sale.regenerated_at.is_some() && matches!(sale.mail, Mail::Sent { .. }) =>
        {
            Ok(End::Delivered)
        }
        Fulfilment::Ordered { .. } => Err(left("the verdict is ordered, and nothing more")),
        Fulfilment::Generating { .. } => Err(left("the verdict is still being made")),
    }
}
