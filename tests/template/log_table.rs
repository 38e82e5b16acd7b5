//! The audit log as a table, and the hourly table of its copies.

use crate::{
    assert_rule, finder,
    model::{Template, list},
    patch::{edit, omit, property, replace, set},
};
use audit::{Body, ChatStatus, FunctionJournal, Noted, Record, RefundStep, Source, Status, TollStatus, chain};
use crosscheck::crosscheck;
use domain::{
    CallerIdentity, Colour, Sale, SessionId, Tier, Timestamp,
    audit_trail::Audited,
    chat::{BillingChange, BridgeEvent, Plan},
    message::ReportedBy,
    money::{ObjectId, PaymentChange, PaymentId},
    tier::CURRENCY,
    toll::{Offer, Paid, Purchase, purchase_id},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::sale::WithField;

/// One record of every kind. A new kind must be added here and to the table's columns below.
fn kinds() -> Vec<Body> {
    let facts = Some(json!({}));
    let money = || (Some(500), Some("cad".to_owned()));
    let ((amount_total, currency), decision) = (money(), json!(crosscheck("{}", Tier::Quick)));
    let payment = PaymentId::parse("pi_1").expect("an id");
    let all = vec![
        Body::Pipeline { source: Source::Webhook, status: Status::Error, error_detail: None, details: facts },
        Record::toll(Timestamp::from_millis(0), Timestamp::from_millis(0), TollStatus::Replay, "r").body,
        Record::toll_check(Timestamp::from_millis(0), Timestamp::from_millis(0), json!({ "reported": "0x1" })).body,
        Body::Chat { status: ChatStatus::Answered, details: json!({ "free": true }) },
        Body::Bridge { details: BridgeEvent::Erased },
        Body::TmmCrosscheck { phi: 0.042, decision },
        Body::ContentFilter {
            gate: 1,
            outcome: "PASS".to_owned(),
            list_version: "1".to_owned(),
            list_hash: "h".to_owned(),
            hits: json!([]),
        },
        Body::regen_divergence_check(Some(Colour::Red), Colour::Green),
        Body::SilentDrop { amount_total, currency: currency.clone(), reason: "r".to_owned() },
        Body::Operator {
            action: "approve".to_owned(),
            by: "dana".to_owned(),
            reason: None,
            identity: CallerIdentity::parse("arn:aws:iam::123456789012:user/dana").ok(),
        },
        Body::Refund {
            step: RefundStep::Failed,
            by: "policy".to_owned(),
            reason: "r".to_owned(),
            identity: None,
            amount_total,
            currency: currency.clone(),
            error: Some("e".to_owned()),
        },
        Body::PaymentChange {
            payment,
            change: PaymentChange::Refunded,
            object: ObjectId::parse("re_1").ok(),
            amount_returned: Some(500),
            amount_total,
            currency: currency.clone(),
        },
        Body::CustomerReply { message: "m".to_owned(), from_buyer: Some(true), is_report: true },
        Body::Erasure { removed: vec!["archive"] },
        Body::AmountDiffers { amount_total, currency, price: 500 },
        Body::AuthorityEvaluated { details: json!({}) },
        Body::Subscription {
            object: ObjectId::parse("sub_1").expect("an id"),
            change: BillingChange::Opened,
            plan: Plan::Chat,
            paid_until: Some(String::new()),
            reported_by: ReportedBy::Event,
        },
    ];
    for body in &all {
        match body {
            Body::Pipeline { .. }
            | Body::Toll { .. }
            | Body::TollCheck { .. }
            | Body::Chat { .. }
            | Body::Bridge { .. }
            | Body::TmmCrosscheck { .. }
            | Body::ContentFilter { .. }
            | Body::RegenDivergenceCheck { .. }
            | Body::SilentDrop { .. }
            | Body::Operator { .. }
            | Body::Refund { .. }
            | Body::PaymentChange { .. }
            | Body::CustomerReply { .. }
            | Body::Erasure { .. }
            | Body::AmountDiffers { .. }
            | Body::AuthorityEvaluated { .. }
            | Body::Subscription { .. } => {}
        }
    }
    all
}

/// All records as they are written: a sale's, and a scheduled function's.
fn lines() -> Vec<Value> {
    let now = Timestamp::from_millis(1_776_349_384_565);
    // The smoke test's records have one field more.
    let mut sale = Sale::ordered(SessionId::parse("cs_test_1").expect("an id"), now).with("smoke", true);
    for body in kinds() {
        chain::append(&mut sale, &Record::new(now, now, body));
    }
    let paid = Paid::Transferred { transaction: "0x1".to_owned(), payer: "0x2".to_owned(), network: "n".to_owned() };
    let id = purchase_id(&"a".repeat(64)).expect("an id");
    let mut purchase = Purchase::new(id, Offer::Query, "f".to_owned(), "h".to_owned(), paid, now);
    chain::append(&mut purchase, &Record::toll(now, now, TollStatus::Ok, ""));
    let world = testkit::World::at(now);
    let journal =
        FunctionJournal { function: "audit-digest", notes: &world, log: &world, alerts: &world, clock: &world };
    let ran = testkit::run(async {
        let loaded = journal.load::<()>().await.expect("a memory");
        let record = |(): &mut (), _| Noted::save(()).recording("it_ran", json!({}));
        journal.commit(loaded, record).await.expect("a record").settle().await;
    });
    ran.expect("an end");
    let of_functions: Vec<String> = world.state().log.values().cloned().collect();
    let outboxes = sale.outbox().iter().chain(purchase.trail().outbox());
    let lines = outboxes.map(|entry| entry.line.clone()).chain(of_functions);
    lines.map(|line| serde_json::from_str(&line).expect("a line of JSON")).collect()
}

/// Whether a column of this type can hold the value.
fn fits(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => !value.is_number() && !value.is_boolean(),
        "boolean" => value.is_boolean() || value.is_null(),
        "int" | "bigint" => value.is_i64() || value.is_null(),
        "double" => value.is_number() || value.is_null(),
        "array<string>" => value.is_array() || value.is_null(),
        _ => false,
    }
}

fn table_has_every_field(template: &Template) -> Vec<String> {
    let table = &template.resource("AnalyticsTable")["Properties"]["TableInput"];
    let columns: Vec<(&str, &str)> = list(&table["StorageDescriptor"]["Columns"])
        .into_iter()
        .filter_map(|column| Some((column["Name"].as_str()?, column["Type"].as_str()?)))
        .collect();
    let mut found = BTreeSet::new();
    let mut used = BTreeSet::new();
    for line in lines() {
        for (field, value) in line.as_object().into_iter().flatten() {
            used.insert(field.clone());
            match columns.iter().find(|(name, _)| name == field) {
                None => drop(found.insert(format!("records have {field}, the table has no such column"))),
                Some((_, kind)) if !fits(kind, value) => drop(found.insert(format!("{field}: {value} is no {kind}"))),
                Some(_) => {}
            }
        }
    }
    let unused = columns.iter().filter(|(name, _)| !used.contains(*name));
    found.extend(unused.map(|(name, _)| format!("the table has {name}, no record does")));
    let parameters = &table["Parameters"];
    if parameters["projection.enabled"] != "true" || parameters["projection.day.type"] != "date" {
        found.insert("days are not projected: every question reads the whole log".to_owned());
    }
    let days = json!({ "Fn::Join": ["", ["s3://", { "Ref": "AuditBucket" }, "/${day}/"]] });
    if parameters["storage.location.template"] != days {
        found.insert("the table's days are not where the log's are".to_owned());
    }
    let work = &template.resource("AnalyticsWorkGroup")["Properties"]["WorkGroupConfiguration"];
    if work["EnforceWorkGroupConfiguration"] != true || work["BytesScannedCutoffPerQuery"].is_null() {
        found.insert("a question may read without bounds".to_owned());
    }
    found.into_iter().collect()
}

#[test]
fn the_log_as_a_table_has_every_field_that_a_record_can_have() {
    let finds = finder(table_has_every_field);
    let table = property("AnalyticsTable", "TableInput");
    let column = |from: &str, to: Value| replace(&table, json!({ "Name": from, "Type": "string" }), to);
    finds(column("hits", json!({})), "records have hits");
    finds(column("list_hash", json!({ "Name": "list_hash", "Type": "bigint" })), "list_hash: ");
    finds(column("prev", json!({ "Name": "previous", "Type": "string" })), "the table has previous");
    finds(set(&format!("{table}/Parameters/projection.day.type"), json!("enum")), "not projected");
    finds(
        edit(&format!("{table}/Parameters/storage.location.template/Fn::Join/1/2"), "${day}/", ""),
        "not where the log's are",
    );
    finds(omit("AnalyticsWorkGroup", "WorkGroupConfiguration/BytesScannedCutoffPerQuery"), "without bounds");
}

/// The hourly copies as a table.
fn hourly_table_is_where_the_copies_are(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let table = &template.resource("AnalyticsHourlyTable")["Properties"]["TableInput"];
    let days = json!({ "Fn::Join": ["", ["s3://", { "Ref": "DigestsBucket" }, "/records/${day}/"]] });
    if table["Parameters"]["storage.location.template"] != days {
        found.push("the days of the hourly table are not where the copies are".to_owned());
    }
    if table["Parameters"]["projection.enabled"] != "true" || table["Parameters"]["projection.day.type"] != "date" {
        found.push("days are not projected: every question reads all copies".to_owned());
    }
    found
}

#[test]
fn the_hourly_table_reads_the_days_of_the_copies() {
    let rule = hourly_table_is_where_the_copies_are;
    let table = property("AnalyticsHourlyTable", "TableInput");
    let place = format!("{table}/Parameters/storage.location.template/Fn::Join/1/2");
    assert_rule(rule, edit(&place, "records/", ""), "not where the copies are");
    assert_rule(rule, set(&format!("{table}/Parameters/projection.day.type"), json!("enum")), "not projected");
}

/// An escaped variable of `Fn::Sub` passes two transforms. Without its escape, CloudFormation refuses the template.
fn no_variable_is_escaped(template: &Template) -> Vec<String> {
    let escaped = template.resources().filter(|(_, resource)| resource.to_string().contains("${!"));
    escaped.map(|(id, _)| format!("{id}: an escape may not survive both transforms")).collect()
}

#[test]
fn a_variable_that_is_not_cloudformations_is_joined_and_not_escaped() {
    let days = property("AnalyticsTable", "TableInput/Parameters/storage.location.template");
    let escaped = set(&days, json!({ "Fn::Sub": "s3://${AuditBucket}/${!day}/" }));
    assert_rule(no_variable_is_escaped, escaped, "AnalyticsTable: an escape may not survive");
}

/// As in the report. No test runs the query.
#[test]
fn the_query_for_money_subtracts_only_parts_in_the_currency_of_the_prices() {
    let text = std::fs::read_to_string(crate::model::root().join("infra/analytics/queries.sql")).expect("questions");
    let parts = text.lines().skip_while(|line| !line.contains("\"amount_returned\""));
    let filter: Vec<&str> = parts.take_while(|line| !line.contains("FROM")).collect();
    assert!(filter.join(" ").contains(&format!("\"currency\" = '{CURRENCY}'")), "{filter:?}");
}

/// The example queries use only columns that exist.
#[test]
fn the_questions_to_begin_with_are_about_this_table() {
    let text = std::fs::read_to_string(crate::model::root().join("infra/analytics/queries.sql")).expect("questions");
    let template = Template::load();
    let table = &template.resource("AnalyticsTable")["Properties"]["TableInput"];
    let columns: BTreeSet<&str> =
        list(&table["StorageDescriptor"]["Columns"]).into_iter().filter_map(|column| column["Name"].as_str()).collect();
    let quoted = text.split('"').skip(1).step_by(2);
    let unknown: Vec<&str> = quoted
        .filter(|name| !columns.contains(name) && !["day", "records", "hourly", "record"].contains(name))
        .collect();
    assert!(text.matches(';').count() >= 3 && unknown.is_empty(), "{unknown:?}");
}
