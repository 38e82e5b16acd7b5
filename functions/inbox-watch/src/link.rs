//! A reply to one of a sale's mails, on that sale (Silent Drop, GAP-SD-09).

use crate::{error::WatchError, trouble::alert, watch::Watch};
use audit::{Change, Context, FunctionJournal, Journal, sale_events::message_digest};
use domain::{
    EmailAddress, Sale, Timestamp,
    alert::Severity,
    inbox::{Incoming, Reply},
    sale::Event,
};

impl Watch<'_> {
    /// Puts a reply on the sale that it belongs to, if to any.
    pub(crate) async fn link(&self, id: &str, message: &Incoming, sender: &EmailAddress) -> Result<(), WatchError> {
        let Some(session) = self.ports.inbox.sale_of(message).await? else { return Ok(()) };
        let Some(sale) = self.ports.store.load(&session).await? else {
            tracing::warn!(session = session.prefix(), "a reply to a mail of a sale that is not known");
            return Ok(());
        };
        let FunctionJournal { log, alerts, clock, .. } = self.ports.journal;
        let journal = Journal { store: self.ports.store, log, alerts, clock };
        let reply = |sale: &mut Sale, now| {
            // With the key that the sale's tag was made with: it may have been rotated since.
            let buyer = sale.email_tag();
            let from_buyer = buyer.and_then(|buyer| self.ports.audit_keys.is_tag_of(buyer, sender));
            replied(sale, id, from_buyer, now)
        };
        journal.commit(sale, reply).await?.settle().await;
        Ok(())
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
