//! Each role allows the actions of the adapters that its own function builds: no fewer, and no more. `actions.rs` compares
//! what all roles allow together with what all adapters call, and what policies add to roles on a condition (SES,
//! deployments).

use crate::{
    assert_rule,
    model::{Template, events, list, root, shipped, sources, statements, target},
    patch::{replace, set},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};

const GET_SECRET: &str = "secretsmanager:GetSecretValue";

/// Tokens that the login service rotates are stored.
const ROTATES: [&str; 3] = [GET_SECRET, "secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage"];

/// How a source builds or uses an adapter, without spaces, and the actions that the adapter then needs.
const ADAPTERS: [(&str, &[&str]); 34] = [
    ("backend.journal()", &["dynamodb:GetItem", "dynamodb:PutItem", "s3:GetObject", "s3:PutObject", "sns:Publish"]),
    ("backend.alerts()", &["dynamodb:PutItem", "sns:Publish"]),
    ("quiet.sales()", &["dynamodb:GetItem"]),
    ("doctor::needs_toll(", &["dynamodb:Query"]),
    // A corrupt entry is set aside in one transaction with the cache's counters. An earlier version, which serves while a
    // deployment shifts traffic, reads a sale and its verdict by a query.
    ("load_with_verdict(", &["dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"]),
    ("open:&stores.sales", &["dynamodb:Query"]),
    ("unknown_ids:&stores.sales", &["dynamodb:UpdateItem"]),
    ("cache:&stores.sales", &["dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:UpdateItem"]),
    ("entries:&self.stores.sales", &["dynamodb:Query", "dynamodb:UpdateItem"]),
    ("sign_ins:&stores.sales", &["dynamodb:DeleteItem", "dynamodb:UpdateItem"]),
    // A follow-up is opened in one transaction that checks its sale. Its verdict is read as above.
    ("followup::order(", &["dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"]),
    (
        "followup::{NotOrdered,Ports,order",
        &["dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"],
    ),
    (".memory_logs()", &["dynamodb:Query"]),
    (".subject_keys(", &["kms:Decrypt"]),
    ("keys:&backend.subject_keys(", &["kms:GenerateDataKey"]),
    (
        ".sale_data()",
        &[
            "dynamodb:DeleteItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
            "s3:DeleteObject",
            "s3:DeleteObjectVersion",
            "s3:ListBucketVersions",
        ],
    ),
    (".archive()", &["s3:GetObject", "s3:ListBucket", "s3:PutObject"]),
    (".quarantine()", &["s3:PutObject"]),
    (".corpora()", &["s3:GetObject"]),
    (".digests()", &["s3:GetObject", "s3:ListBucket", "s3:PutObject"]),
    ("log:&stores.log", &["s3:GetObjectVersion", "s3:ListBucket", "s3:ListBucketVersions"]),
    (".digest_key()", &["kms:Sign"]),
    (".log_notices()", &["sqs:DeleteMessage", "sqs:ReceiveMessage"]),
    (".queue(QueueName::", &["sqs:SendMessage"]),
    (".secret(SecretName::", &[GET_SECRET]),
    (".stripe()", &[GET_SECRET]),
    (".stripe_test_mode()", &[GET_SECRET]),
    (".gemini()", &[GET_SECRET]),
    (".gemini_within(", &[GET_SECRET]),
    (".mailbox()", &[GET_SECRET]),
    (".mailbox_storing_tokens(", &ROTATES),
    (".mailbox_with(", &ROTATES),
    ("Reach::new(", &["s3:ListBucket", "sns:GetTopicAttributes", "sqs:GetQueueAttributes"]),
    (
        "stack:&Watched::new(",
        &["cloudformation:DescribeStackEvents", "cloudwatch:DescribeAlarms", "cloudwatch:GetMetricStatistics"],
    ),
];

/// The actions that Lambda performs with the role of a queue's consumer, and of every function.
const BY_CONSUMER: [&str; 4] =
    ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"];
const BY_ALL: [&str; 2] = ["logs:CreateLogStream", "logs:PutLogEvents"];

/// The shipped sources under a folder, without spaces.
fn joined(folder: &Path) -> String {
    let paths = sources(folder).into_iter().filter(|path| !path.ends_with("tests.rs"));
    paths.map(|path| shipped(&path)).collect::<String>().split_whitespace().collect()
}

/// The sources of a function, and of the crates that build its clients.
fn sources_of(folder: &str) -> String {
    let function = root().join("functions").join(folder);
    let manifest = fs::read_to_string(function.join("Cargo.toml")).unwrap_or_default();
    let builds = ["delivery", "smoke"].into_iter().filter(|used| manifest.contains(&format!("\n{used}.workspace")));
    let shared = builds.map(|used| joined(&root().join("shared/pipeline").join(used).join("src")));
    joined(&function.join("src")) + &shared.collect::<String>()
}

fn needed(sources: &str) -> BTreeSet<&'static str> {
    let built = ADAPTERS.iter().filter(|(phrase, _)| sources.contains(phrase));
    built.flat_map(|(_, actions)| actions.iter().copied()).collect()
}

fn roles_fit_their_functions(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, function) in template.functions() {
        let properties = &function["Properties"];
        let role = target(&properties["Role"]).unwrap_or_default();
        let is_consumer = events(function).any(|event| event["Type"] == "SQS");
        let by_lambda = |action: &str| BY_ALL.contains(&action) || is_consumer && BY_CONSUMER.contains(&action);
        let statements = statements(template.resource(role)).into_iter();
        let actions = statements.flat_map(|statement| list(&statement["Action"])).filter_map(Value::as_str);
        let allowed: BTreeSet<&str> = actions.filter(|action| !by_lambda(action)).collect();
        let sources = sources_of(function["Metadata"]["BuildProperties"]["Binary"].as_str().unwrap_or_default());
        let needed = needed(&sources);
        let surplus = allowed.difference(&needed).map(|action| format!("{role}: {id} builds nothing for {action}"));
        let missing = needed.difference(&allowed).map(|action| format!("{role}: {id} needs {action}"));
        found.extend(surplus.chain(missing));
    }
    found
}

#[test]
fn each_role_allows_what_its_function_builds() {
    let rule = roles_fit_their_functions;
    let other = |role: &str, from: &str, to: &str| replace(&format!("/Resources/{role}"), json!(from), json!(to));
    let deletes = other("ResultRole", "dynamodb:UpdateItem", "dynamodb:DeleteItem");
    assert_rule(rule, deletes, "ResultRole: ResultFunction builds nothing for dynamodb:DeleteItem");
    let lists = other("ResultRole", "s3:ListBucket", "s3:GetObject");
    assert_rule(rule, lists, "ResultRole: ResultFunction needs s3:ListBucket");
    let shared = set("/Resources/WebhookFunction/Properties/Role", json!({ "Fn::GetAtt": ["VerdictRole", "Arn"] }));
    assert_rule(rule, shared, "VerdictRole: WebhookFunction builds nothing for sns:Publish");
}

#[test]
fn every_adapter_of_the_table_is_built_by_some_function() {
    let template = Template::load();
    let folders = template.functions().into_iter().map(|(_, function)| {
        let folder = function["Metadata"]["BuildProperties"]["Binary"].as_str().unwrap_or_default();
        sources_of(folder)
    });
    let all: Vec<String> = folders.collect();
    let unused = ADAPTERS.iter().filter(|(phrase, _)| !all.iter().any(|sources| sources.contains(phrase)));
    assert_eq!(unused.map(|(phrase, _)| *phrase).collect::<Vec<_>>(), [""; 0]);
}
