//! Settles mails whose outcome is unknown: an operator has checked the mailbox and enters the result.

use crate::{
    Done, Operator,
    redrive::{Ports, RedriveError, due},
};
use audit::{Change, Context};
use domain::{Sale, SessionId, mail::Letter};

pub use domain::mail::MailOutcome;

/// Records the result for each such mail of a sale, and redrives those that were not sent. Returns the letters; once an
/// earlier command has recorded that they were not sent, those that are due.
///
/// # Errors
/// [`RedriveError`]. Repeating is safe: a recorded result is not recorded again, and for a mail that is due only the
/// message is sent again.
pub async fn settle(
    ports: Ports<'_>,
    operator: &Operator,
    session: &SessionId,
    found: MailOutcome,
) -> Done<Vec<Letter>, RedriveError> {
    let journal = ports.journal;
    let sale = journal.store.load(session).await?.ok_or(RedriveError::NoSale)?;
    let note = |sale: &mut Sale, now| {
        let letters = sale.unknown_mails();
        match sale.settle_mails(operator, found, now) {
            Ok(event) => Change::of(&event, &Context::at(now), Some(letters)),
            Err(_) if !letters.is_empty() => Change::nothing(None),
            // An earlier command has settled them, and may have failed before it sent their messages.
            Err(_) if found == MailOutcome::NotSent => Change::nothing(Some(due(sale, now))),
            Err(_) => Change::nothing(Some(letters)),
        }
    };
    let (_, letters) = journal.commit(sale, note).await?.settle().await;
    let letters = letters.ok_or(RedriveError::NoSuchMail)?;
    if found == MailOutcome::NotSent {
        for letter in &letters {
            ports.send(session, *letter, journal.clock.now()).await?;
        }
    }
    Ok(letters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone;
    use crate::testing::{at, decisions, journal, operator, sale, session, stored, whatever_breaks, world_with};
    use domain::{
        mail::{Mail, Progress},
        money::Money,
        sale::Fulfilment,
    };
    use testkit::{Fault, Plan, World, run, sale::WithField};

    fn unknown() -> World {
        let fulfilment = Fulfilment::Ready { at: at(-200), archived: true };
        world_with(sale().with("fulfilment", fulfilment).with("mail", Mail::Unknown { at: at(-100) }))
    }

    async fn go(world: &World, found: MailOutcome) -> Done<Vec<Letter>, RedriveError> {
        settle(Ports { journal: journal(world), retries: world }, &operator(), &session(), found).await
    }

    #[test]
    fn what_was_found_sent_is_on_record_and_off_the_list() {
        let world = unknown();
        assert_eq!(run(go(&world, MailOutcome::Sent)).unwrap().unwrap(), [Letter::Verdict]);
        assert_eq!((stored(&world).mail(), stored(&world).open_work()), (&Mail::Sent { at: at(0) }, None));
        assert_eq!(decisions(&world)[0]["action"], "found sent: verdict");
        assert!(world.state().queue.is_empty());
        assert_eq!(run(go(&world, MailOutcome::NotSent)).unwrap().unwrap(), [], "and is not sent afterwards");
    }

    #[test]
    fn what_was_found_not_sent_is_sent_again_once_whatever_breaks() {
        let check = |world: &World, what: &str| {
            let due = Mail::Retrying { due: at(0), progress: Progress::default() };
            assert_eq!(*stored(world).mail(), due, "{what}");
            assert_eq!(decisions(world).len(), 1, "{what}");
            assert!(!world.state().queue.is_empty(), "{what}");
        };
        whatever_breaks(unknown, |world| run(go(world, MailOutcome::NotSent)), check);
    }

    /// The command's error says that repeating it is safe, so the repetition must say what it sends.
    #[test]
    fn a_repeated_command_sends_the_message_that_the_first_one_lost() {
        let world = unknown();
        world.plan(Plan::none().whenever("queue.send", Fault::Fail));
        assert!(matches!(run(go(&world, MailOutcome::NotSent)), Some(Err(NotDone::Unfinished(_)))));
        world.plan(Plan::none());
        assert_eq!(run(go(&world, MailOutcome::NotSent)).unwrap().unwrap(), [Letter::Verdict]);
        assert_eq!((decisions(&world).len(), world.state().queue.len()), (1, 1));
        assert_eq!(run(go(&world, MailOutcome::Sent)).unwrap().unwrap(), [], "it is not found sent any more");
        assert_eq!(world.state().queue.len(), 1);
    }

    #[test]
    fn nothing_is_sent_again_for_money_that_went_back() {
        let world = unknown();
        world.change_sales("money", &Money::Refunded { at: at(-1) });
        assert!(run(go(&world, MailOutcome::NotSent)).unwrap().unwrap_err().is_refusal());
        assert!(matches!(stored(&world).mail(), Mail::Unknown { .. }));
        assert!(world.state().queue.is_empty());
    }
}
