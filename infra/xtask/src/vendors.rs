//! Which vendors of the local stack are real, and the template parameters and secrets that result.
//!
//! A vendor whose keys are in .env is real: its base URL stays empty. The sandbox simulates all others.

use crate::{
    error::Error,
    local_dir::LocalDir,
    toll::{TOLL_NETWORK, TOLL_PAY_TO},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

pub(crate) struct Vendors {
    pub(crate) real: Vec<String>,
    /// The secret that signs webhooks.
    pub(crate) webhook_secret: String,
    parameters: BTreeMap<String, String>,
    /// The values of the stack's secrets, by name; `up` stores them.
    pub(crate) secrets: BTreeMap<String, Value>,
}

/// secrets.json: generated once per stack directory, so that another deployment changes nothing.
#[derive(Serialize, Deserialize)]
struct Secrets {
    webhook_secret: String,
    audit_key: String,
    /// Missing in files that an older `up` wrote.
    #[serde(default)]
    smoke_secret: String,
}

impl Vendors {
    /// Reads .env (unless `sandbox_only`) and the stack's generated secrets.
    pub(crate) fn new(dir: &LocalDir, sandbox_only: bool) -> Result<Self, Error> {
        let secrets = secrets(dir)?;
        let keys = if sandbox_only { BTreeMap::new() } else { dotenv(&dir.root().join(".env"))? };
        Self::choose(&keys, secrets)
    }

    fn choose(keys: &BTreeMap<String, String>, secrets: Secrets) -> Result<Self, Error> {
        let key = |name: &str| keys.get(name).filter(|value| !value.is_empty()).cloned();
        let mut real = Vec::new();
        let mut webhook_secret = secrets.webhook_secret;

        let (mut secret_key, mut smoke_key) = ("sk_test_sandbox".to_owned(), "sk_test_sandbox".to_owned());
        if let Some(real_key) = key("STRIPE_SECRET_KEY") {
            if real_key.contains("_live_") {
                let why = ".env: STRIPE_SECRET_KEY is a live key; only test keys may run here";
                return Err(Error::Refused(why.to_owned()));
            }
            webhook_secret = key("STRIPE_WEBHOOK_SECRET").ok_or_else(|| {
                let why =
                    ".env: STRIPE_SECRET_KEY is set, STRIPE_WEBHOOK_SECRET is missing (`stripe listen` prints it)";
                Error::Refused(why.to_owned())
            })?;
            real.push("stripe".to_owned());
            smoke_key = key("STRIPE_SMOKE_SECRET_KEY").unwrap_or_else(|| real_key.clone());
            secret_key = real_key;
        }

        let gemini_key = key("GEMINI_API_KEY").or_else(|| key("GOOGLE_API_KEY"));
        if gemini_key.is_some() {
            real.push("gemini".to_owned());
        }

        let fields = [
            ("GRAPH_TENANT_ID", "tenant_id", "sandbox-tenant"),
            ("GRAPH_CLIENT_ID", "client_id", "sandbox-client"),
            ("GRAPH_REFRESH_TOKEN", "refresh_token", "sandbox-refresh-token"),
        ];
        let needed = || fields.iter().map(|(name, ..)| *name).chain(["GRAPH_SENDER"]);
        let missing: Vec<&str> = needed().filter(|name| key(name).is_none()).collect();
        if !missing.is_empty() && missing.len() < needed().count() {
            return Err(Error::Refused(format!(".env: of the GRAPH_* settings, {} missing", missing.join(", "))));
        }
        let mut graph = BTreeMap::new();
        for (name, field, sandbox_value) in fields {
            graph.insert(field, key(name).unwrap_or_else(|| sandbox_value.to_owned()));
        }
        if missing.is_empty() {
            real.push("graph".to_owned());
            graph.extend(key("GRAPH_CLIENT_SECRET").map(|secret| ("client_secret", secret)));
        }
        let refresh_token = graph.remove("refresh_token");
        let sender = key("GRAPH_SENDER").unwrap_or_else(|| "oracle@42sisters.ai".to_owned());
        let secrets = [
            ("stripe", json!({ "secret_key": secret_key })),
            ("stripe-checkout", json!({ "secret_key": secret_key })),
            ("stripe-refund", json!({ "secret_key": secret_key })),
            ("stripe-webhook", json!({ "signing_secrets": [webhook_secret] })),
            ("stripe-smoke", json!({ "secret_key": smoke_key, "signing_secret": secrets.smoke_secret })),
            ("gemini", json!({ "api_key": gemini_key.unwrap_or_else(|| "sandbox-gemini-key".to_owned()) })),
            ("graph", json!(graph)),
            ("graph-token", json!({ "refresh_token": refresh_token })),
            ("chat", json!({ "subscriber_key": format!("chat-{}", secrets.audit_key) })),
            ("audit", json!({ "current": "v1", "keys": { "v1": secrets.audit_key } })),
        ];
        Ok(Self {
            real,
            webhook_secret,
            parameters: BTreeMap::from([("GraphSender".to_owned(), sender)]),
            secrets: secrets.into_iter().map(|(name, document)| (name.to_owned(), document)).collect(),
        })
    }

    /// The template's parameters, for a sandbox and a site at these addresses.
    pub(crate) fn parameters(&self, site: &str, sandbox: &str) -> BTreeMap<String, String> {
        let mut parameters = self.parameters.clone();
        parameters.insert("SiteUrl".to_owned(), site.to_owned());
        let faces = [
            ("stripe", "StripeBaseUrl", "stripe"),
            ("gemini", "GeminiBaseUrl", "gemini"),
            ("graph", "GraphBaseUrl", "graph"),
            ("graph", "LoginBaseUrl", "login"),
            ("graph", "SesBaseUrl", "ses"),
        ];
        for (vendor, parameter, face) in faces {
            if !self.real.iter().any(|name| name == vendor) {
                parameters.insert(parameter.to_owned(), format!("{sandbox}/{face}"));
            }
        }
        // No real money moves on a local stack: the toll always uses the sandbox, even if other vendors are real.
        for (parameter, value) in [
            ("TollPayTo", TOLL_PAY_TO.to_owned()),
            ("TollNetwork", TOLL_NETWORK.to_owned()),
            ("TollFacilitatorUrl", format!("{sandbox}/facilitator")),
            ("TollRpcUrl", format!("{sandbox}/rpc")),
            // All requests on a local stack come from one network.
            ("ChatMailsPerMinute", "100000".to_owned()),
            ("ChatPerNetwork", "100000".to_owned()),
            ("UnknownIdsPerNetwork", "100000".to_owned()),
        ] {
            parameters.insert(parameter.to_owned(), value);
        }
        parameters
    }
}

fn secrets(dir: &LocalDir) -> Result<Secrets, Error> {
    let stored: Option<Secrets> = dir.read("secrets.json")?;
    let random = || {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::Refused(format!("no random bytes: {error}")))?;
        Ok::<_, Error>(hex::encode(bytes))
    };
    let mut secrets = match stored {
        Some(secrets) if !secrets.smoke_secret.is_empty() => return Ok(secrets),
        Some(secrets) => secrets,
        None => Secrets {
            webhook_secret: format!("whsec_{}", random()?),
            audit_key: random()?,
            smoke_secret: String::new(),
        },
    };
    secrets.smoke_secret = format!("whsec_{}", random()?);
    dir.write("secrets.json", &secrets)?;
    fs::set_permissions(dir.file("secrets.json"), fs::Permissions::from_mode(0o600))
        .map_err(Error::io("protecting secrets.json"))?;
    Ok(secrets)
}

/// The variables of a file; none if it does not exist.
fn dotenv(path: &Path) -> Result<BTreeMap<String, String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => parse_dotenv(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(Error::io("reading .env")(error)),
    }
}

fn parse_dotenv(text: &str) -> Result<BTreeMap<String, String>, Error> {
    let numbered = dotenvy::from_read_iter(text.as_bytes()).enumerate();
    // The parser's error repeats the line, which may contain a secret.
    let refused = |number| Error::Refused(format!(".env: variable {} is not KEY=VALUE", number + 1));
    numbered.map(|(number, pair)| pair.map_err(|_| refused(number))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(text: &str) -> Result<Vendors, Error> {
        let secrets = Secrets {
            webhook_secret: "whsec_made_up".to_owned(),
            audit_key: "00".to_owned(),
            smoke_secret: "whsec_smoke".to_owned(),
        };
        Vendors::choose(&parse_dotenv(text)?, secrets)
    }

    #[test]
    fn without_keys_everything_is_the_sandbox() -> Result<(), Error> {
        let vendors = choose("# nothing\n\nSTRIPE_SECRET_KEY=\n")?;
        let parameters = vendors.parameters("http://site", "http://sandbox");
        assert!(vendors.real.is_empty());
        for (name, face) in
            [("Stripe", "stripe"), ("Gemini", "gemini"), ("Graph", "graph"), ("Login", "login"), ("Ses", "ses")]
        {
            assert_eq!(parameters[&format!("{name}BaseUrl")], format!("http://sandbox/{face}"));
        }
        let smoke = json!({ "secret_key": "sk_test_sandbox", "signing_secret": "whsec_smoke" });
        assert_eq!(vendors.secrets["stripe-webhook"], json!({ "signing_secrets": ["whsec_made_up"] }));
        assert_eq!(vendors.secrets["stripe-smoke"], smoke);
        let application = json!({ "tenant_id": "sandbox-tenant", "client_id": "sandbox-client" });
        assert_eq!(vendors.secrets["graph"], application);
        assert_eq!(vendors.secrets["graph-token"], json!({ "refresh_token": "sandbox-refresh-token" }));
        assert_eq!(vendors.secrets["audit"], json!({ "current": "v1", "keys": { "v1": "00" } }));
        Ok(())
    }

    #[test]
    fn a_vendor_with_keys_is_real_and_has_no_base_url() -> Result<(), Error> {
        let vendors =
            choose("export GOOGLE_API_KEY=\"g\"\nSTRIPE_SECRET_KEY='sk_test_1'\nSTRIPE_WEBHOOK_SECRET=whsec_2")?;
        let parameters = vendors.parameters("http://site", "http://sandbox");
        assert_eq!(vendors.real, ["stripe", "gemini"]);
        assert_eq!(vendors.webhook_secret, "whsec_2");
        assert_eq!(vendors.secrets["gemini"], json!({ "api_key": "g" }));
        assert_eq!(vendors.secrets["stripe"], json!({ "secret_key": "sk_test_1" }));
        assert!(!parameters.contains_key("StripeBaseUrl") && !parameters.contains_key("GeminiBaseUrl"));
        assert!(parameters.contains_key("GraphBaseUrl") && parameters.contains_key("LoginBaseUrl"));
        Ok(())
    }

    #[test]
    fn half_a_configuration_and_live_keys_are_refused_by_name() {
        for (text, named) in [
            ("STRIPE_SECRET_KEY=sk_live_1\nSTRIPE_WEBHOOK_SECRET=w", "live key"),
            ("STRIPE_SECRET_KEY=sk_test_1", "STRIPE_WEBHOOK_SECRET"),
            ("GRAPH_TENANT_ID=t\nGRAPH_CLIENT_ID=c\nGRAPH_SENDER=s", "GRAPH_REFRESH_TOKEN"),
            ("GEMINI_API_KEY", "variable 1"),
            ("GEMINI_API_KEY=two words", "variable 1"),
        ] {
            let message = choose(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains(named), "{message}");
        }
    }
}
