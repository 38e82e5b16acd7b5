//! The rows that tell all processes which alerts were sent recently. They never block an alert: each call gets one
//! short attempt, and after any failure the alert is sent.

use crate::{
    Connection, RetryPolicy,
    announcement::{Announcement, SendState, latest_end},
    attempts::{Failure, attempts},
    attributes,
    items::{Item, number, numeral, string},
    now,
};
use aws_sdk_dynamodb::{
    Client,
    operation::put_item::PutItemError,
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure},
};
use domain::alert::Severity;
use std::{sync::OnceLock, time::Duration};

/// How often the row is read while another process is sending.
const LOOKS: u32 = 3;

/// The rows of one table.
#[derive(Debug)]
pub(crate) struct Announcements {
    connection: Connection,
    table: String,
    window: Duration,
    pause: Duration,
    client: OnceLock<Client>,
}

impl Announcements {
    /// The same connection with one short attempt, for what must not delay an alert.
    pub(crate) fn brief(connection: &Connection) -> Connection {
        connection.without_alerts(RetryPolicy {
            timeout: connection.alert_row_timeout,
            retries: 0,
            delay: Duration::ZERO,
        })
    }

    pub(crate) fn new(connection: &Connection, table: String, window: Duration) -> Self {
        // All looks take less than the time for asking.
        let pause = (connection.alert_row_timeout * 5 / 8).min(connection.retry_policy.delay);
        Self { connection: Self::brief(connection), table, window, pause, client: OnceLock::new() }
    }

    /// Whether another process has sent this alert within the window. If not, this process has begun to send it.
    pub(crate) async fn is_sent(&self, key: &str, severity: Severity) -> bool {
        for look in 1..=LOOKS {
            match self.begin(key, severity).await {
                Ok(SendState::Sent) => return true,
                Ok(SendState::UnderWay) if look < LOOKS => tokio::time::sleep(self.pause).await,
                Ok(_) => return false,
                Err(failure) => {
                    tracing::warn!(cause = %failure.cause, "the alerts that other processes sent recently are not known");
                    return false;
                }
            }
        }
        false
    }

    /// Writes that this process begins to send an alert, unless the row shows that it need not be sent.
    async fn begin(&self, key: &str, severity: Severity) -> Result<SendState, Failure> {
        let now = now();
        let row = item(key, Announcement::begun(severity, now));
        let put = || async {
            let put = self.client().put_item().table_name(&self.table).set_item(Some(row.clone()));
            // Equivalent to an open [`Announcement::send_state`].
            let put = put
                .condition_expression(
                    "attribute_not_exists(pk) OR #ends <= :now OR #ends > :latest OR #severity < :severity",
                )
                .expression_attribute_names("#ends", ENDS)
                .expression_attribute_names("#severity", SEVERITY)
                .expression_attribute_values(":now", numeral(now.as_millis()))
                .expression_attribute_values(":latest", numeral(latest_end(now, self.window).as_millis()))
                .expression_attribute_values(":severity", rank(severity))
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            match put.send().await {
                Ok(_) => Ok(SendState::Open),
                Err(error) => match error.as_service_error() {
                    Some(PutItemError::ConditionalCheckFailedException(refused)) => {
                        let found = refused.item().and_then(parse);
                        Ok(found.map_or(SendState::Open, |row| row.send_state(severity, now, self.window)))
                    }
                    _ => Err(Failure::from(error)),
                },
            }
        };
        attempts(self.connection.retry_policy, put).await.0
    }

    /// Writes that a topic has accepted an alert, unless a more severe one was sent meanwhile. If this fails, the next
    /// process sends the alert again.
    pub(crate) async fn record_sent(&self, key: &str, severity: Severity) {
        let row = item(key, Announcement::sent(severity, now(), self.window));
        let put = || async {
            let put = self.client().put_item().table_name(&self.table).set_item(Some(row.clone()));
            let put = put
                .condition_expression("attribute_not_exists(pk) OR #severity <= :severity")
                .expression_attribute_names("#severity", SEVERITY)
                .expression_attribute_values(":severity", rank(severity));
            put.send().await.map(drop).map_err(Failure::from)
        };
        let _ = attempts(self.connection.retry_policy, put).await;
    }

    fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.dynamodb())
    }
}

const SEVERITY: &str = "severity";
const ENDS: &str = "ends";
const SENT: &str = "told";

fn rank(severity: Severity) -> AttributeValue {
    numeral(severity.rank())
}

/// The table deletes the row some time after its end: `expires_at` is in seconds.
fn item(key: &str, row: Announcement) -> Item {
    attributes::item([
        ("pk", string(format!("ALERT#{key}"))),
        ("sk", string("ALERT")),
        (SEVERITY, rank(row.severity)),
        (SENT, AttributeValue::Bool(row.sent)),
        (ENDS, numeral(row.ends.as_millis())),
        ("expires_at", numeral(row.ends.as_seconds().saturating_add(1))),
    ])
}

fn parse(item: &Item) -> Option<Announcement> {
    let severity = Severity::of_rank(u8::try_from(number(item, SEVERITY)?).ok()?)?;
    let sent = *item.get(SENT)?.as_bool().ok()?;
    Some(Announcement { severity, sent, ends: domain::Timestamp::from_millis(number(item, ENDS)?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = Announcement::sent(Severity::Error, Timestamp::from_millis(1_500), Duration::from_secs(60));
        let written = item("[T]|OP|-", row);
        assert_eq!(parse(&written), Some(row));
        assert_eq!(written["expires_at"], AttributeValue::N("62".to_owned()));
        assert_eq!(parse(&Item::new()), None);
    }
}
