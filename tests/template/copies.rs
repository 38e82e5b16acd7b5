//! The copies of log, digests and archive in a second region.

use crate::{
    assert_rule, erasure,
    model::{Template, list, target},
    patch::{omit, property, push, remove, set},
    storage,
};
use serde_json::{Value, json};

/// Each copied bucket, its copy, and whether delete markers are copied.
const COPIES: [(&str, &str, bool); 3] = [
    ("ArchiveBucket", "ArchiveCopy", true),
    ("AuditBucket", "AuditCopy", false),
    ("DigestsBucket", "DigestsCopy", false),
];

/// The name of a copy without its prefix.
fn name(copy: &Value) -> &str {
    let name = copy["Properties"]["BucketName"]["Fn::Sub"].as_str().unwrap_or_default();
    name.strip_prefix("${CopyPrefix}").unwrap_or_default()
}

/// The replication of a bucket if `CopyPrefix` is set; null if the template has no such condition.
fn replication(bucket: &Value) -> &Value {
    match &bucket["Properties"]["ReplicationConfiguration"]["Fn::If"] {
        Value::Array(parts) if parts[0] == "HasCopy" && parts[2] == json!({ "Ref": "AWS::NoValue" }) => &parts[1],
        _ => &Value::Null,
    }
}

fn buckets_are_copied(template: &Template) -> Vec<String> {
    let copies = Template::of_copies();
    let mut found = Vec::new();
    for (id, copy, with_markers) in COPIES {
        let replication = replication(template.resource(id));
        let rules = list(&replication["Rules"]);
        let to = format!("arn:${{AWS::Partition}}:s3:::${{CopyPrefix}}{}", name(copies.resource(copy)));
        let is_whole = |rule: &&Value| {
            rule["Status"] == "Enabled"
                && rule["Filter"]["Prefix"] == ""
                && rule["Destination"]["Bucket"]["Fn::Sub"] == to.as_str()
                && rule["Destination"]["Metrics"]["Status"] == "Enabled"
        };
        if target(&replication["Role"]) != Some("CopyRole") || !rules.iter().any(is_whole) {
            found.push(format!("{id}: not copied to {to}"));
        }
        let markers = if with_markers { "Enabled" } else { "Disabled" };
        if rules.iter().any(|rule| rule["DeleteMarkerReplication"]["Status"] != markers) {
            found.push(format!("{id}: delete markers of the copy are not {markers}"));
        }
    }
    found
}

#[test]
fn the_log_and_the_archive_are_copied_whole_and_only_erasures_remove_from_a_copy() {
    let rule = buckets_are_copied;
    let first =
        |bucket: &str, rest: &str| property(bucket, &format!("ReplicationConfiguration/Fn::If/1/Rules/0/{rest}"));
    assert_rule(rule, set(&first("AuditBucket", "Filter/Prefix"), json!("2026")), "AuditBucket: not copied");
    assert_rule(rule, set(&first("DigestsBucket", "Status"), json!("Disabled")), "DigestsBucket: not copied");
    assert_rule(rule, remove(&first("AuditBucket", "Destination/Metrics")), "AuditBucket: not copied");
    let markers = "DeleteMarkerReplication/Status";
    assert_rule(rule, set(&first("ArchiveBucket", markers), json!("Disabled")), "ArchiveBucket: delete markers");
    assert_rule(rule, set(&first("AuditBucket", markers), json!("Enabled")), "AuditBucket: delete markers");
}

/// S3 counts failed copies by bucket, copy and rule, if the rule asks for it.
fn failed_copies_raise_alarms(template: &Template) -> Vec<String> {
    let copies = Template::of_copies();
    let mut found = Vec::new();
    for (id, copy, _) in COPIES {
        let rule = &replication(template.resource(id))["Rules"][0]["Id"];
        let to = json!({ "Fn::Sub": format!("${{CopyPrefix}}{}", name(copies.resource(copy))) });
        let dimensions = json!([
            { "Name": "SourceBucket", "Value": { "Ref": id } },
            { "Name": "DestinationBucket", "Value": to },
            { "Name": "RuleId", "Value": rule },
        ]);
        let watches = |alarm: &&Value| {
            let watched = &alarm["Properties"];
            watched["MetricName"] == "OperationsFailedReplication" && watched["Dimensions"] == dimensions
        };
        let alarms = template.of_type("AWS::CloudWatch::Alarm");
        let alarm = alarms.iter().map(|(_, alarm)| *alarm).find(watches);
        if alarm.is_none_or(|alarm| alarm["Condition"] != "HasCopy") {
            found.push(format!("{id}: no alarm on failed copies"));
        }
    }
    found
}

#[test]
fn a_copy_that_fails_raises_an_alarm() {
    let rule = failed_copies_raise_alarms;
    let audit = |rest: &str| property("AuditCopyFailedAlarm", rest);
    assert_rule(rule, set(&audit("Dimensions/2/Value"), json!("copies")), "AuditBucket: no alarm");
    assert_rule(rule, set(&audit("MetricName"), json!("ReplicationLatency")), "AuditBucket: no alarm");
    assert_rule(rule, remove("/Resources/DigestsCopyFailedAlarm/Condition"), "DigestsBucket: no alarm");
}

/// The role reads versions of the three buckets, writes to their copies, and removes only from the archive's.
fn role_copies_only(template: &Template) -> Vec<String> {
    let policy = template.resource("CopyRolePolicy");
    let (mut found, mut reads, mut writes) = (Vec::new(), 0, 0);
    for statement in list(&policy["Properties"]["PolicyDocument"]["Statement"]) {
        let resources: Vec<String> = list(&statement["Resource"]).into_iter().map(Value::to_string).collect();
        let are_copies = resources.iter().all(|resource| resource.contains("s3:::${CopyPrefix}-"));
        for action in list(&statement["Action"]).into_iter().filter_map(Value::as_str) {
            let is_fit = match action {
                "s3:ReplicateObject" | "s3:ReplicateTags" => are_copies,
                "s3:ReplicateDelete" => resources.iter().all(|resource| resource.contains("${CopyPrefix}-archive/*")),
                "s3:GetReplicationConfiguration"
                | "s3:ListBucket"
                | "s3:GetObjectVersionForReplication"
                | "s3:GetObjectVersionAcl"
                | "s3:GetObjectVersionTagging"
                | "s3:GetObjectRetention"
                | "s3:GetObjectLegalHold" => {
                    resources.iter().all(|it| COPIES.iter().any(|(bucket, ..)| it.contains(bucket)))
                }
                _ => false,
            };
            if !is_fit {
                found.push(format!("CopyRole: {action} on {}", resources.join(", ")));
            }
            reads += usize::from(action == "s3:GetObjectVersionForReplication") * resources.len();
            writes += usize::from(action == "s3:ReplicateObject") * resources.len();
        }
    }
    if (reads, writes) != (COPIES.len(), COPIES.len()) {
        found.push("CopyRole: does not reach every bucket and its copy".to_owned());
    }
    if target(&policy["Properties"]["RoleName"]) != Some("CopyRole") {
        found.push("CopyRolePolicy: of another role".to_owned());
    }
    for id in ["CopyRole", "CopyRolePolicy"] {
        if template.resource(id)["Condition"] != "HasCopy" {
            found.push(format!("{id}: exists without a copy"));
        }
    }
    found
}

#[test]
fn the_role_of_the_copies_can_do_nothing_else() {
    let statements = property("CopyRolePolicy", "PolicyDocument/Statement");
    let anywhere = json!({ "Action": "s3:ReplicateObject", "Resource": "*" });
    assert_rule(role_copies_only, push(&statements, anywhere), "CopyRole: s3:ReplicateObject");
    let log = json!({ "Fn::Sub": "arn:${AWS::Partition}:s3:::${CopyPrefix}-audit/*" });
    let removal = json!({ "Action": "s3:ReplicateDelete", "Resource": log });
    assert_rule(role_copies_only, push(&statements, removal), "CopyRole: s3:ReplicateDelete");
    let lost = remove(&format!("{statements}/1/Resource"));
    assert_rule(role_copies_only, lost, "does not reach every bucket");
}

/// The copies are protected like their originals, and only replication may write to them.
fn copies_are_kept(copies: &Template) -> Vec<String> {
    let mut found = storage::buckets_are_private(copies);
    found.extend(erasure::every_keeper_is_known(copies));
    let original = Template::load();
    for (id, copy, with_markers) in COPIES {
        let (bucket, properties) = (original.resource(id), &copies.resource(copy)["Properties"]);
        for kept in ["ObjectLockEnabled", "ObjectLockConfiguration", "VersioningConfiguration", "BucketEncryption"] {
            if properties[kept] != bucket["Properties"][kept] {
                found.push(format!("{copy}: {kept} differs from {id}"));
            }
        }
        let policy = copies.resource(&format!("{copy}Policy"));
        let denied = json!(["s3:PutObject", "s3:DeleteObject*", "s3:BypassGovernanceRetention"]);
        let statements = list(&policy["Properties"]["PolicyDocument"]["Statement"]);
        if !statements.iter().any(|it| it["Effect"] == "Deny" && it["Action"] == denied && it["Condition"].is_null()) {
            found.push(format!("{copy}: others than replication write"));
        }
        let life = list(&properties["LifecycleConfiguration"]["Rules"]);
        let erases = |rule: &&Value| {
            rule["Status"] == "Enabled"
                && rule["Prefix"].is_null()
                && rule["NoncurrentVersionExpiration"]["NoncurrentDays"] == 1
                && rule["ExpirationInDays"].is_null()
        };
        if with_markers != life.iter().any(erases) || life.len() != usize::from(with_markers) {
            found.push(format!("{copy}: erased objects and no others must go"));
        }
        if ["DeletionPolicy", "UpdateReplacePolicy"].iter().any(|rule| copies.resource(copy)[rule] != bucket[rule]) {
            found.push(format!("{copy}: deleted with the stack"));
        }
    }
    found
}

#[test]
fn the_copies_are_as_safe_as_what_they_copy() {
    let broken = |patch| copies_are_kept(&Template::of_copies().with(patch)).join("\n");
    assert_eq!(copies_are_kept(&Template::of_copies()), Vec::<String>::new());
    assert!(broken(omit("AuditCopy", "ObjectLockConfiguration")).contains("AuditCopy: ObjectLock"));
    let life = property("ArchiveCopy", "LifecycleConfiguration/Rules/0");
    assert!(broken(set(&format!("{life}/Status"), json!("Disabled"))).contains("ArchiveCopy: erased objects"));
    let denied = property("DigestsCopyPolicy", "PolicyDocument/Statement/1/Effect");
    assert!(broken(set(&denied, json!("Allow"))).contains("DigestsCopy: others than replication write"));
    let public = property("ArchiveCopy", "PublicAccessBlockConfiguration/BlockPublicAcls");
    assert!(broken(set(&public, json!(false))).contains("ArchiveCopy: BlockPublicAcls"));
}
