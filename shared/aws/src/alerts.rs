//! Alerts on SNS, with a fallback chain that ends in the function's own log (Cache Alert, failure mode 5).

use crate::Connection;
use async_trait::async_trait;
use domain::{Alert, Channel, ports::Alerts};
use std::sync::OnceLock;

/// The two topics.
#[derive(Debug)]
pub struct SnsAlerts {
    connection: Connection,
    ops: String,
    critical: String,
    client: OnceLock<aws_sdk_sns::Client>,
}

impl SnsAlerts {
    /// Alerts to these topics.
    #[must_use]
    pub const fn new(connection: Connection, ops_topic: String, critical_topic: String) -> Self {
        Self { connection, ops: ops_topic, critical: critical_topic, client: OnceLock::new() }
    }

    async fn publish(&self, topic: &str, alert: &Alert) -> bool {
        let client = self.client.get_or_init(|| self.connection.sns());
        let subject = match alert.channel {
            Channel::Ops => "Oracle: ops",
            Channel::Critical => "Oracle: CRITICAL",
        };
        client.publish().topic_arn(topic).subject(subject).message(&alert.line).send().await.is_ok()
    }
}

#[async_trait]
impl Alerts for SnsAlerts {
    async fn raise(&self, alert: Alert) {
        // The line goes to the log first: whatever the topics do, it is never lost.
        match alert.channel {
            Channel::Ops => tracing::warn!(alert = alert.line, "alert"),
            Channel::Critical => tracing::error!(alert = alert.line, "critical alert"),
        }
        let chain = match alert.channel {
            Channel::Ops => [&self.ops, &self.critical],
            Channel::Critical => [&self.critical, &self.ops],
        };
        for topic in chain {
            if self.publish(topic, &alert).await {
                return;
            }
        }
        tracing::error!(alert = alert.line, "ALERT_UNDELIVERED: no topic took this alert");
    }
}
