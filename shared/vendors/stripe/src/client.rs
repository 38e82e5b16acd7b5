//! The Stripe client behind [`Payments`].

use crate::{
    form,
    reply::CallError,
    session::{self, SessionError},
    transport::{Call, Expected, Transport},
};
use async_trait::async_trait;
use domain::{
    CheckoutSession, PaymentStatus, Secret, SessionId, SessionStage,
    backoff::Backoff,
    ports::{CreatedCheckoutSession, NewCheckoutSession, Pause, PaymentError, Payments, Randomness},
};
use reqwest::header::HeaderValue;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// The address of the real Stripe.
pub const BASE_URL: &str = "https://api.stripe.com";

/// The settings of a client.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address of the API, without `/v1`.
    pub base_url: String,
    /// The secret key.
    pub key: Secret,
    /// The public address of our site, to which Stripe returns customers.
    pub site: String,
    /// The time-out of one attempt. Pages of customers' objects, for which no customer waits, have a longer one.
    pub attempt_timeout: Duration,
    /// The time-out of one call with all its attempts and waits, except for such pages.
    pub budget: Duration,
    /// The number of attempts, and the waits between them.
    pub backoff: Backoff,
}

impl Config {
    /// Settings with time-outs that a customer at the checkout accepts: 8 s in all, 4 s per attempt, 3 attempts.
    #[must_use]
    pub fn new(base_url: impl Into<String>, key: Secret, site: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            key,
            site: site.into(),
            attempt_timeout: Duration::from_secs(4),
            budget: Duration::from_secs(8),
            backoff: Backoff { attempts: 3, base: Duration::from_millis(300), cap: Duration::from_secs(1) },
        }
    }
}

/// Why a client cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The base URL is not an http or https URL.
    #[error("STRIPE_BASE_URL is not an http or https URL")]
    BaseUrl,
    /// The site is not an http or https URL.
    #[error("the site's address is not an http or https URL")]
    Site,
    /// The key is empty or has characters that a header cannot contain.
    #[error("the secret key of Stripe is empty or malformed")]
    Key,
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Http(#[source] reqwest::Error),
}

/// Stripe.
pub struct Client {
    pub(crate) transport: Transport,
    pub(crate) site: String,
    /// Whether the key belongs to the live mode; `None` if its form does not show the mode.
    live: Option<bool>,
}

impl Client {
    /// A client that uses `http` with the connection settings of the caller.
    ///
    /// # Errors
    /// [`ConfigError`] names the invalid setting.
    pub fn new(
        config: Config,
        http: reqwest::ClientBuilder,
        pause: Arc<dyn Pause>,
        randomness: Arc<dyn Randomness>,
    ) -> Result<Self, ConfigError> {
        let base_url = domain::web_address(&config.base_url).ok_or(ConfigError::BaseUrl)?;
        let site = domain::web_address(&config.site).ok_or(ConfigError::Site)?;
        let key = Some(config.key.expose()).filter(|key| is_header_word(key)).ok_or(ConfigError::Key)?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| ConfigError::Key)?;
        authorization.set_sensitive(true);
        // The API never redirects; following a redirect would send the question to another host.
        let http = http.redirect(reqwest::redirect::Policy::none()).build().map_err(ConfigError::Http)?;
        let Config { attempt_timeout, budget, backoff, .. } = config;
        let transport =
            Transport { http, base_url, authorization, attempt_timeout, budget, backoff, pause, randomness };
        Ok(Self { transport, site, live: mode_of(key) })
    }

    /// Whether the key belongs to the live mode; `None` if its form does not show the mode.
    #[must_use]
    pub const fn live_mode(&self) -> Option<bool> {
        self.live
    }

    /// Whether an id belongs to the mode, live or test, that the key does not belong to.
    pub(crate) fn is_id_of_other_mode(&self, id: &SessionId) -> bool {
        id.looks_issued() && self.live.is_some_and(|live| live == id.is_test_mode())
    }

    /// Retrieves a session, with Stripe's whole reply.
    pub(crate) async fn retrieve(&self, id: &SessionId) -> Result<(CheckoutSession, Value), PaymentError> {
        // A session id has no characters with a meaning in a path.
        let path = format!("/v1/checkout/sessions/{}", id.as_str());
        let reply = self.transport.call(&Call::Get { path, query: &[], expected: Expected::Object }).await?;
        let session = match session::parse(&reply) {
            // This session sells something else and has no question.
            Err(SessionError::OtherMode) => return Err(PaymentError::NotFound),
            read => read.map_err(CallError::from)?,
        };
        if session.id == *id { Ok((session, reply)) } else { Err(CallError::Unexpected("another session").into()) }
    }

    /// Whether the payment of a session has failed after its customer had finished, as a bank debit can after days. Stripe
    /// shows such a session as complete and unpaid for ever: only the payment has its end.
    async fn has_payment_failed(&self, session: &CheckoutSession) -> bool {
        let is_awaited = session.stage == SessionStage::Complete && session.payment_status == PaymentStatus::Unpaid;
        let Some(payment) = session.payment.as_ref().filter(|_| is_awaited) else { return false };
        let path = format!("/v1/payment_intents/{payment}");
        let call = Call::Get { path, query: &[], expected: Expected::Object };
        // A customer waits for two calls now, so this one has the time of one attempt.
        match tokio::time::timeout(self.transport.attempt_timeout, self.transport.call(&call)).await {
            Ok(Ok(payment)) => matches!(payment["status"].as_str(), Some("requires_payment_method" | "canceled")),
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(session = session.id.prefix(), "the end of the payment cannot be read: it is awaited");
                false
            }
        }
    }

    /// Creates the smoke test's session. Returns its id and Stripe's whole reply.
    pub(crate) async fn create_smoke(&self, key: &str) -> Result<(SessionId, Value), PaymentError> {
        let (path, form) = ("/v1/checkout/sessions", form::smoke(&self.site));
        let reply =
            self.transport.call(&Call::Post { path, form: &form, idempotency_key: idempotency_key(key)? }).await?;
        Ok((created(&reply)?.id, reply))
    }
}

#[async_trait]
impl Payments for Client {
    async fn is_of_other_mode(&self, id: &SessionId) -> bool {
        self.is_id_of_other_mode(id)
    }

    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let session = self.retrieve(id).await?.0;
        let stage = if self.has_payment_failed(&session).await { SessionStage::Over } else { session.stage };
        Ok(CheckoutSession { stage, ..session })
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        let idempotency_key = idempotency_key(&new.idempotency_key)?;
        let form = form::checkout(new, &self.site);
        let reply =
            self.transport.call(&Call::Post { path: "/v1/checkout/sessions", form: &form, idempotency_key }).await?;
        created(&reply).map_err(PaymentError::from)
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        // Stripe's codes contain only these characters, and it calls a request with others malformed.
        let possible = (1..=500).contains(&code.len())
            && code.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if !possible {
            return Ok(None);
        }
        let query = [("code", code), ("active", "true")];
        let path = "/v1/promotion_codes".to_owned();
        let reply = self.transport.call(&Call::Get { path, query: &query, expected: Expected::Object }).await?;
        let codes = reply["data"].as_array().ok_or(CallError::Unexpected("no list of promotion codes"))?;
        Ok(codes.iter().find_map(|found| usable(found, code)))
    }
}

/// The idempotency key as a header. An invalid key is refused before anything is sent.
pub(crate) fn idempotency_key(key: &str) -> Result<HeaderValue, PaymentError> {
    let key = Some(key).filter(|key| key.len() <= 255 && is_header_word(key));
    key.and_then(|key| HeaderValue::from_str(key).ok())
        .ok_or_else(|| PaymentError::Refused("idempotency_key_invalid".to_owned()))
}

pub(crate) fn created(reply: &Value) -> Result<CreatedCheckoutSession, CallError> {
    let id = reply["id"].as_str().and_then(|id| SessionId::parse(id).ok());
    let id = id.ok_or(CallError::Unexpected("no session id"))?;
    let url = session::page_address(&reply["url"]).ok_or(CallError::Unexpected("no address to pay at"))?;
    Ok(CreatedCheckoutSession { id, url, amount_total: reply["amount_total"].as_i64() })
}

/// The id of a promotion code that every customer may use. Stripe compares codes regardless of case, and also lists
/// codes that belong to one customer.
fn usable(found: &Value, code: &str) -> Option<String> {
    let same = found["code"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(code));
    let id = found["id"].as_str().filter(|id| id.starts_with("promo_"))?;
    let for_everybody = found["customer"].is_null() && found["customer_account"].is_null();
    (same && found["active"] == true && for_everybody).then(|| id.to_owned())
}

/// Whether a key belongs to the live mode: `sk_live_…`, `rk_test_…`.
fn mode_of(key: &str) -> Option<bool> {
    match key.split_once('_')?.1.split_once('_')?.0 {
        "live" => Some(true),
        "test" => Some(false),
        _ => None,
    }
}

fn is_header_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_says_its_mode() {
        for (key, live) in [
            ("sk_live_1", Some(true)),
            ("rk_live_1", Some(true)),
            ("sk_test_1", Some(false)),
            ("rk_test_1", Some(false)),
            ("sk_1", None),
            ("key", None),
        ] {
            assert_eq!(mode_of(key), live, "{key}");
        }
    }

    #[test]
    fn a_session_nobody_can_pay_is_an_error() {
        let good = created(&json!({"id": "cs_test_1", "url": "https://checkout.stripe.com/c/pay/cs_test_1#fid"}));
        assert_eq!(good.unwrap().url, "https://checkout.stripe.com/c/pay/cs_test_1#fid");
        for url in
            [json!(null), json!(""), json!("javascript:alert(1)"), json!("data:text/html,x"), json!("//x"), json!(1)]
        {
            assert!(created(&json!({"id": "cs_test_1", "url": url})).is_err(), "{url}");
        }
        for id in [json!(null), json!(""), json!("../x"), json!("pi_1")] {
            assert!(created(&json!({"id": id, "url": "https://x/"})).is_err(), "{id}");
        }
        let breaking = json!({"id": "cs_test_1", "url": "https://x/a\r\nSet-Cookie: b"});
        assert!(!created(&breaking).unwrap().url.contains(['\r', '\n']));
    }

    #[test]
    fn only_an_active_code_for_everybody_is_usable() {
        let code = |change: Value| {
            let mut found = json!({"id": "promo_1", "code": "FRIEND10", "active": true, "customer": null});
            for (key, value) in change.as_object().into_iter().flatten() {
                found[key] = value.clone();
            }
            usable(&found, "friend10")
        };
        assert_eq!(code(json!({})).as_deref(), Some("promo_1"));
        for change in [
            json!({"active": false}),
            json!({"active": "true"}),
            json!({"customer": "cus_1"}),
            json!({"customer_account": "acct_1"}),
            json!({"code": "OTHER"}),
            json!({"id": null}),
            json!({"id": "coupon"}),
        ] {
            assert_eq!(code(change.clone()), None, "{change}");
        }
    }
}
