//! The sale and the cached verdict among the items that were read, and the alerts about corrupt ones.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{Item, SALE, VERDICT, parse_sale, parse_verdict, set_aside, text},
    now, storage,
};
use domain::{
    Sale, SessionId,
    alert::Severity,
    ports::{CacheEntry, SaveError, StorageError, Versioned},
};

impl DynamoSales {
    /// Parses the sale in an item. An unreadable one is not replaced: the errors that it prevents (a second verdict, a
    /// second mail) are worse than a sale that waits for a human.
    pub(crate) async fn sale_of(&self, session: &SessionId, item: &Item) -> Result<Versioned<Sale>, StorageError> {
        match parse_sale(item) {
            Ok(sale) => Ok(sale),
            Err(error) => {
                let step = Step { name: "sale read", operation: "CACHE_READ", subject: session.reference() };
                self.connection()
                    .raise_alert(step, Severity::Critical, "corrupt sale record: every step of it waits")
                    .await;
                Err(storage("sale read", error))
            }
        }
    }

    /// Parses the sale and the cached verdict among these items. A corrupt verdict is set aside.
    pub(crate) async fn sale_and_entry(
        &self,
        session: &SessionId,
        items: &[Item],
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError> {
        let find = |sort| items.iter().find(|item| text(item, "sk") == Some(sort));
        let sale = match find(SALE) {
            Some(item) => Some(self.sale_of(session, item).await?),
            None => None,
        };
        let Some(item) = find(VERDICT) else { return Ok((sale, CacheEntry::Miss)) };
        let entry = parse_verdict(item);
        if entry == CacheEntry::Corrupt {
            self.quarantine(session, item).await;
        }
        Ok((sale, entry))
    }

    /// Moves a corrupt entry to another key, so that the evidence is not overwritten and no later read finds it again
    /// (Cache Alert, invariant 7 and failure mode 4), and alerts.
    async fn quarantine(&self, session: &SessionId, corrupt: &Item) {
        let step = Step { name: "verdict read", operation: "CACHE_READ", subject: session.reference() };
        let aside = set_aside(session, corrupt, now());
        let moving = Step { name: "setting a corrupt entry aside", operation: "CACHE_WRITE", ..step };
        match self.put_aside(moving, &aside).await {
            Ok(()) => tracing::error!(session = step.subject, key = text(&aside.copy, "sk"), "corrupt entry set aside"),
            Err(SaveError::Conflict) => tracing::warn!(session = step.subject, "another process moved the entry"),
            // The call itself alerts. The entry stays in place, where the next read finds it and alerts again.
            Err(SaveError::Storage(_)) => {}
        }
        self.connection().raise_alert(step, Severity::Critical, "corrupt entry").await;
    }
}
