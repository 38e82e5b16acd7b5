//! Every function gets the settings that its code reads, and no other.

use crate::{
    capacity::binary,
    finder,
    model::{Template, root, shipped, sources},
    patch::{omit, property, remove, rename},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The names of the settings that the sources in a folder read: every SCREAMING_NAME that is the first argument of a
/// call in the files that read the environment, and the names that the backend reads for those files.
fn settings_read(directory: &Path) -> BTreeSet<String> {
    let backend = Backend::read();
    let mut names = BTreeSet::new();
    for path in sources(directory) {
        let text = shipped(&path);
        if text.contains("Environment") || text.contains("environment()") {
            names.extend(screaming_arguments(&text));
        }
        names.extend(backend.asked_by(&text));
    }
    names
}

/// The names that `shared/platform/backend` reads from the environment.
struct Backend {
    /// For each method, the names that it reads itself or through other methods.
    methods: BTreeMap<String, BTreeSet<String>>,
    /// For each value such as `QueueName::Orders`, the name of its variable.
    resources: BTreeMap<String, String>,
}

impl Backend {
    fn read() -> Self {
        let directory = root().join("shared/platform/backend/src");
        let resources = resource_variables(&shipped(&directory.join("names.rs")));
        let mut bodies = BTreeMap::new();
        for path in sources(&directory) {
            let text = shipped(&path);
            for method in text.split("\n    pub fn ").flat_map(|part| part.split("\n    fn ")).skip(1) {
                let name = method.split(['(', '<']).next().unwrap_or_default().to_owned();
                bodies.insert(name, without_spaces(method.split("\n    }\n").next().unwrap_or_default()));
            }
        }
        let mut backend = Self { methods: BTreeMap::new(), resources };
        // Methods call methods: as many rounds as there are methods find all of the names.
        for _ in 0..bodies.len() {
            let found: Vec<_> = bodies
                .iter()
                .map(|(name, body)| {
                    let direct = screaming_arguments(body);
                    (name.clone(), direct.union(&backend.asked(body, "self.")).cloned().collect())
                })
                .collect();
            backend.methods.extend(found);
        }
        backend
    }

    /// The names that the backend reads for a source that uses it.
    fn asked_by(&self, source: &str) -> BTreeSet<String> {
        if !source.contains("Backend") {
            return BTreeSet::new();
        }
        let source = without_spaces(source);
        // `quiet` is boot-probe's backend without alerts.
        ["backend.", "quiet.", "Backend::of_process()?."]
            .iter()
            .flat_map(|receiver| self.asked(&source, receiver))
            .collect()
    }

    fn asked(&self, source: &str, receiver: &str) -> BTreeSet<String> {
        let called = |name: &String| source.contains(&format!("{receiver}{name}("));
        let methods = self.methods.iter().filter(|(name, _)| called(name)).flat_map(|(_, names)| names.clone());
        let named = self.resources.iter().filter(|(resource, _)| names_resource(source, resource));
        methods.chain(named.map(|(_, variable)| variable.clone())).collect()
    }
}

/// Whether a source names a resource, and not only one whose name starts with the same letters.
fn names_resource(source: &str, resource: &str) -> bool {
    source.match_indices(resource).any(|(start, _)| {
        let after = source[start + resource.len()..].chars().next();
        after.is_none_or(|character| !character.is_alphanumeric())
    })
}

/// Reads `Orders = "ORDERS_QUEUE_URL"` within `enum QueueName` as `QueueName::Orders`.
fn resource_variables(source: &str) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for block in source.split(" enum ").skip(1) {
        let kind = block.split_whitespace().next().unwrap_or_default();
        for row in block.lines() {
            if let Some((variant, variable)) = row.trim_start().split_once(" = \"") {
                let variable = variable.split('"').next().unwrap_or_default().to_owned();
                variables.insert(format!("{kind}::{variant}"), variable);
            }
        }
    }
    variables
}

fn without_spaces(source: &str) -> String {
    source.split_whitespace().collect()
}

fn screaming_arguments(source: &str) -> BTreeSet<String> {
    let argument = |call: &str| call.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned);
    // CARGO_… is read when a test is compiled, not when a function runs.
    let is_name = |text: &String| {
        text.contains('_')
            && !text.starts_with("CARGO_")
            && text.chars().all(|character| matches!(character, 'A'..='Z' | '0'..='9' | '_'))
    };
    source.split('(').skip(1).filter_map(argument).filter(is_name).collect()
}

fn settings_are_those_read(template: &Template) -> Vec<String> {
    // Read by the libraries of the functions.
    const LIBRARIES: [&str; 1] = ["AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH"];
    let mut found = Vec::new();
    for (id, function) in template.functions() {
        let variables = function["Properties"]["Environment"]["Variables"].as_object();
        let provided: BTreeSet<String> = variables.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let folder = root().join("functions").join(binary(function));
        let mut read = settings_read(&folder.join("src"));
        // Settings that several functions read are read in shared crates.
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let uses = |used: &&str| manifest.contains(&format!("\n{used}.workspace"));
        for used in ["delivery", "generation", "smoke"].into_iter().filter(uses) {
            read.extend(settings_read(&root().join("shared/pipeline").join(used).join("src")));
        }
        found.extend(read.difference(&provided).map(|name| format!("{id}: {name} is read and not provided")));
        // A function may override a setting that every function gets.
        let shared = &template.section("Globals")["Function"]["Environment"]["Variables"];
        let unread = provided
            .difference(&read)
            .filter(|name| !LIBRARIES.contains(&name.as_str()) && shared[name.as_str()].is_null());
        found.extend(unread.map(|name| format!("{id}: {name} is provided and not read")));
    }
    found
}

#[test]
fn every_function_gets_the_settings_it_reads_and_no_other() {
    let finds = finder(settings_are_those_read);
    finds(
        omit("WebhookFunction", "Environment/Variables/ORDERS_QUEUE_URL"),
        "WebhookFunction: ORDERS_QUEUE_URL is read",
    );
    finds(
        rename(&property("VerdictFunction", "Environment/Variables/GEMINI_MAX_RETRIES"), "GEMINI_RETRIES"),
        "VerdictFunction: GEMINI_RETRIES is provided",
    );
}

/// The settings of every function are those that the shared AWS crate reads.
fn shared_settings_are_those_read(template: &Template) -> Vec<String> {
    // Lambda's own variables, and the table, which not every function has.
    const LAMBDA: [&str; 8] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_LAMBDA_FUNCTION_NAME",
        "TABLE_NAME",
    ];
    let variables = template.section("Globals")["Function"]["Environment"]["Variables"].as_object();
    let provided: BTreeSet<String> = variables.into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let shipped = shipped(&root().join("shared/platform/aws/src/connection.rs"));
    let read: BTreeSet<String> =
        screaming_arguments(&without_spaces(&shipped).replace("&lookup,", "").replace("lookup,", ""))
            .into_iter()
            .filter(|name| !LAMBDA.contains(&name.as_str()))
            .collect();
    let unprovided = read.difference(&provided).map(|name| format!("{name} is read and not provided"));
    let unread = provided.difference(&read).map(|name| format!("{name} is provided and not read"));
    unprovided.chain(unread).collect()
}

#[test]
fn what_every_function_gets_is_what_its_stores_read() {
    let finds = finder(shared_settings_are_those_read);
    let shared = "/Globals/Function/Environment/Variables";
    finds(remove(&format!("{shared}/CACHE_RETRY_COUNT")), "CACHE_RETRY_COUNT is read");
    finds(
        rename(&format!("{shared}/ALERT_SUPPRESSION_S"), "ALERT_WINDOW_S"),
        "ALERT_WINDOW_S is provided and not read",
    );
}
