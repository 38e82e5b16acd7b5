//! The data of one sale, in a [`World`].

use crate::{
    unread::Unread,
    world::{Delivered, State, World},
};
use async_trait::async_trait;
use domain::{
    SessionId,
    erasure::Store,
    mail::Draft,
    ports::{MailError, SaleData, SaleMails, StorageError, StoredMails},
    relay::RelayDraftId,
};

fn kept(state: &State, store: Store, session: &SessionId) -> u64 {
    let dead = |key: &&String| key.contains(session.as_str());
    let count = match store {
        Store::Table => {
            let drafts = state.relay_drafts.keys().filter(|id| id.session == *session).count();
            let entries = usize::from(state.cache.contains_key(session));
            entries + usize::from(state.submissions.contains_key(session)) + drafts
        }
        Store::Archive => usize::from(state.archive.contains_key(session)),
        Store::DeadLetters => state.dead_letters.keys().filter(dead).count(),
        Store::Quarantine => state.quarantine.iter().filter(|(held, _)| held == session).count(),
        Store::Mailbox => mails(state, session, &[]).ids.len(),
    };
    count as u64
}

/// The ids of the drafts and sent mails that have the sale's id.
fn ours(state: &State, session: &SessionId) -> Vec<String> {
    let is_of_sale = |(draft, letter): &&(Draft, Delivered)| {
        letter.session == *session || state.acknowledged.get(&draft.id) == Some(session)
    };
    let drafts = state.drafts.values().filter(is_of_sale).map(|(draft, _)| &draft.id);
    let is_kept = |sent: &&(Draft, Delivered)| is_of_sale(sent) && RelayDraftId::of(&sent.0).is_none();
    let sent = state.sent.iter().filter(is_kept).map(|(draft, _)| &draft.id);
    drafts.chain(sent).filter(|id| !state.removed_mails.contains(*id)).cloned().collect()
}

/// The most messages of conversations in a list.
const MOST_LISTED: usize = 80;

/// The mailbox finds a conversation only by a message in it: one of ours, or a known one. These come last, once all others
/// are listed.
fn mails(state: &State, session: &SessionId, known: &[String]) -> SaleMails {
    let ours = ours(state, session);
    let (kept, rest): (Vec<&Unread>, Vec<&Unread>) =
        state.inbox.iter().partition(|unread| known.contains(&unread.arrival.id));
    let is_found = |unread: &&Unread| {
        let Some(conversation) = unread.message.conversation.as_ref() else { return false };
        let is_of_ours = !ours.is_empty() && state.conversations.get(conversation) == Some(session);
        is_of_ours || kept.iter().any(|other| other.message.conversation.as_ref() == Some(conversation))
    };
    let id = |unread: &Unread| unread.arrival.id.clone();
    let mut ids: Vec<String> = rest.into_iter().filter(is_found).map(id).collect();
    let more = ids.len() > MOST_LISTED;
    if more {
        ids.truncate(MOST_LISTED);
    } else {
        ids.extend(kept.into_iter().map(id).chain(ours));
    }
    SaleMails { ids, more }
}

#[async_trait]
impl SaleData for World {
    async fn kept(&self, store: Store, session: &SessionId) -> Result<u64, StorageError> {
        self.stored("sale_data.kept", |state| kept(state, store, session)).await
    }

    async fn remove(&self, store: Store, session: &SessionId) -> Result<u64, StorageError> {
        self.stored("sale_data.remove", |state| {
            let count = kept(state, store, session);
            match store {
                Store::Table => {
                    state.uncache(session);
                    state.submissions.remove(session);
                    state.relay_drafts.retain(|id, _| id.session != *session);
                }
                Store::Archive => drop(state.archive.remove(session)),
                Store::DeadLetters => state.dead_letters.retain(|key, _| !key.contains(session.as_str())),
                Store::Quarantine => state.quarantine.retain(|(held, _)| held != session),
                Store::Mailbox => {}
            }
            count
        })
        .await
    }
}

#[async_trait]
impl StoredMails for World {
    async fn of_sale(&self, session: &SessionId, known: &[String]) -> Result<SaleMails, MailError> {
        let read = self.boundary("stored_mails.of_sale", |state| mails(state, session, known));
        read.await.map_err(|_| MailError::Unavailable(503))
    }

    async fn named(&self, name: &SessionId) -> Result<Vec<String>, MailError> {
        self.boundary("stored_mails.named", |state| ours(state, name)).await.map_err(|_| MailError::Unavailable(503))
    }

    async fn remove(&self, id: &str) -> Result<(), MailError> {
        let write = self.boundary("stored_mails.remove", |state| {
            state.drafts.remove(id);
            state.inbox.retain(|unread| unread.arrival.id != id);
            state.removed_mails.insert(id.to_owned());
        });
        write.await.map_err(|_| MailError::Unavailable(503))
    }
}
