//! What runs by itself, and what a deployment waits for: at the times that the specs name, in an order that means
//! something, and with time-outs that fit the rights of one run.

use crate::{
    assert_rule,
    model::{Template, list, number, target},
    patch::{property, remove, set},
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Every schedule there is, as the specs and the decisions name it.
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
        let events = function["Properties"]["Events"].as_object().into_iter().flatten();
        for (_, event) in events.filter(|(_, event)| event["Type"] == "Schedule") {
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
    let rule = schedules_are_the_specs;
    assert_rule(
        rule,
        set(&property("SmokeTestFunction", "Events/Daily/Properties/Schedule"), json!("cron(0 7 ? * MON *)")),
        "SmokeTestFunction: runs at cron(0 7 ? * MON *)",
    );
    assert_rule(
        rule,
        set(&property("InboxWatchFunction", "Events/Look/Properties/Schedule"), json!("rate(20 minutes)")),
        "InboxWatchFunction: runs at",
    );
    assert_rule(
        rule,
        set(&property("CacheHealthFunction", "Events/Look/Properties/Schedule"), json!("rate(1 hour)")),
        "CacheHealthFunction: runs at",
    );
    assert_rule(
        rule,
        set(&property("DeadlinesFunction", "Events/EveryFiveMinutes/Type"), json!("SQS")),
        "does not run at",
    );
}

/// The inbox's and the smoke test's time-outs, in seconds. The right of one run of the inbox's (110 s, in its code) ends
/// after its time-out, 10 s before the next run; a deployment is answered after 80 s at the latest, which is later than
/// a run's minute and earlier than the function's time-out.
const INBOX_LEASE: u64 = 110;
const INBOX_LAST_MESSAGE: u64 = 50 + 40;
const ANSWERED_AFTER: u64 = 80;

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
    let smoke = timeout("SmokeTestFunction");
    if smoke < ANSWERED_AFTER + 30 {
        found.push(format!("SmokeTestFunction: ends after {smoke} s, before a deployment is answered"));
    }
    found
}

/// The numbers above are those of the code: whoever changes one of them finds this.
#[test]
fn the_times_of_the_code_are_those_of_this_file() {
    let read = |path: &str| std::fs::read_to_string(crate::model::root().join(path)).expect("a source file");
    let inbox = read("functions/inbox-watch/src/function.rs");
    for line in [
        format!("const LEASE: Duration = Duration::from_secs({INBOX_LEASE});"),
        "const BUDGET: Duration = Duration::from_secs(50);".to_owned(),
        "const LIMIT: Duration = Duration::from_secs(40);".to_owned(),
    ] {
        assert!(inbox.contains(&line), "{line}");
    }
    let line = format!("const ANSWER_WITHIN: Duration = Duration::from_secs({ANSWERED_AFTER});");
    assert!(read("functions/smoke-test/src/hook.rs").contains(&line), "{line}");
}

#[test]
fn a_run_ends_before_its_right_to_work_and_after_its_answer() {
    assert_rule(times_fit, set(&property("InboxWatchFunction", "Timeout"), json!(115)), "with a right to 110 s");
    assert_rule(times_fit, set(&property("InboxWatchFunction", "Timeout"), json!(90)), "within its last message");
    assert_rule(
        times_fit,
        set(&property("SmokeTestFunction", "Timeout"), json!(60)),
        "before a deployment is answered",
    );
}

/// The pipeline that the smoke test takes: the gate must be the last to be updated, or it tries what was there before.
const TRIED: [&str; 6] = [
    "CheckoutFunction",
    "WebhookFunction",
    "VerdictFunction",
    "ResultFunction",
    "EmailSenderFunction",
    "EmailRetryFunction",
];

fn deployments_are_gated(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let depends = &template.resource("SmokeTestFunction")["DependsOn"];
    let depends: BTreeSet<&str> = list(depends).into_iter().filter_map(|id| id.as_str()).collect();
    found.extend(
        TRIED.into_iter().filter(|id| !depends.contains(id)).map(|id| format!("{id}: may be updated after the gate")),
    );
    let gate = template.resource("GateAlias");
    let update = &gate["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"];
    if target(&update["BeforeAllowTrafficHook"]) != Some("SmokeTestFunction") {
        found.push("GateAlias: no deployment asks the smoke test".to_owned());
    }
    if target(&gate["Properties"]["FunctionVersion"]) != Some("GateVersion") {
        found.push("GateAlias: does not move to the version of this release".to_owned());
    }
    let group = &template.resource("GateDeploymentGroup")["Properties"]["AutoRollbackConfiguration"];
    let rolls_back = list(&group["Events"]).iter().any(|event| **event == "DEPLOYMENT_FAILURE");
    if group["Enabled"] != true || !rolls_back {
        found.push("GateDeploymentGroup: a deployment that failed stays".to_owned());
    }
    for (id, resource) in template.resources().filter(|(id, _)| id.starts_with("Gate")) {
        if resource["Condition"] != "GatesDeployments" {
            found.push(format!("{id}: is there without a gate"));
        }
    }
    found
}

#[test]
fn a_deployment_waits_for_the_smoke_test_and_the_smoke_test_for_the_pipeline() {
    let rule = deployments_are_gated;
    assert_rule(
        rule,
        set("/Resources/SmokeTestFunction/DependsOn", json!(["VerdictFunction"])),
        "EmailRetryFunction: may be updated after the gate",
    );
    assert_rule(
        rule,
        remove("/Resources/GateAlias/UpdatePolicy/CodeDeployLambdaAliasUpdate/BeforeAllowTrafficHook"),
        "no deployment asks",
    );
    assert_rule(
        rule,
        set(
            &property("GateDeploymentGroup", "AutoRollbackConfiguration/Events"),
            json!(["DEPLOYMENT_STOP_ON_REQUEST"]),
        ),
        "that failed stays",
    );
    assert_rule(rule, set(&property("GateAlias", "FunctionVersion"), json!("$LATEST")), "does not move");
}

/// The one policy outside a role (it names the deployment group, which names the role): one action, on one group.
fn the_answer_is_narrow(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, policy) in template.of_type("AWS::IAM::RolePolicy") {
        let properties = &policy["Properties"];
        if id != "GateAnswerPolicy" || target(&properties["RoleName"]) != Some("SmokeTestRole") {
            found.push(format!("{id}: policies belong into their role"));
            continue;
        }
        for statement in list(&properties["PolicyDocument"]["Statement"]) {
            let actions: Vec<_> = list(&statement["Action"]).into_iter().filter_map(|action| action.as_str()).collect();
            if actions != ["codedeploy:PutLifecycleEventHookExecutionStatus"] {
                found.push(format!("{id}: actions {actions:?}"));
            }
            for resource in list(&statement["Resource"]) {
                let name = resource["Fn::Sub"].as_str().unwrap_or_default();
                if !name.ends_with(":deploymentgroup:${GateApplication}/${GateDeploymentGroup}") || name.contains('*') {
                    found.push(format!("{id}: resource {resource}"));
                }
            }
        }
    }
    found
}

#[test]
fn the_gates_answer_is_all_that_a_policy_outside_a_role_allows() {
    let rule = the_answer_is_narrow;
    let statement = property("GateAnswerPolicy", "PolicyDocument/Statement/0");
    assert_rule(rule, set(&format!("{statement}/Action"), json!(["codedeploy:*"])), "actions");
    assert_rule(
        rule,
        set(&format!("{statement}/Resource"), json!({ "Fn::Sub": "arn:aws:codedeploy:x:1:deploymentgroup:*" })),
        "resource",
    );
    assert_rule(
        rule,
        set(&property("GateAnswerPolicy", "RoleName"), json!({ "Ref": "WebhookRole" })),
        "belong into their role",
    );
}
