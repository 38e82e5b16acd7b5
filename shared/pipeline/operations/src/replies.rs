//! Customers' replies to a sale's mails: an operator reads and settles them (Silent Drop, GAP-SD-09).

use crate::{Done, Operator, Refusals, inquiries};
use audit::{Change, Context, Journal};
use domain::{
    Sale, SessionId, Timestamp,
    inbox::{Correspondence, Reply},
    ports::{Inbox, MailError, SaleStore},
    sale::Event,
};

/// Why a reply was not shown or settled.
#[derive(Debug, thiserror::Error)]
pub enum RepliesError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// A reply waits that the operator has not read.
    #[error("a reply of the customer waits that you have not read: oracle replies show, then repeat the command")]
    Unread,
}

impl Refusals for RepliesError {}

/// A reply with its text, which is fetched for display and stored nowhere.
pub struct ShownReply {
    /// The reply as the sale stores it.
    pub reply: Reply,
    /// Its text; `None` if the mailbox no longer has it. An error hides no other reply.
    pub says: Result<Option<Correspondence>, MailError>,
}

/// The name by which an operator says that they have read a reply: a shortened digest of the message's id, as in the
/// log.
#[must_use]
pub fn name(reply: &Reply) -> String {
    inquiries::name_of(&reply.message)
}

/// Whether `read` names all waiting replies. Otherwise a decision that settles replies is refused: a reply that came
/// after the operator looked would stay unread.
pub(crate) fn are_read(sale: &Sale, read: &[String]) -> bool {
    sale.waiting_replies().all(|reply| read.contains(&name(reply)))
}

/// The waiting replies of a sale, oldest first.
///
/// # Errors
/// [`RepliesError`].
pub async fn show(
    store: &dyn SaleStore,
    inbox: &dyn Inbox,
    session: &SessionId,
) -> Done<Vec<ShownReply>, RepliesError> {
    let sale = store.load(session).await?.ok_or(RepliesError::NoSale)?;
    let mut shown = Vec::new();
    for reply in sale.value.waiting_replies() {
        shown.push(ShownReply { reply: reply.clone(), says: inbox.correspondence(&reply.message).await });
    }
    Ok(shown)
}

/// Records that an operator has handled the replies of a sale, all of which they have `read` (by [`name`]). Returns how
/// many waited.
///
/// # Errors
/// [`RepliesError`]. Repeating is safe: a settled reply is not settled again.
pub async fn settle(
    journal: Journal<'_>,
    operator: &Operator,
    session: &SessionId,
    read: &[String],
) -> Done<usize, RepliesError> {
    let sale = journal.store.load(session).await?.ok_or(RepliesError::NoSale)?;
    let settled = journal.commit(sale, |sale, now| settled(sale, operator, read, now)).await?;
    Ok(settled.settle().await.1?)
}

fn settled(
    sale: &mut Sale,
    operator: &Operator,
    read: &[String],
    now: Timestamp,
) -> Change<Result<usize, RepliesError>> {
    if !are_read(sale, read) {
        return Change::nothing(Err(RepliesError::Unread));
    }
    match sale.settle_replies(operator, now) {
        Ok(event @ Event::RepliesSettled(_, count)) => Change::of(&event, &Context::at(now), Ok(count)),
        _ => Change::nothing(Ok(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::Refused;
    use crate::testing::{at, decisions, journal, operator, sale, session, stored, whatever_breaks, world_with};
    use domain::inbox::{Arrival, Incoming};
    use testkit::sale::WithField;
    use testkit::{Fault, Plan, World, inbox::Unread, run};

    fn replied() -> Sale {
        let reply = |id: &str| Reply {
            message: id.into(),
            at: at(-9),
            from_buyer: Some(true),
            settled_at: None,
            followup: None,
            is_report: false,
        };
        sale().with("replies", vec![reply("m1"), reply("m2")])
    }

    /// A world with one of the replies in the mailbox.
    fn world_with_reply(id: &str) -> World {
        let world = world_with(replied());
        let arrival = Arrival { received_at: None, id: id.into() };
        let message = Incoming {
            sender: "buyer@example.com".into(),
            subject: "Re: Your verdict".into(),
            conversation: None,
            headers: Vec::new(),
        };
        world.state().inbox.push(Unread { arrival, message, text: String::new() });
        world
    }

    fn sender(shown: &ShownReply) -> Option<&str> {
        shown.says.as_ref().unwrap().as_ref().map(|says| says.sender.as_str())
    }

    #[test]
    fn a_reply_is_fetched_when_it_is_read_and_kept_nowhere() {
        let world = world_with_reply("m1");
        let shown = run(show(&world, &world, &session())).unwrap().unwrap();
        assert_eq!(shown.iter().map(sender).collect::<Vec<_>>(), [Some("buyer@example.com"), None]);
        assert_eq!(stored(&world), replied());
    }

    #[test]
    fn a_reply_that_cannot_be_read_hides_no_other() {
        let world = world_with_reply("m2");
        // After the sale is loaded, the mailbox is asked for the first reply.
        world.plan(Plan::at(1, Fault::Fail));
        let shown = run(show(&world, &world, &session())).unwrap().unwrap();
        assert!(matches!(shown[0].says, Err(MailError::Unavailable(503))));
        assert_eq!((name(&shown[0].reply), sender(&shown[1])), (read()[0].clone(), Some("buyer@example.com")));
    }

    fn read() -> Vec<String> {
        replied().waiting_replies().map(name).collect()
    }

    #[test]
    fn a_reply_that_arrives_after_the_operator_has_read_is_not_settled() {
        let world = world_with(replied());
        let before = &read()[..1];
        let refused = run(settle(journal(&world), &operator(), &session(), before)).unwrap();
        assert!(matches!(refused, Err(Refused(RepliesError::Unread))), "{refused:?}");
        assert_eq!(stored(&world), replied());
        assert_eq!(run(settle(journal(&world), &operator(), &session(), &read())).unwrap().unwrap(), 2);
        assert_eq!(stored(&world).waiting_replies().count(), 0);
    }

    #[test]
    fn whatever_breaks_replies_are_settled_once() {
        let go = |world: &World| run(settle(journal(world), &operator(), &session(), &read()));
        let fresh = || world_with(replied());
        whatever_breaks(fresh, go, |world, what| {
            assert_eq!(stored(world).open_work(), None, "{what}");
            assert_eq!(decisions(world).len(), 1, "{what}");
        });
    }
}
