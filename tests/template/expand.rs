//! Expands a template as CloudFormation's transform `AWS::LanguageExtensions` does, as far as ours uses it: a loop
//! becomes the resources that it repeats. The emulator and CloudFormation expand template.yaml themselves.
//!
//! A loop's identifier is replaced in the keys of its fragment, in the text of `Fn::Sub` and as the argument of `Ref`;
//! nowhere else. `Ref` and `Fn::GetAtt` accept functions as arguments. `Fn::FindInMap` is evaluated.

use serde_json::{Map, Value, json};

const TRANSFORM: &str = "AWS::LanguageExtensions";
const LOOP: &str = "Fn::ForEach::";
/// The sections that may contain loops.
const SECTIONS: [&str; 3] = ["Conditions", "Resources", "Outputs"];

/// The template as CloudFormation sees it after the transform, or the error in its loops.
pub(crate) fn expand(mut template: Value) -> Result<Value, String> {
    let transforms = template["Transform"].as_array_mut();
    let is_declared = transforms.is_some_and(|names| {
        let before = names.len();
        names.retain(|name| name != TRANSFORM);
        names.len() < before
    });
    let mappings = template["Mappings"].clone();
    let expander = Expander { mappings: &mappings, is_declared };
    for section in SECTIONS {
        if let Some(entries) = template[section].as_object() {
            let mut expanded = Map::new();
            expander.entries(entries, &Scope::default(), &mut expanded)?;
            template[section] = Value::Object(expanded);
        }
    }
    Ok(template)
}

/// The identifiers of the enclosing loops, each with its value in this iteration.
#[derive(Clone, Default)]
struct Scope(Vec<(String, String)>);

impl Scope {
    fn with(&self, identifier: &str, value: &str) -> Self {
        let mut inner = self.clone();
        inner.0.push((identifier.to_owned(), value.to_owned()));
        inner
    }

    fn in_text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
    }

    fn value_of(&self, identifier: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == identifier).map(|(_, value)| value.as_str())
    }
}

struct Expander<'a> {
    mappings: &'a Value,
    is_declared: bool,
}

impl Expander<'_> {
    /// The entries of a section, or of a loop's fragment.
    fn entries(
        &self,
        entries: &Map<String, Value>,
        scope: &Scope,
        into: &mut Map<String, Value>,
    ) -> Result<(), String> {
        for (key, value) in entries {
            if key.starts_with(LOOP) {
                self.iterations(key, value, scope, into)?;
                continue;
            }
            let key = scope.in_text(key);
            if into.insert(key.clone(), self.value(value, scope)?).is_some() {
                return Err(format!("{key} is there twice"));
            }
        }
        Ok(())
    }

    fn iterations(&self, key: &str, loops: &Value, scope: &Scope, into: &mut Map<String, Value>) -> Result<(), String> {
        if !self.is_declared {
            return Err(format!("{key}: the template does not declare {TRANSFORM}"));
        }
        let form = || format!("{key}: a loop is [identifier, [value, …], {{key: fragment}}]");
        let identifier = loops[0].as_str().ok_or_else(form)?;
        let fragment = loops[2].as_object().ok_or_else(form)?;
        for value in loops[1].as_array().ok_or_else(form)? {
            self.entries(fragment, &scope.with(identifier, value.as_str().ok_or_else(form)?), into)?;
        }
        Ok(())
    }

    fn value(&self, value: &Value, scope: &Scope) -> Result<Value, String> {
        match value {
            Value::Object(object) => {
                let entries = object.iter().map(|(key, value)| Ok((key.clone(), self.value(value, scope)?)));
                self.resolved(entries.collect::<Result<_, String>>()?, scope)
            }
            Value::Array(values) => values.iter().map(|value| self.value(value, scope)).collect(),
            other => Ok(other.clone()),
        }
    }

    /// Replaces a function by its value, if its arguments are known.
    fn resolved(&self, object: Map<String, Value>, scope: &Scope) -> Result<Value, String> {
        let only = object.iter().next().filter(|_| object.len() == 1);
        Ok(match only {
            Some((name, Value::String(identifier))) if name == "Ref" => {
                scope.value_of(identifier).map_or_else(|| json!({ "Ref": identifier }), |value| json!(value))
            }
            Some((name, Value::Array(keys))) if name == "Fn::FindInMap" => self.mapped(keys)?,
            Some((name, argument)) if name == "Fn::Sub" => substituted(argument, scope),
            _ => Value::Object(object),
        })
    }

    fn mapped(&self, keys: &[Value]) -> Result<Value, String> {
        let mut found = Some(self.mappings).filter(|_| keys.len() == 3);
        for key in keys {
            found = found.and_then(|found| found.get(key.as_str()?));
        }
        found.cloned().ok_or_else(|| format!("Mappings has no {}", json!(keys)))
    }
}

/// `Fn::Sub` with the known values substituted: plain text if nothing is left to substitute.
fn substituted(argument: &Value, scope: &Scope) -> Value {
    let text = argument.as_str().or_else(|| argument[0].as_str()).unwrap_or_default();
    let variables = argument[1].as_object().cloned().unwrap_or_default();
    let (known, unknown): (Map<_, _>, Map<_, _>) = variables.into_iter().partition(|(_, value)| value.is_string());
    let text = known.iter().fold(scope.in_text(text), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value.as_str().unwrap_or_default())
    });
    match (text.contains("${"), unknown.is_empty()) {
        (false, _) => json!(text),
        (true, true) => json!({ "Fn::Sub": text }),
        (true, false) => json!({ "Fn::Sub": [text, unknown] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::long_form;

    const TEMPLATE: &str = r#"
Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
Mappings:
  Queues:
    Orders: {Name: orders, Seconds: 900}
    Email: {Name: e-mail, Seconds: 60}
Resources:
  Table: {Type: T, Properties: {Name: !Sub "${AWS::StackName}"}}
  Fn::ForEach::Ages:
    - Queue
    - [Orders, Email]
    - ${Queue}Alarm:
        Threshold: !FindInMap [Queues, !Ref Queue, Seconds]
        Watched: !GetAtt [!Sub "${Queue}Queue", QueueName]
        Topic:
          Ref: !Sub ${Queue}Topic
        Plain: ${Queue} is left in plain text
        Name: !Sub ["${AWS::StackName}-${Name}", {Name: !FindInMap [Queues, !Ref Queue, Name]}]
        Path: !Sub ["${Name}/${Id}", {Name: !FindInMap [Queues, !Ref Queue, Name], Id: !Ref Api}]
Outputs:
  Fn::ForEach::Names:
    - Queue
    - [Orders]
    - Fn::ForEach::Kinds: [Kind, [Url], {"${Queue}${Kind}": {Value: !Ref Queue}}]
"#;

    fn expanded(text: &str) -> Result<Value, String> {
        expand(long_form(serde_norway::from_str(text).unwrap()))
    }

    #[test]
    fn loops_become_what_they_repeat() {
        let template = expanded(TEMPLATE).unwrap();
        assert_eq!(template["Transform"], json!(["AWS::Serverless-2016-10-31"]));
        let resources = template["Resources"].as_object().unwrap();
        assert_eq!(resources.keys().collect::<Vec<_>>(), ["EmailAlarm", "OrdersAlarm", "Table"]);
        let expected = json!({
            "Threshold": 60,
            "Watched": { "Fn::GetAtt": ["EmailQueue", "QueueName"] },
            "Topic": { "Ref": "EmailTopic" },
            "Plain": "${Queue} is left in plain text",
            "Name": { "Fn::Sub": "${AWS::StackName}-e-mail" },
            "Path": { "Fn::Sub": ["e-mail/${Id}", { "Id": { "Ref": "Api" } }] },
        });
        assert_eq!(resources["EmailAlarm"], expected);
        assert_eq!(resources["Table"]["Properties"]["Name"], json!({ "Fn::Sub": "${AWS::StackName}" }));
        assert_eq!(template["Outputs"], json!({ "OrdersUrl": { "Value": "Orders" } }));
    }

    #[test]
    fn mistakes_in_loops_are_named() {
        for (from, to, named) in [
            ("AWS::LanguageExtensions, ", "", "Fn::ForEach::Ages: the template does not declare"),
            ("[Orders, Email]", "Orders", "Fn::ForEach::Ages: a loop is"),
            ("${Queue}Alarm", "Alarm", "Alarm is there twice"),
            ("  Table:", "  OrdersAlarm:", "OrdersAlarm is there twice"),
            ("Seconds: 60", "Minutes: 1", "Mappings has no [\"Queues\",\"Email\",\"Seconds\"]"),
        ] {
            let refused = expanded(&TEMPLATE.replacen(from, to, 1)).unwrap_err();
            assert!(refused.contains(named), "{refused}");
        }
    }
}
