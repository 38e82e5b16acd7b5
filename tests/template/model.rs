//! The template as data: CloudFormation's short tags are read into their long form, and loops are expanded.

use crate::{expand::expand, patch::Patch};
use serde_json::{Map, Value, json};
use serde_norway::Value as Yaml;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// The namespace of our own metrics; each stack has its own.
pub(crate) const OURS: &str = "Oracle/${AWS::StackName}";

/// Whether a namespace is that of this stack's own metrics.
pub(crate) fn is_ours(namespace: &Value) -> bool {
    namespace["Fn::Sub"] == OURS
}

/// A parsed template.
pub(crate) struct Template(Value);

/// One resource: its logical id and its definition.
pub(crate) type Resource<'a> = (&'a str, &'a Value);

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Rust sources in a folder and the folders in it, in order.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    paths.sort();
    let of = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    paths.into_iter().flat_map(of).filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
}

/// A source without the tests in it; nothing of a file of tests.
pub(crate) fn shipped(path: &Path) -> String {
    if path.ends_with("tests.rs") {
        return String::new();
    }
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

fn parsed(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).expect("a template");
    long_form(serde_norway::from_str(&text).expect("the template is YAML"))
}

impl Template {
    /// The repository's own template.
    pub(crate) fn load() -> Self {
        static TEMPLATE: LazyLock<Value> =
            LazyLock::new(|| expand(parsed("template.yaml")).expect("the template's loops can be expanded"));
        Self(TEMPLATE.clone())
    }

    /// The template of the copies in a second region.
    pub(crate) fn of_copies() -> Self {
        Self(parsed("infra/copy.yaml"))
    }

    /// The same template with a mistake in it.
    pub(crate) fn with(mut self, mistake: Patch) -> Self {
        mistake(&mut self.0);
        self
    }

    /// A section such as Parameters.
    pub(crate) fn section(&self, name: &str) -> &Value {
        &self.0[name]
    }

    /// Every resource of a type.
    pub(crate) fn of_type<'a>(&'a self, wanted: &str) -> Vec<Resource<'a>> {
        self.resources().filter(|(_, resource)| resource["Type"] == wanted).collect()
    }

    /// Every resource.
    pub(crate) fn resources(&self) -> impl Iterator<Item = Resource<'_>> {
        self.0["Resources"].as_object().into_iter().flatten().map(|(id, resource)| (id.as_str(), resource))
    }

    /// A resource by its logical id; null if it does not exist.
    pub(crate) fn resource(&self, id: &str) -> &Value {
        &self.0["Resources"][id]
    }

    /// Every function.
    pub(crate) fn functions(&self) -> Vec<Resource<'_>> {
        self.of_type("AWS::Serverless::Function")
    }

    /// All alarms as (metric, the resource it watches, its definition); an alarm on several metrics appears once for
    /// each.
    pub(crate) fn alarms(&self) -> Vec<(&str, &str, &Value)> {
        let alarms = self.of_type("AWS::CloudWatch::Alarm").into_iter().map(|(_, alarm)| &alarm["Properties"]);
        alarms
            .flat_map(|alarm| watched_metrics(alarm).into_iter().map(move |metric| (metric, alarm)))
            .filter_map(|(metric, alarm)| {
                Some((metric["MetricName"].as_str()?, target(&metric["Dimensions"][0]["Value"])?, alarm))
            })
            .collect()
    }
}

/// The metrics that an alarm watches: its own metric, or those of its metric math. Each has Namespace, MetricName and
/// Dimensions.
pub(crate) fn watched_metrics(alarm: &Value) -> Vec<&Value> {
    if !alarm["MetricName"].is_null() {
        return vec![alarm];
    }
    list(&alarm["Metrics"]).into_iter().map(|it| &it["MetricStat"]["Metric"]).filter(|it| !it.is_null()).collect()
}

/// The logical id in a Ref, a Fn::GetAtt or the first `${Id…}` of a Fn::Sub.
pub(crate) fn target(value: &Value) -> Option<&str> {
    value["Ref"].as_str().or_else(|| value["Fn::GetAtt"][0].as_str()).or_else(|| {
        let text = value["Fn::Sub"].as_str()?;
        text.split_once("${")?.1.split(['.', '}']).next()
    })
}

/// A list, or a single value as a list.
pub(crate) fn list(value: &Value) -> Vec<&Value> {
    value
        .as_array()
        .map_or_else(|| if value.is_null() { Vec::new() } else { vec![value] }, |values| values.iter().collect())
}

/// A number that may be written as text.
pub(crate) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The events of a function.
pub(crate) fn events(function: &Value) -> impl Iterator<Item = &Value> {
    function["Properties"]["Events"].as_object().into_iter().flatten().map(|(_, event)| event)
}

/// The statements of a role's own policies.
pub(crate) fn statements(role: &Value) -> Vec<&Value> {
    let policies = list(&role["Properties"]["Policies"]).into_iter();
    policies.flat_map(|policy| list(&policy["PolicyDocument"]["Statement"])).collect()
}

/// All (key, value) pairs at any depth.
pub(crate) fn pairs(value: &Value) -> Vec<(&str, &Value)> {
    match value {
        Value::Object(map) => {
            map.iter().flat_map(|(key, inner)| std::iter::once((key.as_str(), inner)).chain(pairs(inner))).collect()
        }
        Value::Array(values) => values.iter().flat_map(pairs).collect(),
        _ => Vec::new(),
    }
}

/// The YAML with every short tag in its long form.
pub(crate) fn long_form(yaml: Yaml) -> Value {
    match yaml {
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let name = tag.trim_start_matches('!');
            let inner = long_form(tagged.value);
            match (name, inner) {
                ("Ref" | "Condition", inner) => json!({ name: inner }),
                ("GetAtt", Value::String(text)) => json!({ "Fn::GetAtt": text.splitn(2, '.').collect::<Vec<_>>() }),
                (name, inner) => json!({ format!("Fn::{name}"): inner }),
            }
        }
        Yaml::Mapping(mapping) => Value::Object(
            mapping
                .into_iter()
                .map(|(key, value)| (key.as_str().expect("keys are text").to_owned(), long_form(value)))
                .collect::<Map<_, _>>(),
        ),
        Yaml::Sequence(values) => Value::Array(values.into_iter().map(long_form).collect()),
        Yaml::Null => Value::Null,
        Yaml::Bool(truth) => Value::Bool(truth),
        Yaml::String(text) => Value::String(text),
        Yaml::Number(number) => number.as_i64().map_or_else(|| json!(number.as_f64()), |number| json!(number)),
    }
}
