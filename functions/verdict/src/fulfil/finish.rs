//! The steps after a verdict (the archive and the mail), or after an unusable question (the notice).

use super::{COMPONENT, Order, Ports, event};
use audit::Change;
use domain::{
    Sale, SessionId, StepError,
    alert::Severity,
    mail::{Letter, Mail},
    message::Message,
    ports::{CacheEntry, QueueError, StorageError, Versioned},
    sale::Fulfilment,
};
use runtime::Handled;

/// Sends the notice of an unusable sale, unless the drop is recorded already. Two notices lead to one announcement.
pub(super) async fn give_notice(ports: Ports<'_>, order: &Order, sale: &Sale) -> Result<(), QueueError> {
    if !matches!(sale.fulfilment(), Fulfilment::Unusable { .. }) || sale.is_drop_recorded() {
        return Ok(());
    }
    ports.notices.send(&Message::notice(order.session_id.clone(), order.received_at)).await
}

/// The remaining steps once the verdict is cached: archives it, and orders the mail. Repeating either has no effect, so
/// after a crash another worker does them again.
pub(super) async fn finish(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<Handled, StepError> {
    let (made_at, archived, mail_ordered) = match (sale.value.fulfilment(), sale.value.mail()) {
        _ if !sale.value.is_money_kept() => return Ok(Handled::Done),
        (Fulfilment::Ready { at, archived }, mail) => (*at, *archived, *mail != Mail::NotOrdered),
        _ => return Ok(Handled::Done),
    };
    let session_id = sale.value.session_id().clone();
    if *sale.value.divergence() == Mail::Ordered {
        // Ordered even if it was sent before: the claim turns two orders into one mail.
        order_mail(ports, &session_id, Letter::Divergence).await?;
    }
    if archived && mail_ordered {
        return Ok(Handled::Done);
    }
    let kept = if archived { Ok(Archived::Kept) } else { archive(ports, &session_id).await };
    if matches!(kept, Ok(Archived::VerdictLost)) {
        // The same order then makes the verdict again.
        ports.journal.reopen_lost(sale, COMPONENT).await?;
        return Ok(Handled::Later);
    }
    if !mail_ordered {
        order_mail(ports, &session_id, Letter::Verdict).await?;
    }
    let note = |sale: &mut Sale, _| match sale.dispatched(made_at, kept.is_ok()) {
        Ok(()) => Change::save(true),
        Err(_) => Change::nothing(false),
    };
    let (_, is_same) = ports.journal.commit(sale, note).await?.settle().await;
    if !is_same {
        // The same order makes the verdict again. The mail that was ordered finds no verdict and waits for it.
        return Ok(Handled::Later);
    }
    if let Err(error) = kept {
        // The customer is served; the order is delivered again for the archive.
        let alert = event(ports.journal.clock.now(), &session_id, Severity::Warn, "ARCHIVE_WRITE", &error.to_string());
        ports.journal.alerts.raise(alert).await;
        return Ok(Handled::Later);
    }
    Ok(Handled::Done)
}

async fn order_mail(ports: Ports<'_>, session: &SessionId, letter: Letter) -> Result<(), QueueError> {
    ports.mails.send(&Message::mail(session.clone(), ports.journal.clock.now(), letter)).await
}

/// What the archive has of a verdict that it was not known to have.
enum Archived {
    Kept,
    /// Nothing, and the cache has nothing either.
    VerdictLost,
}

async fn archive(ports: Ports<'_>, session: &SessionId) -> Result<Archived, StorageError> {
    match ports.journal.store.load_with_verdict(session).await?.1 {
        CacheEntry::Hit(verdict) => ports.archive.keep(session, &verdict).await.map(|()| Archived::Kept),
        // The reply to an earlier write may have been lost.
        CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => {
            let archived = ports.archive.find(session).await?;
            Ok(archived.map_or(Archived::VerdictLost, |_| Archived::Kept))
        }
    }
}
