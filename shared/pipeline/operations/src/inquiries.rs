//! Messages from people that do not reply to a mail of ours. Operators list them with the open sales of the same
//! address, read them, and settle them.

use crate::{Done, Operator, Refusals, list::Row};
use audit::{FunctionJournal, Noted, sale_events::message_digest};
use domain::{
    Timestamp,
    inbox::{ANSWERED_WITHIN, INQUIRIES, Inquiries, Inquiry},
    ports::StorageError,
};
use serde::Serialize;
use serde_json::json;

/// Why an inquiry was not settled.
#[derive(Debug, thiserror::Error)]
pub enum InquiryError {
    /// No waiting inquiry has this name.
    #[error("there is no such open inquiry")]
    None,
}

impl Refusals for InquiryError {}

/// One inquiry in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Its name in the list: a shortened digest of the message's id, as in the log.
    pub inquiry: String,
    /// Always "inquiry"; sales have their kind of work here.
    pub work: &'static str,
    /// When it was found, UTC.
    pub since: String,
    /// When the answer is due, UTC.
    pub due: String,
    /// Whether it is overdue.
    pub overdue: bool,
    /// The references of the open sales with the same address.
    pub sales: Vec<String>,
    /// The mailbox's id of the message.
    #[serde(skip)]
    pub message: String,
}

pub(crate) fn name_of(message: &str) -> String {
    message_digest(message).chars().take(12).collect()
}

/// The inquiries that wait, oldest first. `open` are the sales that wait for an operator.
///
/// # Errors
/// [`StorageError`].
pub async fn waiting(journal: FunctionJournal<'_>, open: &[Row], now: Timestamp) -> Result<Vec<Waiting>, StorageError> {
    let inquiries = FunctionJournal { function: INQUIRIES, ..journal }.load::<Inquiries>().await?;
    let waiting = |inquiry: &Inquiry| {
        let due = inquiry.at.plus(ANSWERED_WITHIN);
        let is_of_address = |tag: &String| *tag == inquiry.sender || inquiry.other_tags.contains(tag);
        let same = |row: &&Row| row.email_tag.as_ref().is_some_and(is_of_address);
        Waiting {
            inquiry: name_of(&inquiry.message),
            work: "inquiry",
            since: inquiry.at.to_iso(),
            due: due.to_iso(),
            overdue: due <= now,
            sales: open.iter().filter(same).map(|row| row.session_id.reference().to_owned()).collect(),
            message: inquiry.message.clone(),
        }
    };
    Ok(inquiries.value.memory.open.iter().map(waiting).collect())
}

/// Records that an operator has answered an inquiry.
///
/// # Errors
/// [`InquiryError`].
pub async fn settle(journal: FunctionJournal<'_>, operator: &Operator, name: &str) -> Done<(), InquiryError> {
    let journal = FunctionJournal { function: INQUIRIES, ..journal };
    let inquiries = journal.load::<Inquiries>().await?;
    let settle = |inquiries: &mut Inquiries, _| {
        let named = inquiries.open.iter().find(|inquiry| name_of(&inquiry.message) == name);
        let Some(message) = named.map(|inquiry| inquiry.message.clone()) else { return Noted::nothing(false) };
        let facts = json!({
            "message": message_digest(&message), "by": operator.name(), "identity": operator.identity(),
            "reason": operator.reason(),
        });
        inquiries.settle(&message);
        Noted::save(true).requiring("inquiry_settled", facts)
    };
    let (_, settled) = journal.commit(inquiries, settle).await?.settle().await;
    if settled { Ok(()) } else { Err(InquiryError::None.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::{self, Refused};
    use crate::{
        list,
        testing::{at, operator, sale, whatever_breaks_or_is_done, world_with},
    };
    use domain::sale::Fulfilment;
    use testkit::{Plan, World, run, sale::WithField};

    fn journal(world: &World) -> FunctionJournal<'_> {
        FunctionJournal { function: INQUIRIES, notes: world, log: world, alerts: world, clock: world }
    }

    /// The customer of a failed sale writes "I got nothing", and a stranger asks for something.
    fn world() -> World {
        let failed = Fulfilment::Failed { reason: "503".into(), at: at(-50) };
        let world = world_with(sale().with("fulfilment", failed).with("email_tag", Some("tag-of-buyer".to_owned())));
        add(&world, "m1", "tag-of-buyer", &[]);
        add(&world, "m2", "tag-of-stranger", &[]);
        world
    }

    fn add(world: &World, message: &str, sender: &str, other_tags: &[&str]) {
        let add = |inquiries: &mut Inquiries, now| {
            let other_tags = other_tags.iter().map(|tag| (*tag).to_owned()).collect();
            inquiries.add(Inquiry { message: message.into(), at: now, sender: sender.into(), other_tags });
            Noted::save(())
        };
        let added = async {
            let loaded = journal(world).load::<Inquiries>().await.unwrap();
            journal(world).commit(loaded, add).await.unwrap().settle().await;
        };
        run(added).unwrap();
    }

    fn listed(world: &World, seconds: i64) -> Vec<Waiting> {
        let ports = list::Ports { open: world, store: world };
        let open = run(list::everything(ports, at(0))).unwrap().unwrap();
        run(waiting(journal(world), &open, at(seconds))).unwrap().unwrap()
    }

    #[test]
    fn an_inquiry_is_due_in_a_day_and_names_the_open_sales_of_its_address() {
        let world = world();
        let waiting = listed(&world, 0);
        assert_eq!(waiting.iter().map(|it| it.sales.len()).collect::<Vec<_>>(), [1, 0]);
        assert_eq!((waiting[0].sales[0].as_str(), waiting[0].overdue), ("c3D4e5F6", false));
        assert!(listed(&world, 24 * 3600)[0].overdue && !listed(&world, 24 * 3600 - 1)[0].overdue);
    }

    /// A further key is current, and the sale has the tag of the one before.
    #[test]
    fn an_inquiry_names_the_open_sales_of_its_address_under_any_key() {
        let world = world();
        add(&world, "m3", "new-tag-of-buyer", &["oldest-tag-of-buyer", "tag-of-buyer"]);
        assert_eq!(listed(&world, 0).iter().map(|it| it.sales.len()).collect::<Vec<_>>(), [1, 0, 1]);
    }

    #[test]
    fn an_inquiry_is_settled_once_and_on_record() {
        let world = world();
        let name = listed(&world, 0)[0].inquiry.clone();
        run(settle(journal(&world), &operator(), &name)).unwrap().unwrap();
        assert_eq!(listed(&world, 0).len(), 1);
        let again = run(settle(journal(&world), &operator(), &name)).unwrap();
        assert!(matches!(again, Err(Refused(InquiryError::None))));
        let log: String = world.state().log.values().cloned().collect();
        assert!(log.contains("inquiry_settled") && log.contains("\"by\":\"dana\""), "{log}");
    }

    #[test]
    fn whatever_breaks_an_inquiry_is_settled_once() {
        let fresh = || {
            let world = world();
            world.plan(Plan::none());
            world
        };
        let name = listed(&fresh(), 0)[0].inquiry.clone();
        let go = |world: &World| run(settle(journal(world), &operator(), &name));
        let is_done = |refused: &NotDone<InquiryError>| matches!(refused, Refused(InquiryError::None));
        whatever_breaks_or_is_done(fresh, go, is_done, |world, what| {
            assert_eq!(listed(world, 0).len(), 1, "{what}");
            let state = world.state();
            assert_eq!(state.log.values().filter(|line| line.contains("inquiry_settled")).count(), 1, "{what}");
        });
    }
}
