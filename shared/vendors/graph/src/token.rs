//! Access tokens: fetched when needed, and cached until shortly before they expire.

use crate::reply::{self, Lost};
use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::{
    Secret, Timestamp,
    ports::{Clock, MailError},
};
use reqwest::header::HeaderValue;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A token is not used in the last five minutes before it expires.
const MARGIN: Duration = Duration::from_secs(300);

const DELEGATED_SCOPE: &str =
    "offline_access https://graph.microsoft.com/Mail.ReadWrite https://graph.microsoft.com/Mail.Send";
/// All scopes that were consented to, whether we request them or not.
const CONSENTED_SCOPE: &str = "offline_access https://graph.microsoft.com/.default";
const APP_ONLY_SCOPE: &str = "https://graph.microsoft.com/.default";

/// Stores a refresh token that replaces the current one.
#[async_trait]
pub trait RefreshTokenStore: Send + Sync {
    /// Called when the login service has issued `new`, before the access token that came with it is used. A failure to
    /// store it does not concern the caller: the old token stays valid for up to 90 days, and every refresh issues
    /// another one.
    async fn rotated(&self, new: Secret);
}

/// Stores no new refresh token: the stored one stays valid, and other functions store new ones.
pub struct NotKept;

#[async_trait]
impl RefreshTokenStore for NotKept {
    async fn rotated(&self, _new: Secret) {}
}

/// The grant of access.
#[derive(Clone)]
pub enum Grant {
    /// A person has consented; the refresh token represents that person.
    RefreshToken {
        /// The refresh token.
        refresh_token: Secret,
        /// The secret of a confidential client; a public one has none.
        client_secret: Option<Secret>,
        /// Stores new refresh tokens.
        store: Arc<dyn RefreshTokenStore>,
    },
    /// An administrator has consented for the application itself.
    ClientCredentials {
        /// The application's secret.
        client_secret: Secret,
    },
}

#[derive(Default)]
struct Cache {
    /// The whole header, and its expiry.
    access: Option<(HeaderValue, Timestamp)>,
    /// The refresh token that replaced the grant's.
    rotated: Option<Secret>,
}

pub(crate) struct Tokens {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
    pub(crate) client_id: String,
    pub(crate) grant: Grant,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timeout: Duration,
    cache: Mutex<Cache>,
}

impl Tokens {
    pub(crate) fn new(
        http: reqwest::Client,
        url: String,
        client_id: String,
        grant: Grant,
        clock: Arc<dyn Clock>,
        timeout: Duration,
    ) -> Self {
        Self { http, url, client_id, grant, clock, timeout, cache: Mutex::default() }
    }

    /// The `Authorization` header.
    pub(crate) async fn authorization(&self) -> Result<HeaderValue, MailError> {
        let now = self.clock.now();
        let kept = self.with_cache(|cache| cache.access.clone());
        match kept.filter(|(_, until)| now < *until) {
            Some((header, _)) => Ok(header),
            None => self.fetch(now).await,
        }
    }

    /// The permissions that were consented to, without the resource's name; those of an application are in its access
    /// token.
    pub(crate) async fn permissions(&self) -> Result<BTreeSet<String>, MailError> {
        let mut form = self.form();
        for (name, value) in &mut form {
            if *name == "scope" && value == DELEGATED_SCOPE {
                CONSENTED_SCOPE.clone_into(value);
            }
        }
        let body = self.token_reply(form).await?;
        self.rotate(parse(&body).ok_or(MailError::Unavailable(200))?.refresh).await;
        Ok(permissions(&body))
    }

    /// Drops a header that Graph refused, so that the next call fetches another. A newer one is kept.
    pub(crate) fn forget(&self, refused: &HeaderValue) {
        self.with_cache(|cache| cache.access.take_if(|(header, _)| header == refused));
    }

    /// Fetches a token. Two concurrent calls may both do this: both get a token, and both new refresh tokens are valid.
    async fn fetch(&self, now: Timestamp) -> Result<HeaderValue, MailError> {
        let body = self.token_reply(self.form()).await?;
        let token = parse(&body).ok_or(MailError::Unavailable(200))?;
        self.rotate(token.refresh).await;
        let until = now.plus(token.lifetime.saturating_sub(MARGIN));
        self.with_cache(|cache| cache.access = Some((token.header.clone(), until)));
        Ok(token.header)
    }

    async fn token_reply(&self, form: Vec<(&'static str, String)>) -> Result<Vec<u8>, MailError> {
        let request = self.http.post(&self.url).form(&form).timeout(self.timeout);
        // A failure of this call has no effect on the mail.
        let lost = |error: reqwest::Error| {
            tracing::warn!(error = Lost::from(error).chain(), "the token request failed");
            MailError::Unavailable(0)
        };
        let response = request.send().await.map_err(lost)?;
        let status = response.status().as_u16();
        let wait = reply::retry_after_of(response.headers());
        let succeeded = response.status().is_success();
        let body = reply::read(response).await.map_err(lost)?;
        if !succeeded {
            let code = reply::code(&body);
            tracing::warn!(status, code, "the token request failed");
            return Err(reply::login_refusal(status, wait, &code));
        }
        Ok(body)
    }

    async fn rotate(&self, new: Option<Secret>) {
        let (Grant::RefreshToken { refresh_token, store, .. }, Some(new)) = (&self.grant, new) else { return };
        let current = self.with_cache(|cache| cache.rotated.clone()).unwrap_or_else(|| refresh_token.clone());
        if current.expose() != new.expose() {
            self.with_cache(|cache| cache.rotated = Some(new.clone()));
            store.rotated(new).await;
        }
    }

    fn form(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![("client_id", self.client_id.clone())];
        match &self.grant {
            Grant::RefreshToken { refresh_token, client_secret, .. } => {
                let current = self.with_cache(|cache| cache.rotated.clone()).unwrap_or_else(|| refresh_token.clone());
                form.push(("grant_type", "refresh_token".to_owned()));
                form.push(("refresh_token", current.expose().to_owned()));
                form.push(("scope", DELEGATED_SCOPE.to_owned()));
                form.extend(client_secret.iter().map(|secret| ("client_secret", secret.expose().to_owned())));
            }
            Grant::ClientCredentials { client_secret } => {
                form.push(("grant_type", "client_credentials".to_owned()));
                form.push(("scope", APP_ONLY_SCOPE.to_owned()));
                form.push(("client_secret", client_secret.expose().to_owned()));
            }
        }
        form
    }

    /// Runs `work` under the lock, which is never held across an await.
    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        work(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The scopes of a delegated grant are beside the token, the roles of an application in it. The token is meant for
/// Microsoft only; its middle part is read here to show its roles to an operator, and decides nothing.
fn permissions(body: &[u8]) -> BTreeSet<String> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let short = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    if let Some(scopes) = body["scope"].as_str() {
        return scopes.split_whitespace().map(short).collect();
    }
    let claims = body["access_token"].as_str().and_then(|token| token.split('.').nth(1));
    let claims = claims.and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
    let claims: Value = claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default();
    claims["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).map(short).collect()
}

struct Token {
    header: HeaderValue,
    lifetime: Duration,
    refresh: Option<Secret>,
}

fn parse(body: &[u8]) -> Option<Token> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let access = body["access_token"].as_str().filter(|token| !token.is_empty())?;
    let mut header = HeaderValue::from_str(&format!("Bearer {access}")).ok()?;
    header.set_sensitive(true);
    let lifetime = &body["expires_in"];
    // Some endpoints write the number as text; without a number the token is used for this call only.
    let seconds = lifetime.as_u64().or_else(|| lifetime.as_str()?.parse().ok()).unwrap_or(0).min(24 * 3600);
    let refresh = body["refresh_token"].as_str().filter(|token| !token.is_empty()).map(Secret::new);
    Some(Token { header, lifetime: Duration::from_secs(seconds), refresh })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_read_beside_a_token_and_in_it() {
        let of = |body: Value| permissions(body.to_string().as_bytes()).into_iter().collect::<Vec<_>>();
        let scope = "https://graph.microsoft.com/Mail.Send https://graph.microsoft.com/Mail.ReadWrite openid";
        assert_eq!(of(serde_json::json!({ "scope": scope })), ["Mail.ReadWrite", "Mail.Send", "openid"]);
        let claims = URL_SAFE_NO_PAD.encode(r#"{"roles":["Mail.Send"]}"#);
        assert_eq!(of(serde_json::json!({ "access_token": format!("h.{claims}.s") })), ["Mail.Send"]);
        assert!(of(serde_json::json!({ "access_token": "opaque" })).is_empty());
    }

    #[test]
    fn a_token_reply_is_read() {
        let token = parse(br#"{"access_token":"a.b.c","expires_in":3599,"refresh_token":"r"}"#).unwrap();
        assert_eq!(token.header, "Bearer a.b.c");
        assert_eq!((token.lifetime.as_secs(), token.refresh.unwrap().expose()), (3599, "r"));
        assert!(!format!("{:?}", token.header).contains("a.b.c"));
        for (reply, seconds) in [
            (r#"{"access_token":"a","expires_in":"60"}"#, 60),
            (r#"{"access_token":"a"}"#, 0),
            (r#"{"access_token":"a","expires_in":-5}"#, 0),
            (r#"{"access_token":"a","expires_in":18446744073709551615}"#, 86_400),
        ] {
            assert_eq!(parse(reply.as_bytes()).unwrap().lifetime.as_secs(), seconds, "{reply}");
        }
        for reply in ["", "{}", r#"{"access_token":""}"#, r#"{"access_token":"a\r\nX: y"}"#, r#"{"access_token":1}"#] {
            assert!(parse(reply.as_bytes()).is_none(), "{reply}");
        }
    }
}
