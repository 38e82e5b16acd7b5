//! The settings, which are given at start and can be changed through /control/configure.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::credentials::{GRAPH_CLIENT, GRAPH_SENDER, GRAPH_TENANT};
use crate::stripe::refund_status::STATUSES;

/// The settings of a sandbox. `Default` has the webhook secret that the help text names.
// No Debug, because it contains a secret, though only a sandbox's.
#[derive(Clone)]
pub struct Config {
    /// The address of the site; webhooks go to `{site}/api/webhook` unless `webhook_url` is set.
    pub site: Option<String>,
    /// The address that webhooks are delivered to.
    pub webhook_url: Option<String>,
    /// Signs webhooks; the whole string is the key.
    pub webhook_secret: String,
    /// The pauses in milliseconds before a failed webhook is delivered again; their number limits the attempts.
    pub webhook_retry_pauses_ms: Vec<u64>,
    /// The account's webhook endpoints, each with the fields that differ from a correct one; `None` for the one of
    /// `site`.
    pub stripe_webhook_endpoints: Option<Vec<Value>>,
    /// The account's payment links, each with the fields that differ from an empty one. `line_items` has the items, each
    /// with the `price`, `quantity` and `adjustable_quantity` that differ from one fixed item of 1.00 CAD.
    pub stripe_payment_links: Vec<Value>,
    /// The fields of the customer portal's features that differ from those of the deployment guide, by feature.
    pub stripe_portal: Value,
    /// The status of a new refund.
    pub stripe_refund_status: String,
    /// The scopes that were consented to in the directory.
    pub graph_scopes: Vec<String>,
    /// How long the copy of a sent mail is missing in the sent-items folder, in milliseconds.
    pub sent_items_lag_ms: u64,
    /// How long a sent draft is still shown among the drafts, and can be sent again, in milliseconds.
    pub draft_lag_ms: u64,
    /// The most mails that SES takes in one second of the clock; it throttles the others.
    pub ses_mails_per_second: usize,
    /// The file to which every finished call and every delivered event is added, one JSON object per line.
    pub record: Option<std::path::PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            site: None,
            webhook_url: None,
            webhook_secret: "whsec_sandbox".to_owned(),
            webhook_retry_pauses_ms: vec![1_000, 2_000, 4_000, 8_000, 16_000],
            stripe_webhook_endpoints: None,
            stripe_payment_links: Vec::new(),
            stripe_portal: Value::Null,
            stripe_refund_status: "succeeded".to_owned(),
            graph_scopes: ["Mail.ReadWrite", "Mail.Send"].map(str::to_owned).to_vec(),
            sent_items_lag_ms: 0,
            draft_lag_ms: 0,
            ses_mails_per_second: usize::MAX,
            record: None,
        }
    }
}

/// New values for some settings of [`Config`]; the others stay.
#[allow(missing_docs, reason = "the fields of Config have the documentation")]
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigChange {
    pub site: Option<String>,
    pub webhook_url: Option<String>,
    pub webhook_secret: Option<String>,
    pub webhook_retry_pauses_ms: Option<Vec<u64>>,
    /// Null restores the one of `site`.
    #[serde(deserialize_with = "given")]
    pub stripe_webhook_endpoints: Option<Option<Vec<Value>>>,
    pub stripe_payment_links: Option<Vec<Value>>,
    pub stripe_portal: Option<Value>,
    pub stripe_refund_status: Option<String>,
    pub graph_scopes: Option<Vec<String>>,
    pub sent_items_lag_ms: Option<u64>,
    pub draft_lag_ms: Option<u64>,
    pub ses_mails_per_second: Option<usize>,
    /// No control call may name a file.
    #[serde(skip)]
    pub record: Option<std::path::PathBuf>,
}

/// Reads a present field, including one that is null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Vec<Value>>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{field} {problem}, got {value:?}")]
pub struct ConfigError {
    field: &'static str,
    problem: &'static str,
    value: String,
}

impl ConfigChange {
    /// The settings after this change.
    ///
    /// # Errors
    /// When an address is not an http or https one, the webhook secret does not start with `whsec_`, or the status is
    /// no status of a refund.
    pub fn apply(self, current: &Config) -> Result<Config, ConfigError> {
        fn or<T: Clone>(new: Option<T>, old: &T) -> T {
            new.unwrap_or_else(|| old.clone())
        }
        let changed = Config {
            site: self.site.or_else(|| current.site.clone()).map(|site| site.trim_end_matches('/').to_owned()),
            webhook_url: self.webhook_url.or_else(|| current.webhook_url.clone()),
            webhook_secret: or(self.webhook_secret, &current.webhook_secret),
            webhook_retry_pauses_ms: or(self.webhook_retry_pauses_ms, &current.webhook_retry_pauses_ms),
            stripe_webhook_endpoints: or(self.stripe_webhook_endpoints, &current.stripe_webhook_endpoints),
            stripe_payment_links: or(self.stripe_payment_links, &current.stripe_payment_links),
            stripe_portal: or(self.stripe_portal, &current.stripe_portal),
            stripe_refund_status: or(self.stripe_refund_status, &current.stripe_refund_status),
            graph_scopes: or(self.graph_scopes, &current.graph_scopes),
            sent_items_lag_ms: or(self.sent_items_lag_ms, &current.sent_items_lag_ms),
            draft_lag_ms: or(self.draft_lag_ms, &current.draft_lag_ms),
            ses_mails_per_second: or(self.ses_mails_per_second, &current.ses_mails_per_second),
            record: self.record.or_else(|| current.record.clone()),
        };
        changed.check()?;
        Ok(changed)
    }
}

impl Config {
    fn check(&self) -> Result<(), ConfigError> {
        for (field, address) in [("site", &self.site), ("webhook_url", &self.webhook_url)] {
            if let Some(address) = address
                && !is_web_address(address)
            {
                return Err(refused(field, "must be an http or https address", address));
            }
        }
        if !self.webhook_secret.starts_with("whsec_") {
            return Err(refused("webhook_secret", "must start with whsec_", "…"));
        }
        if !STATUSES.contains(&self.stripe_refund_status.as_str()) {
            return Err(refused("stripe_refund_status", "must be a refund's status", &self.stripe_refund_status));
        }
        Ok(())
    }

    /// The address for webhooks, if it is known yet.
    pub(crate) fn webhook_address(&self) -> Option<String> {
        self.webhook_url.clone().or_else(|| self.site.as_ref().map(|site| format!("{site}/api/webhook")))
    }

    /// The settings that may be shown.
    pub(crate) fn public_value(&self) -> Value {
        json!({
            "site": self.site,
            "webhook_url": self.webhook_address(),
            "graph_tenant": GRAPH_TENANT,
            "graph_client": GRAPH_CLIENT,
            "graph_sender": GRAPH_SENDER,
            "webhook_retry_pauses_ms": self.webhook_retry_pauses_ms,
        })
    }
}

/// Whether a text is an absolute http or https address.
pub(crate) fn is_web_address(text: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Whether a text is enough of an e-mail address to deliver to.
pub(crate) fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty()
            && domain.contains('.')
            && !domain.starts_with('.')
            && !domain.ends_with('.')
            && !text.contains(char::is_whitespace)
            && !domain.contains('@')
    })
}

fn refused(field: &'static str, problem: &'static str, value: &str) -> ConfigError {
    ConfigError { field, problem, value: value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Config, ConfigChange};

    #[test]
    fn the_webhook_address_follows_the_site_unless_it_is_set() {
        let change = ConfigChange { site: Some("http://127.0.0.1:8080/".to_owned()), ..ConfigChange::default() };
        let config = change.apply(&Config::default()).unwrap();
        assert_eq!(config.webhook_address().as_deref(), Some("http://127.0.0.1:8080/api/webhook"));
        let change =
            ConfigChange { webhook_url: Some("http://127.0.0.1:1/hook".to_owned()), ..ConfigChange::default() };
        let config = change.apply(&config).unwrap();
        assert_eq!(config.webhook_address().as_deref(), Some("http://127.0.0.1:1/hook"));
    }

    #[test]
    fn unusable_settings_are_named() {
        let change = ConfigChange { site: Some("localhost:8080".to_owned()), ..ConfigChange::default() };
        let error = change.apply(&Config::default()).err().unwrap().to_string();
        assert!(error.starts_with("site must be"), "{error}");
        let change = ConfigChange { webhook_secret: Some("secret".to_owned()), ..ConfigChange::default() };
        let error = change.apply(&Config::default()).err().unwrap().to_string();
        assert_eq!(error, "webhook_secret must start with whsec_, got \"…\"");
    }
}
