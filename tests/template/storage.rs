//! Buckets and the table: which are immutable, which can be erased; none is public.

use crate::{
    assert_rule, finder,
    model::{Template, list, number, target},
    patch::{change, omit, property, remove, set},
};
use serde_json::{Value, json};

/// The audit log, and the digests that prove changes to it.
const AUDIT: [&str; 2] = ["AuditBucket", "DigestsBucket"];
/// Retained when the stack is deleted, but deleted when its first deployment fails: otherwise the name would block a
/// second attempt.
const KEPT: &str = "RetainExceptOnCreate";
const QUARANTINE: &str = "QuarantineBucket";
/// The retention of a held payload, in days.
const QUARANTINE_DAYS: u64 = 90;

fn audit_alone_is_locked(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, bucket) in template.of_type("AWS::S3::Bucket") {
        let properties = &bucket["Properties"];
        let retention = &properties["ObjectLockConfiguration"]["Rule"]["DefaultRetention"];
        if !AUDIT.contains(&id) {
            if properties["ObjectLockEnabled"] == true || !retention.is_null() {
                found.push(format!("{id}: locked, although what is in it may have to be erased"));
            }
            continue;
        }
        if properties["ObjectLockEnabled"] != true || retention["Mode"] != "GOVERNANCE" || retention["Days"].is_null() {
            found.push(format!("{id}: records are not locked by default"));
        }
        if properties["VersioningConfiguration"]["Status"] != "Enabled" {
            found.push(format!("{id}: not versioned"));
        }
        if !properties["LifecycleConfiguration"].is_null() {
            found.push(format!("{id}: something deletes records"));
        }
        if bucket["DeletionPolicy"] != KEPT {
            found.push(format!("{id}: deleted with the stack"));
        }
    }
    found
}

#[test]
fn the_audit_log_and_nothing_else_is_immutable() {
    let rule = audit_alone_is_locked;
    assert_rule(rule, omit("AuditBucket", "ObjectLockEnabled"), "not locked");
    assert_rule(rule, change("AuditBucket", "VersioningConfiguration/Status", "Suspended"), "not versioned");
    assert_rule(rule, change("QuarantineBucket", "ObjectLockEnabled", true), "QuarantineBucket: locked");
}

fn quarantine_expires(template: &Template) -> Vec<String> {
    let rules = list(&template.resource(QUARANTINE)["Properties"]["LifecycleConfiguration"]["Rules"]);
    let expires = |rule: &&Value| {
        rule["Status"] == "Enabled"
            && rule["Prefix"].is_null()
            && number(&rule["ExpirationInDays"]).is_some_and(|days| days <= QUARANTINE_DAYS)
    };
    if rules.iter().any(expires) { Vec::new() } else { vec![format!("{QUARANTINE}: payloads stay for ever")] }
}

#[test]
fn quarantined_payloads_expire() {
    let rule = quarantine_expires;
    let expiry = property("QuarantineBucket", "LifecycleConfiguration/Rules/0");
    assert_rule(rule, set(&format!("{expiry}/ExpirationInDays"), json!(900)), "stay for ever");
    assert_rule(rule, set(&format!("{expiry}/Status"), json!("Disabled")), "stay for ever");
}

pub(crate) fn buckets_are_private(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let policies = template.of_type("AWS::S3::BucketPolicy");
    for (id, bucket) in template.of_type("AWS::S3::Bucket") {
        let properties = &bucket["Properties"];
        let access = &properties["PublicAccessBlockConfiguration"];
        for setting in ["BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"] {
            if access[setting] != true {
                found.push(format!("{id}: {setting} is not set"));
            }
        }
        if properties["BucketEncryption"].is_null() {
            found.push(format!("{id}: no encryption"));
        }
        let over_tls = policies.iter().filter(|(_, policy)| target(&policy["Properties"]["Bucket"]) == Some(id)).any(
            |(_, policy)| {
                list(&policy["Properties"]["PolicyDocument"]["Statement"]).into_iter().any(|statement| {
                    statement["Effect"] == "Deny" && statement["Condition"]["Bool"]["aws:SecureTransport"] == "false"
                })
            },
        );
        if !over_tls {
            found.push(format!("{id}: plain HTTP is not refused"));
        }
    }
    for (id, policy) in policies {
        let statements = list(&policy["Properties"]["PolicyDocument"]["Statement"]);
        found.extend(
            statements.iter().filter(|statement| statement["Effect"] != "Deny").map(|_| format!("{id}: grants access")),
        );
    }
    found
}

#[test]
fn every_bucket_is_private_encrypted_and_over_tls() {
    let finds = finder(buckets_are_private);
    finds(change("ArchiveBucket", "PublicAccessBlockConfiguration/BlockPublicPolicy", false), "BlockPublicPolicy");
    let statement = property("ArchiveBucketPolicy", "PolicyDocument/Statement/0");
    finds(set(&format!("{statement}/Condition/Bool/aws:SecureTransport"), json!("true")), "plain HTTP");
    finds(set(&format!("{statement}/Effect"), json!("Allow")), "grants access");
}

fn table_is_safe(template: &Template) -> Vec<String> {
    let tables = template.of_type("AWS::DynamoDB::Table");
    let mut found = Vec::new();
    if tables.len() != 1 {
        found.push(format!("{} tables", tables.len()));
    }
    for (id, table) in tables {
        let properties = &table["Properties"];
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                found.push(format!("{id}: {what}"));
            }
        };
        expect(properties["BillingMode"] == "PAY_PER_REQUEST", "not on demand");
        let keys: Vec<&Value> = list(&properties["KeySchema"]).into_iter().map(|key| &key["AttributeName"]).collect();
        expect(keys == ["pk", "sk"], "keys are not pk and sk");
        let expiry = &properties["TimeToLiveSpecification"];
        expect(
            expiry["AttributeName"] == "expires_at" && expiry["Enabled"] == true,
            "rows do not expire by expires_at",
        );
        expect(
            properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] == true,
            "no point-in-time recovery",
        );
        expect(properties["SSESpecification"]["SSEEnabled"] == true, "no encryption");
        expect(table["DeletionPolicy"] == KEPT, "deleted with the stack");
    }
    found
}

#[test]
fn the_table_can_be_recovered_and_its_rows_expire() {
    let finds = finder(table_is_safe);
    finds(change("Table", "PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled", false), "point-in-time");
    finds(change("Table", "TimeToLiveSpecification/AttributeName", "ttl"), "do not expire");
}

/// The resources that outlive the stack: records, the keys that read and sign them, and the policies that keep records
/// unchanged.
fn records_outlive_the_stack(template: &Template) -> Vec<String> {
    const KINDS: [&str; 5] = [
        "AWS::DynamoDB::Table",
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::SecretsManager::Secret",
        "AWS::KMS::Key",
    ];
    // The key only encrypts alerts in transit; no stored data is encrypted with it.
    const PASSING: [&str; 2] = ["AlertKey", "AnalyticsBucketPolicy"];
    let mut found = Vec::new();
    for (id, resource) in template.resources() {
        if KINDS.iter().any(|kind| resource["Type"] == *kind) && !PASSING.contains(&id) {
            if resource["DeletionPolicy"] != KEPT {
                found.push(format!("{id}: is deleted with the stack, or blocks a second attempt to create it"));
            }
            if resource["UpdateReplacePolicy"] != "Retain" {
                found.push(format!("{id}: is deleted when it is replaced"));
            }
        }
    }
    let archive = &template.resource("ArchiveBucket")["Properties"];
    if archive["VersioningConfiguration"]["Status"] != "Enabled" {
        found.push("ArchiveBucket: what is written over is lost".to_owned());
    }
    let expiry = &archive["LifecycleConfiguration"]["Rules"][0]["NoncurrentVersionExpiration"]["NoncurrentDays"];
    if number(expiry).is_none_or(|days| days > 30) {
        found.push("ArchiveBucket: what was erased stays".to_owned());
    }
    let protection = &template.resource("Table")["Properties"]["DeletionProtectionEnabled"];
    if template.section("Parameters")[target(protection).unwrap_or_default()]["Default"] != "true" {
        found.push("Table: can be deleted by a slip".to_owned());
    }
    found
}

#[test]
fn records_keys_and_their_guards_outlive_the_stack() {
    let rule = records_outlive_the_stack;
    assert_rule(rule, set("/Resources/AuditSecret/DeletionPolicy", json!("Delete")), "AuditSecret: is deleted");
    assert_rule(rule, set("/Resources/Table/DeletionPolicy", json!("Retain")), "blocks a second attempt");
    assert_rule(rule, remove("/Resources/AuditBucketPolicy/DeletionPolicy"), "AuditBucketPolicy: is deleted");
    assert_rule(rule, remove("/Resources/AuditSecret/UpdateReplacePolicy"), "AuditSecret: is deleted when");
    assert_rule(rule, omit("ArchiveBucket", "VersioningConfiguration"), "written over is lost");
    assert_rule(rule, omit("ArchiveBucket", "LifecycleConfiguration"), "erased stays");
    assert_rule(rule, change("Table", "DeletionProtectionEnabled", false), "deleted by a slip");
}
