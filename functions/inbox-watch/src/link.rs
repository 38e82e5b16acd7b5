//! Finds what a message answers: a reply to a sale's mail, or the report that it came back, is noted on that sale (Silent
//! Drop, GAP-SD-09), and a reply to a mail about a Bridge is posted in its thread.

use crate::{alerts::alert, error::WatchError, followup::FollowupOutcome, state::digest, watch::Watch};
use audit::{Change, Context, FunctionJournal, Noted, sale_events::message_digest};
use domain::{
    Alert, EmailAddress, Sale, SessionId, Timestamp,
    alert::Severity,
    chat::Message,
    inbox::{FollowupReply, INQUIRIES, Incoming, Inquiries, Inquiry, Reply, is_authenticated},
    relay::id_of_reply,
    sale::Event,
};
use serde_json::json;

/// How a mail system's report about a mail of ours ended, in the audit log.
pub(crate) const DELIVERY_REPORT: &str = "delivery_report";

/// What a message answers.
pub(crate) enum Linked {
    /// A mail of a sale.
    Sale {
        /// The sale.
        session: SessionId,
        /// Its language tag, which names the customer's country.
        locale: Option<String>,
        /// The specific answer to a reply that asks for a follow-up, or tells of a crisis or an emergency.
        answer: Option<String>,
    },
    /// A mail about a Bridge.
    Bridge {
        /// The name of the Bridge's mails. `None` if the Bridge is erased: its acknowledgement would carry the name of
        /// mails that are removed already.
        name: Option<SessionId>,
        /// Whether its thread has the text.
        is_posted: bool,
    },
    /// Nothing that is known.
    Nothing,
}

impl Watch<'_> {
    /// Records a reply on the sale or the Bridge that it belongs to. `text` is its new text, if the sender is
    /// authenticated.
    pub(crate) async fn link(
        &self,
        id: &str,
        message: &Incoming,
        sender: &EmailAddress,
        text: Option<&str>,
    ) -> Result<Linked, WatchError> {
        let Some(session) = self.sale_of(message).await? else { return Ok(Linked::Nothing) };
        if let Some(member) = bridge::subscriber_of(&session) {
            // Before the post: an erasure that comes later also removes an acknowledgement with the name.
            let held = bridge::load(self.ports.bridges, &member).await?;
            let name = held.bridge.value.acceptance().map(|_| session);
            let is_posted = self.post(id, held, sender, text).await?;
            return Ok(Linked::Bridge { name, is_posted });
        }
        let Some(sale) = self.ports.store.load(&session).await? else {
            tracing::warn!(session = session.prefix(), "a reply to a mail of a sale that is not known");
            return Ok(Linked::Nothing);
        };
        let asked = if self.is_from_buyer(&sale.value, message, sender) == Some(true) {
            self.follow_up(id, &sale.value, text).await?
        } else {
            FollowupOutcome::nothing()
        };
        let reply = |sale: &mut Sale, now| {
            let from_buyer = self.is_from_buyer(sale, message, sender);
            let settled_at = (asked.reply == Some(FollowupReply::Ordered)).then_some(now);
            let message = id.to_owned();
            replied(
                sale,
                Reply { message, at: now, from_buyer, settled_at, followup: asked.reply, is_report: false },
                now,
            )
        };
        let locale = sale.value.locale().map(str::to_owned);
        let (_, noted) = self.sales().commit(sale, reply).await?.settle().await;
        let Some(is_kept) = noted else { return Ok(Linked::Nothing) };
        // A specific answer is given once per kind, and the sale's list of replies counts it.
        Ok(Linked::Sale { session, locale, answer: asked.answer.filter(|_| is_kept || asked.is_urgent) })
    }

    /// Puts a mail system's report about a mail of a sale on that sale's list of replies, where an operator reads it: its
    /// customer may have no mail. Returns the alert about the report; `None` if it is about no mail that is known.
    pub(crate) async fn link_report(&self, id: &str, message: &Incoming) -> Result<Option<Alert>, WatchError> {
        let Some(session) = self.sale_of(message).await? else { return Ok(None) };
        let detail = if let Some(member) = bridge::subscriber_of(&session) {
            format!(
                "a mail about a Bridge may not have arrived: read the report, oracle bridge show {}",
                member.prefix()
            )
        } else {
            let Some(sale) = self.ports.store.load(&session).await? else { return Ok(None) };
            // The fixed address of the smoke test may not exist (infra/README.md).
            if sale.value.smoke() {
                return Ok(None);
            }
            let report = |sale: &mut Sale, now| reported(sale, id, now);
            let (sale, is_stored) = self.sales().commit(sale, report).await?.settle().await;
            if sale.value.is_erased() {
                return Ok(None);
            }
            let reference = sale.value.session_id().reference();
            let read = if is_stored {
                format!("oracle replies show {reference}")
            } else {
                "the sale's list of replies has no room for the report, so read it in the mailbox".to_owned()
            };
            format!("a mail of {reference} may not have arrived: {read}, and reach its customer")
        };
        Ok(Some(alert(Severity::Warn, self.now(), "DELIVERY_REPORT", &digest(id), &detail)))
    }

    /// The sale whose mail a message replies to. The mailbox knows the mails that it has sent; those that were sent
    /// through SES are known by their ids.
    async fn sale_of(&self, message: &Incoming) -> Result<Option<SessionId>, WatchError> {
        if let Some(id) = message.in_reply_to().and_then(id_of_reply)
            && let Some(session) = self.ports.relayed.linked(id).await?
        {
            return Ok(Some(session));
        }
        Ok(self.ports.inbox.sale_of(message).await?)
    }

    /// Posts the text of a member's reply in the Bridge's thread, without quoted text and attachments. A text that is not
    /// posted (infra/decisions/bridge.md) is an inquiry, which a person reads.
    async fn post(
        &self,
        id: &str,
        held: bridge::Held,
        sender: &EmailAddress,
        text: Option<&str>,
    ) -> Result<bool, WatchError> {
        let Some(text) = text.and_then(|text| Message::parse(text).ok()) else { return Ok(false) };
        Ok(bridge::post_mail(self.ports.bridges, held, id, sender, &text).await?)
    }

    /// Whether the sender is the buyer. The comparison uses the key that made the sale's tag, because the current key
    /// may be a newer one. A sender that fails DMARC does not count as the buyer.
    fn is_from_buyer(&self, sale: &Sale, message: &Incoming, sender: &EmailAddress) -> Option<bool> {
        let is_same = sale.email_tag().and_then(|buyer| self.keys.all.is_tag_of(buyer, sender));
        is_same.map(|same| same && is_authenticated(message))
    }

    /// Adds a message to the list of inquiries: one that replies to no sale's mail, or whose sale cannot be determined.
    pub(crate) async fn inquire(&self, id: &str, sender: &EmailAddress) -> Result<(), WatchError> {
        let journal = FunctionJournal { function: INQUIRIES, ..self.ports.journal };
        let notebook = journal.load::<Inquiries>().await?;
        let other_tags = self.keys.all.other_email_tags(sender);
        let sender = self.keys.current.email_tag(sender);
        let add = |inquiries: &mut Inquiries, now| {
            let (message, other_tags) = (id.to_owned(), other_tags.clone());
            if !inquiries.add(Inquiry { message, at: now, sender: sender.clone(), other_tags }) {
                return Noted::nothing(());
            }
            Noted::save(()).recording("inquiry", json!({ "message": message_digest(id), "sender": sender }))
        };
        journal.commit(notebook, add).await?.settle().await;
        Ok(())
    }
}

/// Puts a report on its sale's list of replies, unless a message waits there, and returns whether the list has it. Anybody
/// can write a report, so reports have the room of one reply: those of a customer are kept beside it.
fn reported(sale: &mut Sale, id: &str, now: Timestamp) -> Change<bool> {
    // A run that stopped before its alert may have stored it.
    if sale.replies().iter().any(|known| known.message == id) {
        return Change::nothing(true);
    }
    if sale.waiting_replies().next().is_some() {
        return Change::nothing(false);
    }
    let (message, from_buyer) = (id.to_owned(), Some(false));
    let report = Reply { message, at: now, from_buyer, settled_at: None, followup: None, is_report: true };
    let Ok(event) = sale.replied(report) else { return Change::nothing(false) };
    let is_stored = matches!(event, Event::Replied { kept: true, .. });
    Change::of(&event, &Context::at(now), is_stored)
}

/// Records a reply on its sale, once, and returns whether the sale's list has it. A reply that ordered a follow-up needs
/// no operator. `None` if the sale is erased: SES's ids of its mails still name it, and nothing lists what answers them.
fn replied(sale: &mut Sale, reply: Reply, now: Timestamp) -> Change<Option<bool>> {
    let (message, is_settled) = (message_digest(&reply.message), reply.settled_at.is_some());
    let Ok(event) = sale.replied(reply) else { return Change::nothing((!sale.is_erased()).then_some(true)) };
    let kept = !matches!(event, Event::Replied { kept: false, .. });
    let change = Change::of(&event, &Context::at(now), Some(kept));
    if is_settled {
        return change;
    }
    let what_to_do = if kept { "oracle replies show" } else { "which keeps no more of them: look into the inbox" };
    let detail = format!("a reply to a mail of {}: {what_to_do}", sale.session_id().reference());
    // The alert's subject is the reply's digest: alerts with the same subject are sent at most once a minute, and a sale
    // may have several replies.
    change.alerting(alert(Severity::Warn, now, "REPLY", &message, &detail))
}
