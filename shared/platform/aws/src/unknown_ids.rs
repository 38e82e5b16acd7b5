//! The counter of questions about ids that may be made up: one item per window at `pk` GUESS#{window}, `sk` GUESS, with
//! the total and a count for each group. It expires.

use crate::{
    DynamoSales,
    attempts::{Failure, Step},
    items::{Item, item, numeral, string},
};
use async_trait::async_trait;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, builders::UpdateItemFluentBuilder};
use domain::{
    ports::{StorageError, UnknownIdCounter},
    unknown_ids::CountedQuestion,
};

const STEP: Step<'static> = Step { name: "guess count", operation: "GUESSES", subject: "-" };

fn key(question: &CountedQuestion) -> Item {
    item([("pk", string(format!("GUESS#{}", question.window))), ("sk", string("GUESS"))])
}

impl DynamoSales {
    /// An update that adds to both counts.
    fn count(&self, question: &CountedQuestion, add: i64) -> UpdateItemFluentBuilder {
        let update = self.client().update_item().table_name(self.table()).set_key(Some(key(question)));
        update
            .update_expression("ADD #total :add, #group :add SET #expires = :until")
            .expression_attribute_names("#total", "total")
            .expression_attribute_names("#group", format!("group_{}", question.group))
            .expression_attribute_names("#expires", "expires_at")
            .expression_attribute_values(":add", numeral(add))
            .expression_attribute_values(":until", numeral(question.until.as_seconds()))
    }
}

/// A repeated request whose first reply was lost may count twice, which is safe for a limit.
#[async_trait]
impl UnknownIdCounter for DynamoSales {
    async fn take(&self, question: &CountedQuestion) -> Result<bool, StorageError> {
        let update = || async {
            let update = self.count(question, i64::from(CountedQuestion::OPEN)).condition_expression(
                "(attribute_not_exists(#total) OR #total < :most) AND (attribute_not_exists(#group) OR #group < :few)",
            );
            let update = update
                .expression_attribute_values(":most", numeral(question.limits.in_all))
                .expression_attribute_values(":few", numeral(question.limits.of_group));
            match update.send().await {
                Ok(_) => Ok(true),
                Err(error) => match error.as_service_error() {
                    Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                    _ => Err(Failure::from(error)),
                },
            }
        };
        self.connection().call(STEP, update).await
    }

    async fn settle(&self, question: &CountedQuestion, count: u32) -> Result<(), StorageError> {
        let update = || async {
            self.count(question, i64::from(count) - i64::from(CountedQuestion::OPEN)).send().await?;
            Ok(())
        };
        self.connection().call(STEP, update).await
    }
}
