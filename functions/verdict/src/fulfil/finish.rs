//! The steps after a verdict (the archive and the mail), or after an unusable question (the notice).

use super::{COMPONENT, Worker};
use audit::Change;
use domain::{
    CachedVerdict, Sale, StepError,
    alert::Severity,
    mail::{Letter, Mail},
    message::Message,
    ports::{CacheEntry, QueueError, StorageError, Versioned},
    sale::Fulfilment,
};
use futures_util::future::join;
use runtime::Handled;

impl Worker<'_> {
    /// Sends the message that an end without a verdict needs: the order of the mail after a possible disclosure of
    /// self-harm, or the notice of an unusable sale, unless the drop is recorded already. Two messages lead to one mail.
    pub(super) async fn give_notice(&self, sale: &Sale) -> Result<(), QueueError> {
        if sale.is_crisis() && *sale.letter(Letter::Refund) == Mail::Ordered {
            return self.order_mail(Letter::Refund).await;
        }
        if !matches!(sale.fulfilment(), Fulfilment::Unusable { .. }) || sale.is_drop_recorded() {
            return Ok(());
        }
        let notice = Message::notice(self.order.session_id.clone(), self.order.received_at);
        self.ports.notices.send(&notice).await
    }

    /// The remaining steps once the verdict is cached: archives it, and orders the mail. Repeating either has no
    /// effect, so after a crash another worker does them again. The mail does not wait for the archive of a verdict
    /// that this worker has just `saved`, because that one is not lost.
    pub(super) async fn finish(
        &self,
        sale: Versioned<Sale>,
        saved: Option<&CachedVerdict>,
    ) -> Result<Handled, StepError> {
        let (made_at, archived, mail_ordered) = match (sale.value.fulfilment(), sale.value.mail()) {
            _ if !sale.value.is_money_kept() => return Ok(Handled::Done),
            (Fulfilment::Ready { at, archived }, mail) => (*at, *archived, *mail != Mail::NotOrdered),
            _ => return Ok(Handled::Done),
        };
        let journal = self.ports.journal;
        if *sale.value.divergence() == Mail::Ordered {
            // Ordered even if it was sent before: the claim turns two orders into one mail.
            self.order_mail(Letter::Divergence).await?;
        }
        if archived && mail_ordered {
            return Ok(Handled::Done);
        }
        let archive = async { if archived { Ok(Archived::Kept) } else { self.archive(saved).await } };
        let order = async { if mail_ordered { Ok(()) } else { self.order_mail(Letter::Verdict).await } };
        let (kept, ordered) = if saved.is_some() {
            join(archive, order).await
        } else {
            let kept = archive.await;
            if matches!(kept, Ok(Archived::VerdictLost)) {
                // The same order then makes the verdict again.
                journal.reopen_lost(sale, Some(COMPONENT)).await?;
                return Ok(Handled::Later);
            }
            (kept, order.await)
        };
        ordered?;
        let dispatch = |sale: &mut Sale, _| match sale.dispatched(made_at, kept.is_ok()) {
            Ok(()) => Change::save(true),
            Err(_) => Change::nothing(false),
        };
        let (_, is_same) = journal.commit(sale, dispatch).await?.settle().await;
        if !is_same {
            // The same order makes the verdict again. The mail that was ordered finds no verdict and waits for it.
            return Ok(Handled::Later);
        }
        if let Err(error) = kept {
            // The customer is served; the order is delivered again for the archive.
            let alert = self.event(journal.clock.now(), Severity::Warn, "ARCHIVE_WRITE", &error.to_string());
            journal.alerts.raise(alert).await;
            return Ok(Handled::Later);
        }
        Ok(Handled::Done)
    }

    async fn order_mail(&self, letter: Letter) -> Result<(), QueueError> {
        let ordered_at = self.ports.journal.clock.now();
        self.ports.mails.send(&Message::mail(self.order.session_id.clone(), ordered_at, letter)).await
    }

    async fn archive(&self, saved: Option<&CachedVerdict>) -> Result<Archived, StorageError> {
        let (ports, session) = (self.ports, &self.order.session_id);
        if let Some(saved) = saved {
            return ports.archive.keep(session, saved).await.map(|()| Archived::Kept);
        }
        match ports.journal.store.load_with_verdict(session).await?.1 {
            CacheEntry::Hit(verdict) => ports.archive.keep(session, &verdict).await.map(|()| Archived::Kept),
            // The reply to an earlier write may have been lost.
            CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => {
                let archived = ports.archive.find(session).await?;
                Ok(archived.map_or(Archived::VerdictLost, |_| Archived::Kept))
            }
        }
    }
}

/// What the archive has of a verdict that it was not known to have.
enum Archived {
    Kept,
    /// Nothing, and the cache has nothing either.
    VerdictLost,
}
