//! Alerts on SNS, with a fallback chain so that no alert is lost silently (Cache Alert, failure mode 5).
//!
//! The line goes to the function's log first. A critical alert then goes to both topics (severity levels); any other
//! goes to ops, and to critical if ops does not accept it. If no topic accepts it, an error line and a metric with its
//! own alarm report that. An alert that another process has just sent is only logged (Cache Alert, invariant 6), and so
//! is one of a storm ([`crate::storm`]).
//!
//! An alert is the last work of a function before it is frozen, so it is awaited, but for five seconds at most
//! (Cache Alert, invariant 3): one second for asking whether other processes have sent it, 3.6 for two attempts at each
//! topic, and
//! 0.4 for recording that it was sent.

use crate::{
    Connection, RetryPolicy, alert_log, announcement,
    announcements::Announcements,
    attempts::{Failure, attempts},
    connection::StoreAlerts,
    now, storm,
    storms::Storms,
};
use async_trait::async_trait;
use aws_sdk_sns::types::MessageAttributeValue;
use domain::{
    Alert, Channel, Metric,
    alert::Severity,
    ports::{AlertSummaries, Alerts},
    suppression::{Decision, Suppression},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

/// The message attribute of the ops topic's copy of an alert that the critical topic has accepted.
const COPY: &str = "copy";

/// The time limit for reading other processes' rows: a second, when a write to the table may take 400 ms.
fn asking(connection: &Connection) -> Duration {
    connection.alert_row_timeout * 5 / 2
}

/// One topic gets two attempts: within 1.8 seconds, when one may take 800 ms.
const RETRIES: u32 = 1;

/// The longest wait between the attempts.
const DELAY: Duration = Duration::from_millis(200);

/// The two topics.
#[derive(Clone, Debug)]
pub struct SnsAlerts(Arc<dyn StoreAlerts>);

impl SnsAlerts {
    /// Alerts to these topics. From here on the stores of the same connection also report their failures there.
    #[must_use]
    pub fn new(connection: Connection, ops_topic: String, critical_topic: String) -> Self {
        let delay = DELAY.min(connection.retry_policy.delay);
        let retry_policy = RetryPolicy { timeout: connection.publishing, retries: RETRIES, delay };
        // With a window of zero no alert is ever held back.
        let shared = connection.shared_table.clone().filter(|_| !connection.suppression.is_zero());
        let topics: Arc<dyn StoreAlerts> = Arc::new(Topics {
            storms: shared.clone().map(|table| Storms::new(Announcements::brief(&connection), table)),
            shared: shared.map(|table| Announcements::new(&connection, table, connection.suppression)),
            suppression: Mutex::new(Suppression::new(connection.suppression)),
            connection: connection.without_alerts(retry_policy),
            ops: ops_topic,
            critical: critical_topic,
            client: OnceLock::new(),
        });
        Self(Arc::clone(connection.alert_topics.get_or_init(|| topics)))
    }
}

#[async_trait]
impl Alerts for SnsAlerts {
    async fn raise(&self, alert: Alert) {
        self.0.raise(alert).await;
    }
}

#[async_trait]
impl AlertSummaries for SnsAlerts {
    async fn send_summaries(&self) {
        self.0.send_summaries().await;
    }
}

/// The topics, and the alerts that were sent recently.
#[derive(Debug)]
struct Topics {
    connection: Connection,
    ops: String,
    critical: String,
    client: OnceLock<aws_sdk_sns::Client>,
    suppression: Mutex<Suppression>,
    /// The alerts that other processes have sent; `None` without a table.
    shared: Option<Announcements>,
    /// The storms that all processes count; `None` without a table.
    storms: Option<Storms>,
}

/// The result of sending an alert that this process has not sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Sent,
    SentElsewhere,
    Withheld,
    Undelivered,
}

impl StoreAlerts for Topics {}

#[async_trait]
impl Alerts for Topics {
    async fn raise(&self, alert: Alert) {
        let now = now();
        let decision = self.suppression().decide(&alert, now);
        if let Decision::Suppress(count) = decision {
            tracing::warn!(alert = alert.redacted(), suppressed = count, "alert within its window: logged only");
            return;
        }
        alert_log::log(&alert);
        let row = self.shared.as_ref().zip(announcement::key(&alert));
        match (self.announce(&alert, row.as_ref()).await, row) {
            (Outcome::Sent | Outcome::Withheld, Some((shared, (key, severity)))) => {
                shared.record_sent(&key, severity).await;
            }
            (Outcome::Sent | Outcome::Withheld, None) => {}
            (Outcome::SentElsewhere, _) => tracing::info!("another process sent this alert within its window"),
            (Outcome::Undelivered, _) => {
                self.suppression().forget(&alert);
                tracing::error!(alert = alert.redacted(), "ALERT_UNDELIVERED: no topic took this alert");
                self.connection.measure(&[Metric::AlertUndelivered.once()]);
            }
        }
    }
}

#[async_trait]
impl AlertSummaries for Topics {
    /// Sends one summary of each storm. A row stays as it is until a topic has accepted its summary.
    async fn send_summaries(&self) {
        let Some(storms) = &self.storms else { return };
        let withheld = storms.withheld().await.unwrap_or_else(|failure| {
            tracing::warn!(cause = %failure.cause, "the storms are not known: no summary this time");
            Vec::new()
        });
        for (kind, row) in withheld {
            let Some(summary) = row.summary(&kind, now()) else { continue };
            alert_log::log(&summary);
            let took =
                self.publish(&self.ops, &summary, false).await || self.publish(&self.critical, &summary, false).await;
            if !took {
                // The next run tries again: the caller's own work must not wait for topics that do not answer.
                return;
            }
            storms.record_reported(&kind, row).await;
        }
    }
}

impl Topics {
    async fn announce(&self, alert: &Alert, row: Option<&(&Announcements, (String, Severity))>) -> Outcome {
        if let Ok(Some(outcome)) = tokio::time::timeout(asking(&self.connection), self.held_back(alert, row)).await {
            return outcome;
        }
        let took = match alert.channel {
            Channel::Ops => {
                self.publish(&self.ops, alert, false).await || self.publish(&self.critical, alert, false).await
            }
            Channel::Critical => {
                let critical = self.publish(&self.critical, alert, false).await;
                self.publish(&self.ops, alert, critical).await || critical
            }
        };
        if took { Outcome::Sent } else { Outcome::Undelivered }
    }

    /// Why an alert need not be sent, according to the rows of all processes.
    async fn held_back(&self, alert: &Alert, row: Option<&(&Announcements, (String, Severity))>) -> Option<Outcome> {
        if let Some((shared, (key, severity))) = row
            && shared.is_sent(key, *severity).await
        {
            return Some(Outcome::SentElsewhere);
        }
        let (storms, kind) = self.storms.as_ref().zip(storm::kind(alert))?;
        if !storms.withholds(&kind).await {
            return None;
        }
        tracing::info!(kind, "withheld: one of a storm, which a summary reports");
        Some(Outcome::Withheld)
    }

    fn suppression(&self) -> MutexGuard<'_, Suppression> {
        self.suppression.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes an alert. A copy of an alert that the other topic has accepted is marked, so that readers of both
    /// topics can filter it.
    async fn publish(&self, topic: &str, alert: &Alert, is_copy: bool) -> bool {
        let client = self.client.get_or_init(|| self.connection.sns());
        let is_all_clear = alert.parts().is_some_and(|parts| parts.severity < Severity::Critical);
        let subject = match alert.channel {
            Channel::Ops => "Oracle: ops",
            Channel::Critical if is_all_clear => "Oracle: all clear",
            Channel::Critical => "Oracle: CRITICAL",
        };
        let publish = || async {
            let mark = MessageAttributeValue::builder().data_type("String").string_value("critical").build();
            let mark = mark.map_err(Failure::other)?;
            let marks = is_copy.then(|| [(COPY.to_owned(), mark)].into());
            let publish = client.publish().topic_arn(topic).subject(subject).message(alert.redacted());
            let publish = publish.set_message_attributes(marks);
            publish.send().await.map(drop).map_err(Failure::from)
        };
        attempts(self.connection.retry_policy, publish).await.0.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{ALERT_ROW_MS, PUBLISHING_MS};
    use domain::Timestamp;
    use std::{cell::RefCell, io::Write};
    use tokio::time::Instant;

    thread_local! {
        static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }

    /// The log lines and metrics of this thread.
    struct Output;

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            OUTPUT.with_borrow_mut(|output| output.extend_from_slice(bytes));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn keep(line: &str) {
        let _ = writeln!(Output, "{line}");
    }

    const PUBLISHING: Duration = Duration::from_millis(PUBLISHING_MS);

    /// Cache Alert, invariant 3 and failure mode 5: the table and the topics accept every connection and never reply.
    #[tokio::test(start_paused = true)]
    async fn an_alert_that_nobody_takes_delays_no_longer_than_five_seconds_and_does_not_end_in_silence() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", silent.local_addr().unwrap());
        let mut connection = Connection::from_environment(|name| match name {
            "AWS_ENDPOINT_URL" => Some(address.clone()),
            "AWS_REGION" => Some("us-east-1".to_owned()),
            "TABLE_NAME" | "AWS_LAMBDA_FUNCTION_NAME" => Some("x".to_owned()),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
            _ => None,
        })
        .unwrap();
        connection.meter = keep;
        let alerts = SnsAlerts::new(connection, "ops".to_owned(), "critical".to_owned());
        let subscriber = tracing_subscriber::fmt().with_writer(|| Output).finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        for severity in [Severity::Warn, Severity::Critical] {
            OUTPUT.take();
            let begun = Instant::now();
            alerts.raise(Alert::about("T", severity, Timestamp::from_millis(0), "OP", "-", "x")).await;
            let waited = begun.elapsed();
            assert!(waited >= 2 * PUBLISHING && waited <= Duration::from_secs(5), "{severity:?}: {waited:?}");
            let output = String::from_utf8(OUTPUT.take()).unwrap();
            assert!(output.contains("ALERT_UNDELIVERED") && output.contains("| OP | - | x"), "{output}");
            assert!(output.contains(r#""AlertUndelivered":1"#), "the metric with the alarm: {output}");
        }
    }

    #[test]
    fn the_parts_of_the_budget_are_all_of_it() {
        let topic = PUBLISHING * (1 + RETRIES) + DELAY * RETRIES;
        let row = Duration::from_millis(ALERT_ROW_MS);
        assert_eq!(row * 5 / 2 + 2 * topic + row, Duration::from_secs(5));
    }
}
