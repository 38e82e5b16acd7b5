//! Changes of cached verdicts: each is one transaction that also updates the counters.
//!
//! The change of the counters depends on the previous state of the verdict's item, so the transaction is conditional on
//! that state. Nearly always there was no item: that is tried first, without a read. If the transaction is refused, the
//! refusal contains the item for the next attempt. So counting costs a sale's verdict no additional request.

use crate::{
    DynamoSales,
    attempts::{Failure, Step},
    cache_items::{BYTES, PLACE, counted, totals_key},
    items::{Item, SetAside, is_own_write, item, numeral, string},
    sales::Conditional,
    storage,
};
use aws_sdk_dynamodb::{
    error::BuildError,
    operation::transact_write_items::TransactWriteItemsError,
    types::{CancellationReason, ConditionCheck, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update},
};
use domain::{
    cache_entries::CacheDelta,
    ports::{SaveError, StorageError},
};
use std::collections::HashMap;

/// The number of attempts at a transaction that conflicts with others.
const MAX_CONFLICTS: u32 = 8;
const TOO_MANY_CONFLICTS: &str = "others kept writing the counters";

/// The result of a transaction call.
pub(crate) enum Transacted {
    Done,
    /// Nothing was written, for these reasons, one for each of its items.
    Cancelled(Vec<CancellationReason>),
}

/// Why an item cancelled a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelCause {
    /// Its condition is not met.
    ConditionFailed,
    /// Another transaction is writing it.
    Conflict,
}

pub(crate) fn cancel_cause(reasons: &[CancellationReason], index: usize) -> Option<CancelCause> {
    match reasons.get(index)?.code.as_deref()? {
        "ConditionalCheckFailed" => Some(CancelCause::ConditionFailed),
        "TransactionConflict" => Some(CancelCause::Conflict),
        _ => None,
    }
}

fn found(reasons: &[CancellationReason], index: usize) -> Option<&Item> {
    reasons.get(index)?.item.as_ref()
}

/// A further condition on a verdict's item.
pub(crate) enum ExtraCondition<'a> {
    /// It has this key in the index of ages.
    IndexKey(&'a str),
    /// This condition, with its values.
    Expression(&'static str, Item),
}

impl DynamoSales {
    /// Writes all or nothing. The token makes it happen once, even if a reply is lost.
    pub(crate) async fn transact(
        &self,
        step: Step<'_>,
        token: &str,
        items: &[TransactWriteItem],
    ) -> Result<Transacted, StorageError> {
        let write = || async {
            let transaction = self.client().transact_write_items().client_request_token(token);
            let Err(error) = transaction.set_transact_items(Some(items.to_vec())).send().await else {
                return Ok(Transacted::Done);
            };
            if let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error() {
                let reasons = cancelled.cancellation_reasons.clone().unwrap_or_default();
                if (0..reasons.len()).any(|index| cancel_cause(&reasons, index).is_some()) {
                    return Ok(Transacted::Cancelled(reasons));
                }
            }
            Err(Failure::from(error))
        };
        self.connection().call(step, write).await
    }

    pub(crate) fn conditional_put(&self, write: &Conditional<'_>) -> Result<TransactWriteItem, BuildError> {
        let put = Put::builder()
            .table_name(self.table())
            .set_item(Some(write.item.clone()))
            .condition_expression(write.condition)
            .set_expression_attribute_values(write.values.clone())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }

    /// The write of a verdict's item that is counted with `before`. `extra` is a further condition.
    pub(crate) fn entry_put(
        &self,
        entry: &Item,
        before: Option<u64>,
        extra: Option<ExtraCondition<'_>>,
    ) -> Result<TransactWriteItem, BuildError> {
        let (mut condition, mut values) = match before {
            None => ("attribute_not_exists(#bytes)".to_owned(), Item::new()),
            Some(bytes) => ("#bytes = :bytes".to_owned(), item([(":bytes", numeral(bytes))])),
        };
        let mut names = HashMap::from([("#bytes".to_owned(), BYTES.to_owned())]);
        match extra {
            None => {}
            Some(ExtraCondition::IndexKey(place)) => {
                condition += " AND #place = :place";
                values.insert(":place".to_owned(), string(place));
                names.insert("#place".to_owned(), PLACE.to_owned());
            }
            Some(ExtraCondition::Expression(more, with)) => {
                condition = format!("{condition} AND {more}");
                values.extend(with);
            }
        }
        let put = Put::builder()
            .table_name(self.table())
            .set_item(Some(entry.clone()))
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values((!values.is_empty()).then_some(values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }

    /// The update of the counters.
    pub(crate) fn totals_move(&self, token: &str, delta: CacheDelta) -> Result<TransactWriteItem, BuildError> {
        let update = Update::builder()
            .table_name(self.table())
            .set_key(Some(totals_key(token)))
            .update_expression("ADD #entries :entries, #bytes :bytes, #changes :one")
            .expression_attribute_names("#entries", "entries")
            .expression_attribute_names("#bytes", "bytes")
            .expression_attribute_names("#changes", "changes")
            .expression_attribute_values(":entries", numeral(delta.entries))
            .expression_attribute_values(":bytes", numeral(delta.bytes))
            .expression_attribute_values(":one", numeral(1));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }

    /// Writes a sale on its condition, together with its verdict, and updates the counters accordingly.
    pub(crate) async fn put_with_verdict(
        &self,
        step: Step<'_>,
        sale: &Conditional<'_>,
        verdict: &Item,
    ) -> Result<(), SaveError> {
        let built = |error| storage(step.name, error);
        let bytes = counted(Some(verdict));
        let mut before = None;
        for _ in 0..MAX_CONFLICTS {
            let token = self.token();
            let items = [
                self.conditional_put(sale).map_err(built)?,
                self.entry_put(verdict, before, None).map_err(built)?,
                self.totals_move(&token, CacheDelta::between(before, bytes)).map_err(built)?,
            ];
            let Transacted::Cancelled(reasons) = self.transact(step, &token, &items).await? else { return Ok(()) };
            match cancel_cause(&reasons, 0) {
                Some(CancelCause::ConditionFailed) if is_own_write(found(&reasons, 0), sale.token) => return Ok(()),
                Some(_) => return Err(SaveError::Conflict),
                None => {}
            }
            if cancel_cause(&reasons, 1) == Some(CancelCause::ConditionFailed) {
                before = counted(found(&reasons, 1));
            }
            // Otherwise another transaction wrote to the same counter; the next token selects another one.
        }
        Err(SaveError::Conflict)
    }

    /// Creates a follow-up's sale on its condition, together with its text, while the sale that includes it (at the key
    /// `first`) has this version.
    pub(crate) async fn put_followup(
        &self,
        step: Step<'_>,
        sale: &Conditional<'_>,
        text: Item,
        first: Item,
        version: u64,
    ) -> Result<(), SaveError> {
        let built = |error| storage(step.name, error);
        let text = Put::builder().table_name(self.table()).set_item(Some(text)).build().map_err(built)?;
        let unchanged = ConditionCheck::builder()
            .table_name(self.table())
            .set_key(Some(first))
            .condition_expression("version = :expected")
            .expression_attribute_values(":expected", numeral(version))
            .build()
            .map_err(built)?;
        let items = [
            self.conditional_put(sale).map_err(built)?,
            TransactWriteItem::builder().put(text).build(),
            TransactWriteItem::builder().condition_check(unchanged).build(),
        ];
        match self.transact(step, sale.token, &items).await? {
            Transacted::Done => Ok(()),
            Transacted::Cancelled(reasons) if is_own_write(found(&reasons, 0), sale.token) => Ok(()),
            Transacted::Cancelled(_) => Err(SaveError::Conflict),
        }
    }

    /// Sets a corrupt entry aside and out of the counters, if it is still the one that was found.
    pub(crate) async fn put_aside(&self, step: Step<'_>, aside: &SetAside) -> Result<(), SaveError> {
        let built = |error| storage(step.name, error);
        let copy = Put::builder().table_name(self.table()).set_item(Some(aside.copy.clone())).build().map_err(built)?;
        for _ in 0..MAX_CONFLICTS {
            let token = self.token();
            let extra = Some(ExtraCondition::Expression(aside.condition, aside.values.clone().unwrap_or_default()));
            let mut items = vec![
                self.entry_put(&aside.emptied, aside.counted, extra).map_err(built)?,
                TransactWriteItem::builder().put(copy.clone()).build(),
            ];
            if aside.counted.is_some() {
                items.push(self.totals_move(&token, CacheDelta::between(aside.counted, None)).map_err(built)?);
            }
            match self.transact(step, &token, &items).await? {
                Transacted::Done => return Ok(()),
                Transacted::Cancelled(reasons) if cancel_cause(&reasons, 0).is_some() => {
                    return Err(SaveError::Conflict);
                }
                Transacted::Cancelled(_) => {}
            }
        }
        Err(SaveError::Conflict)
    }

    /// Replaces an entry by an empty item, if it is still the one at `place` (if given) that is counted with `before`.
    /// `false`: it is another one by now.
    pub(crate) async fn put_removed(
        &self,
        step: Step<'_>,
        empty: &Item,
        before: Option<u64>,
        place: Option<&str>,
    ) -> Result<bool, StorageError> {
        let built = |error| storage(step.name, error);
        for _ in 0..MAX_CONFLICTS {
            let token = self.token();
            let mut items = vec![self.entry_put(empty, before, place.map(ExtraCondition::IndexKey)).map_err(built)?];
            if before.is_some() {
                items.push(self.totals_move(&token, CacheDelta::between(before, None)).map_err(built)?);
            }
            match self.transact(step, &token, &items).await? {
                Transacted::Done => return Ok(true),
                Transacted::Cancelled(reasons) if cancel_cause(&reasons, 0) == Some(CancelCause::ConditionFailed) => {
                    return Ok(false);
                }
                // Another transaction wrote to the same counter, and the next token selects another one; or it wrote to
                // the entry itself, and the next attempt sees whether that changed it.
                Transacted::Cancelled(_) => {}
            }
        }
        Err(storage(step.name, std::io::Error::other(TOO_MANY_CONFLICTS)))
    }

    /// Updates only the counters: once per token, with any number of callers.
    pub(crate) async fn put_totals(&self, step: Step<'_>, delta: CacheDelta, token: &str) -> Result<(), StorageError> {
        let items = [self.totals_move(token, delta).map_err(|error| storage(step.name, error))?];
        for _ in 0..MAX_CONFLICTS {
            if let Transacted::Done = self.transact(step, token, &items).await? {
                return Ok(());
            }
        }
        Err(storage(step.name, std::io::Error::other(TOO_MANY_CONFLICTS)))
    }
}
