//! What a deployment waits for, and what rolls it back.

use crate::{
    assert_rule, finder,
    model::{Template, is_ours, list, target},
    patch::{change, property, remove, replace, set},
};
use domain::Metric;
use serde_json::json;
use std::collections::BTreeSet;

/// The functions on the path of customers and payments.
const SHIFTED: [&str; 5] = ["Checkout", "Webhook", "Verdict", "Result", "EmailSender"];

/// What their deployment groups watch while `RollBackOnAlarms` is off.
const NEVER_RAISED: &str = "NeverRaisedAlarm";

fn traffic_is_shifted(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let statements = &template.resource("TrafficShiftRole")["Properties"]["Policies"][0]["PolicyDocument"]["Statement"];
    let may: Vec<_> = list(statements).into_iter().flat_map(|it| list(&it["Resource"])).collect();
    for name in SHIFTED {
        let id = format!("{name}Function");
        let properties = &template.resource(&id)["Properties"];
        // Without AllProperties a change of a setting alone makes no new version, and never takes effect.
        if properties["AutoPublishAlias"] != "live" || properties["AutoPublishAliasAllProperties"] != true {
            found.push(format!("{id}: its new version is not published"));
        }
        if properties["VersionDeletionPolicy"] != "Delete" {
            found.push(format!("{id}: a build that was rolled back cannot be deployed again"));
        }
        // Reserved concurrency is no part of a version: a change of it alone must change something that is.
        let reserved = target(&properties["ReservedConcurrentExecutions"]["Fn::If"][1]);
        let description = properties["Description"]["Fn::Sub"].as_str().unwrap_or_default();
        if reserved.is_some_and(|parameter| !description.contains(&format!("${{{parameter}}}"))) {
            found.push(format!("{id}: a change of its reserved concurrency alone cannot be deployed"));
        }
        let preference = &properties["DeploymentPreference"];
        if target(&preference["Type"]) != Some("TrafficShift")
            || target(&preference["Role"]) != Some("TrafficShiftRole")
        {
            found.push(format!("{id}: a new version takes all calls at once"));
        }
        // Otherwise an alarm that a broken version has raised also stops the version that mends it. An empty list would
        // leave the earlier alarms on the deployment group.
        let choice = &preference["Alarms"]["Fn::If"];
        if choice[0] != "RollsBackOnAlarms" || choice[2] != json!([{ "Ref": NEVER_RAISED }]) {
            found.push(format!("{id}: no fix can be deployed while its alarm is raised"));
        }
        let alarms: Vec<&str> = list(&choice[1]).into_iter().filter_map(target).collect();
        if !alarms.contains(&format!("{name}ErrorsAlarm").as_str()) {
            found.push(format!("{id}: no error of the new version rolls it back"));
        }
        for alarm in alarms.into_iter().chain([NEVER_RAISED]) {
            let seen = may.iter().any(|it| **it == json!({ "Fn::GetAtt": [alarm, "Arn"] }));
            if template.resource(alarm)["Type"] != "AWS::CloudWatch::Alarm" || !seen {
                found.push(format!("{id}: CodeDeploy cannot look at {alarm}"));
            }
        }
        if !may.iter().any(|it| it["Fn::Sub"] == format!("${{{id}.Arn}}:live")) {
            found.push(format!("{id}: CodeDeploy may not move its alias"));
        }
    }
    let never = &template.resource(NEVER_RAISED)["Properties"];
    let is_sent = Metric::ALL.into_iter().any(|metric| never["MetricName"] == metric.name());
    if is_sent || !is_ours(&never["Namespace"]) || never["TreatMissingData"] != "notBreaching" {
        found.push(format!("{NEVER_RAISED}: may be raised, and stop a fix"));
    }
    let shift = &template.section("Parameters")["TrafficShift"];
    if shift["Default"] == "AllAtOnce" || !list(&shift["AllowedValues"]).iter().any(|value| **value == "AllAtOnce") {
        found.push("TrafficShift: new versions take over at once by default, or never can".to_owned());
    }
    found
}

#[test]
fn new_versions_take_over_by_and_by_and_go_back_on_errors() {
    let rule = traffic_is_shifted;
    let verdict = |name: &str| property("VerdictFunction", name);
    assert_rule(rule, remove(&verdict("AutoPublishAlias")), "VerdictFunction: its new version is not published");
    assert_rule(rule, remove(&verdict("AutoPublishAliasAllProperties")), "VerdictFunction: its new version is not");
    assert_rule(rule, remove(&verdict("VersionDeletionPolicy")), "VerdictFunction: a build that was rolled back");
    assert_rule(rule, set(&verdict("Description"), json!("Writes")), "VerdictFunction: a change of its reserved");
    assert_rule(rule, remove(&verdict("DeploymentPreference/Role")), "VerdictFunction: a new version takes all");
    let alarms = verdict("DeploymentPreference/Alarms");
    let always = json!([{ "Ref": "VerdictErrorsAlarm" }]);
    assert_rule(rule, set(&alarms, always), "VerdictFunction: no fix can be deployed while");
    let none = json!([{ "Ref": "AWS::NoValue" }]);
    assert_rule(rule, set(&format!("{alarms}/Fn::If/2"), none), "VerdictFunction: no fix can be deployed while");
    assert_rule(rule, change(NEVER_RAISED, "MetricName", Metric::Held.name()), "NeverRaisedAlarm: may be raised");
    assert_rule(rule, change(NEVER_RAISED, "Namespace", "AWS/Lambda"), "NeverRaisedAlarm: may be raised");
    assert_rule(rule, change(NEVER_RAISED, "TreatMissingData", "breaching"), "NeverRaisedAlarm: may be raised");
    let seen = json!({ "Fn::GetAtt": [NEVER_RAISED, "Arn"] });
    assert_rule(rule, replace("/Resources/TrafficShiftRole", seen, json!("")), "cannot look at NeverRaisedAlarm");
    let chosen = format!("{alarms}/Fn::If/1");
    let other = json!([{ "Ref": "WebhookErrorsAlarm" }]);
    assert_rule(rule, set(&chosen, other), "VerdictFunction: no error of the new");
    let held = json!([{ "Ref": "VerdictErrorsAlarm" }, { "Ref": "HeldAlarm" }]);
    assert_rule(rule, set(&chosen, held), "cannot look at HeldAlarm");
    let role = "/Resources/TrafficShiftRole/Properties/Policies/0/PolicyDocument/Statement/0/Resource/1";
    assert_rule(rule, set(role, json!("")), "CheckoutFunction: CodeDeploy may not move");
    assert_rule(rule, set("/Parameters/TrafficShift/Default", json!("AllAtOnce")), "at once by default");
}

/// The functions that the smoke test calls: the gate must be updated after all of them, or it tests the previous
/// versions. For a function that shifts its traffic, the resource is its alias, with the name that SAM generates.
const TRIED: [&str; 6] = [
    "CheckoutFunctionAliaslive",
    "WebhookFunctionAliaslive",
    "VerdictFunctionAliaslive",
    "ResultFunctionAliaslive",
    "EmailSenderFunctionAliaslive",
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
    let verdict = template.resource("GateVerdictAlias");
    let update = &verdict["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"];
    if target(&update["BeforeAllowTrafficHook"]) != Some("AnvilFunction") {
        found.push("GateVerdictAlias: a deployment ends without a verdict".to_owned());
    }
    if verdict["DependsOn"] != "GateAlias" {
        found.push("GateVerdictAlias: judges before the smoke test has run".to_owned());
    }
    if target(&verdict["Properties"]["FunctionVersion"]) != Some("GateVerdictVersion") {
        found.push("GateVerdictAlias: does not move to the version of this release".to_owned());
    }
    if target(&gate["Properties"]["FunctionVersion"]) != Some("GateVersion") {
        found.push("GateAlias: does not move to the version of this release".to_owned());
    }
    // Other code under the name of an earlier release is tried and judged too: the gate's versions change with those of
    // the functions, and so do the functions behind the gate, because Lambda publishes no version without a change.
    let tried = template.resource("GateVersion")["Properties"]["Description"].to_string();
    let trying = template.resource("SmokeTestFunction")["Properties"]["Description"].to_string();
    let environment = &template.resource("AnvilFunction")["Properties"]["Environment"]["Variables"];
    let judging = environment["TRAFFIC_VERSIONS"].to_string();
    for name in SHIFTED {
        let version = json!({ "Fn::GetAtt": [format!("{name}Function"), "Version.Version"] }).to_string();
        if [&tried, &trying, &judging].iter().any(|of| !of.contains(&version)) {
            found.push(format!("{name}Function: its new version alone is not tried"));
        }
    }
    let outputs = template.section("Outputs");
    let is_told = outputs["TrafficVersions"]["Value"] == environment["TRAFFIC_VERSIONS"]
        && outputs["Release"]["Value"] == environment["RELEASE_NAME"]
        && target(&outputs["DeployGate"]["Value"]) == Some("DeployGate");
    if !is_told {
        found.push("Outputs: nobody sees that what is deployed was not judged".to_owned());
    }
    let judged = template.resource("GateVerdictVersion")["Properties"]["Description"].to_string();
    if !judged.contains("${GateVersion.Version}") {
        found.push("GateVerdictVersion: what is tried is not judged".to_owned());
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
    let finds = finder(deployments_are_gated);
    finds(
        set("/Resources/SmokeTestFunction/DependsOn", json!(["VerdictFunction"])),
        "EmailRetryFunction: may be updated after the gate",
    );
    finds(
        remove("/Resources/GateAlias/UpdatePolicy/CodeDeployLambdaAliasUpdate/BeforeAllowTrafficHook"),
        "no deployment asks",
    );
    finds(
        change("GateDeploymentGroup", "AutoRollbackConfiguration/Events", json!(["DEPLOYMENT_STOP_ON_REQUEST"])),
        "that failed stays",
    );
    finds(change("GateAlias", "FunctionVersion", "$LATEST"), "GateAlias: does not move");
    let hook = "/Resources/GateVerdictAlias/UpdatePolicy/CodeDeployLambdaAliasUpdate/BeforeAllowTrafficHook";
    finds(remove(hook), "ends without a verdict");
    finds(remove("/Resources/GateVerdictAlias/DependsOn"), "judges before the smoke test");
    let version = property("GateVerdictAlias", "FunctionVersion");
    finds(set(&version, json!("$LATEST")), "GateVerdictAlias: does not move");
    let release = || json!({ "Ref": "Release" });
    for place in [
        property("GateVersion", "Description"),
        property("SmokeTestFunction", "Description"),
        property("AnvilFunction", "Environment/Variables/TRAFFIC_VERSIONS"),
    ] {
        finds(set(&place, release()), "ResultFunction: its new version alone is not tried");
    }
    finds(change("GateVerdictVersion", "Description", release()), "what is tried is not judged");
    for output in ["TrafficVersions", "Release", "DeployGate"] {
        finds(remove(&format!("/Outputs/{output}")), "nobody sees that what is deployed was not judged");
    }
}

/// The policies that are not part of their role (they name the deployment group, which names the roles), with their
/// roles. The policy of the copies in a second region has its own rule.
const ANSWERS: [(&str, &str); 2] = [("GateAnswerPolicy", "SmokeTestRole"), ("GateVerdictAnswerPolicy", "AnvilRole")];

const COPIES: &str = "CopyRolePolicy";

/// The policies that exist only where SES sends the mails, each with its role.
const SENDERS: [(&str, &str); 3] = [
    ("ChatMailServicePolicy", "ChatRole"),
    ("EmailRetryMailServicePolicy", "EmailRetryRole"),
    ("EmailSenderMailServicePolicy", "EmailSenderRole"),
];

/// Mails go out from one address of one identity, and a sender removes drafts only.
fn sending_is_narrow(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, role) in SENDERS {
        let policy = template.resource(id);
        let properties = &policy["Properties"];
        if policy["Condition"] != "MailsBySes" || target(&properties["RoleName"]) != Some(role) {
            found.push(format!("{id}: is not the policy of {role} where SES sends the mails"));
        }
        let identity = "arn:${AWS::Partition}:ses:${AWS::Region}:${AWS::AccountId}:identity/${SesIdentity}";
        let expected = json!([
            {
                "Effect": "Allow", "Action": ["ses:SendEmail"], "Resource": { "Fn::Sub": identity },
                "Condition": { "StringEquals": { "ses:FromAddress": { "Ref": "GraphSender" } } },
            },
            {
                "Effect": "Allow", "Action": ["dynamodb:DeleteItem"], "Resource": { "Fn::GetAtt": ["Table", "Arn"] },
                "Condition": { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["MAIL#*"] } },
            },
        ]);
        if properties["PolicyDocument"]["Statement"] != expected {
            found.push(format!("{id}: allows something else than to send mails"));
        }
    }
    found
}

#[test]
fn mails_go_out_through_ses_from_one_address() {
    let rule = sending_is_narrow;
    let statement = property("ChatMailServicePolicy", "PolicyDocument/Statement/0");
    assert_rule(rule, set(&format!("{statement}/Resource"), json!("*")), "something else");
    assert_rule(rule, set(&format!("{statement}/Condition"), json!(null)), "something else");
    assert_rule(rule, set("/Resources/ChatMailServicePolicy/Condition", json!("HasCopy")), "is not the policy");
}

/// Each policy allows one action on one deployment group.
fn the_answer_is_narrow(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, policy) in template.of_type("AWS::IAM::RolePolicy").into_iter().filter(|(id, _)| *id != COPIES) {
        let properties = &policy["Properties"];
        if SENDERS.iter().any(|(policy, _)| id == *policy) {
            continue;
        }
        if !ANSWERS.iter().any(|(policy, role)| id == *policy && target(&properties["RoleName"]) == Some(role)) {
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
    let finds = finder(the_answer_is_narrow);
    let statement = property("GateAnswerPolicy", "PolicyDocument/Statement/0");
    finds(set(&format!("{statement}/Action"), json!(["codedeploy:*"])), "actions");
    finds(
        set(&format!("{statement}/Resource"), json!({ "Fn::Sub": "arn:aws:codedeploy:x:1:deploymentgroup:*" })),
        "resource",
    );
    finds(change("GateAnswerPolicy", "RoleName", json!({ "Ref": "WebhookRole" })), "belong into their role");
}
