//! Buckets and the table: what is immutable, what can be erased, and nothing public.

use crate::{
    assert_rule,
    model::{Template, list, number, target},
    patch::{property, remove, set},
};
use serde_json::{Value, json};

/// The audit log, and the digests that show what was done to it.
const AUDIT: [&str; 2] = ["AuditBucket", "DigestsBucket"];
const QUARANTINE: &str = "QuarantineBucket";
/// How long a held-back payload may stay, in days.
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
        if bucket["DeletionPolicy"] != "Retain" {
            found.push(format!("{id}: deleted with the stack"));
        }
    }
    found
}

#[test]
fn the_audit_log_and_nothing_else_is_immutable() {
    let rule = audit_alone_is_locked;
    assert_rule(rule, remove(&property("AuditBucket", "ObjectLockEnabled")), "not locked");
    assert_rule(
        rule,
        set(&property("AuditBucket", "VersioningConfiguration/Status"), json!("Suspended")),
        "not versioned",
    );
    assert_rule(rule, set(&property("QuarantineBucket", "ObjectLockEnabled"), json!(true)), "QuarantineBucket: locked");
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

fn buckets_are_private(template: &Template) -> Vec<String> {
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
    let rule = buckets_are_private;
    assert_rule(
        rule,
        set(&property("ArchiveBucket", "PublicAccessBlockConfiguration/BlockPublicPolicy"), json!(false)),
        "BlockPublicPolicy",
    );
    let statement = property("ArchiveBucketPolicy", "PolicyDocument/Statement/0");
    assert_rule(rule, set(&format!("{statement}/Condition/Bool/aws:SecureTransport"), json!("true")), "plain HTTP");
    assert_rule(rule, set(&format!("{statement}/Effect"), json!("Allow")), "grants access");
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
        expect(table["DeletionPolicy"] == "Retain", "deleted with the stack");
    }
    found
}

#[test]
fn the_table_can_be_recovered_and_its_rows_expire() {
    let rule = table_is_safe;
    assert_rule(
        rule,
        set(&property("Table", "PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled"), json!(false)),
        "point-in-time",
    );
    assert_rule(rule, set(&property("Table", "TimeToLiveSpecification/AttributeName"), json!("ttl")), "do not expire");
}
