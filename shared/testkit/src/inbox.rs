//! The inbox, and the topic for its broadcasts, in a [`World`].

pub use crate::unread::Unread;
use crate::world::{Delivered, World};
use async_trait::async_trait;
use domain::{
    SessionId,
    inbox::{Acknowledgement, Arrival, Arrivals, Correspondence, Incoming, Order, ReceivedAt},
    mail::Draft,
    ports::{Broadcast, Inbox, MailError, StorageError},
};

/// The id that a service that keeps no mails gives a mail: its place among all mails.
#[must_use]
pub fn relay_message(place: usize) -> String {
    format!("relay-{place}")
}

fn unavailable<T>(_: T) -> MailError {
    MailError::Unavailable(503)
}

#[async_trait]
impl Inbox for World {
    async fn arrived(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, MailError> {
        let read = self.boundary("inbox.arrived", |state| {
            let late = |arrival: &&Arrival| arrival.received_at.as_ref().is_none_or(|received| received >= since);
            let mut messages: Vec<_> = state.inbox.iter().map(|unread| &unread.arrival).filter(late).cloned().collect();
            messages.sort_by(|a, b| a.received_at.cmp(&b.received_at));
            if order == Order::NewestFirst {
                messages.reverse();
            }
            let more = messages.len() > most;
            messages.truncate(most);
            match state.mailbox_says.pop_front().flatten() {
                Some(refusal) => Err(refusal),
                None => Ok(Arrivals { messages, more }),
            }
        });
        read.await.map_err(unavailable)?
    }

    async fn message(&self, id: &str) -> Result<Option<Incoming>, MailError> {
        let read = self.boundary("inbox.message", |state| {
            state.inbox.iter().find(|unread| unread.arrival.id == id).map(|unread| unread.message.clone())
        });
        read.await.map_err(unavailable)
    }

    async fn new_text(&self, id: &str) -> Result<Option<String>, MailError> {
        let read = self.boundary("inbox.new_text", |state| {
            state.inbox.iter().find(|unread| unread.arrival.id == id).map(|unread| unread.text.clone())
        });
        read.await.map_err(unavailable)
    }

    async fn correspondence(&self, id: &str) -> Result<Option<Correspondence>, MailError> {
        let found = self.message(id).await?;
        Ok(found.map(|Incoming { sender, subject, .. }| Correspondence { sender, subject, text: String::new() }))
    }

    async fn sale_of(&self, message: &Incoming) -> Result<Option<SessionId>, MailError> {
        let conversation = message.conversation.as_deref();
        let read = self.boundary("inbox.sale_of", |state| state.conversations.get(conversation?).cloned());
        read.await.map_err(unavailable)
    }

    async fn create_acknowledgement(&self, mail: &Acknowledgement) -> Result<Draft, MailError> {
        let number = self.state().acknowledgements;
        let write = self.boundary("inbox.create_acknowledgement", |state| {
            if let Some(refusal) = state.mailbox_says.pop_front().flatten() {
                return Err(refusal);
            }
            state.acknowledgements += 1;
            let draft = Draft { id: format!("ack-{number}"), internet_message_id: format!("<ack-{number}@mail>") };
            state.acknowledged.extend(mail.session.clone().map(|session| (draft.id.clone(), session)));
            let session = SessionId::parse("cs_acknowledgement").map_err(|_| MailError::Rejected)?;
            let (to, subject) = (mail.to.expose().to_owned(), mail.subject.clone());
            let letter = Delivered { session, to, subject, body: mail.body.clone() };
            state.drafts.insert(draft.id.clone(), (draft.clone(), letter));
            Ok(draft)
        });
        write.await.unwrap_or_else(|_| Err(MailError::OutcomeUnknown("planned fault".into())))
    }
}

#[async_trait]
impl Broadcast for World {
    async fn announce(&self, line: &str) -> Result<(), StorageError> {
        let write = self.boundary("broadcast.tell", |state| state.broadcasts.push(line.to_owned()));
        write.await.map_err(|_| StorageError { operation: "broadcast", source: "planned fault".into() })
    }
}
