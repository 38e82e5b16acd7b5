//! The runbook has an entry for every alarm, with the command that the alarm's description names, one for every drill, and
//! one for every alert. The guide carries the chat's key from stack to stack. A test of the command line
//! (`infra/oracle/src/documented_commands.rs`) checks that their commands exist.
//! The file has more than 300 lines because the runbook's chapters, entries and commands are read by the same functions.

use crate::{
    alarms::has_event,
    assert_rule,
    model::{Template, root, shipped, sources, target},
    patch::{change, set},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a file of the repository")
}

/// Each alarm of the runbook's table, with its command and its text.
fn rows(runbook: &str) -> BTreeMap<String, (String, String)> {
    let cells = |line: &str| -> Option<(String, (String, String))> {
        let mut cells = line.strip_prefix("| `")?.splitn(3, " | ");
        let alarm = cells.next()?.trim_end_matches('`').to_owned();
        let command = cells.next()?.trim_matches('`').to_owned();
        Some((alarm, (command, cells.next()?.trim_end_matches(" |").to_owned())))
    };
    runbook.lines().filter_map(cells).collect()
}

/// The description that operators see, with STACK for the stack's name.
fn description(alarm: &Value) -> String {
    let described = &alarm["Properties"]["AlarmDescription"];
    let text = described.as_str().or_else(|| described["Fn::Sub"].as_str()).unwrap_or_default();
    text.replace("${AWS::StackName}", "STACK")
}

fn every_alarm_has_its_entry(template: &Template) -> Vec<String> {
    let mut rows = rows(&read("infra/runbook.md"));
    let mut found = Vec::new();
    for (id, alarm) in template.of_type("AWS::CloudWatch::Alarm") {
        let description = description(alarm);
        match rows.remove(id) {
            None => found.push(format!("infra/runbook.md has no entry for {id}")),
            Some((command, _)) if !description.ends_with(&format!("; {command}")) => {
                found.push(format!("{id}: its description does not end with \"; {command}\": {description}"));
            }
            Some((_, text)) if text.len() < 10 => found.push(format!("{id}: the runbook does not say what to do")),
            Some(_) => {}
        }
    }
    found.extend(rows.into_keys().map(|id| format!("infra/runbook.md speaks of {id}, which is no alarm")));
    found
}

#[test]
fn every_alarm_names_a_command_and_has_an_entry_in_the_runbook() {
    let rule = every_alarm_has_its_entry;
    assert_rule(rule, change("HeldAlarm", "AlarmDescription", "held"), "HeldAlarm: its description");
    let renamed = crate::patch::rename("/Resources/HeldAlarm", "KeptAlarm");
    assert_rule(rule, renamed, "infra/runbook.md has no entry for KeptAlarm");
}

/// An operator pastes the command as the mail has it. Only the runbook writes STACK for the stack's name.
fn descriptions_name_the_stack(template: &Template) -> Vec<String> {
    let alarms = template.of_type("AWS::CloudWatch::Alarm").into_iter();
    let placeholders =
        alarms.filter(|(_, alarm)| alarm["Properties"]["AlarmDescription"].to_string().contains("STACK"));
    placeholders.map(|(id, _)| format!("{id}: its description has STACK instead of the stack's name")).collect()
}

#[test]
fn the_command_of_an_alarm_has_the_name_of_the_stack() {
    assert_rule(
        descriptions_name_the_stack,
        change("ChatErrorsAlarm", "AlarmDescription", "chat failed; aws logs tail /aws/lambda/STACK-chat --since 1h"),
        "ChatErrorsAlarm: its description has STACK",
    );
}

/// Throttling has another cause than a failure, so the alarm's text names another one.
fn throttles_name_no_cause_of_errors(template: &Template) -> Vec<String> {
    let cause = |text: &Value| text.as_str().and_then(|text| text.split_once("; ")).map(|(_, cause)| cause.to_owned());
    let functions = template.section("Mappings")["Functions"].as_object().into_iter().flatten();
    let repeated = functions.filter(|(_, texts)| {
        let throttled = cause(&texts["Throttles"]);
        throttled.is_some() && throttled == cause(&texts["Errors"])
    });
    repeated.map(|(function, _)| format!("{function}: the text about throttling names the cause of errors")).collect()
}

#[test]
fn an_alarm_on_throttling_names_its_own_cause() {
    assert_rule(
        throttles_name_no_cause_of_errors,
        set(
            "/Mappings/Functions/BootProbe/Throttles",
            json!("throttled; its own configuration is wrong, or it runs too long"),
        ),
        "BootProbe: the text about throttling",
    );
}

/// A row names the secret that its function reads: a name of a variable means different secrets in different functions.
fn the_checkout_row_names_its_secret(template: &Template) -> Vec<String> {
    let checkout = &template.resource("CheckoutFunction")["Properties"]["Environment"]["Variables"];
    let resource = target(&checkout["STRIPE_SECRET_ID"]).unwrap_or_default();
    let name = &template.section("Mappings")["Secrets"][resource.trim_end_matches("Secret")]["Name"];
    let command = format!("`oracle secrets set {}`", name.as_str().unwrap_or_default());
    let rows = rows(&read("infra/runbook.md"));
    let is_named = rows.get("CheckoutUnavailableAlarm").is_some_and(|(_, text)| text.contains(&command));
    if is_named { Vec::new() } else { vec![format!("CheckoutUnavailableAlarm: its row does not name {command}")] }
}

#[test]
fn a_refused_key_of_checkout_leads_to_the_secret_that_checkout_reads() {
    let other = json!({ "Fn::GetAtt": ["StripeSecret", "Id"] });
    assert_rule(
        the_checkout_row_names_its_secret,
        change("CheckoutFunction", "Environment/Variables/STRIPE_SECRET_ID", other),
        "does not name `oracle secrets set stripe`",
    );
}

/// The function that an alarm watches, if it has no queue.
fn without_queue<'a>(template: &'a Template, alarm: &'a Value) -> Option<&'a str> {
    let watched = target(&alarm["Properties"]["Dimensions"][0]["Value"])?;
    let (id, function) = template.functions().into_iter().find(|(id, _)| *id == watched)?;
    (!has_event(function, "SQS")).then_some(id)
}

fn only_queues_promise_a_retry_by_their_time_out(template: &Template) -> Vec<String> {
    let rows = rows(&read("infra/runbook.md"));
    let promises = |id: &str| rows.get(id).is_some_and(|(_, text)| text.contains("visibility time-out"));
    let alarms = template.of_type("AWS::CloudWatch::Alarm").into_iter().filter(|(id, _)| promises(id));
    let alarms = alarms.filter_map(|(id, alarm)| Some((id, without_queue(template, alarm)?)));
    alarms.map(|(id, function)| format!("{id}: its row promises a retry of a queue, and {function} has none")).collect()
}

#[test]
fn the_row_of_a_function_without_a_queue_promises_no_retry_of_a_queue() {
    assert_rule(
        only_queues_promise_a_retry_by_their_time_out,
        change("VerdictFunction", "Events", json!({})),
        "VerdictDurationAlarm: its row promises a retry of a queue, and VerdictFunction has none",
    );
}

/// The alarms of the runbook's table, in its order.
fn alarms_in_order(runbook: &str) -> Vec<&str> {
    let names = runbook.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    names.filter(|name| name.ends_with("Alarm")).collect()
}

#[test]
fn the_alarms_of_the_runbook_are_in_the_order_of_the_alphabet() {
    let runbook = read("infra/runbook.md");
    let named = alarms_in_order(&runbook);
    let mut sorted = named.clone();
    sorted.sort_unstable();
    assert_eq!(named, sorted);
    assert!(named.len() > 80, "{}", named.len());
}

/// The tags of alerts that the runbook explains by name.
const EXPLAINED: [&str; 3] = ["ORACLE-BRIDGE", "ORACLE-CHAT", "ORACLE-SUBSCRIPTION"];

/// An alert's name is a literal in capitals in the file that has its tag.
#[test]
fn every_alert_about_a_member_or_subscriber_has_an_entry() {
    let runbook = read("infra/runbook.md");
    let raising = ["functions", "shared"].into_iter().flat_map(|folder| sources(&root().join(folder)));
    let raising = raising.map(|path| fs::read_to_string(path).expect("a source is text"));
    let raising = raising.filter(|source| EXPLAINED.iter().any(|tag| source.contains(&format!("\"{tag}\""))));
    let is_name = |word: &&str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let names: BTreeSet<String> =
        raising.flat_map(|source| source.split('"').filter(is_name).map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(names.len() >= 10 && names.contains("BRIDGE_LETTER"), "{names:?}");
    for name in names {
        assert!(runbook.contains(&format!("\n| `{name}` | ")), "infra/runbook.md has no entry for {name}");
    }
}

/// Words in capitals beside a tag that are no names of alerts: severities, and values of records.
const NO_NAMES: [&str; 12] = [
    "ALERT",
    "AUDIT_READ",
    "BREAKER_READ",
    "BREAKER_WRITE",
    "CRITICAL",
    "DEAD",
    "ERROR",
    "NOTE",
    "NULL",
    "SEED",
    "UNKNOWN",
    "WARN",
];

/// The tags and names of alerts in a source without its tests. A name is a literal in capitals in a file that names a
/// severity.
fn alerts_of(source: &str) -> BTreeSet<&str> {
    let words = || source.split('"').skip(1).step_by(2);
    let is_tag = |word: &&str| {
        (word.starts_with("ORACLE-") || *word == "SILENT-DROP")
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
    };
    let is_name = |word: &&str| {
        word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') && !NO_NAMES.contains(word)
    };
    if !source.contains("Severity::") {
        return BTreeSet::new();
    }
    words().filter(|word| is_tag(word) || is_name(word)).collect()
}

#[test]
fn every_alert_has_an_entry() {
    let runbook = read("infra/runbook.md");
    let paths = ["functions", "shared"].into_iter().flat_map(|folder| sources(&root().join(folder)));
    let is_of_tests =
        |path: &Path| path.strip_prefix(root()).is_ok_and(|path| path.to_string_lossy().contains("tests"));
    let texts: Vec<String> = paths.filter(|path| !is_of_tests(path)).map(|path| shipped(&path)).collect();
    let alerts: BTreeSet<&str> = texts.iter().flat_map(|text| alerts_of(text)).collect();
    for known in ["ORACLE-PROBE", "PAID_SESSIONS", "ORACLE-GATE", "CIRCUIT", "INBOX_READ", "SECOND_LOOK", "SILENT-DROP"]
    {
        assert!(alerts.contains(known), "{known}: {alerts:?}");
    }
    let missing: Vec<_> = alerts.into_iter().filter(|alert| !runbook.contains(&format!("`{alert}`"))).collect();
    assert!(missing.is_empty(), "infra/runbook.md has no entry for {missing:?}");
}

#[test]
fn the_alerts_of_a_source_are_its_tags_and_names() {
    let source = r#"Alert::about("ORACLE-NEW", Severity::Critical, now, "NEW_NAME", "-", "WARN")"#;
    assert_eq!(alerts_of(source), BTreeSet::from(["NEW_NAME", "ORACLE-NEW"]));
    assert!(alerts_of(r#"const UNKNOWN_CODE: &str = "ORACLE-BOOT-PROBE";"#).is_empty());
}

/// No alarm counts NULL, and the smoke test accepts it (Smoke Test, failure mode 7).
#[test]
fn a_person_reads_verdicts_every_month() {
    let runbook = read("infra/runbook.md");
    let chapter = runbook.split_once("\n## Once a month\n").expect("a chapter").1;
    assert!(
        chapter.split("\n## ").next().is_some_and(|text| text.contains("NULL") && text.contains("read the verdicts"))
    );
}

/// A stack with another key takes every paying subscriber for a stranger.
#[test]
fn the_guide_keeps_the_chats_key_for_every_later_stack() {
    let guide = read("infra/README.md");
    for start in ["## 3. ", "**Restore after the loss", "**Move to another region.**", "**Tear down.**"] {
        let section = guide.split_once(&format!("\n{start}")).expect(start).1;
        let section = section.split("\n**").next().unwrap_or_default();
        assert!(section.contains("`chat-key.txt`"), "{start}");
    }
}

/// A small account can reserve no executions: Lambda keeps 100 of its quota unreserved.
#[test]
fn every_hint_to_raise_a_reservation_names_the_quota() {
    let rows = rows(&read("infra/runbook.md"));
    let raised = rows.iter().filter(|(_, (_, text))| text.contains("ReservedConcurrency`"));
    let without: Vec<_> = raised.filter(|(_, (_, text))| !text.contains("or ask AWS for a higher quota")).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// The AWS CLI waits a minute for a function's reply and then invokes it again.
#[test]
fn a_function_that_is_started_by_hand_is_not_waited_for() {
    let runbook = read("infra/runbook.md");
    let started: Vec<&str> = runbook.split("aws lambda invoke ").skip(1).collect();
    assert!(started.iter().all(|rest| rest.starts_with("--invocation-type Event ")) && !started.is_empty());
}

/// Two stacks that watch one mailbox would both answer each mail.
#[test]
fn only_one_of_two_stacks_watches_the_mailbox() {
    let guide = read("infra/README.md");
    for start in ["**Restore after the loss", "**Move to another region.**"] {
        let paragraph = guide.split_once(&format!("\n{start}")).expect(start).1;
        let paragraph = paragraph.split("\n\n").next().unwrap_or_default();
        assert!(paragraph.contains("`InboxWatch=DISABLED`"), "{start}");
    }
}

/// The drill deletes a bucket's policy, of which the file then has the only copy. A second run finds no policy.
#[test]
fn a_repeated_drill_keeps_the_copy_of_the_policy() {
    let runbook = read("infra/runbook.md");
    let block = runbook.split("```").find(|block| block.contains("delete-bucket-policy")).unwrap_or_default();
    let line = |command: &str| block.lines().find(|line| line.contains(command)).unwrap_or_default();
    assert!(line("get-bucket-policy").starts_with("[ -s policy-BUCKET.json ] || "), "{block}");
    assert!(line("delete-bucket-policy").starts_with("[ -s policy-BUCKET.json ] && "), "{block}");
    assert!(line("put-bucket-policy").ends_with("file://policy-BUCKET.json && rm policy-BUCKET.json"), "{block}");
}

/// Each drill of the runbook has a test of the same name, and each such test is in the runbook.
#[test]
fn every_drill_is_played() {
    let runbook = read("infra/runbook.md");
    let drills: Vec<&str> =
        runbook.lines().filter_map(|line| line.strip_prefix("Drill: `")?.strip_suffix("`.")).collect();
    let source = read("tests/stack/drills.rs");
    let played: Vec<&str> =
        source.split("#[tokio::test]\nasync fn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
    assert_eq!(drills, played, "infra/runbook.md, and the tests in tests/stack/drills.rs, in the same order");
    assert!(drills.len() >= 13, "{}", drills.len());
}
