//! Redrives dead-lettered mails.
//!
//! A dead-lettered mail goes back to its first attempt, with its draft and hash: the next worker checks whether the
//! draft was sent before it does anything, so no customer is mailed twice.

use crate::{Done, Operator, PartFailed, Refusals};
use audit::{Change, Context, Journal};
use domain::{
    Sale, SessionId, Timestamp,
    mail::{Letter, Mail},
    message::Message,
    ports::Queue,
};
use serde::Serialize;

/// The ports of a redrive.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    /// The e-mail retry queue.
    pub retries: &'a dyn Queue,
}

impl Ports<'_> {
    /// Sends the message of a mail that is due.
    pub(crate) async fn send(self, session: &SessionId, letter: Letter, now: Timestamp) -> Result<(), PartFailed> {
        let not_sent = "the mail is due again, but its message was not sent; repeating the command is safe";
        let sent = self.retries.send(&Message::mail_retry(session.clone(), now, letter)).await;
        sent.map_err(|error| PartFailed::new(not_sent, error))
    }
}

/// The effect on one mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// It was a dead letter, and is due now.
    PutBack,
    /// It is due already: only its message is sent again.
    AskAgain,
    /// It was a dead letter, and the sale no longer needs it.
    NotWanted,
}

/// Why nothing was redriven.
#[derive(Debug, thiserror::Error)]
pub enum RedriveError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// The money went back, so nothing is sent.
    #[error("the sale's money went back, or is about to: nothing more is sent")]
    MoneyWentBack,
    /// No mail of unknown outcome may be sent.
    #[error("the state of the sale's money allows no such mail")]
    NoSuchMail,
}

impl Refusals for RedriveError {}

/// The effect that a redrive would have on each letter; empty without dead-lettered mails.
///
/// # Errors
/// [`RedriveError::MoneyWentBack`], if the sale needs none of its dead-lettered mails: after a refund it may still need
/// the letter about that.
pub fn plan(sale: &Sale, now: Timestamp) -> Result<Vec<(Letter, Step)>, RedriveError> {
    let steps = steps(sale, now);
    if !sale.is_money_kept() && steps.iter().all(|(_, step)| *step == Step::NotWanted) {
        return Err(RedriveError::MoneyWentBack);
    }
    Ok(steps)
}

fn steps(sale: &Sale, now: Timestamp) -> Vec<(Letter, Step)> {
    let step = |letter| match sale.letter(letter) {
        Mail::Dead { .. } if sale.is_to_send(letter) => Some(Step::PutBack),
        Mail::Dead { .. } => Some(Step::NotWanted),
        Mail::Retrying { due, .. } if *due <= now && sale.is_to_send(letter) => Some(Step::AskAgain),
        _ => None,
    };
    Letter::ALL.into_iter().filter_map(|letter| Some((letter, step(letter)?))).collect()
}

/// The letters that are due, of which only the message is sent again.
pub(crate) fn due(sale: &Sale, now: Timestamp) -> Vec<Letter> {
    steps(sale, now).into_iter().filter(|(_, step)| *step == Step::AskAgain).map(|(letter, _)| letter).collect()
}

/// Redrives the dead-lettered mails of a sale, and returns the effect on each.
///
/// # Errors
/// [`RedriveError`]. Repeating is safe: for a mail that is due already, only the message is sent again.
pub async fn redrive(
    ports: Ports<'_>,
    operator: &Operator,
    session: &SessionId,
) -> Done<Vec<(Letter, Step)>, RedriveError> {
    let journal = ports.journal;
    let sale = journal.store.load(session).await?.ok_or(RedriveError::NoSale)?;
    plan(&sale.value, journal.clock.now())?;
    let (_, steps) = journal.commit(sale, |sale, now| put_back(sale, operator, now)).await?.settle().await;
    for (letter, step) in &steps {
        if matches!(step, Step::PutBack | Step::AskAgain) {
            ports.send(session, *letter, journal.clock.now()).await?;
        }
    }
    Ok(steps)
}

fn put_back(sale: &mut Sale, operator: &Operator, now: Timestamp) -> Change<Vec<(Letter, Step)>> {
    let steps = steps(sale, now);
    match sale.redrive(operator, now) {
        Ok(event) => Change::of(&event, &Context::at(now), steps),
        Err(_) => Change::nothing(steps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::{self, Refused};
    use crate::testing::{at, decisions, journal, operator, sale, session, stored, whatever_breaks, world_with};
    use domain::{
        mail::{CHANGED, Draft, Progress},
        money::Money,
        sale::{Claim, Fulfilment},
    };
    use std::time::Duration;
    use testkit::{Fault, Plan, World, run, sale::WithField};

    fn progress(last: &str, draft: bool) -> Progress {
        let draft = draft.then(|| Draft { id: "d1".into(), internet_message_id: "<1@x>".into() });
        Progress {
            failures: vec!["503".into(), last.into()],
            draft,
            body_hash: Some("h".into()),
            ..Progress::default()
        }
    }

    fn with_dead_mail(progress: Progress) -> Sale {
        sale().with("mail", Mail::Dead { at: at(-100), progress }).with("chased", 3)
    }

    async fn go(world: &World) -> Done<Vec<(Letter, Step)>, RedriveError> {
        redrive(Ports { journal: journal(world), retries: world }, &operator(), &session()).await
    }

    #[test]
    fn a_dead_mail_is_due_again_with_its_draft_and_its_hash() {
        let world = world_with(with_dead_mail(progress("403", true)));
        assert_eq!(run(go(&world)).unwrap().unwrap(), [(Letter::Verdict, Step::PutBack)]);
        let expected = Progress { failures: Vec::new(), ..progress("403", true) };
        let mut sale = stored(&world);
        assert_eq!(*sale.mail(), Mail::Retrying { due: at(0), progress: expected });
        assert_eq!(sale.claim_mail(Letter::Verdict, "w", at(0), Duration::from_secs(1)), Claim::Granted);
        assert_eq!((sale.chased(), sale.outbox().len()), (0, 0));
        let state = world.state();
        assert!(matches!(state.queue[0].0, Message::MailRetry { letter: Letter::Verdict, .. }));
        drop(state);
        let decisions = decisions(&world);
        assert_eq!((&decisions[0]["action"], &decisions[0]["by"]), (&"redrive verdict".into(), &"dana".into()));
    }

    #[test]
    fn a_changed_mail_may_render_anew_unless_a_draft_of_it_exists() {
        for (last, draft, kept) in [(CHANGED, false, false), (CHANGED, true, true), ("503", false, true)] {
            let world = world_with(with_dead_mail(progress(last, draft)));
            run(go(&world)).unwrap().unwrap();
            let Mail::Retrying { progress, .. } = stored(&world).mail().clone() else { panic!("{last}") };
            assert_eq!((progress.body_hash.is_some(), progress.draft.is_some()), (kept, draft), "{last}");
        }
    }

    #[test]
    fn repeating_only_asks_again_and_mails_that_rest_are_left_alone() {
        let world = world_with(with_dead_mail(progress("503", false)));
        run(go(&world)).unwrap().unwrap();
        world.advance(Duration::from_secs(1));
        assert_eq!(run(go(&world)).unwrap().unwrap(), [(Letter::Verdict, Step::AskAgain)]);
        assert_eq!((decisions(&world).len(), world.state().queue.len()), (1, 2));
        for mail in [
            Mail::Sent { at: at(0) },
            Mail::Unknown { at: at(0) },
            Mail::Held,
            Mail::Retrying { due: at(9), progress: Progress::default() },
        ] {
            let world = world_with(sale().with("mail", &mail));
            assert_eq!(run(go(&world)).unwrap().unwrap(), []);
            assert_eq!(*stored(&world).mail(), mail);
            assert!(world.state().queue.is_empty());
        }
    }

    #[test]
    fn nothing_is_sent_that_the_sale_does_not_send_any_more_or_whose_money_went_back() {
        let held = Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(-5) };
        let world = world_with(with_dead_mail(progress("503", false)).with("fulfilment", held));
        assert_eq!(run(go(&world)).unwrap().unwrap(), [(Letter::Verdict, Step::NotWanted)]);
        assert!(world.state().queue.is_empty() && decisions(&world).is_empty());
        let refunded = with_dead_mail(progress("503", false)).with("money", Money::Refunded { at: at(-5) });
        assert!(matches!(plan(&refunded, at(0)), Err(RedriveError::MoneyWentBack)));
        let world = world_with(refunded);
        assert!(run(go(&world)).unwrap().unwrap_err().is_refusal());
        assert!(world.state().queue.is_empty());
        assert!(matches!(run(go(&crate::testing::world())), Some(Err(Refused(RedriveError::NoSale)))));
    }

    #[test]
    fn the_letter_about_a_refund_is_planned_and_sent_after_the_refund() {
        let dead = Mail::Dead { at: at(-100), progress: progress("503", true) };
        let refunded = sale().with("refund_letter", dead).with("money", Money::Refunded { at: at(-200) });
        let expected = [(Letter::Refund, Step::PutBack)];
        assert_eq!(plan(&refunded, at(0)).unwrap(), expected);
        let world = world_with(refunded);
        assert_eq!(run(go(&world)).unwrap().unwrap(), expected);
        assert!(matches!(world.state().queue[0].0, Message::MailRetry { letter: Letter::Refund, .. }));
    }

    #[test]
    fn whatever_breaks_repeating_the_command_sends_the_mail_on_its_way() {
        let check = |world: &World, what: &str| {
            assert!(matches!(stored(world).mail(), Mail::Retrying { .. }), "{what}");
            assert_eq!(decisions(world).len(), 1, "{what}");
            assert!(!world.state().queue.is_empty(), "{what}");
        };
        whatever_breaks(|| world_with(with_dead_mail(progress("503", true))), |world| run(go(world)), check);
    }

    /// The message was sent and the reply was lost, so there are two messages: the claim turns them into one mail.
    #[test]
    fn two_messages_find_one_claim() {
        let world = world_with(with_dead_mail(progress("503", true)));
        world.plan(Plan::none().whenever("queue.send", Fault::LoseReply));
        assert!(matches!(run(go(&world)), Some(Err(NotDone::Unfinished(_)))));
        world.plan(Plan::none());
        run(go(&world)).unwrap().unwrap();
        assert_eq!(world.state().queue.len(), 2);
        let mut sale = stored(&world);
        let lease = Duration::from_secs(120);
        assert_eq!(sale.claim_mail(Letter::Verdict, "first", at(0), lease), Claim::Granted);
        assert_eq!(sale.claim_mail(Letter::Verdict, "second", at(0), lease), Claim::Busy(at(120)));
        sale = sale.with("mail", Mail::Sent { at: at(1) });
        assert_eq!(sale.claim_mail(Letter::Verdict, "second", at(999), lease), Claim::Done);
    }
}
