//! Notes a reply to a sale's mail on that sale (Silent Drop, GAP-SD-09).

use crate::{error::WatchError, followup::Asked, trouble::alert, watch::Watch};
use audit::{Change, Context, FunctionJournal, Journal, Noted, sale_events::message_digest};
use domain::{
    EmailAddress, Sale, Timestamp,
    alert::Severity,
    inbox::{FollowupReply, INQUIRIES, Incoming, Inquiries, Inquiry, Reply, is_authenticated},
    sale::Event,
};
use serde_json::json;

/// The sale that a message belongs to.
pub(crate) enum Linked {
    /// A known sale. A reply that asks for a follow-up has a specific answer.
    Sale(Option<String>),
    /// No known sale.
    Nothing,
}

impl Watch<'_> {
    /// Notes a reply on the sale that it belongs to.
    pub(crate) async fn link(&self, id: &str, message: &Incoming, sender: &EmailAddress) -> Result<Linked, WatchError> {
        let Some(session) = self.ports.inbox.sale_of(message).await? else { return Ok(Linked::Nothing) };
        let Some(sale) = self.ports.store.load(&session).await? else {
            tracing::warn!(session = session.prefix(), "a reply to a mail of a sale that is not known");
            return Ok(Linked::Nothing);
        };
        let asked = if self.is_from_buyer(&sale.value, message, sender) == Some(true) {
            self.follow_up(id, &sale.value).await?
        } else {
            Asked::nothing()
        };
        let reply = |sale: &mut Sale, now| {
            let from_buyer = self.is_from_buyer(sale, message, sender);
            let settled_at = (asked.reply == Some(FollowupReply::Ordered)).then_some(now);
            let message = id.to_owned();
            replied(sale, Reply { message, at: now, from_buyer, settled_at, followup: asked.reply }, now)
        };
        let (_, is_kept) = self.sales().commit(sale, reply).await?.settle().await;
        // A specific answer is given once per kind, and the sale's list of replies counts it.
        Ok(Linked::Sale(asked.answer.filter(|_| is_kept || asked.is_crisis)))
    }

    /// Whether the sender is the buyer. The comparison uses the key that made the sale's tag, because the current key
    /// may be a newer one. A sender that fails DMARC does not count as the buyer.
    fn is_from_buyer(&self, sale: &Sale, message: &Incoming, sender: &EmailAddress) -> Option<bool> {
        let is_same = sale.email_tag().and_then(|buyer| self.ports.audit_keys.is_tag_of(buyer, sender));
        is_same.map(|same| same && is_authenticated(message))
    }

    /// Adds a message that does not reply to a sale's mail to the list of inquiries.
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

    /// The journal of sales.
    pub(crate) const fn sales(&self) -> Journal<'_> {
        let FunctionJournal { log, alerts, clock, .. } = self.ports.journal;
        Journal { store: self.ports.store, log, alerts, clock }
    }
}

/// Notes a reply on its sale, once, and says whether the sale's list has it. A reply that ordered a follow-up needs no
/// operator.
fn replied(sale: &mut Sale, reply: Reply, now: Timestamp) -> Change<bool> {
    let (message, is_settled) = (message_digest(&reply.message), reply.settled_at.is_some());
    let Ok(event) = sale.replied(reply) else { return Change::nothing(true) };
    let kept = !matches!(event, Event::Replied { kept: false, .. });
    let change = Change::of(&event, &Context::at(now), kept);
    if is_settled {
        return change;
    }
    let what_to_do = if kept { "oracle replies show" } else { "which keeps no more of them: look into the inbox" };
    let detail = format!("a reply to a mail of {}: {what_to_do}", sale.session_id().reference());
    // The alert's subject is the reply's digest: two sales can have equal prefixes, and equal alerts are sent at most
    // once a minute.
    change.alerting(alert(Severity::Warn, now, "REPLY", &message, &detail))
}
