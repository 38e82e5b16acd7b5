//! Least privilege: every function has its own role, with exact actions on exact resources, and exactly those resources
//! that its environment and its event source name.

use crate::{
    assert_rule, finder,
    model::{Resource, Template, list, pairs, statements, target},
    patch::{change, omit, push, replace},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The only role for which AWS requires a managed policy: an account-wide setting.
const MANAGED_BY_AWS: &str = "ApiGatewayLogRole";

/// Read actions that CloudWatch allows only on all resources.
const WITHOUT_RESOURCES: [&str; 2] = ["cloudwatch:DescribeAlarms", "cloudwatch:GetMetricStatistics"];

/// The stack itself, with any id, as CloudFormation checks a call that names it.
const THIS_STACK: &str =
    "arn:${AWS::Partition}:cloudformation:${AWS::Region}:${AWS::AccountId}:stack/${AWS::StackName}/*";

/// Whether a resource is everything in one bucket of this template or in one folder of it. No other wildcard is
/// allowed; this one is, because objects have no names until they are written.
fn is_inside_our_bucket(template: &Template, resource: &Value) -> bool {
    let Some(id) = target(resource) else { return false };
    let inside = resource["Fn::Sub"].as_str().and_then(|name| name.strip_prefix(&format!("${{{id}.Arn}}/")));
    let folder = inside.and_then(|name| name.strip_suffix('*'));
    let is_folder = folder.is_some_and(|name| !name.contains('*') && (name.is_empty() || name.ends_with('/')));
    template.resource(id)["Type"] == "AWS::S3::Bucket" && is_folder
}

fn no_wildcards(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        if !role["Properties"]["ManagedPolicyArns"].is_null() && id != MANAGED_BY_AWS {
            found.push(format!("{id}: a managed policy is wider than any of our functions needs"));
        }
        for statement in statements(role) {
            for field in ["NotAction", "NotResource"] {
                if !statement[field].is_null() {
                    found.push(format!("{id}: {field}"));
                }
            }
            for action in list(&statement["Action"]) {
                if action.as_str().is_none_or(|action| action.contains('*')) {
                    found.push(format!("{id}: action {action}"));
                }
            }
            let nameless = |action: &&Value| WITHOUT_RESOURCES.iter().any(|read| **action == **read);
            let is_nameless = list(&statement["Action"]).iter().all(nameless);
            for resource in list(&statement["Resource"]) {
                if is_nameless && resource == "*" || resource["Fn::Sub"] == THIS_STACK {
                    continue;
                }
                let ours = target(resource).is_some_and(|target| !template.resource(target).is_null());
                let starred = resource.to_string().contains('*');
                if !ours || starred && !is_inside_our_bucket(template, resource) {
                    found.push(format!("{id}: resource {resource}"));
                }
            }
        }
    }
    for kind in ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::User"] {
        found.extend(template.of_type(kind).into_iter().map(|(id, _)| format!("{id}: {kind}")));
    }
    found
}

#[test]
fn no_role_has_a_wildcard() {
    let rule = no_wildcards;
    assert_rule(rule, replace("/Resources/ResultRole", json!("sns:Publish"), json!("sns:*")), "action \"sns:*\"");
    let table = json!({ "Fn::GetAtt": ["Table", "Arn"] });
    assert_rule(rule, replace("/Resources/ResultRole", table.clone(), json!("*")), "resource \"*\"");
    assert_rule(rule, replace("/Resources/ResultRole", table, json!({ "Fn::Sub": "${Table.Arn}*" })), "${Table.Arn}*");
    let more = replace("/Resources/AnvilRole", json!("cloudwatch:DescribeAlarms"), json!("sns:Publish"));
    assert_rule(rule, more, "AnvilRole: resource \"*\"");
    let letters = |end: &str| json!({ "Fn::Sub": format!("${{ArchiveBucket.Arn}}/dead{end}") });
    assert_rule(rule, replace("/Resources/EmailSenderRole", letters("-letters/*"), letters("*")), "dead*");
}

fn own_roles(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let mut taken = BTreeSet::new();
    for (id, function) in template.functions() {
        let properties = &function["Properties"];
        let role = target(&properties["Role"]).unwrap_or_default();
        if !taken.insert(role) {
            found.push(format!("{id}: shares the role {role:?}"));
        }
        let trust = &template.resource(role)["Properties"]["AssumeRolePolicyDocument"]["Statement"];
        if list(trust).len() != 1 || trust[0]["Principal"]["Service"] != "lambda.amazonaws.com" {
            found.push(format!("{id}: its role is not Lambda's alone"));
        }
        if !properties["Policies"].is_null() {
            found.push(format!("{id}: policies belong into its role"));
        }
    }
    found
}

#[test]
fn every_function_has_a_role_of_its_own() {
    let finds = finder(own_roles);
    finds(change("WebhookFunction", "Role", json!({ "Fn::GetAtt": ["CheckoutRole", "Arn"] })), "shares the role");
}

/// The resources in a function's settings.
fn handed<'a>(template: &'a Template, function: &'a Value) -> BTreeSet<&'a str> {
    let properties = &function["Properties"];
    let variables = properties["Environment"]["Variables"].as_object().into_iter().flatten().map(|(_, value)| value);
    let sources = list(&properties["Events"])
        .into_iter()
        .flat_map(pairs)
        .filter(|(key, _)| *key == "Queue")
        .map(|(_, value)| value);
    variables
        .chain(sources)
        .chain([&properties["LoggingConfig"]["LogGroup"]])
        .filter_map(target)
        .filter(|id| !template.resource(id).is_null())
        .collect()
}

fn granted_is_handed((id, function): Resource<'_>, template: &Template) -> Vec<String> {
    let role = template.resource(target(&function["Properties"]["Role"]).unwrap_or_default());
    let resources = statements(role).into_iter().flat_map(|statement| list(&statement["Resource"]));
    let granted: BTreeSet<&str> =
        resources.filter(|resource| resource["Fn::Sub"] != THIS_STACK).filter_map(target).collect();
    let handed = handed(template, function);
    let missing = handed.difference(&granted).map(|resource| format!("{id} is given {resource} and may not touch it"));
    let excess = granted.difference(&handed).map(|resource| format!("{id} may touch {resource} and is not given it"));
    missing.chain(excess).collect()
}

fn grants_match_settings(template: &Template) -> Vec<String> {
    template.functions().into_iter().flat_map(|function| granted_is_handed(function, template)).collect()
}

#[test]
fn a_role_grants_exactly_what_the_function_is_given() {
    let finds = finder(grants_match_settings);
    finds(omit("VerdictFunction", "Environment/Variables/TABLE_NAME"), "may touch Table and is not given it");
    finds(omit("ResultFunction", "Environment/Variables/NOTICES_QUEUE_URL"), "may touch NoticesQueue");
    let secret = |name: &str| json!({ "Fn::GetAtt": [name, "Id"] });
    finds(
        replace("/Resources/InboxWatchRole", secret("GraphSecret"), secret("AuditSecret")),
        "given GraphSecret and may not",
    );
}

fn audit_is_append_only(template: &Template) -> Vec<String> {
    template
        .of_type("AWS::IAM::Role")
        .into_iter()
        .flat_map(|(id, role)| statements(role).into_iter().map(move |statement| (id, statement)))
        .filter(|(_, statement)| {
            list(&statement["Resource"]).into_iter().filter_map(target).any(|target| target == "AuditBucket")
        })
        .flat_map(|(id, statement)| list(&statement["Action"]).into_iter().map(move |action| (id, action)))
        .filter(|(_, action)| {
            let reading = ["s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:ListBucketVersions"];
            ![&["s3:PutObject"][..], &reading[..]].concat().iter().any(|allowed| action == allowed)
        })
        .map(|(id, action)| format!("{id}: {action} on the audit log"))
        .collect()
}

#[test]
fn no_function_may_change_or_erase_the_audit_log() {
    let finds = finder(audit_is_append_only);
    let read = json!("s3:GetObject");
    finds(replace("/Resources/DeadlinesRole", read.clone(), json!("s3:DeleteObject")), "s3:DeleteObject");
    finds(
        replace("/Resources/DeadlinesRole", read, json!("s3:BypassGovernanceRetention")),
        "s3:BypassGovernanceRetention",
    );
}

/// The Stripe key of each function. A function that only reads gets the read-only key.
const STRIPE_KEYS: [(&str, &str); 3] = [
    ("CheckoutFunction", "StripeCheckoutSecret"),
    ("ChatFunction", "StripeCheckoutSecret"),
    ("DeadlinesFunction", "StripeRefundSecret"),
];

/// The function that checks whether every secret is set, and calls Stripe with the read-only key.
const PROBES_SECRETS: &str = "BootProbeFunction";

fn stripe_keys_are_apart(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, function) in template.functions().into_iter().filter(|(id, _)| *id != PROBES_SECRETS) {
        let own =
            STRIPE_KEYS.iter().find(|(function, _)| *function == id).map_or("StripeSecret", |(_, secret)| *secret);
        let keys = ["StripeSecret", "StripeCheckoutSecret", "StripeRefundSecret"];
        let given = handed(template, function);
        found.extend(
            keys.into_iter().filter(|key| given.contains(key) && *key != own).map(|key| format!("{id}: has {key}")),
        );
    }
    found
}

#[test]
fn each_function_has_the_key_of_stripe_for_its_work() {
    let key = |function: &str, secret: &str| {
        change(function, "Environment/Variables/STRIPE_SECRET_ID", json!({ "Fn::GetAtt": [secret, "Id"] }))
    };
    let rule = stripe_keys_are_apart;
    assert_rule(rule, key("ResultFunction", "StripeRefundSecret"), "ResultFunction: has StripeRefundSecret");
    assert_rule(rule, key("CheckoutFunction", "StripeSecret"), "CheckoutFunction: has StripeSecret");
}

/// Functions that store the refresh token which the login service hands them. Those that use the mailbox rarely do not.
const STORES_TOKENS: [&str; 5] =
    ["EmailSenderRole", "EmailRetryRole", "InboxWatchRole", "BootProbeRole", "SmokeTestRole"];

/// No function writes a secret but the refresh token's: the application beside it is what operators set.
fn only_the_token_is_written(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        let writes = |statement: &&Value| {
            let is_reading = |action: &Value| action == "secretsmanager:GetSecretValue";
            let actions = list(&statement["Action"]);
            actions.into_iter().any(|it| it.to_string().contains("secretsmanager:") && !is_reading(it))
        };
        for statement in statements(role).into_iter().filter(writes) {
            let targets: Vec<&str> = list(&statement["Resource"]).into_iter().filter_map(target).collect();
            if targets != ["GraphTokenSecret"] || !STORES_TOKENS.contains(&id) {
                found.push(format!("{id}: writes {}", targets.join(", ")));
            }
        }
    }
    found
}

#[test]
fn functions_write_no_secret_but_the_refresh_token() {
    let rule = only_the_token_is_written;
    let secret = |name: &str| json!({ "Fn::GetAtt": [name, "Id"] });
    for (role, from, to) in
        [("EmailSenderRole", "GraphTokenSecret", "GraphSecret"), ("InboxWatchRole", "GraphTokenSecret", "AuditSecret")]
    {
        let wrong = replace(&format!("/Resources/{role}"), secret(from), secret(to));
        assert_rule(rule, wrong, &format!("{role}: writes {to}"));
    }
    let chat = push(
        "/Resources/ChatRole/Properties/Policies/0/PolicyDocument/Statement",
        json!({ "Effect": "Allow", "Action": ["secretsmanager:PutSecretValue"], "Resource": secret("GraphTokenSecret") }),
    );
    assert_rule(rule, chat, "ChatRole: writes GraphTokenSecret");
}
