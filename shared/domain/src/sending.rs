//! Sends recorded drafts, for every sender of mail: a draft is sent once, and after a lost reply the mailbox is checked
//! before anything else is done (infra/decisions/mail-drafts.md).

use crate::{
    mail::Draft,
    ports::{MailError, Mailbox},
};
use std::time::Duration;

/// The outcome of sending a recorded draft.
#[derive(Debug)]
pub enum Sending {
    /// It was sent, now or before.
    Sent,
    /// It is no longer a draft, and the sent-items folder does not contain it: the folder lags behind, or the draft was
    /// removed.
    Gone,
    /// The mailbox refused to send it, and has not sent it before.
    Refused(MailError),
    /// It may have been sent. With [`MailError::OutcomeUnknown`] the reply to sending it was lost a moment ago, and the
    /// mailbox may still be sending it: it must not be sent again at once ([`MOVED_WITHIN`]). With another error the
    /// drafts could not be checked.
    Unknown(MailError),
    /// It is no longer a draft, or the mailbox refuses to send it, and the sent-items folder could not be checked: it has
    /// probably been sent.
    Unchecked(MailError),
}

/// The longest time for which the mailbox is assumed to show a draft that it has accepted. It accepts first, then hands
/// the mail over, and only then moves the draft; what a second request to send does meanwhile is not documented.
pub const MOVED_WITHIN: Duration = Duration::from_secs(300);

/// Sends a draft that was just recorded. After a lost reply the mailbox is checked at once, but nothing is sent again.
pub async fn send(mailbox: &dyn Mailbox, draft: &Draft) -> Sending {
    match mailbox.send_draft(draft).await {
        Ok(()) => Sending::Sent,
        Err(MailError::NoSuchDraft) => settle(mailbox, draft).await,
        Err(error @ MailError::OutcomeUnknown(_)) => check_lost(mailbox, draft, error).await,
        Err(error) => Sending::Refused(error),
    }
}

/// Finds out whether a recorded draft was sent, and sends it otherwise (pitfall: retrying a mail after a time-out
/// without checking whether the first one was sent). A caller whose send lost its reply waits before it settles: for
/// [`MOVED_WITHIN`], or until its next run (infra/decisions/mail-drafts.md).
pub async fn settle(mailbox: &dyn Mailbox, draft: &Draft) -> Sending {
    match mailbox.draft_exists(draft).await {
        // It still is a draft, so it was not sent.
        Ok(true) => match mailbox.send_draft(draft).await {
            Ok(()) => Sending::Sent,
            // The first send was still in progress when we checked; now it is done.
            Err(MailError::NoSuchDraft) => settle_gone(mailbox, draft).await,
            Err(error @ MailError::OutcomeUnknown(_)) => check_lost(mailbox, draft, error).await,
            // Perhaps because it has been sent meanwhile.
            Err(MailError::Rejected) => match settle_gone(mailbox, draft).await {
                Sending::Gone => Sending::Refused(MailError::Rejected),
                settled => settled,
            },
            Err(error) => Sending::Refused(error),
        },
        Ok(false) => settle_gone(mailbox, draft).await,
        Err(error) => Sending::Unknown(error),
    }
}

/// Checks a draft whose sending has just lost its reply.
async fn check_lost(mailbox: &dyn Mailbox, draft: &Draft, lost: MailError) -> Sending {
    match mailbox.draft_exists(draft).await {
        Ok(false) => settle_gone(mailbox, draft).await,
        Ok(true) | Err(_) => Sending::Unknown(lost),
    }
}

/// Whether the mailbox answers: looks for a mail that was never sent. Changes nothing. It says nothing about a mailbox
/// that cannot be probed ([`Mailbox::can_be_probed`]).
///
/// # Errors
/// [`MailError`] when it does not.
pub async fn answers(mailbox: &dyn Mailbox) -> Result<(), MailError> {
    let never_sent = Draft { id: String::new(), internet_message_id: "<never-sent@oracle.invalid>".to_owned() };
    mailbox.was_sent(&never_sent).await.map(drop)
}

/// The draft no longer exists: it was sent, unless it was removed.
async fn settle_gone(mailbox: &dyn Mailbox, draft: &Draft) -> Sending {
    match mailbox.was_sent(draft).await {
        Ok(true) => Sending::Sent,
        Ok(false) => Sending::Gone,
        Err(error) => Sending::Unchecked(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{poll_once::poll_once, ports::OutgoingMail};
    use async_trait::async_trait;
    use std::sync::Mutex;

    /// Answers as the test configured, one letter a call: `y`es, `n`o, `g`one (404), `l`ost, `r`efused, `u`navailable.
    struct Script(Mutex<Vec<char>>);

    impl Script {
        fn next(&self) -> Result<bool, MailError> {
            match self.0.lock().unwrap().pop() {
                Some('y') => Ok(true),
                Some('n') => Ok(false),
                Some('g') => Err(MailError::NoSuchDraft),
                Some('l') => Err(MailError::OutcomeUnknown("lost".into())),
                Some('r') => Err(MailError::Rejected),
                Some('u') => Err(MailError::Unavailable(503)),
                other => panic!("a call too many: {other:?}"),
            }
        }
    }

    #[async_trait]
    impl Mailbox for Script {
        async fn create_draft(&self, _mail: &OutgoingMail) -> Result<Draft, MailError> {
            panic!("no second draft is ever made here")
        }
        async fn send_draft(&self, _draft: &Draft) -> Result<(), MailError> {
            self.next().map(drop)
        }
        async fn draft_exists(&self, _draft: &Draft) -> Result<bool, MailError> {
            self.next()
        }
        async fn was_sent(&self, _draft: &Draft) -> Result<bool, MailError> {
            self.next()
        }
        async fn discard_draft(&self, _draft: &Draft) -> Result<(), MailError> {
            panic!("nothing is removed here")
        }
        fn can_be_probed(&self) -> bool {
            true
        }
    }

    /// The outcome of these answers; all of them must be used up.
    fn outcome(settles: bool, answers: &str) -> String {
        let script = Script(Mutex::new(answers.chars().rev().collect()));
        let draft = Draft { id: "d".into(), internet_message_id: "<d@x>".into() };
        let sending =
            poll_once(async { if settles { settle(&script, &draft).await } else { send(&script, &draft).await } });
        assert!(script.0.lock().unwrap().is_empty(), "{answers}: somebody did not look");
        format!("{sending:?}")
    }

    #[test]
    fn a_mailbox_answers_if_it_can_look_for_a_mail() {
        for (reply, expected) in [('y', true), ('n', true), ('u', false), ('l', false)] {
            let script = Script(Mutex::new(vec![reply]));
            assert_eq!(poll_once(super::answers(&script)).is_ok(), expected, "{reply}");
        }
    }

    #[test]
    fn a_draft_is_looked_for_before_it_is_sent_again() {
        for (answers, expected) in [
            ("y", "Sent"),
            ("r", "Refused"),
            ("u", "Refused"),
            // The reply was lost: what the mailbox still shows may be on its way, and is not sent again.
            ("lu", "Unknown(OutcomeUnknown"),
            ("ly", "Unknown(OutcomeUnknown"),
            ("lny", "Sent"),
            ("lnn", "Gone"),
            ("lnu", "Unchecked(Unavailable"),
            ("lnr", "Unchecked(Rejected"),
            // The draft is missing.
            ("gyy", "Sent"),
            ("gny", "Sent"),
            ("gnn", "Gone"),
        ] {
            assert!(outcome(false, answers).starts_with(expected), "{answers}: {}", outcome(false, answers));
        }
    }

    #[test]
    fn a_recorded_draft_is_sent_only_while_it_is_a_draft() {
        for (answers, expected) in [
            ("u", "Unknown(Unavailable"),
            ("ny", "Sent"),
            ("nn", "Gone"),
            ("nu", "Unchecked(Unavailable"),
            ("yy", "Sent"),
            ("yu", "Refused(Unavailable"),
            ("ygy", "Sent"),
            ("ygn", "Gone"),
            // The reply was lost again.
            ("yly", "Unknown(OutcomeUnknown"),
            ("ylu", "Unknown(OutcomeUnknown"),
            ("ylny", "Sent"),
            ("ylnn", "Gone"),
            // A refusal is final only if the mail was not sent before.
            ("yrn", "Refused(Rejected"),
            ("yry", "Sent"),
            ("yru", "Unchecked(Unavailable"),
        ] {
            assert!(outcome(true, answers).starts_with(expected), "{answers}: {}", outcome(true, answers));
        }
    }
}
