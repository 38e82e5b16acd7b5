//! Scheduled functions: they run at the times that the specs name, and their timeouts fit the lease of one run.

use crate::{
    assert_rule, finder,
    model::{Template, events, number},
    patch::change,
};
use std::collections::BTreeMap;

/// All schedules, as the specs and the decisions name them.
const SCHEDULES: [(&str, &str); 7] = [
    ("AuditDigestFunction", "rate(1 hour)"),
    ("BootProbeFunction", "rate(5 minutes)"),
    ("CacheHealthFunction", "rate(1 minute)"),
    ("DeadlinesFunction", "rate(5 minutes)"),
    ("InboxWatchFunction", "rate(2 minutes)"),
    ("ReconcileFunction", "cron(15 9 * * ? *)"),
    ("SmokeTestFunction", "cron(0 7 * * ? *)"),
];

fn schedules_are_the_specs(template: &Template) -> Vec<String> {
    let mut expected: BTreeMap<&str, &str> = SCHEDULES.into_iter().collect();
    let mut found = Vec::new();
    for (id, function) in template.functions() {
        for event in events(function).filter(|event| event["Type"] == "Schedule") {
            let actual = event["Properties"]["Schedule"].as_str().unwrap_or_default();
            match expected.remove(id) {
                Some(schedule) if schedule == actual => {}
                Some(schedule) => found.push(format!("{id}: runs at {actual}, not at {schedule}")),
                None => found.push(format!("{id}: {actual} is on no list of schedules, or is its second one")),
            }
        }
    }
    found.extend(expected.into_iter().map(|(id, schedule)| format!("{id}: does not run at {schedule}")));
    found
}

#[test]
fn what_runs_by_itself_runs_when_the_specs_say() {
    let finds = finder(schedules_are_the_specs);
    finds(
        change("SmokeTestFunction", "Events/Daily/Properties/Schedule", "cron(0 7 ? * MON *)"),
        "SmokeTestFunction: runs at cron(0 7 ? * MON *)",
    );
    finds(
        change("InboxWatchFunction", "Events/Look/Properties/Schedule", "rate(20 minutes)"),
        "InboxWatchFunction: runs at",
    );
    finds(
        change("CacheHealthFunction", "Events/Look/Properties/Schedule", "rate(1 hour)"),
        "CacheHealthFunction: runs at",
    );
    finds(change("DeadlinesFunction", "Events/EveryFiveMinutes/Type", "SQS"), "does not run at");
}

/// The timeouts of inbox-watch and of the smoke test, in seconds. The lease of one run of inbox-watch (110 s, in its
/// code) ends after its timeout and 10 s before the next run. A deployment is answered after 80 s at the latest, which
/// is later than a run's minute and earlier than the function's timeout.
const INBOX_LEASE: u64 = 110;
const INBOX_LAST_MESSAGE: u64 = 50 + 40;
const ANSWERED_AFTER: u64 = 80;

/// The times of a run of the deadlines function, in seconds: sales, settlements, memories, unpublished records, letters
/// and sign-in mails; and the last call of each of the six, which begins just before its time ends.
const DUE_SALES: u64 = 60;
const DUE_SETTLEMENTS: u64 = 60;
const DUE_MEMORIES: u64 = 20;
const DUE_UNPUBLISHED: u64 = 20;
const DUE_LETTERS: u64 = 20;
const DUE_SIGN_IN_MAILS: u64 = 20;
const LAST_CALLS: u64 = 6 * 10;

fn times_fit(template: &Template) -> Vec<String> {
    let timeout = |id: &str| number(&template.resource(id)["Properties"]["Timeout"]).unwrap_or(0);
    let mut found = Vec::new();
    let inbox = timeout("InboxWatchFunction");
    if inbox >= INBOX_LEASE {
        found.push(format!("InboxWatchFunction: works for {inbox} s with a right to {INBOX_LEASE} s"));
    }
    if inbox <= INBOX_LAST_MESSAGE {
        found.push(format!("InboxWatchFunction: ends after {inbox} s, within its last message"));
    }
    let deadlines = timeout("DeadlinesFunction");
    let shares = [DUE_SALES, DUE_SETTLEMENTS, DUE_MEMORIES, DUE_UNPUBLISHED, DUE_LETTERS, DUE_SIGN_IN_MAILS];
    let run = shares.iter().sum::<u64>() + LAST_CALLS;
    if deadlines < run {
        found.push(format!("DeadlinesFunction: ends after {deadlines} s, and a run may take {run} s"));
    }
    let smoke = timeout("SmokeTestFunction");
    if smoke < ANSWERED_AFTER + 30 {
        found.push(format!("SmokeTestFunction: ends after {smoke} s, before a deployment is answered"));
    }
    found
}

/// Compares the numbers above with the code: a change of either fails here.
#[test]
fn the_times_of_the_code_are_those_of_this_file() {
    let read = |path: &str| std::fs::read_to_string(crate::model::root().join(path)).expect("a source file");
    let inbox = read("functions/inbox-watch/src/handle.rs");
    for line in [
        format!("const LEASE: Duration = Duration::from_secs({INBOX_LEASE});"),
        "const BUDGET: Duration = Duration::from_secs(50);".to_owned(),
        "const LIMIT: Duration = Duration::from_secs(40);".to_owned(),
    ] {
        assert!(inbox.contains(&line), "{line}");
    }
    for (path, name, seconds) in [
        ("functions/deadlines/src/settings.rs", "BUDGET", DUE_SALES),
        ("shared/pipeline/settlement/src/schedule.rs", "SHARE", DUE_SETTLEMENTS),
        ("shared/pipeline/forgetting/src/schedule.rs", "SHARE", DUE_MEMORIES),
        ("functions/deadlines/src/unpublished.rs", "SHARE", DUE_UNPUBLISHED),
        ("shared/pipeline/bridge/src/letters.rs", "SHARE", DUE_LETTERS),
        ("functions/deadlines/src/sign_in_mails.rs", "SHARE", DUE_SIGN_IN_MAILS),
    ] {
        let line = format!("const {name}: Duration = Duration::from_secs({seconds});");
        assert!(read(path).contains(&line), "{path}: {line}");
    }
    let line = format!("const ANSWER_WITHIN: Duration = Duration::from_secs({ANSWERED_AFTER});");
    assert!(read("functions/smoke-test/src/hook.rs").contains(&line), "{line}");
}

#[test]
fn a_run_ends_before_its_right_to_work_and_after_its_answer() {
    assert_rule(times_fit, change("InboxWatchFunction", "Timeout", 115), "with a right to 110 s");
    assert_rule(times_fit, change("InboxWatchFunction", "Timeout", 90), "within its last message");
    assert_rule(times_fit, change("DeadlinesFunction", "Timeout", 180), "a run may take 260 s");
    assert_rule(times_fit, change("SmokeTestFunction", "Timeout", 60), "before a deployment is answered");
}
