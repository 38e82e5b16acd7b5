//! What operators submit in a customer's stead: `sk` SUBMISSION beside the sale.

use crate::{DynamoSales, sales::text, storage};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    Query, SessionId, Submission, Tier,
    ports::{StorageError, Submissions},
};

const SUBMISSION: &str = "SUBMISSION";

/// Submissions, in the table of sales.
pub struct DynamoSubmissions<'a>(pub &'a DynamoSales);

#[async_trait]
impl Submissions for DynamoSubmissions<'_> {
    async fn keep(&self, session: &SessionId, submission: &Submission) -> Result<(), StorageError> {
        let mut item = DynamoSales::key(session, SUBMISSION);
        item.insert("tier".to_owned(), AttributeValue::S(submission.tier.key().to_owned()));
        item.insert("query".to_owned(), AttributeValue::S(submission.query.as_str().to_owned()));
        let put = self.0.client().put_item().table_name(self.0.table()).set_item(Some(item));
        put.send().await.map(drop).map_err(|error| storage("submission write", error))
    }

    async fn find(&self, session: &SessionId) -> Result<Option<Submission>, StorageError> {
        let key = DynamoSales::key(session, SUBMISSION);
        let read = self.0.client().get_item().table_name(self.0.table()).set_key(Some(key)).consistent_read(true);
        let output = read.send().await.map_err(|error| storage("submission read", error))?;
        let Some(item) = output.item else { return Ok(None) };
        let tier = text(&item, "tier").and_then(|key| Tier::parse(key).ok());
        let query = text(&item, "query").and_then(|query| Query::parse(query).ok());
        match (tier, query) {
            (Some(tier), Some(query)) => Ok(Some(Submission { tier, query })),
            _ => Err(storage("submission read", std::io::Error::other("the item has no tier or no question"))),
        }
    }
}
