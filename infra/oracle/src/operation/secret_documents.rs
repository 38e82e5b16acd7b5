//! Makes the documents of the stack's secrets from operators' input.
//!
//! A secret is one JSON object that functions read. If it has one value, operators enter only that value. This file
//! adds the rest: a version, a generated signing secret, the fields that stay.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

domain::enum_with_words! {
    /// The secrets of a stack. Each is named STACK/NAME in Secrets Manager.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    pub(crate) enum Name {
        /// Stripe's restricted key (rk_…) that reads.
        Stripe = "stripe",
        /// Stripe's restricted key that creates sessions.
        StripeCheckout = "stripe-checkout",
        /// Stripe's restricted key that gives money back.
        StripeRefund = "stripe-refund",
        /// The signing secrets of the webhook endpoint (whsec_…), by commas or lines; two while one is being rolled.
        StripeWebhook = "stripe-webhook",
        /// Stripe's test-mode key (sk_test_…) of the smoke test.
        StripeSmoke = "stripe-smoke",
        /// The API key of the Gemini API.
        Gemini = "gemini",
        /// The mailbox's application: a JSON object with `tenant_id`, `client_id` and, for a confidential client,
        /// `client_secret`; fields that are left out stay as they are, and an empty one is removed.
        Graph = "graph",
        /// The refresh token of a person's consent to use the mailbox. Functions replace it, so it is set after a
        /// consent only. `{"refresh_token":""}` removes it, for an application permission.
        GraphToken = "graph-token",
        /// 32 random bytes in hex: the key of the digests that stand for addresses in the audit log. A new key becomes
        /// the current one; the earlier ones stay, as records name theirs, and are refused.
        Audit = "audit",
        /// 32 random bytes in hex: the key of the ids of the chat's subscribers. It is set once: another key would make
        /// every subscriber a stranger.
        Chat = "chat",
    }
    /// The name in Secrets Manager after the stack's name.
    pub(crate) const fn text;
}

/// The reason why a value is invalid. No message repeats the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidValue {
    #[error("the value is empty")]
    Empty,
    #[error("the value has white space or line breaks in it")]
    Spaces,
    #[error("the value is the word null: the login service sent no token, and its error_description says why")]
    Null,
    #[error("the value must begin with {0}")]
    Prefix(&'static str),
    #[error("the value must be 64 lowercase hexadecimal digits (openssl rand -hex 32)")]
    Hex,
    #[error("the secret has another key already, and it is never replaced")]
    Final,
    #[error(
        "this is the earlier key {given}, and {current} stays the current one: an earlier key may have leaked. To change \
         the key, store a new one (openssl rand -hex 32)"
    )]
    Earlier { given: String, current: String },
    #[error("the stored value is not a JSON object, and may have a key that must stay: correct it in Secrets Manager")]
    Unreadable,
    #[error("the value must be a JSON object of text fields out of {0}")]
    Fields(&'static str),
    #[error("{0} is missing, and the secret does not have it yet")]
    Missing(&'static str),
    #[error("refresh_token has a secret of its own: `oracle secrets set graph-token` takes the token itself")]
    RefreshToken,
    #[error(r#"the value must be the token itself, or {{"refresh_token":""}} to remove the stored one"#)]
    TokenItself,
}

/// The field of `graph-token`. In stacks deployed before the token had a secret of its own it is a field of `graph`,
/// where it can be removed but not set.
const REFRESH_TOKEN: &str = "refresh_token";
const GRAPH_FIELDS: [&str; 4] = ["tenant_id", "client_id", "client_secret", REFRESH_TOKEN];

impl Name {
    /// The secret's next document, made from its current one and an operator's input. `random` becomes the smoke test's
    /// signing secret. A current document of `null` is unreadable: it is replaced, unless its keys have to stay.
    pub(crate) fn document(self, current: &Value, value: &str, random: &str) -> Result<Value, InvalidValue> {
        let value = value.trim();
        if value.is_empty() {
            return Err(InvalidValue::Empty);
        }
        match self {
            Self::Stripe | Self::StripeCheckout | Self::StripeRefund => {
                Ok(json!({ "secret_key": prefixed(value, &["sk_", "rk_"], "sk_ or rk_")? }))
            }
            Self::StripeWebhook => {
                let parts = value.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty());
                let secrets = parts.map(|part| prefixed(part, &["whsec_"], "whsec_")).collect::<Result<Vec<_>, _>>()?;
                Ok(json!({ "signing_secrets": secrets }))
            }
            Self::StripeSmoke => {
                let key = prefixed(value, &["sk_test_"], "sk_test_: no other key may order for nothing")?;
                // Another key also replaces the signing secret: a reader of this secret has seen both.
                let kept = current["signing_secret"].as_str().filter(|_| current["secret_key"] == key);
                let signing = kept.map_or_else(|| format!("whsec_{random}"), str::to_owned);
                Ok(json!({ "secret_key": key, "signing_secret": signing }))
            }
            Self::Gemini => Ok(json!({ "api_key": prefixed(value, &[""], "")? })),
            Self::Graph => graph(current, value),
            Self::GraphToken => graph_token(value),
            Self::Audit | Self::Chat if current.is_null() => Err(InvalidValue::Unreadable),
            Self::Audit => audit(current, value),
            Self::Chat => chat(current, value),
        }
    }
}

fn prefixed<'a>(value: &'a str, prefixes: &[&str], wanted: &'static str) -> Result<&'a str, InvalidValue> {
    if value.contains(char::is_whitespace) {
        return Err(InvalidValue::Spaces);
    }
    let fits = prefixes.iter().any(|prefix| value.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
    if fits { Ok(value) } else { Err(InvalidValue::Prefix(wanted)) }
}

fn graph(current: &Value, value: &str) -> Result<Value, InvalidValue> {
    let refused = || InvalidValue::Fields("tenant_id, client_id and client_secret");
    let given: Map<String, Value> = serde_json::from_str(value).map_err(|_| refused())?;
    let mut document = current.as_object().cloned().unwrap_or_default();
    for (field, value) in given {
        let text = value.as_str().filter(|_| GRAPH_FIELDS.contains(&field.as_str())).ok_or_else(refused)?;
        if field == REFRESH_TOKEN && !text.is_empty() {
            return Err(InvalidValue::RefreshToken);
        }
        // An empty value removes the field, because a public client has no secret.
        if text.is_empty() { drop(document.remove(&field)) } else { drop(document.insert(field, json!(text))) }
    }
    let required = ["tenant_id", "client_id"];
    match required.into_iter().find(|field| !document.contains_key(*field)) {
        Some(missing) => Err(InvalidValue::Missing(missing)),
        None => Ok(Value::Object(document)),
    }
}

/// Sets the token, or removes it: while one is stored, the permission of the application is not used.
fn graph_token(value: &str) -> Result<Value, InvalidValue> {
    // What `jq -r .refresh_token` makes of a refusal.
    if value == "null" {
        return Err(InvalidValue::Null);
    }
    // The form of `graph`, in which an empty value removes a field. A token has no such beginning.
    if value.starts_with(['{', '"']) {
        let is_removal = serde_json::from_str(value).is_ok_and(|given: Value| given == json!({ REFRESH_TOKEN: "" }));
        return if is_removal { Ok(json!({})) } else { Err(InvalidValue::TokenItself) };
    }
    Ok(json!({ REFRESH_TOKEN: prefixed(value, &[""], "")? }))
}

fn is_hex(value: &str) -> bool {
    value.len() == 64 && value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Sets the key if no key is set. Setting the same key again changes nothing.
fn chat(current: &Value, value: &str) -> Result<Value, InvalidValue> {
    match current["subscriber_key"].as_str() {
        _ if !is_hex(value) => Err(InvalidValue::Hex),
        Some(kept) if kept != value => Err(InvalidValue::Final),
        _ => Ok(json!({ "subscriber_key": value })),
    }
}

/// Adds a key as the current version. Adding the current key again changes nothing. An earlier key is refused: a repeated
/// step of the deployment guide would otherwise go back to a key that was replaced.
fn audit(current: &Value, value: &str) -> Result<Value, InvalidValue> {
    if !is_hex(value) {
        return Err(InvalidValue::Hex);
    }
    let mut keys = current["keys"].as_object().cloned().unwrap_or_default();
    let known = keys.iter().find(|(_, key)| **key == value).map(|(version, _)| version.clone());
    let in_use = current["current"].as_str().filter(|version| keys.contains_key(*version));
    let version = match (known, in_use) {
        (Some(given), Some(in_use)) if given != in_use => {
            return Err(InvalidValue::Earlier { given, current: in_use.to_owned() });
        }
        (Some(given), _) => given,
        (None, _) => format!("v{}", keys.len() + 1),
    };
    keys.insert(version.clone(), json!(value));
    Ok(json!({ "current": version, "keys": keys }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: Name, current: &Value, value: &str) -> Result<Value, InvalidValue> {
        name.document(current, value, "0123456789abcdef")
    }

    #[test]
    fn the_chats_key_is_set_once() {
        let (key, other) = ("0a".repeat(32), "0b".repeat(32));
        let document = made(Name::Chat, &json!({}), &key).unwrap();
        assert_eq!(document, json!({ "subscriber_key": key }));
        assert_eq!(made(Name::Chat, &document, &key), Ok(document.clone()));
        assert_eq!(made(Name::Chat, &document, &other), Err(InvalidValue::Final));
        assert_eq!(made(Name::Chat, &json!({}), "short"), Err(InvalidValue::Hex));
    }

    #[test]
    fn a_key_that_must_stay_is_not_replaced_because_it_cannot_be_read() {
        let key = "0a".repeat(32);
        for name in [Name::Chat, Name::Audit] {
            assert_eq!(made(name, &Value::Null, &key), Err(InvalidValue::Unreadable));
        }
        assert_eq!(made(Name::Gemini, &Value::Null, "k"), Ok(json!({ "api_key": "k" })));
    }

    #[test]
    fn a_value_becomes_the_document_that_functions_read() {
        let none = json!({});
        assert_eq!(made(Name::Stripe, &none, " rk_live_1\n"), Ok(json!({ "secret_key": "rk_live_1" })));
        let rolled = made(Name::StripeWebhook, &none, "whsec_1, whsec_2\nwhsec_3\n");
        assert_eq!(rolled, Ok(json!({ "signing_secrets": ["whsec_1", "whsec_2", "whsec_3"] })));
        assert_eq!(made(Name::Gemini, &none, "k"), Ok(json!({ "api_key": "k" })));
        let smoke = json!({ "secret_key": "sk_test_1", "signing_secret": "whsec_0123456789abcdef" });
        assert_eq!(made(Name::StripeSmoke, &none, "sk_test_1"), Ok(smoke.clone()));
        assert_eq!(Name::StripeSmoke.document(&smoke, "sk_test_1", "other"), Ok(smoke.clone()));
        let rolled = Name::StripeSmoke.document(&smoke, "sk_test_2", "other");
        assert_eq!(rolled, Ok(json!({ "secret_key": "sk_test_2", "signing_secret": "whsec_other" })));
    }

    #[test]
    fn graph_keeps_the_fields_that_are_left_out() {
        let none = json!({});
        let whole = r#"{"tenant_id":"t","client_id":"c","client_secret":"s"}"#;
        let document = made(Name::Graph, &none, whole).unwrap();
        let rotated = made(Name::Graph, &document, r#"{"client_secret":"s2"}"#).unwrap();
        assert_eq!(rotated, json!({ "tenant_id": "t", "client_id": "c", "client_secret": "s2" }));
        let public = made(Name::Graph, &document, r#"{"client_secret":""}"#).unwrap();
        assert!(public.get("client_secret").is_none());
        assert_eq!(made(Name::Graph, &none, r#"{"tenant_id":"t"}"#), Err(InvalidValue::Missing("client_id")));
        for wrong in ["r", r#"{"token":"r"}"#, r#"{"tenant_id":1}"#] {
            assert!(matches!(made(Name::Graph, &none, wrong), Err(InvalidValue::Fields(_))), "{wrong}");
        }
    }

    #[test]
    fn a_refresh_token_is_set_in_its_own_secret_and_never_with_the_application() {
        let none = json!({});
        assert_eq!(made(Name::GraphToken, &none, " r\n"), Ok(json!({ "refresh_token": "r" })));
        for wrong in [r#"{"refresh_token": "r"}"#, r#"{"refresh_token":"r"}"#, "{}", "{", r#""r""#] {
            assert_eq!(made(Name::GraphToken, &none, wrong), Err(InvalidValue::TokenItself), "{wrong}");
        }
        assert_eq!(made(Name::GraphToken, &none, "null\n"), Err(InvalidValue::Null));
        let before = json!({ "tenant_id": "t", "client_id": "c", "refresh_token": "before" });
        let consent = r#"{"tenant_id":"t","client_id":"c","refresh_token":"old"}"#;
        for current in [&none, &before] {
            assert_eq!(made(Name::Graph, current, consent), Err(InvalidValue::RefreshToken));
        }
        // A token that an earlier version stored there is used until the new secret has one, and can be removed.
        assert_eq!(made(Name::Graph, &before, r#"{"client_secret":"s"}"#).unwrap()["refresh_token"], "before");
        let removed = made(Name::Graph, &before, r#"{"refresh_token":""}"#);
        assert_eq!(removed, Ok(json!({ "tenant_id": "t", "client_id": "c" })));
    }

    #[test]
    fn a_refresh_token_is_removed_for_an_application_permission() {
        let stored = json!({ "refresh_token": "r" });
        for removal in [r#"{"refresh_token":""}"#, r#"{ "refresh_token": "" }"#] {
            assert_eq!(made(Name::GraphToken, &stored, removal), Ok(json!({})), "{removal}");
        }
    }

    #[test]
    fn a_further_audit_key_is_current_and_the_earlier_ones_stay() {
        let (first, second) = ("0".repeat(64), "1".repeat(64));
        let one = made(Name::Audit, &json!({}), &first).unwrap();
        assert_eq!(one, json!({ "current": "v1", "keys": { "v1": first } }));
        let two = made(Name::Audit, &one, &second).unwrap();
        assert_eq!(two, json!({ "current": "v2", "keys": { "v1": first, "v2": second } }));
        assert_eq!(made(Name::Audit, &two, &second), Ok(two));
        assert_eq!(made(Name::Audit, &json!({}), "xyz"), Err(InvalidValue::Hex));
    }

    /// The guide's third part is repeated after a rotation.
    #[test]
    fn an_earlier_audit_key_does_not_become_current_again() {
        let (first, second) = ("0".repeat(64), "1".repeat(64));
        let two = json!({ "current": "v2", "keys": { "v1": first, "v2": second } });
        let refused = made(Name::Audit, &two, &first).unwrap_err();
        assert_eq!(refused, InvalidValue::Earlier { given: "v1".to_owned(), current: "v2".to_owned() });
        assert!(!refused.to_string().contains("000"), "{refused}");
        let none_is_current = json!({ "current": "v9", "keys": { "v1": first } });
        let repaired = json!({ "current": "v1", "keys": { "v1": first } });
        assert_eq!(made(Name::Audit, &none_is_current, &first), Ok(repaired));
    }

    /// A production key is refused for the smoke test, and no error repeats the input.
    #[test]
    fn what_is_no_such_value_is_refused_without_repeating_it() {
        let none = json!({});
        for (name, value) in [
            (Name::StripeSmoke, "sk_live_1"),
            (Name::StripeSmoke, "sk_test_"),
            (Name::StripeSmoke, "rk_test_1"),
            (Name::Stripe, "pk_live_1"),
            (Name::StripeWebhook, "whsec_1,secret"),
            (Name::Gemini, "a b"),
            (Name::Gemini, "  "),
        ] {
            let refused = made(name, &none, value).unwrap_err().to_string();
            assert!(!refused.contains("_1") && !refused.contains("a b"), "{refused}");
        }
    }

    #[test]
    fn a_name_is_what_the_command_line_takes() {
        for name in Name::value_variants() {
            assert_eq!(Name::from_str(name.text(), false), Ok(*name));
        }
    }
}
