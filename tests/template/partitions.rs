//! Least privilege in the table: a role names the partitions that its function reaches.

use crate::{
    assert_rule, finder,
    model::{Template, list, statements, target},
    patch::replace,
};
use domain::{notebooks, toll::List};
use serde_json::{Value, json};

/// The keys that a role may name, beside those of the chat and of notes.
const KINDS: [&str; 10] = [
    "ALERT#*",
    "BREAKER#*",
    "CACHE",
    "GUESS#*",
    "MAIL#*",
    "MEMORY#*",
    "MEMORYKEY#*",
    "SESSION#*",
    "SUBSCRIBER#*",
    "TOLL#*",
];

/// A function reaches only the partitions that its role names: sales, alerts, and its own note. All others are refused,
/// so a new kind of item is accessible to no function until a role names it.
fn partitions_are_named(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (_, function) in template.functions() {
        let id = target(&function["Properties"]["Role"]).unwrap_or_default();
        for statement in statements(template.resource(id)) {
            let on_table = list(&statement["Resource"]).into_iter().any(|it| it["Fn::GetAtt"][0] == "Table");
            let acts = list(&statement["Action"]).into_iter().any(|action| action.to_string().contains("dynamodb:"));
            if !on_table || !acts {
                continue;
            }
            let keys = list(&statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
            let is_kind = |key: &&Value| {
                let key = key.as_str().unwrap_or_default();
                KINDS.contains(&key)
                    || key.starts_with("CHAT") && key.ends_with("#*")
                    || key.starts_with("NOTE#") && !key.contains('*')
            };
            if keys.is_empty() || !keys.iter().all(is_kind) {
                found.push(format!("{id}: does not name the partitions it reaches"));
            }
        }
    }
    found
}

#[test]
fn every_function_names_the_partitions_it_reaches() {
    let finds = finder(partitions_are_named);
    let but = json!({ "ForAllValues:StringNotEquals": { "dynamodb:LeadingKeys": ["NOTE#audit-digest"] } });
    let own = json!({ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["SESSION#*", "CACHE", "BREAKER#*", "ALERT#*"] } });
    finds(replace("/Resources/VerdictRole", own, but), "VerdictRole: does not name");
    finds(replace("/Resources/VerdictRole", json!("BREAKER#*"), json!("*")), "VerdictRole: does not name");
    finds(replace("/Resources/InboxWatchRole", json!("NOTE#inbox-watch"), json!("NOTE#*")), "InboxWatchRole");
}

/// Whether the deadlines function may read and write this item.
fn deadlines_writes(template: &Template, key: &str) -> bool {
    let statements = statements(template.resource("DeadlinesRole"));
    let may = |action: &str| {
        statements.iter().any(|statement| {
            let keys = &statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
            list(keys).into_iter().any(|it| it == key) && list(&statement["Action"]).into_iter().any(|it| it == action)
        })
    };
    ["dynamodb:GetItem", "dynamodb:PutItem"].into_iter().all(may)
}

/// The deadlines function reads and writes the notebook of every function that no schedule starts.
fn notebooks_are_published(template: &Template) -> Vec<String> {
    let keys = notebooks::without_schedule().map(|name| format!("NOTE#{name}"));
    let refused = keys.filter(|key| !deadlines_writes(template, key));
    refused.map(|key| format!("DeadlinesRole: may not publish what waits in {key}")).collect()
}

#[test]
fn every_notebook_without_a_schedule_is_published_by_the_deadlines_function() {
    let rule = notebooks_are_published;
    for name in ["checkout-8", "toll", "toll-declined-2", "operator", "inquiries", "anvil"] {
        let key = format!("NOTE#{name}");
        let wrong = replace("/Resources/DeadlinesRole", json!(key), json!("NOTE#other"));
        assert_rule(rule, wrong, &format!("may not publish what waits in {key}"));
    }
}

/// Without its note, the deadlines function raises no reminder of the purchases that wait for a human. The emulator of
/// the local stack allows every key, so only this rule finds out.
fn the_reminder_is_noted(template: &Template) -> Vec<String> {
    let key = format!("NOTE#{}", notebooks::TOLL_REMINDER);
    if deadlines_writes(template, &key) { vec![] } else { vec![format!("DeadlinesRole: may not read and write {key}")] }
}

#[test]
fn the_deadlines_function_notes_its_reminder_of_purchases() {
    let wrong = replace("/Resources/DeadlinesRole", json!("NOTE#toll-reminder"), json!("NOTE#other"));
    assert_rule(the_reminder_is_noted, wrong, "DeadlinesRole: may not read and write NOTE#toll-reminder");
}

/// Boot-probe asks whether a purchase is open, and reads no list of sales.
fn boot_probe_lists_purchases_only(template: &Template) -> Vec<String> {
    let lists = [List::Machines, List::Humans].map(List::as_str);
    let condition = json!({ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": lists } });
    let queries = |statement: &&Value| list(&statement["Action"]).into_iter().any(|it| it == "dynamodb:Query");
    let statements = statements(template.resource("BootProbeRole")).into_iter().filter(queries);
    let others = statements.filter(|statement| statement["Condition"] != condition);
    others.map(|_| "BootProbeRole: reads other lists than those of purchases".to_owned()).collect()
}

#[test]
fn boot_probe_reads_the_lists_of_purchases_and_no_other() {
    let other = replace("/Resources/BootProbeRole", json!("TOLL_HUMAN"), json!("*"));
    assert_rule(boot_probe_lists_purchases_only, other, "BootProbeRole: reads other lists");
}

/// The cache's counters change (UpdateItem) in one transaction with an entry of a session (PutItem). AWS does not
/// document how DynamoDB evaluates the keys of a transaction for each of its actions, so the condition of either action
/// allows both.
fn counters_move_with_entries(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        for statement in statements(role) {
            let updates = list(&statement["Action"]).into_iter().any(|action| action == "dynamodb:UpdateItem");
            let keys = json!({ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["CACHE", "SESSION#*"] } });
            let counter = |name: &str| json!({ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": [name] } });
            let known = [keys.clone(), counter("CHATLIMIT#*"), counter("GUESS#*")];
            if updates && !known.contains(&statement["Condition"]) {
                found.push(format!("{id}: a transaction on an entry and the counters may be refused"));
            }
            let names = |values: &Value, name: &str| list(values).into_iter().any(|value| value == name);
            let counts = |other: &&Value| names(&other["Action"], "dynamodb:UpdateItem") && other["Condition"] == keys;
            let entries = &statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
            let is_half = names(entries, "SESSION#*") && !names(entries, "CACHE");
            let puts = names(&statement["Action"], "dynamodb:PutItem");
            if puts && is_half && statements(role).iter().any(counts) {
                found.push(format!("{id}: a transaction on the counters and an entry may be refused"));
            }
        }
    }
    found
}

#[test]
fn a_transaction_on_an_entry_and_the_counters_is_allowed() {
    let finds = finder(counters_move_with_entries);
    finds(replace("/Resources/VerdictRole", json!(["CACHE", "SESSION#*"]), json!(["CACHE"])), "VerdictRole");
    let (both, half) = (json!(["SESSION#*", "CACHE", "ALERT#*"]), json!(["SESSION#*", "ALERT#*"]));
    finds(replace("/Resources/ResultRole", both, half), "ResultRole: a transaction on the counters");
}
