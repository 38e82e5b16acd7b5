//! The audit log's digests.

use crate::{
    finder,
    model::{Template, list, pairs, statements, target},
    patch::{change, property, push, remove, rename, replace, set},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The roles that may perform the action on the resource.
fn may<'a>(template: &'a Template, action: &str, resource: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        for statement in statements(role) {
            let acts = list(&statement["Action"]).into_iter().any(|name| name == action);
            let on = list(&statement["Resource"]).into_iter().filter_map(target).any(|name| name == resource);
            if acts && on {
                found.insert(id);
            }
        }
    }
    found
}

/// The statements of a bucket's policies.
fn of_bucket<'a>(template: &'a Template, bucket: &str) -> Vec<&'a Value> {
    let policies = template.of_type("AWS::S3::BucketPolicy").into_iter();
    let its = policies.filter(|(_, policy)| target(&policy["Properties"]["Bucket"]) == Some(bucket));
    its.flat_map(|(_, policy)| list(&policy["Properties"]["PolicyDocument"]["Statement"])).collect()
}

fn digests_are_one_functions(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            found.push(what.to_owned());
        }
    };
    let only = BTreeSet::from(["AuditDigestRole"]);
    expect(may(template, "kms:Sign", "DigestKey") == only, "another role may sign digests");
    expect(may(template, "s3:PutObject", "DigestsBucket") == only, "another role may store digests");
    let refuses = of_bucket(template, "DigestsBucket").into_iter().any(|it| {
        it["Effect"] == "Deny"
            && it["Action"] == "s3:PutObject"
            && target(&it["Condition"]["ArnNotLike"]["aws:PrincipalArn"][0]) == Some("AuditDigestRole")
    });
    expect(refuses, "the bucket of digests takes them from anybody");
    let key = &template.resource("DigestKey")["Properties"];
    expect(key["KeySpec"] == "ECC_NIST_P256" && key["KeyUsage"] == "SIGN_VERIFY", "the key signs nothing");
    expect(template.resource("DigestKey")["DeletionPolicy"] == "RetainExceptOnCreate", "the key goes with the stack");
    let log = template.resource("AuditBucket");
    let notice = &log["Properties"]["NotificationConfiguration"]["QueueConfigurations"][0];
    expect(target(&notice["Queue"]) == Some("LogNoticesQueue"), "no queue gets notices of new records");
    expect(notice["Event"] == "s3:ObjectCreated:*", "some new records have no notice");
    expect(notice["Filter"].is_null(), "only a part of the log is digested");
    expect(list(&log["DependsOn"]).iter().any(|id| **id == "LogNoticesQueuePolicy"), "the queue refuses the bucket");
    let runs = template.resource("AuditDigestFunction")["Properties"]["Events"].clone();
    expect(pairs(&runs).iter().any(|(key, value)| *key == "Schedule" && **value == "rate(1 hour)"), "not hourly");
    found
}

/// No role may overwrite a record or a digest, put a delete marker on it, or bypass its lock: a digest is made from the
/// newest version, up to an hour later.
fn records_are_written_once(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for bucket in ["AuditBucket", "DigestsBucket"] {
        let statements = of_bucket(template, bucket);
        let refuses = |action: &str, condition: Value| {
            statements.iter().any(|it| {
                it["Effect"] == "Deny"
                    && it["Principal"] == "*"
                    && list(&it["Action"]).iter().any(|name| **name == action)
                    && it["Resource"]["Fn::Sub"] == format!("${{{bucket}.Arn}}/*")
                    && it["Condition"] == condition
            })
        };
        let unconditional = json!({ "Null": { "s3:if-none-match": "true" } });
        if !refuses("s3:PutObject", unconditional) {
            found.push(format!("{bucket}: an object can be written over"));
        }
        for action in ["s3:DeleteObject*", "s3:BypassGovernanceRetention"] {
            if !refuses(action, Value::Null) {
                found.push(format!("{bucket}: {action} is not refused"));
            }
        }
    }
    found
}

#[test]
fn nobody_writes_over_a_record_or_removes_one() {
    let finds = finder(records_are_written_once);
    let statements = property("AuditBucketPolicy", "PolicyDocument/Statement");
    finds(
        set(&format!("{statements}/1/Condition/Null/s3:if-none-match"), json!("false")),
        "AuditBucket: an object can be written over",
    );
    finds(rename(&format!("{statements}/1/Condition"), "Conditions"), "can be written over");
    finds(
        replace(&statements, json!("s3:DeleteObject*"), json!("s3:DeleteObject")),
        "AuditBucket: s3:DeleteObject* is not refused",
    );
    finds(
        set(&format!("{statements}/2/Action"), json!(["s3:DeleteObject*"])),
        "s3:BypassGovernanceRetention is not refused",
    );
}

const HEAD: &str = "NOTE#audit-digest";

/// The table contains the head of the digests: a writer who sets it back could cut off log and digests unnoticed.
fn the_head_is_one_functions(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        for statement in statements(role) {
            let writes = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"];
            let acts = list(&statement["Action"]).into_iter().any(|name| writes.iter().any(|write| *name == **write));
            let on = list(&statement["Resource"]).into_iter().filter_map(target).any(|name| name == "Table");
            let names = |operator: &str| {
                let keys = list(&statement["Condition"][operator]["dynamodb:LeadingKeys"]);
                keys.iter().filter_map(|key| key.as_str()).map(str::to_owned).collect::<Vec<_>>()
            };
            let only = [names("ForAllValues:StringLike"), names("ForAllValues:StringEquals")].concat();
            let reaches = |key: &String| match key.strip_suffix('*') {
                Some(begin) => HEAD.starts_with(begin),
                None => key == HEAD,
            };
            let but = names("ForAllValues:StringNotEquals");
            let may = if only.is_empty() { !but.contains(&HEAD.to_owned()) } else { only.iter().any(reaches) };
            if acts && on && may && id != "AuditDigestRole" {
                found.push(format!("{id}: may write the head of the digests"));
            }
        }
    }
    found
}

#[test]
fn the_head_of_the_digests_is_written_by_the_function_that_makes_them() {
    let finds = finder(the_head_is_one_functions);
    let own = json!({ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["SESSION#*", "CACHE", "BREAKER#*", "ALERT#*"] } });
    let other = json!({ "ForAllValues:StringNotEquals": { "dynamodb:LeadingKeys": ["NOTE#audit"] } });
    finds(replace("/Resources/VerdictRole", own.clone(), json!(null)), "VerdictRole: may write");
    finds(replace("/Resources/VerdictRole", own, other), "VerdictRole: may write");
    finds(replace("/Resources/BootProbeRole", json!("NOTE#boot-probe"), json!("NOTE#*")), "BootProbeRole: may write");
    finds(replace("/Resources/ResultRole", json!("CACHE"), json!("*")), "may write");
}

#[test]
fn digests_are_made_hourly_by_one_function_that_alone_can_sign_and_store_them() {
    let finds = finder(digests_are_one_functions);
    let statements = "/Resources/VerdictRole/Properties/Policies/0/PolicyDocument/Statement";
    let write = json!({ "Action": "s3:PutObject", "Resource": { "Fn::Sub": "${DigestsBucket.Arn}/*" } });
    finds(push(statements, write), "may store digests");
    finds(
        push(statements, json!({ "Action": ["kms:Sign"], "Resource": [{ "Fn::GetAtt": ["DigestKey", "Arn"] }] })),
        "may sign digests",
    );
    finds(
        rename(&property("DigestsBucketPolicy", "PolicyDocument/Statement/3/Condition/ArnNotLike"), "ArnLike"),
        "takes them from anybody",
    );
    finds(change("DigestKey", "KeySpec", "SYMMETRIC_DEFAULT"), "signs nothing");
    finds(remove("/Resources/AuditBucket/DependsOn"), "refuses the bucket");
    finds(
        change("AuditBucket", "NotificationConfiguration/QueueConfigurations/0/Event", "s3:ObjectCreated:Copy"),
        "have no notice",
    );
    finds(change("AuditDigestFunction", "Events/Hourly/Properties/Schedule", "rate(1 day)"), "not hourly");
}
