//! The runbook has an entry for every alarm, with the command that the alarm's description names, one for every drill, and
//! one for every alert about a member of the Bridge, an account or a subscriber.

use crate::{
    assert_rule,
    model::{Template, root},
    patch::{property, set},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
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
    assert_rule(rule, set(&property("HeldAlarm", "AlarmDescription"), json!("held")), "HeldAlarm: its description");
    let renamed = crate::patch::rename("/Resources/HeldAlarm", "KeptAlarm");
    assert_rule(rule, renamed, "infra/runbook.md has no entry for KeptAlarm");
}

/// Every command of the entries exists in the operator's command line.
#[test]
fn every_command_of_the_runbook_exists() {
    let main = read("infra/oracle/src/main.rs");
    let runbook = read("infra/runbook.md");
    let commands: Vec<&str> = runbook
        .split("`oracle ")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_lowercase()).next())
        .filter(|word| !word.is_empty())
        .collect();
    assert!(commands.len() > 30, "{}", commands.len());
    for command in commands {
        let variant: String =
            command.chars().take(1).flat_map(char::to_uppercase).chain(command.chars().skip(1)).collect();
        assert!(main.contains(&format!("    {variant}(")), "oracle {command}");
    }
}

/// The tags of alerts that the runbook explains by name.
const EXPLAINED: [&str; 3] = ["ORACLE-BRIDGE", "ORACLE-CHAT", "ORACLE-SUBSCRIPTION"];

/// The sources in a folder and the folders in it.
fn sources(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).expect("a folder of the repository").map(|entry| entry.expect("readable").path());
    let of = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => sources(&path),
        Some(kind) if kind == "rs" => vec![fs::read_to_string(&path).expect("a source is text")],
        _ => Vec::new(),
    };
    entries.flat_map(of).collect()
}

/// An alert's name is a literal in capitals in the file that has its tag.
#[test]
fn every_alert_about_a_member_or_subscriber_has_an_entry() {
    let runbook = read("infra/runbook.md");
    let raising = ["functions", "shared"].into_iter().flat_map(|folder| sources(&root().join(folder)));
    let raising = raising.filter(|source| EXPLAINED.iter().any(|tag| source.contains(&format!("\"{tag}\""))));
    let is_name = |word: &&str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let names: BTreeSet<String> =
        raising.flat_map(|source| source.split('"').filter(is_name).map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(names.len() >= 10 && names.contains("BRIDGE_LETTER"), "{names:?}");
    for name in names {
        assert!(runbook.contains(&format!("\n| `{name}` | ")), "infra/runbook.md has no entry for {name}");
    }
}

/// Each drill of the runbook has a test of the same name, and each such test is in the runbook.
#[test]
fn every_drill_is_played() {
    let runbook = read("infra/runbook.md");
    let told: Vec<&str> =
        runbook.lines().filter_map(|line| line.strip_prefix("Drill: `")?.strip_suffix("`.")).collect();
    let source = read("tests/stack/drills.rs");
    let played: Vec<&str> =
        source.split("#[tokio::test]\nasync fn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
    assert_eq!(told, played, "infra/runbook.md, and the tests in tests/stack/drills.rs, in the same order");
    assert!(told.len() >= 13, "{}", told.len());
}
