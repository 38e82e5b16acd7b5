//! Records every vendor call, without secrets.

use std::{collections::VecDeque, io::Write};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::http::{Reply, Request};
use crate::target::Target;

/// The most records; older ones are dropped, so that a benchmark cannot fill the memory.
const KEPT: usize = 10_000;
const SECRET_HEADERS: [&str; 3] = ["authorization", "x-goog-api-key", "cookie"];
const SECRET_FIELDS: [&str; 3] = ["client_secret", "refresh_token", "access_token"];

#[derive(Default)]
pub(crate) struct Calls {
    records: VecDeque<Record>,
    begun: u64,
}

struct Record {
    id: u64,
    target: Target,
    value: Map<String, Value>,
}

impl Calls {
    /// Records a call before its reply.
    pub(crate) fn begin(&mut self, now: Timestamp, target: Target, request: &Request, fault: Option<&Value>) -> u64 {
        let query: Map<String, Value> =
            request.query.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))).collect();
        let mut value = Map::new();
        value.insert("time".to_owned(), json!(now.to_string()));
        value.insert("target".to_owned(), json!(target));
        value.insert("method".to_owned(), json!(request.method.as_str()));
        value.insert("path".to_owned(), json!(request.path));
        value.insert("query".to_owned(), Value::Object(query));
        value.insert("headers".to_owned(), headers(request));
        value.insert("request_body".to_owned(), redacted(request.body_value()));
        value.insert("reply".to_owned(), Value::Null);
        value.insert("fault".to_owned(), fault.cloned().unwrap_or(Value::Null));
        self.begun += 1;
        let id = self.begun;
        self.records.push_back(Record { id, target, value });
        if self.records.len() > KEPT {
            self.records.pop_front();
        }
        id
    }

    /// Adds the reply; `delivered` is false if the reply is dropped. Does nothing if there was a reset in between.
    /// Returns the completed record.
    pub(crate) fn finish(&mut self, id: u64, reply: &Reply, delivered: bool) -> Option<Value> {
        let record = self.records.iter_mut().rev().find(|record| record.id == id)?;
        let reply = json!({
            "status": reply.status,
            "body": redacted(reply.body_value()),
            "delivered": delivered,
        });
        record.value.insert("reply".to_owned(), reply);
        Some(Value::Object(record.value.clone()))
    }

    pub(crate) fn list(&self, target: Option<Target>) -> Value {
        self.records
            .iter()
            .filter(|record| target.is_none_or(|target| target == record.target))
            .map(|record| Value::Object(record.value.clone()))
            .collect()
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
    }
}

fn headers(request: &Request) -> Value {
    let shown: Map<String, Value> = request
        .headers
        .iter()
        .map(|(name, value)| {
            let text = if SECRET_HEADERS.contains(&name.as_str()) {
                "[redacted]".into()
            } else {
                String::from_utf8_lossy(value.as_bytes())
            };
            (name.as_str().to_owned(), Value::String(text.into_owned()))
        })
        .collect();
    Value::Object(shown)
}

fn redacted(mut body: Value) -> Value {
    if let Value::Object(fields) = &mut body {
        for field in SECRET_FIELDS {
            if let Some(value) = fields.get_mut(field) {
                *value = json!("[redacted]");
            }
        }
    }
    body
}

/// Adds a line to the recording, if there is one. A failure to write it does not fail the call.
pub(crate) fn record(file: Option<&std::path::Path>, line: &Value) {
    let Some(path) = file else { return };
    let append = std::fs::OpenOptions::new().create(true).append(true).open(path);
    // Each line is one write, because several sandboxes may record into one file.
    if let Err(error) = append.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
        drop(writeln!(std::io::stderr(), "sandbox: {} cannot be written: {error}", path.display()));
    }
}
