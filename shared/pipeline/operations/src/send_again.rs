//! Sends a delivered mail again, if its customer cannot find it; recorded, and by an operator's decision.

use crate::{Done, Operator, Refusals, redrive::Ports};
use audit::{Change, Context};
use domain::{
    Sale, SessionId,
    mail::{Letter, Mail},
};

/// Why nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum SendAgainError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// It was sent again before. Once is enough for a lost mail; more would allow flooding a mailbox.
    #[error("it was sent again before: give the customer the address of the result page")]
    SentBefore,
    /// A newer block list holds the mail, and with it the page that the customer keeps.
    #[error("today's block list would hold the mail and the page: give the customer the address of the result page")]
    Finding,
    /// No mail was delivered, or its money went back.
    #[error("no mail of this sale was delivered, or its money went back")]
    NotDelivered,
}

impl Refusals for SendAgainError {}

/// Sends the delivered verdict mail once more, to the address that Stripe has for the sale.
///
/// # Errors
/// [`SendAgainError`]. Repeating is safe: one mail is sent, however often its message is.
pub async fn send_again(ports: Ports<'_>, operator: &Operator, session: &SessionId) -> Done<(), SendAgainError> {
    let journal = ports.journal;
    let sale = journal.store.load(session).await?.ok_or(SendAgainError::NoSale)?;
    let send = |sale: &mut Sale, now| {
        if sale.keeps_page() {
            return Change::nothing(false);
        }
        Change::made(sale.send_again(operator, now), &Context::at(now))
    };
    let (sale, _) = journal.commit(sale, send).await?.settle().await;
    let sale = sale.value;
    match sale.mail() {
        // Also done if an earlier command failed before it sent the message.
        Mail::Retrying { .. } | Mail::Sending { .. } if sale.is_sent_again() => {
            Ok(ports.send(session, Letter::Verdict, journal.clock.now()).await?)
        }
        Mail::Sent { .. } if sale.is_sent_again() => Err(SendAgainError::SentBefore.into()),
        Mail::Sent { .. } if sale.keeps_page() => Err(SendAgainError::Finding.into()),
        _ => Err(SendAgainError::NotDelivered.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::Refused;
    use crate::testing::{at, decisions, journal, operator, sale, session, stored, whatever_breaks, world_with};
    use domain::{mail::Progress, money::Money};
    use std::time::Duration;
    use testkit::{Passage, World, run, sale::WithField};

    async fn go(world: &World) -> Done<(), SendAgainError> {
        send_again(Ports { journal: journal(world), retries: world }, &operator(), &session()).await
    }

    #[test]
    fn a_delivered_mail_is_due_again_once_whatever_breaks() {
        let check = |world: &World, what: &str| {
            assert_eq!(*stored(world).mail(), Mail::Retrying { due: at(0), progress: Progress::default() }, "{what}");
            let records = decisions(world);
            assert_eq!((records.len(), &records[0]["action"]), (1, &"mail sent again: verdict".into()), "{what}");
            assert!(!world.state().queue.is_empty(), "{what}");
        };
        whatever_breaks(|| world_with(sale()), |world| run(go(world)), check);
    }

    /// Another process saves the sale a minute after the command has loaded it.
    #[test]
    fn the_record_has_the_time_of_the_change_that_is_saved() {
        let world: &'static World = Box::leak(Box::new(world_with(sale())));
        let mut is_first = true;
        world.surround(Box::new(move |name, _| {
            if name == "store.save" && std::mem::take(&mut is_first) {
                world.advance(Duration::from_secs(60));
                world.state().sales.values_mut().for_each(|(_, version)| *version += 1);
            }
            Passage::default()
        }));
        run(go(world)).unwrap().unwrap();
        assert_eq!(*stored(world).mail(), Mail::Retrying { due: at(60), progress: Progress::default() });
        assert_eq!(decisions(world)[0]["timestamp"], at(60).to_iso());
    }

    /// Gate 2 would hold the mail, and the sale with it.
    #[test]
    fn a_verdict_that_todays_list_holds_keeps_its_page_and_gets_no_other_mail() {
        let mut found = sale();
        found.found_again("1", 1, at(-5)).unwrap();
        let mut dismissed = found.clone();
        dismissed.dismiss_finding(&operator()).unwrap();
        for kept in [found, dismissed] {
            let world = world_with(kept.clone());
            assert!(matches!(run(go(&world)), Some(Err(Refused(SendAgainError::Finding)))));
            assert_eq!(stored(&world), kept);
            assert!(world.state().queue.is_empty() && decisions(&world).is_empty());
        }
    }

    #[test]
    fn a_second_time_and_what_was_not_delivered_is_refused() {
        let world = world_with(sale());
        run(go(&world)).unwrap().unwrap();
        world.change_sales("mail", &Mail::Sent { at: at(1) });
        assert!(matches!(run(go(&world)), Some(Err(Refused(SendAgainError::SentBefore)))));
        for undelivered in [sale().with("mail", Mail::NoAddress), sale().with("money", Money::Refunded { at: at(-1) })]
        {
            let world = world_with(undelivered);
            assert!(run(go(&world)).unwrap().unwrap_err().is_refusal());
            assert!(world.state().queue.is_empty());
        }
    }
}
