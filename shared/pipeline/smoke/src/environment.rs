//! Stage 1's decision: whether the smoke test may call anything at all.

use domain::{Secret, smoke};
use serde::Deserialize;
use stripe::SmokeSecret;

/// The spec's text, verbatim: a production key must never be near a smoke test (Smoke Test, invariant 1).
pub(crate) const PRODUCTION_KEY: &str = "FATAL: production Stripe key in smoke test — aborting.";

#[derive(Deserialize)]
struct GeminiDocument {
    api_key: Secret,
}

/// Checks the configuration before anything is called. Returns the secret that the test signs its event with.
///
/// # Errors
/// A readable list of everything that is missing; a production key is reported before all else.
pub(crate) fn check(smoke_document: &Secret, gemini_document: &Secret) -> Result<Secret, String> {
    let SmokeSecret { secret_key, signing_secret } =
        SmokeSecret::parse(smoke_document).map_err(|error| error.to_string())?;
    let key = secret_key.expose();
    if !key.is_empty() && !smoke::is_test_key(key) {
        return Err(if key.contains("_live_") {
            PRODUCTION_KEY.to_owned()
        } else {
            "the Stripe key of the smoke test does not begin with sk_test_".to_owned()
        });
    }
    let gemini: Option<GeminiDocument> = serde_json::from_str(gemini_document.expose()).ok();
    let missing: Vec<&str> = [
        ("STRIPE_SECRET_KEY", key.is_empty()),
        ("STRIPE_WEBHOOK_SECRET", !signing_secret.expose().starts_with("whsec_")),
        ("GEMINI_API_KEY", gemini.is_none_or(|gemini| gemini.api_key.expose().trim().is_empty())),
    ]
    .into_iter()
    .filter_map(|(name, missing)| missing.then_some(name))
    .collect();
    if missing.is_empty() { Ok(signing_secret) } else { Err(format!("not set: {}", missing.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(key: &str, signing: &str, gemini: &str) -> Result<(), String> {
        let smoke = serde_json::json!({ "secret_key": key, "signing_secret": signing }).to_string();
        let gemini = serde_json::json!({ "api_key": gemini }).to_string();
        check(&Secret::new(smoke), &Secret::new(gemini)).map(drop)
    }

    #[test]
    fn a_production_key_is_fatal_whatever_else_is_missing() {
        for key in ["sk_live_1", "rk_live_1", " sk_live_1 "] {
            assert_eq!(checked(key, "", ""), Err(PRODUCTION_KEY.to_owned()), "{key}");
        }
        for key in ["pk_test_1", "rk_test_1", "sk_test_", "x"] {
            let error = checked(key, "whsec_1", "g").unwrap_err();
            assert!(error.contains("sk_test_") && !error.contains(&format!(" {key} ")), "{error}");
        }
    }

    #[test]
    fn everything_that_is_missing_is_named_and_nothing_is_shown() {
        assert_eq!(checked("sk_test_1", "whsec_1", "g"), Ok(()));
        let all = "not set: STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, GEMINI_API_KEY";
        assert_eq!(checked("", "", " "), Err(all.to_owned()));
        assert_eq!(checked("sk_test_1", "secret", "g"), Err("not set: STRIPE_WEBHOOK_SECRET".to_owned()));
        assert!(check(&Secret::new("{}"), &Secret::new("{}")).is_err());
    }
}
