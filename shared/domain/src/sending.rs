//! What every sender of mail does with a recorded draft: it is sent once, and where a reply got lost, somebody looks
//! before anything else is done (infra/decisions/mail-drafts.md).

use crate::{
    mail::Draft,
    ports::{MailError, Mailbox},
};

/// What became of a recorded draft.
#[derive(Debug)]
pub enum Sending {
    /// It was sent, now or before.
    Sent,
    /// It is no draft any more, and the sent items do not hold it: they lag behind, or somebody removed it.
    Gone,
    /// The mailbox would not send it: it is certainly not sent.
    Refused(MailError),
    /// Nobody could look, or the reply to sending it was lost again: it may have been sent.
    Unknown(MailError),
}

/// Sends a draft that was recorded a moment ago. After a lost reply it is settled at once.
pub async fn send(mailbox: &dyn Mailbox, draft: &Draft) -> Sending {
    match mailbox.send_draft(draft).await {
        Ok(()) => Sending::Sent,
        Err(MailError::OutcomeUnknown(_) | MailError::NoSuchDraft) => settle(mailbox, draft).await,
        Err(error) => Sending::Refused(error),
    }
}

/// Finds out what became of a recorded draft, and sends it if that did not happen yet (pitfall: retrying a mail on a
/// time-out without looking whether the first one went).
pub async fn settle(mailbox: &dyn Mailbox, draft: &Draft) -> Sending {
    match mailbox.draft_exists(draft).await {
        // Still a draft: it was not sent, and sending it is safe, for the mailbox sends it once.
        Ok(true) => match mailbox.send_draft(draft).await {
            Ok(()) => Sending::Sent,
            // The first send was still under way when we looked: now it is done.
            Err(MailError::NoSuchDraft) => settle_gone(mailbox, draft).await,
            Err(error @ MailError::OutcomeUnknown(_)) => Sending::Unknown(error),
            Err(error) => Sending::Refused(error),
        },
        Ok(false) => settle_gone(mailbox, draft).await,
        Err(error) => Sending::Unknown(error),
    }
}

/// The draft is gone: it was sent, unless somebody removed it.
async fn settle_gone(mailbox: &dyn Mailbox, draft: &Draft) -> Sending {
    match mailbox.was_sent(draft).await {
        Ok(true) => Sending::Sent,
        Ok(false) => Sending::Gone,
        Err(error) => Sending::Unknown(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::OutgoingMail;
    use async_trait::async_trait;
    use std::{
        future::Future,
        pin::pin,
        sync::Mutex,
        task::{Context, Poll, Waker},
    };

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
    }

    /// What comes of these answers; all of them must be used up.
    fn outcome(settles: bool, answers: &str) -> String {
        let script = Script(Mutex::new(answers.chars().rev().collect()));
        let draft = Draft { id: "d".into(), internet_message_id: "<d@x>".into() };
        let mut sending =
            pin!(async { if settles { settle(&script, &draft).await } else { send(&script, &draft).await } });
        let Poll::Ready(sending) = sending.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
        assert!(script.0.lock().unwrap().is_empty(), "{answers}: somebody did not look");
        format!("{sending:?}").split('(').next().unwrap().to_owned()
    }

    #[test]
    fn a_draft_is_looked_for_before_it_is_sent_again() {
        for (answers, expected) in [
            ("y", "Sent"),
            ("r", "Refused"),
            ("u", "Refused"),
            // Lost or gone: is it still a draft?
            ("lu", "Unknown"),
            ("lyy", "Sent"),
            ("lyr", "Refused"),
            ("lyl", "Unknown"),
            ("lygy", "Sent"),
            ("lygn", "Gone"),
            ("lny", "Sent"),
            ("lnn", "Gone"),
            ("lnu", "Unknown"),
            ("gny", "Sent"),
            ("gnn", "Gone"),
        ] {
            assert_eq!(outcome(false, answers), expected, "{answers}");
            if let Some(settled) = answers.strip_prefix('l') {
                assert_eq!(outcome(true, settled), expected, "{settled}, from the record");
            }
        }
    }
}
