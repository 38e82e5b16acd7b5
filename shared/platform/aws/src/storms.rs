//! The rows of storms, which all processes share. As with announcements, a call that fails withholds no alert.

use crate::{
    Connection,
    attempts::{Failure, attempts},
    attributes,
    items::{Item, number, numeral, string, text},
    now,
    storm::Storm,
};
use aws_sdk_dynamodb::{Client, operation::put_item::PutItemError, types::ReturnValuesOnConditionCheckFailure};
use domain::Timestamp;
use std::{sync::OnceLock, time::Duration};

/// One partition, so that the deadlines function finds all rows.
const PARTITION: &str = "ALERT#storms";

/// Writers that meet at one row try again this often. A count that is lost after that makes a summary too low by one.
const ROUNDS: u32 = 4;

/// A row outlives its window, so that a deadlines function that was down can still report it.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// The rows of one table.
#[derive(Debug)]
pub(crate) struct Storms {
    connection: Connection,
    table: String,
    client: OnceLock<Client>,
}

/// The result of a conditional write.
enum Put {
    Written,
    /// Another process wrote this row meanwhile.
    Found(Storm),
}

impl Storms {
    /// `connection` limits the time of each call.
    pub(crate) const fn new(connection: Connection, table: String) -> Self {
        Self { connection, table, client: OnceLock::new() }
    }

    /// Counts an alert. Returns whether it is withheld.
    pub(crate) async fn withholds(&self, kind: &str) -> bool {
        let counted = self.change(kind, None, |row| match row {
            Some(row) => row.with_another(now()),
            None => Storm::begun(now()),
        });
        counted.await.map_or_else(
            |failure| {
                tracing::warn!(cause = %failure.cause, "the alerts of this kind are not counted");
                false
            },
            Storm::is_withheld,
        )
    }

    /// The rows with withheld alerts, by kind.
    pub(crate) async fn withheld(&self) -> Result<Vec<(String, Storm)>, Failure> {
        let query = || async {
            let query = self.client().query().table_name(&self.table).key_condition_expression("pk = :pk");
            let query = query.expression_attribute_values(":pk", string(PARTITION)).consistent_read(true);
            Ok(query.send().await?.items.unwrap_or_default())
        };
        let rows: Vec<Item> = attempts(self.connection.retry_policy, query).await.0?;
        let row = |item: &Item| Some((text(item, "sk")?.to_owned(), parse(item)?));
        Ok(rows.iter().filter_map(row).filter(|(_, row)| row.withheld > 0).collect())
    }

    /// Records that a summary reported the withheld alerts of a row. If this fails, the next summary reports them again.
    pub(crate) async fn record_reported(&self, kind: &str, row: Storm) {
        let reported = |found: Option<Storm>| found.unwrap_or(row).reported(row.withheld);
        if let Err(failure) = self.change(kind, Some(row), reported).await {
            tracing::warn!(cause = %failure.cause, "a summary of alerts will be sent again");
        }
    }

    /// Replaces a row, which is expected to be `found`, by its successor. Returns the successor.
    async fn change(
        &self,
        kind: &str,
        mut found: Option<Storm>,
        next: impl Fn(Option<Storm>) -> Storm,
    ) -> Result<Storm, Failure> {
        let mut row = next(found);
        for _ in 0..ROUNDS {
            match self.put(kind, row, found).await? {
                Put::Written => break,
                Put::Found(other) => {
                    found = Some(other);
                    row = next(found);
                }
            }
        }
        Ok(row)
    }

    async fn put(&self, kind: &str, row: Storm, found: Option<Storm>) -> Result<Put, Failure> {
        let put = || async {
            let put = self.client().put_item().table_name(&self.table).set_item(Some(item(kind, row)));
            let put = put.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            let put = match found {
                None => put.condition_expression("attribute_not_exists(pk)"),
                Some(found) => put
                    .condition_expression("#counted = :counted AND #withheld = :withheld AND #ends = :ends")
                    .expression_attribute_names("#counted", COUNTED)
                    .expression_attribute_names("#withheld", WITHHELD)
                    .expression_attribute_names("#ends", ENDS)
                    .expression_attribute_values(":counted", numeral(found.counted))
                    .expression_attribute_values(":withheld", numeral(found.withheld))
                    .expression_attribute_values(":ends", numeral(found.ends.as_millis())),
            };
            match put.send().await {
                Ok(_) => Ok(Put::Written),
                Err(error) => {
                    let found = match error.as_service_error() {
                        Some(PutItemError::ConditionalCheckFailedException(refused)) => refused.item().and_then(parse),
                        _ => None,
                    };
                    found.map_or_else(|| Err(Failure::from(error)), |row| Ok(Put::Found(row)))
                }
            }
        };
        attempts(self.connection.retry_policy, put).await.0
    }

    fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.dynamodb())
    }
}

const COUNTED: &str = "counted";
const ENDS: &str = "ends";
const WITHHELD: &str = "withheld";
const SINCE: &str = "since";

fn item(kind: &str, row: Storm) -> Item {
    attributes::item([
        ("pk", string(PARTITION)),
        ("sk", string(kind)),
        (COUNTED, numeral(row.counted)),
        (ENDS, numeral(row.ends.as_millis())),
        (WITHHELD, numeral(row.withheld)),
        (SINCE, numeral(row.since.as_millis())),
        ("expires_at", numeral(row.ends.plus(KEPT).as_seconds())),
    ])
}

fn parse(item: &Item) -> Option<Storm> {
    let count = |name| u64::try_from(number(item, name)?).ok();
    let moment = |name| Some(Timestamp::from_millis(number(item, name)?));
    Some(Storm { counted: count(COUNTED)?, ends: moment(ENDS)?, withheld: count(WITHHELD)?, since: moment(SINCE)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let begun = Storm::begun(Timestamp::from_millis(1_500));
        let row = Storm { counted: 7, withheld: 4, ..begun };
        let written = item("[T] OP", row);
        assert_eq!(parse(&written), Some(row));
        assert_eq!((text(&written, "pk"), text(&written, "sk")), (Some(PARTITION), Some("[T] OP")));
        let expires = begun.ends.plus(KEPT).as_seconds();
        assert_eq!(written["expires_at"], numeral(expires));
        assert_eq!(parse(&Item::new()), None);
    }
}
