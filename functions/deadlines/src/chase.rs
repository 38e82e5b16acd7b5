//! Decides from a sale's state alone which messages restart a sale that no worker continues.

use domain::{
    Alert, Sale, Timestamp,
    alert::Severity,
    mail::{Letter, Mail},
    message::{Message, OrderedBy},
    sale::Fulfilment,
};

/// From this restart on, the alert is critical and a human has to look at the sale.
const CRITICAL_FROM: u32 = 3;

/// The messages that restart a sale. A duplicate does no harm, because claims turn two messages into one piece of work.
/// Empty for a smoke test, and for a sale that only has records or alerts left to publish. After a refund it contains
/// only the message for the refund letter.
pub(crate) fn messages(sale: &Sale, now: Timestamp) -> Vec<Message> {
    if sale.smoke() {
        return Vec::new();
    }
    let session_id = || sale.session_id().clone();
    let order = || Message::order(session_id(), sale.received_at(), OrderedBy::Deadlines);
    let first = match sale.fulfilment() {
        _ if !sale.is_money_kept() => None,
        Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => Some(order()),
        // The order of a finished verdict archives it and orders its mail.
        Fulfilment::Ready { .. } if sale.is_undispatched() => Some(order()),
        Fulfilment::Unusable { .. } if sale.is_drop_open() => Some(Message::notice(session_id(), sale.received_at())),
        Fulfilment::Ready { .. }
        | Fulfilment::Unusable { .. }
        | Fulfilment::InReview { .. }
        | Fulfilment::Failed { .. }
        | Fulfilment::Erased { .. } => None,
    };
    let mails = letters(sale).filter_map(|letter| match sale.letter(letter) {
        Mail::Ordered | Mail::Sending { .. } => Some(Message::mail(session_id(), now, letter)),
        Mail::Retrying { .. } => Some(Message::mail_retry(session_id(), now, letter)),
        _ => None,
    });
    first.into_iter().chain(mails).collect()
}

/// The letters that may be in work: after a refund only those that the sale still has to send.
fn letters(sale: &Sale) -> impl Iterator<Item = Letter> {
    Letter::ALL.into_iter().filter(|letter| sale.is_money_kept() || sale.is_to_send(*letter))
}

/// The alert of a chased sale: a warning the first time, later more than that.
pub(crate) fn alert(sale: &Sale, since: Timestamp, times: u32, now: Timestamp) -> Alert {
    let severity = match times {
        0 | 1 => Severity::Warn,
        times if times < CRITICAL_FROM => Severity::Error,
        _ => Severity::Critical,
    };
    let overdue = letters(sale).find_map(|letter| match sale.letter(letter) {
        Mail::Retrying { due, .. } if *due <= now => Some((letter, *due)),
        _ => None,
    });
    let detail = match overdue {
        // Email Retry, FM-01.
        Some((letter, due)) => {
            format!(
                "retry worker missing: no attempt at the {} mail, due {due}; message sent again, time {times}",
                letter.as_str()
            )
        }
        None if messages(sale, now).is_empty() => {
            format!("records or alerts could not be written since {since}; tried again, time {times}")
        }
        None => format!("no worker has finished it since {since}: message sent again, time {times}"),
    };
    Alert::event("ORACLE-DEADLINES", severity, now, "IN_FLIGHT", sale.session_id(), &detail)
}

/// The alert, sent once, for a sale whose message a queue refuses. Every later run in which the sale is due tries
/// again.
pub(crate) fn refused(sale: &Sale, now: Timestamp) -> Alert {
    let detail = "a queue refuses its message; every later run tries again";
    Alert::event("ORACLE-DEADLINES", Severity::Critical, now, "IN_FLIGHT", sale.session_id(), detail)
}

/// The alert about an unfinished follow-up whose session stops it.
pub(crate) fn stopped(sale: &Sale, now: Timestamp) -> Alert {
    let detail = "a follow-up that is not finished waits: its session is refunded, disputed or erased";
    Alert::event("ORACLE-DEADLINES", Severity::Warn, now, "IN_FLIGHT", sale.session_id(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Channel, SessionId, mail::Progress, money::Money};
    use testkit::sale::WithField;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn sale() -> Sale {
        Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
    }

    fn ready() -> Sale {
        sale()
            .with("fulfilment", Fulfilment::Ready { at: at(1), archived: true })
            .with("mail", Mail::Sent { at: at(2) })
    }

    fn kinds(sale: &Sale) -> Vec<&'static str> {
        let kind = |message: &Message| match message {
            Message::Order { .. } => "order",
            Message::Mail { .. } => "mail",
            Message::MailRetry { .. } => "retry",
            Message::Notice { .. } => "notice",
            Message::PaymentChanged { .. } => "payment",
            Message::SubscriptionChanged { .. } => "subscription",
        };
        messages(sale, at(9)).iter().map(kind).collect()
    }

    #[test]
    fn every_state_is_sent_to_the_function_that_works_on_it() {
        let sending = Mail::Sending { owner: "a".into(), lease_until: at(1), progress: Progress::default() };
        let retrying = Mail::Retrying { due: at(1), progress: Progress::default() };
        let generating = Fulfilment::Generating { owner: "a".into(), lease_until: at(1) };
        let unusable = sale().with("fulfilment", Fulfilment::Unusable { at: at(1) });
        for (sale, expected) in [
            (sale(), vec!["order"]),
            (sale().with("fulfilment", generating), vec!["order"]),
            (ready().with("fulfilment", Fulfilment::Ready { at: at(1), archived: false }), vec!["order"]),
            (ready().with("mail", Mail::NotOrdered), vec!["order"]),
            (ready().with("mail", Mail::Ordered), vec!["mail"]),
            (ready().with("mail", sending), vec!["mail"]),
            (ready().with("mail", retrying.clone()), vec!["retry"]),
            (ready().with("divergence", Mail::Ordered), vec!["mail"]),
            (unusable.clone().with("notice", retrying), vec!["retry"]),
            (unusable, vec!["notice"]),
            (ready(), vec![]),
            (sale().with("money", Money::Refunded { at: at(1) }), vec![]),
            (
                ready()
                    .with("money", Money::Disputed { at: at(1), refund: None, bounced: false })
                    .with("mail", Mail::Ordered),
                vec![],
            ),
        ] {
            assert_eq!(kinds(&sale), expected, "{sale:?}");
        }
    }

    /// Email Retry, FM-01.
    #[test]
    fn a_warning_first_then_louder_and_a_missing_retry_worker_is_named() {
        let severity = |times| alert(&sale(), at(0), times, at(9)).channel;
        assert_eq!([1, 2, 3, 9].map(severity), [Channel::Ops, Channel::Ops, Channel::Critical, Channel::Critical]);
        assert!(alert(&sale(), at(0), 1, at(9)).line.contains("WARN"));
        let retrying = ready().with("mail", Mail::Retrying { due: at(1), progress: Progress::default() });
        assert!(alert(&retrying, at(1), 1, at(9)).line.contains("retry worker missing"));
        assert!(!alert(&retrying, at(1), 1, at(0)).line.contains("retry worker missing"));
        let refunded = sale().with("money", Money::Refunded { at: at(1) });
        let letter = refunded.with("refund_letter", Mail::Retrying { due: at(1), progress: Progress::default() });
        assert!(alert(&letter, at(1), 1, at(9)).line.contains("no attempt at the refund mail"));
        assert!(alert(&refunded, at(1), 1, at(9)).line.contains("records or alerts could not be written"));
        assert!(
            alert(&sale(), at(1), 1, at(9))
                .line
                .contains("no worker has finished it since 1970-01-01T00:00:01.000Z: message sent again, time 1")
        );
    }
}
