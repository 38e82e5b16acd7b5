//! Drafts of mails that SES sends, in the table of sales: `pk` MAIL#{session}, `sk` DRAFT#{token}. A mail that was sent
//! is linked to its sale at `pk` MAIL#{SES's message id}, `sk` SALE. Both expire.

use crate::{
    DynamoSales,
    attempts::Step,
    audited::parse,
    items::{Item, expects, item, string, text, with_document},
    now,
    sales::Conditional,
    storage,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    SessionId,
    ports::{RelayDrafts, SaveError, StorageError, Versioned},
    relay::{RelayDraft, RelayDraftId},
};
use std::time::Duration;

/// The time for which a draft is stored; the longest schedule of retries takes three days.
const DRAFT_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// The time in which a reply to a mail is linked to its sale.
const LINK_LIFETIME: Duration = Duration::from_secs(400 * 24 * 3600);

/// The partition of a sale's drafts.
pub(crate) fn drafts_of(session: &SessionId) -> AttributeValue {
    string(format!("MAIL#{}", session.as_str()))
}

fn draft_key(id: &RelayDraftId) -> Item {
    item([("pk", drafts_of(&id.session)), ("sk", string(format!("DRAFT#{}", id.token)))])
}

fn link_key(message: &str) -> Item {
    item([("pk", string(format!("MAIL#{message}"))), ("sk", string("SALE"))])
}

fn expiring(lifetime: Duration) -> (String, AttributeValue) {
    ("expires_at".to_owned(), AttributeValue::N(now().plus(lifetime).as_seconds().to_string()))
}

fn step<'a>(name: &'static str, id: &'a RelayDraftId) -> Step<'a> {
    Step { name, operation: "MAIL_DRAFT", subject: id.session.reference() }
}

#[async_trait]
impl RelayDrafts for DynamoSales {
    async fn draft(&self, id: &RelayDraftId) -> Result<Option<Versioned<RelayDraft>>, StorageError> {
        const READ: &str = "draft read";
        self.get(step(READ, id), &draft_key(id)).await?.as_ref().map(|found| parse(found, READ)).transpose()
    }

    async fn save(&self, id: &RelayDraftId, draft: &RelayDraft, expected: u64) -> Result<u64, SaveError> {
        const WRITE: &str = "draft write";
        let document = serde_json::to_string(draft).map_err(|error| storage(WRITE, error))?;
        let (token, version) = (self.token(), expected + 1);
        let mut item = with_document(draft_key(id), version, &token, document);
        item.extend([expiring(DRAFT_LIFETIME)]);
        let (condition, values) = expects(expected);
        self.put(step(WRITE, id), &Conditional { item, condition, values, token: &token }).await?;
        Ok(version)
    }

    async fn discard(&self, id: &RelayDraftId) -> Result<(), StorageError> {
        let delete = || async {
            let delete = self.client().delete_item().table_name(self.table()).set_key(Some(draft_key(id)));
            delete.send().await?;
            Ok(())
        };
        self.connection().call(step("draft removal", id), delete).await
    }

    async fn link(&self, message: &str, session: &SessionId) -> Result<(), StorageError> {
        let step = Step { name: "mail link write", operation: "MAIL_LINK", subject: session.reference() };
        let mut item = link_key(message);
        item.extend([("session".to_owned(), string(session.as_str())), expiring(LINK_LIFETIME)]);
        let put = || async {
            self.client().put_item().table_name(self.table()).set_item(Some(item.clone())).send().await?;
            Ok(())
        };
        self.connection().call(step, put).await
    }

    async fn linked(&self, message: &str) -> Result<Option<SessionId>, StorageError> {
        let step = Step { name: "mail link read", operation: "MAIL_LINK", subject: "-" };
        let found = self.get(step, &link_key(message)).await?;
        Ok(found.as_ref().and_then(|found| SessionId::parse(text(found, "session")?).ok()))
    }
}
