use super::*;

const COMPLETE: [(&str, &str); 30] = [
    ("AWS_ACCESS_KEY_ID", "a"),
    ("AWS_SECRET_ACCESS_KEY", "b"),
    ("AWS_REGION", "us-east-1"),
    ("TABLE_NAME", "table"),
    ("MEMORY_KEY_ARN", "arn:key"),
    ("STRIPE_CHECKOUT_SECRET_ID", "checkout"),
    ("STRIPE_REFUND_SECRET_ID", "refund"),
    ("AUDIT_BUCKET", "audit"),
    ("ARCHIVE_BUCKET", "archive"),
    ("QUARANTINE_BUCKET", "quarantine"),
    ("DIGESTS_BUCKET", "digests"),
    ("OPS_TOPIC_ARN", "arn:ops"),
    ("CRITICAL_TOPIC_ARN", "arn:critical"),
    ("ORDERS_QUEUE_URL", "https://sqs.example/orders"),
    ("NOTICES_QUEUE_URL", "https://sqs.example/notices"),
    ("EMAIL_QUEUE_URL", "https://sqs.example/email"),
    ("EMAIL_RETRY_QUEUE_URL", "https://sqs.example/email-retry"),
    ("PAYMENTS_QUEUE_URL", "https://sqs.example/payments"),
    ("STRIPE_SECRET_ID", "s"),
    ("STRIPE_WEBHOOK_SECRET_ID", "s"),
    ("STRIPE_SMOKE_SECRET_ID", "s"),
    ("GEMINI_SECRET_ID", "s"),
    ("GRAPH_SECRET_ID", "s"),
    ("GRAPH_TOKEN_SECRET_ID", "s"),
    ("AUDIT_SECRET_ID", "s"),
    ("CHAT_SECRET_ID", "s"),
    ("SITE_URL", "https://oracle.example/"),
    ("GEMINI_MODEL", "gemini-2.5-flash"),
    ("GRAPH_SENDER", "oracle@example.com"),
    ("LOGIN_BASE_URL", "https://login.example"),
];

fn backend(without: &'static str) -> Backend {
    let lookup = move |name: &str| {
        COMPLETE.iter().find(|(key, _)| *key == name && name != without).map(|(_, value)| (*value).to_owned())
    };
    Backend::new(Environment::from_lookup(lookup)).unwrap()
}

type Build = fn(&Backend) -> Result<(), BackendError>;

/// Every client with the variables that it requires.
const CLIENTS: [(&str, &[&str], Build); 16] = [
    ("journal", &["TABLE_NAME", "AUDIT_BUCKET", "OPS_TOPIC_ARN", "CRITICAL_TOPIC_ARN"], |backend| {
        backend.journal().map(drop)
    }),
    ("archive", &["ARCHIVE_BUCKET"], |backend| backend.archive().map(drop)),
    ("quarantine", &["QUARANTINE_BUCKET"], |backend| backend.quarantine().map(drop)),
    ("digests", &["DIGESTS_BUCKET"], |backend| backend.digests().map(drop)),
    ("orders", &["ORDERS_QUEUE_URL"], |backend| backend.queue(QueueName::Orders).map(drop)),
    ("retries", &["EMAIL_RETRY_QUEUE_URL"], |backend| backend.queue(QueueName::MailRetries).map(drop)),
    ("signing secrets", &["STRIPE_WEBHOOK_SECRET_ID"], |backend| backend.secret(SecretName::StripeWebhook).map(drop)),
    ("stripe", &["STRIPE_SECRET_ID", "SITE_URL"], |backend| backend.stripe().map(drop)),
    ("stripe's test mode", &["STRIPE_SMOKE_SECRET_ID", "SITE_URL"], |backend| backend.stripe_test_mode().map(drop)),
    ("stripe's checkout", &["STRIPE_CHECKOUT_SECRET_ID", "SITE_URL"], |backend| backend.stripe_selling().map(drop)),
    ("stripe's refunds", &["STRIPE_REFUND_SECRET_ID", "SITE_URL"], |backend| backend.stripe_refunding().map(drop)),
    ("memories' keys", &["MEMORY_KEY_ARN", "TABLE_NAME"], |backend| backend.subject_keys(&backend.sales()?).map(drop)),
    ("broadcast", &["OPS_TOPIC_ARN"], |backend| backend.broadcast(Topic::Ops).map(drop)),
    ("gemini", &["GEMINI_SECRET_ID"], |backend| backend.gemini().map(drop)),
    ("models", &["GEMINI_MODEL"], |backend| backend.models().map(drop)),
    (
        "mailbox",
        &["GRAPH_SECRET_ID", "GRAPH_TOKEN_SECRET_ID", "GRAPH_SENDER", "OPS_TOPIC_ARN", "CRITICAL_TOPIC_ARN"],
        |backend| backend.mailbox_storing_tokens(backend.alerts()?).map(drop),
    ),
];

#[test]
fn a_missing_variable_is_named_when_its_client_is_built_and_hinders_no_other_client() {
    for (client, needed, build) in CLIENTS {
        for (variable, _) in &COMPLETE[3..] {
            match build(&backend(variable)) {
                Ok(()) => assert!(!needed.contains(variable), "{client} does without {variable}"),
                Err(error) => {
                    assert!(needed.contains(variable), "{client} needs {variable}: {error}");
                    let named = format!("environment variable {variable} is not ");
                    assert!(error.to_string().starts_with(&named), "{error}");
                }
            }
        }
    }
}

/// A refresh token is not read again on our own account: its rotation replaces the version that was read last.
#[test]
fn a_process_reads_the_secrets_that_only_we_check_again() {
    let backend = backend("");
    for (secret, rereads) in [
        (SecretName::StripeWebhook, true),
        (SecretName::StripeSmoke, true),
        (SecretName::Audit, true),
        (SecretName::Stripe, false),
        (SecretName::StripeCheckout, false),
        (SecretName::StripeRefund, false),
        (SecretName::Gemini, false),
        (SecretName::Graph, false),
        (SecretName::GraphToken, false),
        (SecretName::Chat, false),
    ] {
        let document = format!("{:?}", backend.secret(secret).unwrap());
        assert!(document.contains(&format!("rereads: {rereads}")), "{secret:?}");
    }
}

#[test]
fn an_empty_address_ends_sales_for_usdc_but_keeps_the_clients_that_settle() {
    let with = |pay_to: &'static str| {
        let lookup = move |name: &str| {
            let value = match name {
                "TOLL_PAY_TO" => Some(pay_to),
                "TOLL_NETWORK" => Some("base"),
                "TOLL_FACILITATOR_URL" => Some("https://facilitator.example"),
                "TOLL_RPC_URL" => Some("https://node.example"),
                _ => COMPLETE.iter().find(|(key, _)| *key == name).map(|(_, value)| *value),
            };
            value.map(str::to_owned)
        };
        Backend::new(Environment::from_lookup(lookup)).unwrap()
    };
    let (closed, selling) = (with(""), with("0x209693Bc6afc0C5328bA36FaF03C514EF312287C"));
    assert!(closed.settlement_clients().unwrap().pay_to.is_none());
    assert!(selling.settlement_clients().unwrap().pay_to.is_some());
    assert_eq!((closed.sells_on().unwrap(), selling.sells_on().unwrap()), (None, Some("Base")));
    assert!(with("0x0").settlement_clients().is_err(), "no address");
}

#[test]
fn mails_go_out_through_the_mailbox_or_ses_and_no_other_service() {
    let with = |vendor: Option<&'static str>| {
        let lookup = move |name: &str| match name {
            "MAIL_VENDOR" => vendor.map(str::to_owned),
            _ => COMPLETE.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
        };
        let backend = Backend::new(Environment::from_lookup(lookup)).unwrap();
        let mailbox = backend.mailbox().unwrap();
        backend.sending(mailbox).map_err(|error| error.to_string())
    };
    assert!(matches!(with(None), Ok(SendingMailbox::Graph(_))));
    assert!(matches!(with(Some("graph")), Ok(SendingMailbox::Graph(_))));
    assert!(matches!(with(Some("ses")), Ok(SendingMailbox::Ses(_))));
    assert!(with(Some("smtp")).is_err_and(|error| error.contains("MAIL_VENDOR") && error.contains("graph or ses")));
}
