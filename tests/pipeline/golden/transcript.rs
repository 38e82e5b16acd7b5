//! Runs a scenario: acts on a simulated sale, and writes down what each act changed.

use crate::simulator::Simulator;
use domain::{SessionId, Timestamp, metric};
use runtime::http::Reply;
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};
use testkit::world::State;

const BEGAN: i64 = 1_800_000_000_000;

/// A simulated sale with the transcript of its acts.
pub(crate) struct Transcript {
    pub(crate) sim: Simulator,
    text: String,
    seen: Seen,
}

/// The state that the transcript already contains.
#[derive(Default)]
struct Seen {
    sales: BTreeMap<SessionId, Value>,
    versions: BTreeMap<SessionId, u64>,
    log: BTreeSet<String>,
    queued: usize,
    documents: BTreeMap<String, String>,
    alerts: usize,
    logged_alerts: usize,
    quarantine: usize,
    sent: usize,
    prompts: usize,
    broadcasts: usize,
}

impl Transcript {
    pub(crate) fn of(sim: Simulator) -> Self {
        Self { sim, text: String::new(), seen: Seen::default() }
    }

    /// The whole transcript, with every sale as it is stored at the end.
    pub(crate) fn text(mut self) -> String {
        self.text.push_str("== at the end\n");
        for (session, (sale, version)) in &self.sim.world.state().sales {
            stored(&mut self.text, session, *version, sale);
        }
        without_hashes(&self.text)
    }

    /// Performs an act, and writes down its answer and its changes.
    pub(crate) fn act(&mut self, what: &str, act: impl FnOnce(&mut Simulator) -> String) -> &mut Self {
        let answer = act(&mut self.sim);
        writeln!(self.text, "== {:+} ms: {what}", self.sim.now().as_millis() - BEGAN).unwrap();
        writeln!(self.text, "answer: {answer}").unwrap();
        self.write_changes();
        self
    }

    /// Delivers one message.
    pub(crate) fn step(&mut self) -> bool {
        // The simulator takes the messages from the queue and numbers them again.
        self.seen.queued = 0;
        let Some(finished) = self.sim.step() else { return false };
        let answer = if finished { "finished" } else { "comes again" };
        self.act("a message is delivered", |_| answer.to_owned());
        true
    }

    /// Delivers messages until none is left.
    pub(crate) fn drain(&mut self) -> &mut Self {
        for _ in 0..200 {
            if !self.step() {
                return self;
            }
        }
        panic!("the queues never became empty");
    }

    pub(crate) fn page(&mut self) -> &mut Self {
        self.act("the page asks", |sim| show(sim.page().as_ref()))
    }

    pub(crate) fn webhook(&mut self) -> &mut Self {
        self.act("Stripe delivers the paid event", |sim| show(sim.webhook().as_ref()))
    }

    pub(crate) fn deadlines(&mut self, hours: u64) -> &mut Self {
        self.sim.world.advance(std::time::Duration::from_secs(hours * 3600));
        self.act(&format!("{hours} h later the deadlines function runs"), |sim| format!("{:?}", sim.deadlines()))
    }

    /// Writes down the changes since the last call.
    fn write_changes(&mut self) {
        let (text, seen) = (&mut self.text, &mut self.seen);
        let state = self.sim.world.state();
        for (session, (sale, version)) in &state.sales {
            let before = seen.sales.insert(session.clone(), serde_json::to_value(sale).unwrap());
            if seen.versions.insert(session.clone(), *version) == Some(*version) {
                continue;
            }
            match before {
                Some(before) if sale.outbox().is_empty() && sale.alerts().is_empty() => {
                    writeln!(text, "saved {} version {version}:", session.as_str()).unwrap();
                    changed_fields(text, &before, &seen.sales[session]);
                }
                // The whole sale is written the first time, and whenever it contains records or alerts.
                _ => stored(text, session, *version, sale),
            }
        }
        for (key, line) in &state.log {
            if seen.log.insert(key.clone()) {
                writeln!(text, "audit {key}: {line}").unwrap();
                let counted = state.log_measurements.get(key).filter(|counted| !counted.is_empty());
                if let Some(counted) = counted {
                    writeln!(text, "metric {}", metric::line(metric::NAMESPACE, counted, now(&state))).unwrap();
                }
            }
        }
        for (message, delay) in state.queue.iter().skip(seen.queued) {
            writeln!(text, "queued after {} ms: {}", delay.as_millis(), json(message)).unwrap();
        }
        seen.queued = state.queue.len();
        for alert in state.alerts.iter().skip(seen.alerts) {
            writeln!(text, "alert {}", json(alert)).unwrap();
        }
        seen.alerts = state.alerts.len();
        for alert in state.logged_alerts.iter().skip(seen.logged_alerts) {
            writeln!(text, "alert in the log only {}", json(alert)).unwrap();
        }
        seen.logged_alerts = state.logged_alerts.len();
        for (session, payload) in state.quarantine.iter().skip(seen.quarantine) {
            writeln!(text, "quarantine {}: {payload}", session.as_str()).unwrap();
        }
        seen.quarantine = state.quarantine.len();
        for (_, mail) in state.sent.iter().skip(seen.sent) {
            writeln!(text, "mail to {}: {}: {}", mail.to, json(&mail.subject), json(&mail.body)).unwrap();
        }
        seen.sent = state.sent.len();
        for (model, _) in state.prompts.iter().skip(seen.prompts) {
            writeln!(text, "model {model} was asked").unwrap();
        }
        seen.prompts = state.prompts.len();
        for line in state.broadcasts.iter().skip(seen.broadcasts) {
            writeln!(text, "broadcast {line}").unwrap();
        }
        seen.broadcasts = state.broadcasts.len();
        for (name, document) in documents(&state) {
            if seen.documents.get(&name) != Some(&document) {
                writeln!(text, "{name}: {document}").unwrap();
                seen.documents.insert(name, document);
            }
        }
    }
}

/// Replaces values that change without a change of behaviour: every new term changes the block list's version and hash,
/// and with them all hashes of the chain. The list's version and hash become names, the chain's hashes become numbers.
/// `shared/audit/golden` pins the chain itself.
fn without_hashes(text: &str) -> String {
    let list = filter::Filter::embedded();
    let text = text.replace(list.list_hash(), "LIST_HASH").replace(list.list_version(), "LIST_VERSION");
    let (mut numbers, mut written) = (BTreeMap::new(), String::new());
    let mut rest = text.as_str();
    let begins = |field: &str, text: &str| text.find(field).map(|at| at + field.len());
    while let Some(at) =
        [r#""prev":""#, r#""hash":""#, r#"\"prev\":\""#].iter().filter_map(|field| begins(field, rest)).min()
    {
        let (before, after) = rest.split_at(at);
        let (hash, after) = after.split_at(after.find(['"', '\\']).unwrap());
        let next = numbers.len();
        let number = *numbers.entry(hash.to_owned()).or_insert(next);
        write!(written, "{before}HASH_{number}").unwrap();
        rest = after;
    }
    written + rest
}

fn now(state: &State) -> Timestamp {
    Timestamp::from_millis(state.now)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn stored(text: &mut String, session: &SessionId, version: u64, sale: &domain::Sale) {
    writeln!(text, "stored {} version {version}: {}", session.as_str(), json(sale)).unwrap();
}

/// Writes the fields of a saved sale that differ from the previous version; only the outermost fields.
fn changed_fields(text: &mut String, before: &Value, after: &Value) {
    let (before, after) = (before.as_object().unwrap(), after.as_object().unwrap());
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        if before.get(name) != after.get(name) {
            let value = after.get(name).map_or_else(|| "absent".to_owned(), Value::to_string);
            writeln!(text, "  {name} = {value}").unwrap();
        }
    }
}

/// Every stored object that has a name and can be overwritten.
fn documents(state: &State) -> Vec<(String, String)> {
    let mut documents = Vec::new();
    for (session, verdict) in &state.cache {
        documents.push((format!("cache {}", session.as_str()), json(verdict)));
    }
    for (session, verdict) in &state.archive {
        documents.push((format!("archive {}", session.as_str()), json(verdict)));
    }
    for (key, document) in &state.dead_letters {
        documents.push((format!("dead letter {key}"), document.clone()));
    }
    for (payment, made) in &state.refunds {
        documents
            .push((format!("refund {}", made.key.as_deref().unwrap_or("-")), format!("{payment} {:?}", made.status)));
    }
    for (model, (breaker, _)) in &state.breakers {
        documents.push((format!("breaker {model}"), json(breaker)));
    }
    documents
}

fn show(reply: Option<&Reply>) -> String {
    match reply {
        Some(reply) => format!("{} {}", reply.status(), reply.body()),
        None => "the process died".to_owned(),
    }
}
