//! The mailbox's refresh tokens, stored in a secret of their own (Email Retry, INV-07).

use async_trait::async_trait;
use aws::{Rotation, SecretDocument, SnsAlerts};
use domain::{
    Alert, Channel, Secret, Timestamp,
    ports::{Alerts, Clock},
};
use runtime::{System, telemetry};
use std::{sync::Arc, time::Duration};

/// Every cold start of a mail function gets a new token, but Secrets Manager keeps only a hundred versions younger than
/// a day. The stored token is valid for 90 days, so one that is younger than this need not be replaced.
const YOUNG: Duration = Duration::from_secs(12 * 3600);

/// Whether the stored token has to be replaced. A token of unknown age has to.
fn is_due(written_at: Option<Timestamp>, now: Timestamp) -> bool {
    written_at.is_none_or(|written_at| now.since(written_at) >= YOUNG)
}

/// Stores a new token in the tokens' secret if the secret is empty or its token is old enough.
pub(crate) struct StoredTokens {
    pub(crate) secret: Arc<SecretDocument>,
    pub(crate) alerts: SnsAlerts,
}

#[async_trait]
impl graph::RefreshTokenStore for StoredTokens {
    async fn rotated(&self, new: Secret) {
        if !is_due(self.secret.written_at(), System.now()) {
            tracing::info!("the stored refresh token is young, and stays");
            return;
        }
        match self.secret.rotate_field("refresh_token", &new).await {
            Ok(Rotation::Stored) => tracing::info!("a new refresh token is stored"),
            // Each token is valid for 90 days, so the one that another process stored is equally good.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_young_token_stays() {
        let now = Timestamp::from_seconds(1_000_000);
        let written = |hours: i64| is_due(Some(Timestamp::from_seconds(1_000_000 - hours * 3600)), now);
        assert_eq!((written(0), written(11), written(12), written(2000)), (false, false, true, true));
        assert!(is_due(None, now));
    }
}
