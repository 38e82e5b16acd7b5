//! Reads every sale in the table, for operators.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{Item, SALE, item, parse_sale, string, text},
    storage,
};
use async_trait::async_trait;
use domain::ports::{AllSales, SalesPage, StorageError};

#[async_trait]
impl AllSales for DynamoSales {
    /// An unreadable row is an error, because a list of all sales must be complete.
    async fn all(&self, from: Option<&str>) -> Result<SalesPage, StorageError> {
        let step = Step { name: "sales read", operation: "CACHE_READ", subject: "-" };
        let start = from.map(start_key).transpose()?;
        let scan = || async {
            let scan = self.client().scan().table_name(self.table()).consistent_read(true);
            let scan = scan.filter_expression("sk = :sale");
            let scan = scan.expression_attribute_values(":sale", string(SALE));
            Ok(scan.set_exclusive_start_key(start.clone()).send().await?)
        };
        let output = self.connection().call(step, scan).await?;
        let sale = |item: &Item| parse_sale(item).map(|sale| sale.value).map_err(|error| storage(step.name, error));
        let sales = output.items.unwrap_or_default().iter().map(sale).collect::<Result<_, _>>()?;
        let next = output.last_evaluated_key.as_ref().map(next_key).transpose()?;
        Ok(SalesPage { sales, next })
    }
}

/// Where the next page of a scan begins, as text.
pub(crate) fn next_key(last: &Item) -> Result<String, StorageError> {
    let part = |name| text(last, name).unwrap_or_default();
    serde_json::to_string(&(part("pk"), part("sk"))).map_err(|error| storage("table read", error))
}

/// The key of that text.
pub(crate) fn start_key(from: &str) -> Result<Item, StorageError> {
    let (pk, sk): (String, String) = serde_json::from_str(from).map_err(|error| storage("sales read", error))?;
    Ok(item([("pk", string(pk)), ("sk", string(sk))]))
}
