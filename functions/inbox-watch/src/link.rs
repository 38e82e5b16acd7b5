//! A reply to one of a sale's mails, on that sale (Silent Drop, GAP-SD-09).

use crate::{error::WatchError, trouble::alert, watch::Watch};
use audit::{Change, Context, FunctionJournal, Journal, Noted, sale_events::message_digest};
use domain::{
    EmailAddress, Sale, Timestamp,
    alert::Severity,
    inbox::{INQUIRIES, Incoming, Inquiries, Inquiry, Reply, is_authenticated},
    sale::Event,
};
use serde_json::json;

impl Watch<'_> {
    /// Puts a reply on the sale that it belongs to. Whether it belongs to one.
    pub(crate) async fn link(&self, id: &str, message: &Incoming, sender: &EmailAddress) -> Result<bool, WatchError> {
        let Some(session) = self.ports.inbox.sale_of(message).await? else { return Ok(false) };
        let Some(sale) = self.ports.store.load(&session).await? else {
            tracing::warn!(session = session.prefix(), "a reply to a mail of a sale that is not known");
            return Ok(false);
        };
        let journal = self.sales();
        let reply = |sale: &mut Sale, now| {
            // Compares with the key that made the sale's tag, which may have been rotated since. A sender that fails
            // DMARC does not count as the buyer.
            let buyer = sale.email_tag();
            let is_same = buyer.and_then(|buyer| self.ports.audit_keys.is_tag_of(buyer, sender));
            replied(sale, id, is_same.map(|same| same && is_authenticated(message)), now)
        };
        journal.commit(sale, reply).await?.settle().await;
        Ok(true)
    }

    /// Puts a message that answers no mail of ours on the list of inquiries.
    pub(crate) async fn inquire(&self, id: &str, sender: &EmailAddress) -> Result<(), WatchError> {
        let journal = FunctionJournal { function: INQUIRIES, ..self.ports.journal };
        let notebook = journal.load::<Inquiries>().await?;
        let sender = self.ports.audit_key.email_tag(sender);
        let note = |inquiries: &mut Inquiries, now| {
            if !inquiries.note(Inquiry { message: id.to_owned(), at: now, sender: sender.clone() }) {
                return Noted::nothing(());
            }
            Noted::save(()).recording("inquiry", json!({ "message": message_digest(id), "sender": sender }))
        };
        journal.commit(notebook, note).await?.settle().await;
        Ok(())
    }

    fn sales(&self) -> Journal<'_> {
        let FunctionJournal { log, alerts, clock, .. } = self.ports.journal;
        Journal { store: self.ports.store, log, alerts, clock }
    }
}

/// Notes a reply on its sale, once.
fn replied(sale: &mut Sale, message: &str, from_buyer: Option<bool>, now: Timestamp) -> Change<()> {
    let reply = Reply { message: message.to_owned(), at: now, from_buyer, settled_at: None };
    let Ok(event) = sale.replied(reply) else { return Change::nothing(()) };
    let kept = !matches!(event, Event::Replied { kept: false, .. });
    let what_to_do = if kept { "oracle replies show" } else { "which keeps no more of them: look into the inbox" };
    let detail = format!("a reply to a mail of {}: {what_to_do}", sale.session_id().prefix());
    // Its subject is the reply: the prefixes of two sales may well be the same, and equal alerts are sent once a minute.
    let alert = alert(Severity::Warn, now, "REPLY", &message_digest(message), &detail);
    Change::of(&event, &Context::at(now), ()).alerting(alert)
}
