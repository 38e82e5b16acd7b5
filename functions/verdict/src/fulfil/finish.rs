//! What follows a verdict, or the lack of a question: the archive, the mail, the notice.

use super::{Order, Ports, event};
use audit::Change;
use domain::{
    Sale, SessionId, StepError,
    alert::Severity,
    mail::{Letter, Mail},
    message::{self, Message},
    ports::{CacheEntry, QueueError, StorageError, Versioned},
    sale::{Event, Fulfilment},
};
use runtime::Handled;

/// Has an unusable sale announced, if nobody announced it yet. Two notices are one announcement.
pub(super) async fn give_notice(ports: Ports<'_>, order: &Order, sale: &Sale) -> Result<(), QueueError> {
    if !matches!(sale.fulfilment(), Fulfilment::Unusable { .. }) || sale.is_drop_recorded() {
        return Ok(());
    }
    let session_id = order.session_id.clone();
    let notice = Message::Notice { v: message::VERSION, session_id, received_at: order.received_at };
    ports.notices.send(&notice).await
}

/// What is left to do once the verdict is cached: the archive, and the order of the mail. Both may be done again
/// without effect, so a worker that died in between is simply followed by another.
pub(super) async fn finish(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<Handled, StepError> {
    let (archived, mail_ordered) = match (sale.value.fulfilment(), sale.value.mail()) {
        _ if !sale.value.is_money_kept() => return Ok(Handled::Done),
        (Fulfilment::Ready { archived, .. }, mail) => (*archived, *mail != Mail::NotOrdered),
        _ => return Ok(Handled::Done),
    };
    let session_id = sale.value.session_id().clone();
    if *sale.value.divergence() == Mail::Ordered {
        // Whether or not it was sent before: the claim makes one mail of two orders.
        order_mail(ports, &session_id, Letter::Divergence).await?;
    }
    if archived && mail_ordered {
        return Ok(Handled::Done);
    }
    let kept = if archived { Ok(()) } else { archive(ports, &session_id).await };
    if !mail_ordered {
        order_mail(ports, &session_id, Letter::Verdict).await?;
    }
    let is_kept = kept.is_ok();
    let note = |sale: &mut Sale, _| {
        let _: Event = sale.dispatched(is_kept);
        Change::save(())
    };
    ports.journal.commit(sale, note).await?.unsettled();
    if let Err(error) = kept {
        // The customer is served; the archive is for later, and the order comes again for it.
        let alert = event(ports.journal.clock.now(), &session_id, Severity::Warn, "ARCHIVE_WRITE", &error.to_string());
        ports.journal.alerts.raise(alert).await;
        return Ok(Handled::Later);
    }
    Ok(Handled::Done)
}

async fn order_mail(ports: Ports<'_>, session: &SessionId, letter: Letter) -> Result<(), QueueError> {
    let ordered_at = ports.journal.clock.now();
    ports.mails.send(&Message::Mail { v: message::VERSION, session_id: session.clone(), ordered_at, letter }).await
}

async fn archive(ports: Ports<'_>, session: &SessionId) -> Result<(), StorageError> {
    match ports.journal.store.load_with_verdict(session).await?.1 {
        CacheEntry::Hit(verdict) => ports.archive.keep(session, &verdict).await,
        // The page makes it anew when somebody asks for it; until then the sale is not archived and stays open.
        CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => {
            let source = std::io::Error::other("the cache has lost the verdict").into();
            Err(StorageError { operation: "archive write", source })
        }
    }
}
