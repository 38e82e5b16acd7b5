//! The environment of a stack's functions, rebuilt from its description, so that the operators' clients are built by the
//! same code as the functions'.

use std::collections::BTreeMap;

use runtime::{ConfigurationError, Environment};

use super::{account::Account, description::Stack, error::StackError};

/// Variables with the value of an output.
const OUTPUTS: [(&str, &str); 19] = [
    ("ARCHIVE_BUCKET", "ArchiveBucket"),
    ("AUDIT_BUCKET", "AuditBucket"),
    ("CRITICAL_TOPIC_ARN", "CriticalTopicArn"),
    ("DIGESTS_BUCKET", "DigestsBucket"),
    ("DIGEST_KEY_ARN", "DigestKeyArn"),
    ("EMAIL_RETRY_QUEUE_URL", "EmailRetryQueueUrl"),
    ("GRAPH_SENDER", "GraphSender"),
    ("LOG_NOTICES_QUEUE_URL", "LogNoticesQueueUrl"),
    ("MEMORY_KEY_ARN", "MemoryKeyArn"),
    ("NOTICES_QUEUE_URL", "NoticesQueueUrl"),
    ("OPS_TOPIC_ARN", "OpsTopicArn"),
    ("ORDERS_QUEUE_URL", "OrdersQueueUrl"),
    ("QUARANTINE_BUCKET", "QuarantineBucket"),
    ("SITE_URL", "SiteUrl"),
    ("TABLE_NAME", "TableName"),
    ("TOLL_FACILITATOR_URL", "TollFacilitatorUrl"),
    ("TOLL_NETWORK", "TollNetwork"),
    ("TOLL_PAY_TO", "TollPayTo"),
    ("TOLL_RPC_URL", "TollRpcUrl"),
];

/// Variables with the id of a secret, by the part of its name that follows the stack's.
const SECRETS: [(&str, &str); 7] = [
    ("GEMINI_SECRET_ID", "gemini"),
    ("GRAPH_SECRET_ID", "graph"),
    ("GRAPH_TOKEN_SECRET_ID", "graph-token"),
    ("STRIPE_CHECKOUT_SECRET_ID", "stripe-checkout"),
    ("STRIPE_REFUND_SECRET_ID", "stripe-refund"),
    ("STRIPE_SECRET_ID", "stripe"),
    ("STRIPE_SMOKE_SECRET_ID", "stripe-smoke"),
];

/// Variables that Lambda sets from the account.
const ACCOUNT: [&str; 5] =
    ["AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/// Variables of the operator's own process: the vendors' addresses of a deployed stack, and how patient calls to AWS are.
const OWN: [&str; 11] = [
    "ALERT_SUPPRESSION_S",
    "ALERT_TABLE_TIMEOUT_MS",
    "ALERT_TOPIC_TIMEOUT_MS",
    "AWS_DEFAULT_REGION",
    "CACHE_RETRY_COUNT",
    "CACHE_RETRY_DELAY_MS",
    "GEMINI_BASE_URL",
    "GRAPH_BASE_URL",
    "LOGIN_BASE_URL",
    "METRICS_NAMESPACE",
    "STRIPE_BASE_URL",
];

/// The environment of a stack's functions. Of the operator's own process (`ambient`) it has [`OWN`], and nothing else.
pub(super) fn environment(stack: &Stack, account: &Account, ambient: Environment) -> Environment {
    let mut known: BTreeMap<&str, Option<String>> =
        OUTPUTS.map(|(variable, output)| (variable, stack.outputs.get(output).cloned())).into();
    known.extend(SECRETS.map(|(variable, name)| (variable, Some(stack.secret_id(name)))));
    known.extend(ACCOUNT.map(|variable| (variable, account.variable(variable))));
    // A command reads hundreds of objects at once, maybe over a slow line, and no customer waits for it.
    let timeout = ambient.optional("CACHE_CONNECT_TIMEOUT_MS").unwrap_or_else(|| "10000".to_owned());
    known.insert("CACHE_CONNECT_TIMEOUT_MS", Some(timeout));
    known.extend(stack.vendors.iter().map(|(variable, url)| (*variable, Some(url.clone()))));
    Environment::from_lookup(move |name| match known.get(name) {
        Some(value) => value.clone(),
        None if OWN.contains(&name) => ambient.optional(name),
        None => None,
    })
}

/// The error of a client that cannot be built: it names the output that its variable stands for.
pub(super) fn named(error: ConfigurationError) -> StackError {
    let output = |name| OUTPUTS.into_iter().find(|(variable, _)| *variable == name).map(|(_, output)| output);
    match &error {
        ConfigurationError::Missing(name) => output(*name).map(StackError::NoOutput),
        ConfigurationError::Malformed { name, expected } => {
            output(*name).map(|output| StackError::Output { output, expected: expected.clone() })
        }
    }
    .unwrap_or(StackError::Configuration(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{command::wait, stack::account::Wanted};

    const LOCAL: &str = r#"{"site":"http://127.0.0.1:8080","sandbox":"http://127.0.0.1:8090",
        "aws_endpoint":"http://127.0.0.1:4566","stack":"oracle-local","region":"us-east-1",
        "stripe_webhook_secret":"whsec_x","real_vendors":["graph"],"outputs":{"TableName":"t"}}"#;

    fn local(ambient: &'static [(&'static str, &'static str)]) -> Environment {
        let stack = Stack::parse(LOCAL).unwrap();
        let wanted = Wanted { region: stack.region.clone(), emulator: stack.endpoint.clone(), profile: None };
        let account = wait(async { Ok(Account::find(&wanted).await) }).unwrap().unwrap();
        environment(&stack, &account, Environment::of(ambient))
    }

    #[test]
    fn a_local_stack_is_reached_with_the_emulators_own_keys() {
        let environment = local(&[("AWS_ACCESS_KEY_ID", "real"), ("AWS_SESSION_TOKEN", "real"), ("TABLE_NAME", "x")]);
        let value = |name| environment.optional(name);
        assert_eq!(value("AWS_ENDPOINT_URL").as_deref(), Some("http://127.0.0.1:4566"));
        assert_eq!(value("AWS_ACCESS_KEY_ID").as_deref(), Some("test"));
        assert_eq!((value("AWS_SESSION_TOKEN"), value("AWS_REGION").as_deref()), (None, Some("us-east-1")));
        assert_eq!(value("TABLE_NAME").as_deref(), Some("t"));
        assert_eq!(value("STRIPE_REFUND_SECRET_ID").as_deref(), Some("oracle-local/stripe-refund"));
        assert_eq!(value("STRIPE_BASE_URL").as_deref(), Some("http://127.0.0.1:8090/stripe"));
        assert_eq!(value("CACHE_CONNECT_TIMEOUT_MS").as_deref(), Some("10000"));
    }

    #[test]
    fn of_the_operators_process_only_addresses_and_the_timeout_are_read() {
        let environment = local(&[
            ("CACHE_CONNECT_TIMEOUT_MS", "500"),
            ("GRAPH_BASE_URL", "https://graph.example"),
            ("AUDIT_BUCKET", "another"),
            ("CHAT_SECRET_ID", "another"),
            ("EMAIL_QUEUE_URL", "https://queue.example"),
        ]);
        for name in ["AUDIT_BUCKET", "CHAT_SECRET_ID", "EMAIL_QUEUE_URL"] {
            assert_eq!(environment.optional(name), None, "{name}");
        }
        assert_eq!(environment.optional("CACHE_CONNECT_TIMEOUT_MS").as_deref(), Some("500"));
        // The local stack uses the real mailbox.
        assert_eq!(environment.optional("GRAPH_BASE_URL").as_deref(), Some("https://graph.example"));
        assert_eq!(environment.optional("LOGIN_BASE_URL"), None);
    }

    #[test]
    fn each_variable_is_named_like_its_output_or_its_secret() {
        let words = |variable: &str| variable.split('_').map(str::to_ascii_lowercase).collect::<Vec<_>>();
        let capitalized = |word: String| word[..1].to_ascii_uppercase() + &word[1..];
        for (variable, output) in OUTPUTS {
            assert_eq!(words(variable).into_iter().map(capitalized).collect::<String>(), output);
        }
        for (variable, secret) in SECRETS {
            let name = variable.strip_suffix("_SECRET_ID").unwrap();
            assert_eq!(words(name).join("-"), secret);
        }
    }

    #[test]
    fn an_error_names_the_output_and_not_its_variable() {
        let message = |error| named(error).to_string();
        assert_eq!(message(ConfigurationError::Missing("AUDIT_BUCKET")), "the stack has no output AuditBucket");
        let malformed = |name| ConfigurationError::Malformed { name, expected: "an e-mail address".to_owned() };
        assert_eq!(message(malformed("GRAPH_SENDER")), "the stack's output GraphSender is not an e-mail address");
        let other = "environment variable GEMINI_BASE_URL is not an e-mail address";
        assert_eq!(message(malformed("GEMINI_BASE_URL")), other);
    }
}
