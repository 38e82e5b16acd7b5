//! The mailbox on a relay, against a store and a service whose calls fail as the test says.

use super::*;
use crate::{poll_once::poll_once, ports::StorageError};
use std::{collections::BTreeMap, sync::Mutex};

/// The store and the service. Each call takes the next letter of `script`: `y`es, `l`ost (done, but the caller sees an
/// error), `f`ailed (not done), `r`efused.
#[derive(Default)]
struct Vendor {
    script: Mutex<Vec<char>>,
    drafts: Mutex<BTreeMap<RelayDraftId, Versioned<RelayDraft>>>,
    links: Mutex<BTreeMap<String, SessionId>>,
    sent: Mutex<Vec<String>>,
}

impl Vendor {
    /// Whether the call has its effect, and whether its reply arrives.
    fn next(&self) -> (bool, Option<char>) {
        match self.script.lock().unwrap().pop().unwrap_or('y') {
            'y' => (true, None),
            'l' => (true, Some('l')),
            trouble => (false, Some(trouble)),
        }
    }

    fn play<T>(&self, effect: impl FnOnce() -> T) -> Result<T, StorageError> {
        let (happens, trouble) = self.next();
        let outcome = happens.then(effect);
        match (outcome, trouble) {
            (Some(outcome), None) => Ok(outcome),
            _ => Err(StorageError { operation: "draft", source: "down".into() }),
        }
    }
}

#[async_trait]
impl RelayDrafts for Vendor {
    async fn draft(&self, id: &RelayDraftId) -> Result<Option<Versioned<RelayDraft>>, StorageError> {
        self.play(|| self.drafts.lock().unwrap().get(id).cloned())
    }
    async fn save(&self, id: &RelayDraftId, draft: &RelayDraft, expected: u64) -> Result<u64, SaveError> {
        let saved = self.play(|| {
            let mut drafts = self.drafts.lock().unwrap();
            if drafts.get(id).map_or(0, |found| found.version) != expected {
                return false;
            }
            drafts.insert(id.clone(), Versioned { value: draft.clone(), version: expected + 1 });
            true
        });
        if saved? { Ok(expected + 1) } else { Err(SaveError::Conflict) }
    }
    async fn discard(&self, id: &RelayDraftId) -> Result<(), StorageError> {
        self.play(|| drop(self.drafts.lock().unwrap().remove(id)))
    }
    async fn link(&self, message: &str, session: &SessionId) -> Result<(), StorageError> {
        self.play(|| drop(self.links.lock().unwrap().insert(message.to_owned(), session.clone())))
    }
    async fn linked(&self, message: &str) -> Result<Option<SessionId>, StorageError> {
        self.play(|| self.links.lock().unwrap().get(message).cloned())
    }
}

#[async_trait]
impl Relay for Vendor {
    async fn send(&self, mail: &OutgoingMail) -> Result<String, MailError> {
        let (happens, trouble) = self.next();
        if happens {
            self.sent.lock().unwrap().push(format!("{} {} {}", mail.to.expose(), mail.subject, mail.body));
        }
        match trouble {
            None => Ok("0100-id".to_owned()),
            Some('l') => Err(MailError::OutcomeUnknown("lost".into())),
            Some('r') => Err(MailError::Rejected),
            Some(_) => Err(MailError::Unavailable(503)),
        }
    }
}

impl Randomness for Vendor {
    fn fraction(&self) -> f64 {
        0.0
    }
    fn token(&self) -> String {
        "0".repeat(32)
    }
}

fn mail() -> OutgoingMail {
    OutgoingMail {
        to: EmailAddress::parse("buyer@example.com").unwrap(),
        subject: "Your verdict".to_owned(),
        body: "GREEN".to_owned(),
        session_id: SessionId::parse("cs_test_1").unwrap(),
    }
}

/// A vendor that has this draft, and plays these calls next.
fn with_draft(script: &str) -> (Vendor, Draft) {
    let vendor = Vendor::default();
    let draft = poll_once(mailbox(&vendor).create_draft(&mail())).unwrap();
    *vendor.script.lock().unwrap() = script.chars().rev().collect();
    (vendor, draft)
}

#[test]
fn the_parts_of_a_mail_are_never_printed() {
    let mail = RelayMail { to: "buyer@example.com".into(), subject: "Your verdict".into(), body: "GREEN".into() };
    assert_eq!(format!("{mail:?}"), "RelayMail(…)");
}

const fn mailbox(vendor: &Vendor) -> RelayMailbox<'_> {
    RelayMailbox { drafts: vendor, relay: vendor, randomness: vendor }
}

#[test]
fn a_draft_is_sent_once_and_then_has_no_text() {
    let (vendor, draft) = with_draft("");
    let mailbox = mailbox(&vendor);
    assert!(poll_once(mailbox.draft_exists(&draft)).unwrap() && !poll_once(mailbox.was_sent(&draft)).unwrap());
    poll_once(mailbox.send_draft(&draft)).unwrap();
    assert!(!poll_once(mailbox.draft_exists(&draft)).unwrap() && poll_once(mailbox.was_sent(&draft)).unwrap());
    assert!(matches!(poll_once(mailbox.send_draft(&draft)), Err(MailError::NoSuchDraft)));
    assert_eq!(*vendor.sent.lock().unwrap(), ["buyer@example.com Your verdict GREEN"]);
    assert_eq!(vendor.drafts.lock().unwrap().values().next().unwrap().value, RelayDraft::Sent);
    assert_eq!(poll_once(vendor.linked("0100-id")).unwrap(), Some(mail().session_id));
}

/// Every sequence of outcomes of the five calls of a send, then whatever a caller may do next, as often as it likes.
#[test]
fn no_outcome_of_any_call_sends_a_mail_twice_or_reads_an_unsent_one_as_sent() {
    for number in 0..4_u32.pow(5) {
        let script: String = (0..5).map(|at| ['y', 'l', 'f', 'r'][(number / 4_u32.pow(at) % 4) as usize]).collect();
        let (vendor, draft) = with_draft(&script);
        let mailbox = mailbox(&vendor);
        let first = poll_once(mailbox.send_draft(&draft));
        vendor.script.lock().unwrap().clear();
        let went = vendor.sent.lock().unwrap().len();
        assert!(first.is_err() || went == 1, "{script}: sent means sent");
        assert!(!poll_once(mailbox.was_sent(&draft)).unwrap() || went == 1, "{script}");
        assert!(!poll_once(mailbox.draft_exists(&draft)).unwrap() || went == 0, "{script}: what exists was not sent");
        drop(poll_once(mailbox.send_draft(&draft)));
        drop(poll_once(mailbox.send_draft(&draft)));
        assert!(vendor.sent.lock().unwrap().len() <= 1, "{script}");
    }
}

#[test]
fn a_refused_mail_is_a_draft_again_and_one_of_unknown_outcome_is_neither_draft_nor_sent() {
    for (script, exists) in [("yyr", true), ("yyf", true), ("yyl", false), ("yyrf", false)] {
        let (vendor, draft) = with_draft(script);
        assert!(poll_once(mailbox(&vendor).send_draft(&draft)).is_err());
        assert_eq!(poll_once(mailbox(&vendor).draft_exists(&draft)).unwrap(), exists, "{script}");
        assert!(!poll_once(mailbox(&vendor).was_sent(&draft)).unwrap(), "{script}");
    }
}

#[test]
fn a_discarded_draft_and_one_of_another_mailbox_are_never_sent() {
    let (vendor, draft) = with_draft("");
    poll_once(mailbox(&vendor).discard_draft(&draft)).unwrap();
    assert!(matches!(poll_once(mailbox(&vendor).send_draft(&draft)), Err(MailError::NoSuchDraft)));
    let other = Draft { id: "AAMkAD=".to_owned(), ..draft };
    assert!(matches!(poll_once(mailbox(&vendor).send_draft(&other)), Err(MailError::NoSuchDraft)));
    assert!(!poll_once(mailbox(&vendor).draft_exists(&other)).unwrap());
    assert!(vendor.sent.lock().unwrap().is_empty());
}

#[test]
fn only_a_mail_of_this_service_is_looked_up_and_the_text_is_not_printed() {
    for region in ["email", "eu-west-1"] {
        assert_eq!(id_of_reply(&format!("<0100-ab@{region}.amazonses.com>")), Some("0100-ab"));
    }
    for other in ["", "<0100@x>", "0100@email.amazonses.com", "<@email.amazonses.com>", "<a#b@email.amazonses.com>"] {
        assert_eq!(id_of_reply(other), None, "{other}");
    }
    let (vendor, _) = with_draft("");
    assert!(!format!("{:?}", vendor.drafts.lock().unwrap()).contains("buyer"));
}
