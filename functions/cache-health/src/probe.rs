//! Probes whether the site's service answers (Cache Health, inputs 1).

use async_trait::async_trait;
use domain::{cache_health::ServiceProbe, ports::Clock};
use runtime::{System, telemetry};
use serde_json::Value;
use std::time::Duration;

/// How long the service has to answer (Cache Health, inputs 1).
const TIMEOUT: Duration = Duration::from_secs(5);

/// The service that is probed.
#[async_trait]
pub trait Service: Send + Sync {
    /// Probes the service once.
    async fn probe(&self) -> ServiceProbe;
}

/// The site, over HTTP.
pub struct Site {
    pub(crate) client: reqwest::Client,
    pub(crate) url: String,
}

impl Site {
    /// A probe of the site at this address.
    ///
    /// # Errors
    /// When no HTTP client can be built.
    pub fn new(base_url: &str) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { client, url: format!("{base_url}/health") })
    }
}

#[async_trait]
impl Service for Site {
    async fn probe(&self) -> ServiceProbe {
        let begun = System.now();
        let answer = async {
            let reply = self.client.get(&self.url).send().await?;
            let status = reply.status().as_u16();
            Ok::<_, reqwest::Error>((status, reply.text().await?))
        };
        let answer = answer.await;
        let response_ms = System.now().millis_since(begun);
        match answer {
            Ok((status, body)) => {
                ServiceProbe { reachable: is_alive(status, &body), response_ms, http_status: Some(status) }
            }
            Err(error) => {
                tracing::warn!(error = %telemetry::chain(&error.without_url()), "the service did not answer");
                ServiceProbe { reachable: false, response_ms, http_status: None }
            }
        }
    }
}

/// Whether a reply of `GET /health` shows that the service is alive. Its fields about the cache do not count: this
/// function wrote them itself, and a failed cache must not make its own service check fail for ever (Cache Health,
/// invariant 5).
pub(crate) fn is_alive(status: u16, body: &str) -> bool {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    matches!(status, 200 | 503) && body["service"] == "resonant" && body["timestamp"].is_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A site that accepts the connection and never answers.
    #[tokio::test(start_paused = true)]
    async fn a_service_that_does_not_answer_within_five_seconds_is_not_reachable() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let site = Site::new(&format!("http://{}", silent.local_addr().unwrap())).unwrap();
        let begun = tokio::time::Instant::now();
        let probe = site.probe().await;
        assert_eq!((probe.reachable, probe.http_status), (false, None));
        let waited = begun.elapsed();
        assert!(TIMEOUT <= waited && waited < TIMEOUT + Duration::from_secs(1), "{waited:?}");
    }

    #[test]
    fn a_failed_cache_is_not_a_failed_service() {
        let body =
            |service: &str, status: &str| json!({ "service": service, "status": status, "timestamp": "t" }).to_string();
        for cache in ["resonant", "degraded", "failed"] {
            assert!(is_alive(200, &body("resonant", cache)) && is_alive(503, &body("resonant", cache)), "{cache}");
            assert!(!is_alive(503, &body("failed", cache)), "{cache}");
        }
        assert!(!is_alive(500, &body("resonant", "resonant")) && !is_alive(302, &body("resonant", "resonant")));
        for nonsense in ["", "{}", "<html>", &body("resonant", "resonant").replace("\"t\"", "5")] {
            assert!(!is_alive(200, nonsense), "{nonsense}");
        }
    }
}
