//! Operators' submissions for customers, and the texts of follow-ups: `sk` SUBMISSION beside the sale.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{SUBMISSION, key, submission_item, text},
    storage,
};
use async_trait::async_trait;
use domain::{
    Query, SessionId, Submission, Tier,
    ports::{StorageError, Submissions},
};

/// Submissions, in the table of sales.
pub struct DynamoSubmissions<'a>(pub &'a DynamoSales);

#[async_trait]
impl Submissions for DynamoSubmissions<'_> {
    async fn keep(&self, session: &SessionId, submission: &Submission) -> Result<(), StorageError> {
        let item = submission_item(session, submission);
        let step = Step { name: "submission write", operation: "SUBMISSION_WRITE", subject: session.reference() };
        self.0.overwrite(step, item).await
    }

    async fn find(&self, session: &SessionId) -> Result<Option<Submission>, StorageError> {
        let step = Step { name: "submission read", operation: "SUBMISSION_READ", subject: session.reference() };
        let item = self.0.get(step, &key(session, SUBMISSION)).await?;
        let Some(item) = item else { return Ok(None) };
        let tier = text(&item, "tier").and_then(|key| Tier::parse(key).ok());
        let query = text(&item, "query").and_then(|query| Query::parse(query).ok());
        match (tier, query) {
            (Some(tier), Some(query)) => Ok(Some(Submission { tier, query })),
            _ => Err(storage(step.name, std::io::Error::other("the item has no tier or no question"))),
        }
    }
}
