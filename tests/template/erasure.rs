//! The right to be forgotten: erasure covers every place that stores data, and only erasure removes archived verdicts.

use crate::{
    assert_rule,
    model::{Template, list, root, target},
    patch::{property, set},
};
use domain::erasure::PLACES;
use serde_json::json;

/// The types of resources that store data which functions write.
const KEEPERS: [&str; 8] = [
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
    "AWS::SNS::Topic",
    "AWS::Logs::LogGroup",
    "AWS::ElastiCache::CacheCluster",
    "AWS::RDS::DBInstance",
    "AWS::Kinesis::Stream",
];

pub(crate) fn every_keeper_is_known(template: &Template) -> Vec<String> {
    let known = |id: &str| PLACES.iter().any(|place| place.covers(id));
    let kept = KEEPERS.into_iter().flat_map(|kind| template.of_type(kind));
    kept.filter(|(id, _)| !known(id)).map(|(id, _)| format!("{id}: erasure does not know what it keeps")).collect()
}

#[test]
fn erasure_knows_every_place_that_keeps_anything() {
    let rule = every_keeper_is_known;
    let bucket = json!({ "Type": "AWS::S3::Bucket" });
    assert_rule(rule, set("/Resources/TranscriptsBucket", bucket), "TranscriptsBucket: erasure does not know");
    let queue = json!({ "Type": "AWS::SQS::Queue" });
    assert_rule(rule, set("/Resources/WishesQueue", queue), "WishesQueue: erasure does not know");
}

/// A vendor is no resource of the template.
#[test]
fn erasure_knows_what_every_vendor_keeps() {
    let vendors = std::fs::read_dir(root().join("shared/vendors")).expect("the vendors' crates");
    let names = vendors.map(|vendor| vendor.expect("a folder").file_name().to_string_lossy().into_owned());
    for vendor in names.chain(["ses".to_owned()]) {
        let place = match vendor.as_str() {
            "chain" => "purchases in USDC",
            "gemini" => "Gemini",
            "graph" => "the mailbox",
            "ses" => "Amazon SES",
            "stripe" => "Stripe",
            unknown => panic!("erasure does not know what {unknown} keeps"),
        };
        assert!(PLACES.iter().any(|known| known.covers(place)), "{place}");
    }
}

fn archive_is_removed_by_erasure_alone(template: &Template) -> Vec<String> {
    let policy = template.resource("ArchiveBucketPolicy");
    let statements = list(&policy["Properties"]["PolicyDocument"]["Statement"]);
    let refuses = statements.iter().any(|statement| {
        let removers = list(&statement["Condition"]["ArnNotEquals"]["aws:PrincipalArn"]);
        let roles: Vec<&str> = removers.into_iter().filter_map(target).collect();
        statement["Action"] == "s3:DeleteObject*" && roles == ["DeadlinesRole", "ErasureRole"]
    });
    if refuses { Vec::new() } else { vec!["ArchiveBucketPolicy: others than erasure may remove verdicts".to_owned()] }
}

#[test]
fn nobody_but_erasure_removes_an_archived_verdict() {
    let statement = property("ArchiveBucketPolicy", "PolicyDocument/Statement/2");
    let removers = format!("{statement}/Condition/ArnNotEquals/aws:PrincipalArn");
    assert_rule(archive_is_removed_by_erasure_alone, set(&removers, json!([])), "others than erasure");
    let anybody = json!("s3:GetObject");
    assert_rule(
        archive_is_removed_by_erasure_alone,
        set(&format!("{statement}/Action"), anybody),
        "others than erasure",
    );
}
