//! Alerts on SNS, with a fallback chain that never ends in silence (Cache Alert, failure mode 5).
//!
//! The line goes to the function's log first. Then the alert's own topic is tried, then the other one; when neither
//! takes it within [`BUDGET`], an error line and a metric with an alarm of its own say so. What another process has
//! told a moment ago is logged only (invariant 6).

use crate::{
    Connection, Patience,
    announcements::Announcements,
    attempts::{Failure, attempts},
    now,
};
use async_trait::async_trait;
use domain::{
    Alert, Channel, Metric,
    alert::Severity,
    announcement,
    ports::Alerts,
    suppression::{Decision, Suppression},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

/// An alert delays its caller no longer than this (Cache Alert, invariant 3): the last work of a function that is
/// about to be frozen, it is waited for, but not for ever.
pub const BUDGET: Duration = Duration::from_secs(5);

/// One topic gets two attempts within two seconds, which leaves one for asking what other processes have told. The wait between them is at most this.
const PATIENCE: Patience =
    Patience { timeout: Duration::from_millis(800), retries: 1, delay: Duration::from_millis(200) };

/// The two topics.
#[derive(Clone, Debug)]
pub struct SnsAlerts(Arc<Topics>);

impl SnsAlerts {
    /// Alerts to these topics. From here on the stores of the same connection tell of their failures there too.
    #[must_use]
    pub fn new(connection: Connection, ops_topic: String, critical_topic: String) -> Self {
        let patience = Patience { delay: PATIENCE.delay.min(connection.patience.delay), ..PATIENCE };
        // With a window of zero nothing is ever held back.
        let shared = connection.shared_table.clone().filter(|_| !connection.suppression.is_zero());
        let topics = Arc::new(Topics {
            shared: shared.map(|table| Announcements::new(&connection, table, connection.suppression)),
            suppression: Mutex::new(Suppression::new(connection.suppression)),
            connection: connection.untold(patience),
            ops: ops_topic,
            critical: critical_topic,
            client: OnceLock::new(),
        });
        Self(Arc::clone(connection.told.get_or_init(|| topics)))
    }
}

#[async_trait]
impl Alerts for SnsAlerts {
    async fn raise(&self, alert: Alert) {
        self.0.raise(&alert).await;
    }
}

/// The topics, and what went to them lately.
#[derive(Debug)]
pub(crate) struct Topics {
    connection: Connection,
    ops: String,
    critical: String,
    client: OnceLock<aws_sdk_sns::Client>,
    suppression: Mutex<Suppression>,
    /// What other processes have told; nothing where there is no table for it.
    shared: Option<Announcements>,
}

/// What became of an alert that this process has not told before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Told,
    ToldElsewhere,
    Undelivered,
}

impl Topics {
    pub(crate) async fn raise(&self, alert: &Alert) {
        let now = now();
        let decision = self.suppression().decide(alert, now);
        if let Decision::Suppress(count) = decision {
            tracing::warn!(alert = alert.logged(), suppressed = count, "alert within its window: logged only");
            return;
        }
        log(alert);
        let row = self.shared.as_ref().zip(announcement::key(alert));
        let announced = tokio::time::timeout(BUDGET, self.announce(alert, row.as_ref())).await;
        match (announced.unwrap_or(Outcome::Undelivered), row) {
            (Outcome::Told, Some((shared, (key, severity)))) => shared.told(&key, severity).await,
            (Outcome::Told, None) => {}
            (Outcome::ToldElsewhere, _) => tracing::info!("another process told this alert within its window"),
            (Outcome::Undelivered, _) => {
                self.suppression().forget(alert);
                tracing::error!(alert = alert.logged(), "ALERT_UNDELIVERED: no topic took this alert");
                self.connection.measure(&[Metric::AlertUndelivered.once()]);
            }
        }
    }

    async fn announce(&self, alert: &Alert, row: Option<&(&Announcements, (String, Severity))>) -> Outcome {
        if let Some((shared, (key, severity))) = row
            && shared.is_told(key, *severity).await
        {
            return Outcome::ToldElsewhere;
        }
        let chain = match alert.channel {
            Channel::Ops => [&self.ops, &self.critical],
            Channel::Critical => [&self.critical, &self.ops],
        };
        for topic in chain {
            if self.publish(topic, alert).await {
                return Outcome::Told;
            }
        }
        Outcome::Undelivered
    }

    fn suppression(&self) -> MutexGuard<'_, Suppression> {
        self.suppression.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn publish(&self, topic: &str, alert: &Alert) -> bool {
        let client = self.client.get_or_init(|| self.connection.sns());
        let subject = match alert.channel {
            Channel::Ops => "Oracle: ops",
            Channel::Critical => "Oracle: CRITICAL",
        };
        let publish = || async {
            let publish = client.publish().topic_arn(topic).subject(subject).message(&alert.line);
            publish.send().await.map(drop).map_err(Failure::from)
        };
        attempts(self.connection.patience, publish).await.0.is_ok()
    }
}

/// The line in the function's own log, which nothing else has to be up for.
pub(crate) fn log(alert: &Alert) {
    let line = alert.logged();
    match alert.channel {
        Channel::Ops => tracing::warn!(alert = line, "alert"),
        Channel::Critical => tracing::error!(alert = line, "critical alert"),
    }
}
