//! Actions, not only resources: the roles allow exactly the actions that the code calls.

use crate::{
    assert_rule,
    model::{self, Template, list, root, shipped, sources, target},
    patch::{push, replace},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The client methods and transaction parts that our AWS adapters use, with the action that each needs.
const CALLS: [(&str, &str); 39] = [
    ("batch_get_item", "dynamodb:BatchGetItem"),
    ("get_item", "dynamodb:GetItem"),
    ("Get::builder", "dynamodb:GetItem"),
    ("put_item", "dynamodb:PutItem"),
    ("Update::builder", "dynamodb:UpdateItem"),
    ("update_item", "dynamodb:UpdateItem"),
    ("delete_item", "dynamodb:DeleteItem"),
    ("ConditionCheck::builder", "dynamodb:ConditionCheckItem"),
    ("query", "dynamodb:Query"),
    ("scan", "dynamodb:Scan"),
    ("get_object", "s3:GetObject"),
    ("Bucket::get_version", "s3:GetObjectVersion"),
    ("put_object", "s3:PutObject"),
    ("head_bucket", "s3:ListBucket"),
    ("list_objects_v2", "s3:ListBucket"),
    ("list_object_versions", "s3:ListBucketVersions"),
    ("delete_object", "s3:DeleteObjectVersion"),
    ("Bucket::mark_deleted", "s3:DeleteObject"),
    ("send_message", "sqs:SendMessage"),
    ("receive_message", "sqs:ReceiveMessage"),
    ("delete_message", "sqs:DeleteMessage"),
    ("change_message_visibility", "sqs:ChangeMessageVisibility"),
    ("get_queue_attributes", "sqs:GetQueueAttributes"),
    ("start_message_move_task", "sqs:StartMessageMoveTask"),
    ("list_message_move_tasks", "sqs:ListMessageMoveTasks"),
    ("send_email", "ses:SendEmail"),
    ("publish", "sns:Publish"),
    ("get_topic_attributes", "sns:GetTopicAttributes"),
    ("get_secret_value", "secretsmanager:GetSecretValue"),
    ("put_secret_value", "secretsmanager:PutSecretValue"),
    ("update_secret_version_stage", "secretsmanager:UpdateSecretVersionStage"),
    ("sign", "kms:Sign"),
    ("get_public_key", "kms:GetPublicKey"),
    ("generate_data_key", "kms:GenerateDataKey"),
    ("decrypt", "kms:Decrypt"),
    ("put_lifecycle_event_hook_execution_status", "codedeploy:PutLifecycleEventHookExecutionStatus"),
    ("get_metric_statistics", "cloudwatch:GetMetricStatistics"),
    ("describe_alarms", "cloudwatch:DescribeAlarms"),
    ("describe_stack_events", "cloudformation:DescribeStackEvents"),
];

/// The actions that Lambda itself performs with a function's role, for its log and its queue.
const BY_LAMBDA: [&str; 6] = [
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueAttributes",
];

/// The actions that operators perform with their own rights, and no function.
const BY_OPERATORS: [&str; 4] =
    ["kms:GetPublicKey", "sqs:GetQueueAttributes", "sqs:ListMessageMoveTasks", "sqs:StartMessageMoveTask"];

/// `oracle erase` runs under this role, and reads the stack's outputs before anything else.
const BY_THE_COMMAND: (&str, &str) = ("ErasureRole", "cloudformation:DescribeStacks");

/// The actions that the adapters can call, without their tests.
fn called() -> BTreeSet<&'static str> {
    let shipped: Vec<String> = sources(&root().join("shared/platform/aws/src")).iter().map(|it| shipped(it)).collect();
    let calls = |name: &str| {
        shipped.iter().any(|text| text.contains(&format!(".{name}()")) || name.contains("::") && text.contains(name))
    };
    CALLS.into_iter().filter(|(name, _)| calls(name)).map(|(_, action)| action).collect()
}

fn statements(template: &Template) -> Vec<(&str, &Value)> {
    let mut found = Vec::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        found.extend(model::statements(role).into_iter().map(|statement| (id, statement)));
    }
    for (id, policy) in template.of_type("AWS::IAM::RolePolicy") {
        found.extend(list(&policy["Properties"]["PolicyDocument"]["Statement"]).into_iter().map(|it| (id, it)));
    }
    found
}

/// The roles of CodeDeploy and S3, which no function has.
const NOT_OURS: [&str; 3] = ["CopyRolePolicy", "GateRole", "TrafficShiftRole"];

fn actions_are_those_called(template: &Template) -> Vec<String> {
    let called = called();
    let mut granted = BTreeSet::new();
    let mut found = Vec::new();
    for (id, statement) in statements(template).into_iter().filter(|(id, _)| !NOT_OURS.contains(id)) {
        for action in list(&statement["Action"]).into_iter().filter_map(Value::as_str) {
            granted.insert(action);
            let is_of_command = (id, action) == BY_THE_COMMAND;
            if !called.contains(action) && !BY_LAMBDA.contains(&action) && !is_of_command {
                found.push(format!("{id}: {action} is allowed and called nowhere"));
            }
        }
    }
    let refused = called.iter().filter(|action| !granted.contains(**action) && !BY_OPERATORS.contains(action));
    found.extend(refused.map(|action| format!("{action} is called and allowed to no function")));
    found
}

#[test]
fn roles_allow_the_actions_that_code_calls() {
    let rule = actions_are_those_called;
    let deletes = replace("/Resources/ResultRole", json!("dynamodb:ConditionCheckItem"), json!("dynamodb:DeleteTable"));
    assert_rule(rule, deletes, "ResultRole: dynamodb:DeleteTable is allowed and called nowhere");
    let topics = replace("/Resources/BootProbeRole", json!("sns:GetTopicAttributes"), json!("sns:Publish"));
    assert_rule(rule, topics, "sns:GetTopicAttributes is called and allowed to no function");
}

/// The roles that may list a bucket: those that page through it, those that check whether it exists, and those that
/// must distinguish a missing object (404) from a refused one (403).
const LISTED: [(&str, &str); 9] = [
    ("AuditDigestRole", "AuditBucket"),
    ("AuditDigestRole", "DigestsBucket"),
    ("BootProbeRole", "ArchiveBucket"),
    ("BootProbeRole", "AuditBucket"),
    ("BootProbeRole", "QuarantineBucket"),
    ("CacheHealthRole", "ArchiveBucket"),
    ("EmailRetryRole", "ArchiveBucket"),
    ("EmailSenderRole", "ArchiveBucket"),
    ("VerdictRole", "ArchiveBucket"),
];
/// The same for the result page, which restores from the archive.
const LISTED_BY_PAGES: (&str, &str) = ("ResultRole", "ArchiveBucket");

/// The roles that may read the archive; the verdict function reads the sale before a follow-up.
const ARCHIVE_READERS: [&str; 5] =
    ["CacheHealthRole", "EmailRetryRole", "EmailSenderRole", "ResultRole", "VerdictRole"];

/// Of the archive, the toll reads the indexes of corpora and no verdict.
const CORPORA: (&str, &str) = ("TollRole", "${ArchiveBucket.Arn}/corpora/*");

fn buckets_are_listed_and_read_by_few(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, statement) in statements(template).into_iter().filter(|(id, _)| !NOT_OURS.contains(id)) {
        let may = |action: &str| list(&statement["Action"]).into_iter().any(|it| it == action);
        for resource in list(&statement["Resource"]) {
            let Some(bucket) = target(resource) else { continue };
            let is_corpora = (id, resource["Fn::Sub"].as_str().unwrap_or_default()) == CORPORA;
            let is_listed = LISTED.contains(&(id, bucket)) || (id, bucket) == LISTED_BY_PAGES;
            if may("s3:ListBucket") && !is_listed {
                found.push(format!("{id}: may list {bucket} and never does"));
            }
            if bucket == "ArchiveBucket" && may("s3:GetObject") && !is_corpora && !ARCHIVE_READERS.contains(&id) {
                found.push(format!("{id}: may read the archive and never does"));
            }
        }
    }
    found
}

#[test]
fn only_who_lists_or_reads_a_bucket_may() {
    let rule = buckets_are_listed_and_read_by_few;
    let statements = "/Resources/DeadlinesRole/Properties/Policies/0/PolicyDocument/Statement";
    let list = json!({ "Action": "s3:ListBucket", "Resource": { "Fn::GetAtt": ["AuditBucket", "Arn"] } });
    assert_rule(rule, push(statements, list), "DeadlinesRole: may list AuditBucket");
    let read = json!({ "Action": "s3:GetObject", "Resource": { "Fn::Sub": "${ArchiveBucket.Arn}/*" } });
    assert_rule(rule, push(statements, read), "DeadlinesRole: may read the archive");
    let all = replace("/Resources/TollRole", json!("${ArchiveBucket.Arn}/corpora/*"), json!("${ArchiveBucket.Arn}/*"));
    assert_rule(rule, all, "TollRole: may read the archive");
}
