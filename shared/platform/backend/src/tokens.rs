//! Refresh tokens of the mailbox, stored in the secret they came from (Email Retry, INV-07).

use async_trait::async_trait;
use aws::{Rotation, SecretDocument, SnsAlerts};
use domain::{
    Alert, Channel, Secret,
    ports::{Alerts, Clock},
};
use runtime::{System, telemetry};
use std::sync::Arc;

/// Stores each new token in the mailbox's secret.
pub(crate) struct StoredTokens {
    pub(crate) secret: Arc<SecretDocument>,
    pub(crate) alerts: SnsAlerts,
}

#[async_trait]
impl graph::RefreshTokenStore for StoredTokens {
    async fn rotated(&self, new: Secret) {
        match self.secret.rotate_field("refresh_token", &new).await {
            Ok(Rotation::Stored) => tracing::info!("a new refresh token is stored"),
            // Each token is valid for 90 days, so the one that another process stored is as good.
            Ok(Rotation::Overtaken) => tracing::info!("another process stored a newer refresh token"),
            Err(error) => {
                let now = System.now();
                let detail = telemetry::chain(&error);
                let line =
                    format!("[ORACLE-EMAIL] CRITICAL | {now} | TOKEN_STORE | - | refresh token not stored: {detail}");
                self.alerts.raise(Alert { channel: Channel::Critical, line }).await;
            }
        }
    }
}
