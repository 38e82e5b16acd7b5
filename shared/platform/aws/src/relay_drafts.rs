//! Drafts of mails that SES sends, in the table of sales: `pk` MAIL#{session}, `sk` DRAFT#{token}. A mail that was sent
//! is linked to its sale at `pk` MAIL#{SES's message id}, `sk` SALE. Both expire.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{Item, item, numeral, string, text},
    now,
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

/// The time for which a draft with a link for signing in is stored: nothing retries it, and the mails themselves stay
/// as long.
const SIGN_IN_DRAFT_LIFETIME: Duration = Duration::from_secs(2 * 3600);

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
    ("expires_at".to_owned(), numeral(now().plus(lifetime).as_seconds()))
}

fn step<'a>(name: &'static str, id: &'a RelayDraftId) -> Step<'a> {
    Step { name, operation: "MAIL_DRAFT", subject: id.session.reference() }
}

#[async_trait]
impl RelayDrafts for DynamoSales {
    async fn draft(&self, id: &RelayDraftId) -> Result<Option<Versioned<RelayDraft>>, StorageError> {
        self.document(step("draft read", id), &draft_key(id)).await
    }

    async fn save(&self, id: &RelayDraftId, draft: &RelayDraft, expected: u64) -> Result<u64, SaveError> {
        let lifetime = if id.session.is_of_sign_in_mails() { SIGN_IN_DRAFT_LIFETIME } else { DRAFT_LIFETIME };
        let mut item = draft_key(id);
        item.extend([expiring(lifetime)]);
        self.put_document(step("draft write", id), item, draft, expected).await
    }

    async fn discard(&self, id: &RelayDraftId) -> Result<(), StorageError> {
        self.delete(step("draft removal", id), draft_key(id)).await
    }

    async fn link(&self, message: &str, session: &SessionId) -> Result<(), StorageError> {
        let step = Step { name: "mail link write", operation: "MAIL_LINK", subject: session.reference() };
        let mut item = link_key(message);
        item.extend([("session".to_owned(), string(session.as_str())), expiring(LINK_LIFETIME)]);
        self.overwrite(step, item).await
    }

    async fn linked(&self, message: &str) -> Result<Option<SessionId>, StorageError> {
        let step = Step { name: "mail link read", operation: "MAIL_LINK", subject: "-" };
        let found = self.get(step, &link_key(message)).await?;
        Ok(found.as_ref().and_then(|found| SessionId::parse(text(found, "session")?).ok()))
    }
}
