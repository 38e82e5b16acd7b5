//! Alerts operators again to sales that wait for them.

use crate::Ports;
use audit::Change;
use domain::{
    Alert, Sale, StepError, Timestamp,
    alert::Severity,
    open_work::{OpenWork, Work},
    ports::Versioned,
    sale::{Mail, NotPaid},
};

/// Alerts operators again to a sale that waits for a human.
pub(crate) async fn remind(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    ports.journal.commit(sale, reminder).await?.settle().await;
    Ok(())
}

/// The text about a session that the key of this function cannot see.
const OTHER_MODE: &str = "the key stripe-refund is of Stripe's other mode (live or test) and cannot see the session: \
                          store the keys of one mode (oracle secrets set), then try again (oracle reattempt)";

/// Alerts operators again to a sale whose session our key cannot see.
pub(crate) async fn remind_of_mode(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let remind = |sale: &mut Sale, now| match sale.due_work(now) {
        Some(open) if open.work == Work::NotPaid => reminded(sale, open, OTHER_MODE, now),
        _ => reminder(sale, now),
    };
    ports.journal.commit(sale, remind).await?.settle().await;
    Ok(())
}

/// The reminder of an operator, if one is due.
pub(crate) fn reminder(sale: &mut Sale, now: Timestamp) -> Change<()> {
    let Some(open) = sale.due_work(now) else { return Change::nothing(()) };
    let waiting = waiting_replies(sale);
    let of_replies = waiting.map_or_else(String::new, |(news, what_to_do)| format!("{news}: {what_to_do}"));
    let what = match open.work {
        Work::RefundFailed => Sale::REFUND_CAME_BACK,
        Work::Dispute => "Stripe waits for an answer to the bank (oracle list names the deadline)",
        Work::Review => "held by the content filter: approve, replace or refund it",
        Work::Declined => "the authority gate declined it: oracle authority queue, or refund it",
        Work::Reply => of_replies.as_str(),
        // Silent Drop, output 3: after 72 h a human decides, and only a human.
        Work::Unusable => match sale.notice() {
            Mail::NotOrdered => Sale::UNANNOUNCED,
            Mail::Dead { .. } => {
                "the customer was not asked, the mail is a dead letter: oracle deadletters redrive, or refund it"
            }
            Mail::Unknown { .. } => {
                "whether the customer was asked is unknown: check the mailbox, then oracle deadletters settle"
            }
            Mail::NoAddress => "the customer cannot be asked, for the session has no e-mail address: refund it",
            Mail::Sent { .. } if sale.may_be_unreached() => {
                "the mail that asked the customer may have come back: reach them another way, or refund it"
            }
            Mail::Ordered | Mail::Sending { .. } | Mail::Retrying { .. } | Mail::Sent { .. } | Mail::Held => {
                "the customer has not said what was asked: try again with their reply, or refund it"
            }
        },
        Work::NotPaid if sale.not_paid() == Some(NotPaid::Free) => {
            "nobody has paid for it: give it away (oracle reattempt), or erase it"
        }
        Work::NotPaid => "Stripe shows no payment: look at the session there; it ends by itself if it is never paid",
        Work::Failed if sale.has_lapsed_approvals(now) => "there is no verdict",
        Work::Failed => "there is no verdict: try again or refund it",
        Work::Owed => "erased, paid and not delivered: refund it (oracle refunds issue)",
        Work::DeadLetter => "its mail is a dead letter: oracle deadletters redrive",
        Work::UnknownMail => "whether its mail was sent is unknown: check the mailbox, then oracle deadletters settle",
        Work::Finding => {
            "the block list holds back what was delivered: oracle findings show, then dismiss, replace or refund"
        }
        Work::InFlight | Work::Refund | Work::Erasure => return Change::nothing(()),
    };
    // Other work precedes a reply, so its reminder names the reply too.
    let second = waiting.filter(|_| open.work != Work::Reply);
    let written = second.map_or_else(String::new, |(news, _)| format!("; and {news} (oracle replies show)"));
    let lapsed = match (sale.has_lapsed_approvals(now), sale.may_be_refunded_by_policy()) {
        (true, true) => {
            "; the question's approvals are over: the sale counts as declined again, and the policy refunds it"
        }
        (true, false) => {
            "; the question's approvals are over: the sale counts as declined again (oracle authority queue)"
        }
        (false, _) => "",
    };
    reminded(sale, open, &format!("{what}{lapsed}{written}"), now)
}

/// What waits on the sale's list of replies, and what is to be done about it. `None` when nothing waits.
fn waiting_replies(sale: &Sale) -> Option<(&'static str, &'static str)> {
    let is_report_waiting = sale.waiting_replies().any(|reply| reply.is_report);
    let is_reply_waiting = sale.waiting_replies().any(|reply| !reply.is_report);
    match (is_report_waiting, is_reply_waiting) {
        (false, false) => None,
        (false, true) => Some(("the customer has written back", "read it (oracle replies show), and settle it")),
        (true, false) => Some((
            "a mail to the customer came back",
            "read the report (oracle replies show), reach the customer, and settle it",
        )),
        (true, true) => Some((
            "the customer has written back and a mail to them came back",
            "read both (oracle replies show), and settle them",
        )),
    }
}

fn reminded(sale: &mut Sale, open: OpenWork, what: &str, now: Timestamp) -> Change<()> {
    match sale.remind(now) {
        Ok(()) => Change::save(()).alerting(escalation(sale, open, what, now)),
        Err(_) => Change::nothing(()),
    }
}

/// The critical alert about a sale that waits.
pub(crate) fn escalation(sale: &Sale, open: OpenWork, what: &str, now: Timestamp) -> Alert {
    let hours = now.since(open.since).as_secs() / 3600;
    let detail = format!("waits for a human for {hours} h: {what}");
    Alert::event("ORACLE-DEADLINES", Severity::Critical, now, open.work.as_str(), sale.session_id(), &detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        SessionId,
        authority_state::State,
        inbox::Reply,
        mail::Progress,
        sale::{Declined, Fulfilment, HumanLock},
    };
    use testkit::sale::WithField;

    #[test]
    fn a_reminder_about_a_mail_names_the_command_that_ends_it() {
        let at = Timestamp::from_seconds;
        let ready = Fulfilment::Ready { at: at(1), archived: true };
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0)).with("fulfilment", ready);
        let dead = Mail::Dead { at: at(2), progress: Progress::default() };
        for (mail, expected) in [
            (dead, "its mail is a dead letter: oracle deadletters redrive"),
            (
                Mail::Unknown { at: at(2) },
                "whether its mail was sent is unknown: check the mailbox, then oracle deadletters settle",
            ),
        ] {
            let reminder = reminder(&mut sale.clone().with("mail", mail), at(30 * 24 * 3600));
            let alerts = &reminder.effects().unwrap().alerts;
            assert!(alerts.len() == 1 && alerts[0].line.ends_with(expected), "{alerts:?}");
        }
    }

    #[test]
    fn a_reminder_of_an_unusable_sale_says_whether_its_customer_was_asked() {
        let at = Timestamp::from_seconds;
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
            .with("fulfilment", Fulfilment::Unusable { at: at(1) });
        for (notice, expected) in [
            (Mail::Dead { at: at(2), progress: Progress::default() }, "oracle deadletters redrive, or refund it"),
            (Mail::Unknown { at: at(2) }, "check the mailbox, then oracle deadletters settle"),
            (Mail::NoAddress, "has no e-mail address: refund it"),
            (
                Mail::Sent { at: at(2) },
                "the customer has not said what was asked: try again with their reply, or refund it",
            ),
        ] {
            let sale = sale.clone().with("notice", notice.clone());
            let reminder = reminder(&mut sale.clone(), at(30 * 24 * 3600));
            let alerts = &reminder.effects().unwrap().alerts;
            assert!(alerts.len() == 1 && alerts[0].line.ends_with(expected), "{notice:?}: {alerts:?}");
        }
    }

    /// Whatever the sale's first work is, the policy refunds it next.
    #[test]
    fn a_reminder_that_ends_the_approvals_says_so() {
        let at = Timestamp::from_seconds;
        let declined = Declined {
            state: State::Blocked,
            reason: "drug_dosing".into(),
            domain: "medicine".into(),
            lock: HumanLock::Nobody,
            helpers: Vec::new(),
            advice: Vec::new(),
            is_crisis: false,
            is_emergency: false,
            at: at(1),
            approvals: Vec::new(),
            approved_at: Some(at(2)),
        };
        let reply = Reply {
            message: "m".into(),
            at: at(4),
            from_buyer: None,
            settled_at: None,
            followup: None,
            is_report: false,
        };
        let failed = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
            .with("fulfilment", Fulfilment::Failed { reason: "SAFETY".into(), at: at(3) })
            .with("declined", Some(declined));
        for (mut sale, first, last) in [
            (failed.clone(), "there is no verdict; ", "the policy refunds it"),
            (failed.clone().with("given", true), "there is no verdict; ", "(oracle authority queue)"),
            (failed.with("replies", vec![reply]), "(oracle replies show), and settle it; ", "the policy refunds it"),
        ] {
            let reminder = reminder(&mut sale, at(30 * 24 * 3600));
            let line = &reminder.effects().unwrap().alerts[0].line;
            assert!(line.contains(first) && line.ends_with(last), "{line}");
            assert!(line.contains("the sale counts as declined again") && sale.declined().is_some(), "{line}");
        }
    }

    #[test]
    fn a_reminder_of_other_work_names_the_reply_that_waits_behind_it() {
        let at = Timestamp::from_seconds;
        let held = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
            .with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(1) });
        for (waiting, expected) in [
            (vec![], "refund it"),
            (vec![message("m", false)], "; and the customer has written back (oracle replies show)"),
            (vec![message("m", true)], "; and a mail to the customer came back (oracle replies show)"),
        ] {
            let line = line_about(held.clone().with("replies", waiting));
            assert!(line.contains("held by the content filter") && line.ends_with(expected), "{line}");
        }
    }

    /// A report is not the customer's: an operator who waits for their words would wait for ever.
    #[test]
    fn a_mail_that_came_back_is_not_called_a_reply() {
        let at = Timestamp::from_seconds;
        let asked = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
            .with("fulfilment", Fulfilment::Unusable { at: at(1) })
            .with("notice", Mail::Sent { at: at(2) });
        let settled = |is_report| Reply { settled_at: Some(at(4)), ..message("m", is_report) };
        for (replies, expected) in [
            (vec![message("m", true)], "a mail to the customer came back: read the report (oracle replies show)"),
            (vec![message("m", true), message("n", false)], "the customer has written back and a mail to them came"),
            (vec![settled(true)], "the mail that asked the customer may have come back: reach them another way"),
            (vec![settled(true), settled(false)], "the customer has not said what was asked"),
        ] {
            let line = line_about(asked.clone().with("replies", replies));
            assert!(line.contains(&format!(" h: {expected}")), "{line}");
        }
    }

    fn message(id: &str, is_report: bool) -> Reply {
        let at = Timestamp::from_seconds(2);
        Reply { message: id.into(), at, from_buyer: None, settled_at: None, followup: None, is_report }
    }

    fn line_about(mut sale: Sale) -> String {
        let reminder = reminder(&mut sale, Timestamp::from_seconds(30 * 24 * 3600));
        reminder.effects().unwrap().alerts[0].line.clone()
    }
}
