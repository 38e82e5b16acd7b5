//! A service that sends mails and keeps none, and the store of its drafts, in a [`World`].

use super::{
    storage,
    vendors::{delivered, mail_trouble},
};
use crate::{
    inbox::relay_message,
    world::{State, World},
};
use async_trait::async_trait;
use domain::{
    SessionId,
    mail::Draft,
    ports::{MailError, OutgoingMail, Relay, RelayDrafts, SaveError, StorageError, Versioned},
    relay::{RelayDraft, RelayDraftId, RelayMail},
};

#[async_trait]
impl RelayDrafts for World {
    async fn draft(&self, id: &RelayDraftId) -> Result<Option<Versioned<RelayDraft>>, StorageError> {
        let read = self.boundary("store.draft", |state| state.relay_drafts.get(id).cloned());
        read.await.map_err(|_| storage("draft read"))
    }

    async fn save(&self, id: &RelayDraftId, draft: &RelayDraft, expected: u64) -> Result<u64, SaveError> {
        let write = self.boundary("store.save_draft", |state| {
            let stored = state.relay_drafts.get(id);
            if stored.map_or(0, |stored| stored.version) != expected {
                return Err(SaveError::Conflict);
            }
            if let Some(Versioned { value: RelayDraft::Ready(mail), .. }) = stored {
                state.relay_claims.push((id.clone(), mail.clone()));
            }
            let version = expected + 1;
            state.relay_drafts.insert(id.clone(), Versioned { value: draft.clone(), version });
            Ok(version)
        });
        write.await.unwrap_or_else(|_| Err(storage("draft write").into()))
    }

    async fn discard(&self, id: &RelayDraftId) -> Result<(), StorageError> {
        let write = self.boundary("store.discard_draft", |state| drop(state.relay_drafts.remove(id)));
        write.await.map_err(|_| storage("draft removal"))
    }

    async fn link(&self, message: &str, session: &SessionId) -> Result<(), StorageError> {
        let link = |state: &mut State| {
            state.relay_links.insert(message.to_owned(), session.clone());
        };
        self.boundary("store.link_mail", link).await.map_err(|_| storage("mail link write"))
    }

    async fn linked(&self, message: &str) -> Result<Option<SessionId>, StorageError> {
        let read = self.boundary("store.linked_mail", |state| state.relay_links.get(message).cloned());
        read.await.map_err(|_| storage("mail link read"))
    }
}

#[async_trait]
impl Relay for World {
    async fn send(&self, mail: &OutgoingMail) -> Result<String, MailError> {
        let handed = RelayMail::new(mail);
        let write = self.boundary("mailbox.hand_over", |state| {
            state.mail_calls.push(("send", state.now));
            if let Some(refusal) = state.mailbox_says.pop_front().flatten() {
                return Err(refusal);
            }
            let is_it =
                |(id, claimed): &&(RelayDraftId, RelayMail)| id.session == mail.session_id && *claimed == handed;
            let claim = state.relay_claims.iter().rev().find(is_it);
            let unclaimed = Draft { id: "unclaimed".to_owned(), internet_message_id: String::new() };
            let draft = claim.map_or(unclaimed, |(id, _)| id.draft());
            let (place, now) = (state.sent.len(), state.now);
            state.sent.push((draft, delivered(mail)));
            state.sent_at.push(now);
            Ok(relay_message(place))
        });
        write.await.unwrap_or_else(|trouble| Err(mail_trouble(trouble)))
    }
}
