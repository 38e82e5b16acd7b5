//! The settings of the functions: what their own parsers read from the environment that template.yaml gives them, with
//! the default of every parameter.

#![allow(clippy::expect_used, reason = "without the template's settings there is nothing to simulate")]

use domain::{EmailAddress, breaker::BreakerPolicy, unknown_ids::Limits};
use gemini::ModelList;
use runtime::Environment;
use serde_norway::Value;
use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

/// The address of the site.
pub const SITE: &str = "https://oracle.example";

/// The parameters without a default.
const PARAMETERS: [(&str, &str); 1] = [("GraphSender", "oracle@42sisters.ai")];

/// The models that the verdict function asks, and the one that the chat asks.
const MODELS: &str = "model-a,model-b";
const CHAT_MODELS: &str = "model-a";

static TEMPLATE: LazyLock<Value> =
    LazyLock::new(|| serde_norway::from_str(include_str!("../../../template.yaml")).expect("template.yaml is YAML"));

pub(crate) static SETTINGS: LazyLock<Settings> = LazyLock::new(Settings::read);

/// The settings of the functions.
pub(crate) struct Settings {
    pub(crate) verdict: verdict::Settings,
    pub(crate) mail: delivery::Settings,
    pub(crate) watching: inbox_watch::Settings,
    pub(crate) chat: chat::Settings,
    pub(crate) deadlines: deadlines::Settings,
    /// How far back the daily comparison reaches.
    pub(crate) look_back: Duration,
    /// The address that answers customers.
    pub(crate) contact: EmailAddress,
    /// How many unknown ids strangers may ask about.
    pub(crate) unknown_id_limits: Limits,
}

impl Settings {
    fn read() -> Self {
        let models = |list| ModelList::parse(list).expect("a list of models");
        let site = || SITE.to_owned();
        Self {
            verdict: verdict::Settings::from_environment(&environment("Verdict"), &models(MODELS)).expect("settings"),
            mail: delivery::Settings::from_environment(&environment("EmailSender"), site()).expect("settings"),
            watching: inbox_watch::Settings::from_environment(&environment("InboxWatch")).expect("settings"),
            chat: chat::Settings::from_environment(&environment("Chat"), &models(CHAT_MODELS), site())
                .expect("settings"),
            deadlines: deadlines::Settings::from_environment(&environment("Deadlines")).expect("settings"),
            look_back: reconcile::look_back(&environment("Reconcile")).expect("settings"),
            contact: environment("Result").address("GRAPH_SENDER").expect("an address"),
            unknown_id_limits: unknown_id_limits(&environment("Result")).expect("limits"),
        }
    }
}

/// The limits for unknown ids, as in the template.
fn unknown_id_limits(environment: &Environment) -> Option<Limits> {
    let unknown_ids = environment.required("UNKNOWN_IDS_PER_NETWORK").ok()?;
    unknown_ids.parse().ok().map(Limits::of_unknown_ids)
}

/// The breaker of a model, as in the template.
#[must_use]
pub fn breaker() -> BreakerPolicy {
    SETTINGS.verdict.policy.breaker
}

/// The environment of a function, without the variables that only a deployment knows, such as the names of queues.
fn environment(function: &str) -> Environment {
    let variables = &TEMPLATE["Resources"][format!("{function}Function")]["Properties"]["Environment"]["Variables"];
    let variables = variables.as_mapping().expect("the function has variables");
    let known = variables.iter().filter_map(|(name, value)| Some((name.as_str()?.to_owned(), text(value)?)));
    let known: BTreeMap<String, String> = known.collect();
    Environment::from_lookup(move |name| known.get(name).cloned())
}

/// The text of a value that does not depend on the deployment.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Tagged(tagged) if tagged.tag == "Ref" => {
            let parameter = tagged.value.as_str()?;
            match PARAMETERS.iter().find(|(name, _)| *name == parameter) {
                Some((_, value)) => Some((*value).to_owned()),
                None => text(&TEMPLATE["Parameters"][parameter]["Default"]),
            }
        }
        _ => None,
    }
}
