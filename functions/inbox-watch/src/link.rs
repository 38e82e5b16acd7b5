//! A reply to one of a sale's mails, on that sale (Silent Drop, GAP-SD-09).

use crate::{
    memory::digest,
    watch::{Watch, WatchError},
};
use audit::{Body, Change, FunctionJournal, Journal, Record};
use domain::{
    Alert, Sale, SessionId, Timestamp,
    alert::Severity,
    inbox::{Incoming, Reply, ReplyNoted},
};

impl Watch<'_> {
    /// Puts a reply on the sale that it belongs to, if to any.
    pub(crate) async fn link(&self, id: &str, message: &Incoming, sender: &str) -> Result<(), WatchError> {
        let Some(conversation) = &message.conversation else { return Ok(()) };
        let Some(session) = self.ports.inbox.sale_of(conversation).await? else { return Ok(()) };
        let Some(sale) = self.ports.store.load(&session).await? else {
            tracing::warn!(session = session.prefix(), "a reply to a mail of a sale that is not known");
            return Ok(());
        };
        let FunctionJournal { log, alerts, clock, .. } = self.ports.journal;
        let journal = Journal { store: self.ports.store, log, alerts, clock };
        let now = self.now();
        let (sale, changed) = journal.commit(sale, |sale| replied(sale, id, sender, now)).await?;
        if changed {
            journal.settle(sale).await;
        } else {
            journal.flush(sale).await;
        }
        Ok(())
    }
}

/// A reply on its sale. Whether the sale changed.
fn replied(sale: &mut Sale, message: &str, sender: &str, now: Timestamp) -> Change<bool> {
    let from_buyer = sale.email_tag.as_deref().map(|buyer| buyer == sender);
    let reply = Reply { message: message.to_owned(), at: now, from_buyer, settled_at: None };
    let noted = sale.note_reply(reply);
    if noted == ReplyNoted::Known {
        return Change::nothing(false);
    }
    let body = Body::CustomerReply { message: digest(message), from_buyer };
    let detail = match noted {
        ReplyNoted::Full => "a reply has come, and the sale keeps no more of them: look into the inbox",
        ReplyNoted::Added | ReplyNoted::Known => "a reply has come: oracle replies show",
    };
    let alert = reply_alert(&sale.session_id, now, detail);
    Change::recorded(vec![Record { timestamp: now, triggered_at: now, body }], true).alerting(alert)
}

fn reply_alert(session: &SessionId, now: Timestamp, detail: &str) -> Alert {
    Alert::event("ORACLE-INBOX", Severity::Warn, now, "REPLY", session, detail)
}
