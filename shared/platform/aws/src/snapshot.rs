//! Several items as they are at one moment. A query is not isolated from transactions: it may return one item as a
//! transaction has written it, and another as it was before.

use crate::{
    DynamoSales,
    attempts::{Failure, Step},
    items::Item,
    storage,
    transactions::{CancelCause, cancel_cause},
};
use aws_sdk_dynamodb::{
    error::SdkError,
    operation::transact_get_items::TransactGetItemsError,
    types::{Get, TransactGetItem},
};
use domain::ports::StorageError;

impl DynamoSales {
    /// The items with these keys, if they exist.
    pub(crate) async fn snapshot(&self, step: Step<'_>, keys: &[Item]) -> Result<Vec<Item>, StorageError> {
        let get = |key: &Item| {
            let get = Get::builder().table_name(self.table()).set_key(Some(key.clone())).build();
            get.map(|get| TransactGetItem::builder().get(get).build())
        };
        let gets: Vec<TransactGetItem> =
            keys.iter().map(get).collect::<Result<_, _>>().map_err(|error| storage(step.name, error))?;
        let read = || async {
            match self.client().transact_get_items().set_transact_items(Some(gets.clone())).send().await {
                Ok(read) => Ok(read.responses.unwrap_or_default()),
                Err(error) if is_conflict(&error) => Err(Failure::conflict(error)),
                Err(error) => Err(Failure::from(error)),
            }
        };
        let found = self.connection().call(step, read).await?;
        Ok(found.into_iter().filter_map(|response| response.item).collect())
    }
}

/// Whether another request was writing one of the items.
fn is_conflict(error: &SdkError<TransactGetItemsError>) -> bool {
    let Some(TransactGetItemsError::TransactionCanceledException(cancelled)) = error.as_service_error() else {
        return false;
    };
    let reasons = cancelled.cancellation_reasons();
    (0..reasons.len()).any(|index| cancel_cause(reasons, index) == Some(CancelCause::Conflict))
}
