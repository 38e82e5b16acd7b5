//! `oracle authority escalations`: lists the records of texts that the authority gate blocked for a trigger of child
//! safety, from whichever way they came in. The log has no text, so nor has the list.

use std::sync::Arc;

use clap::Args;
use domain::{
    Timestamp,
    ports::{AuditObjects, Clock, ListedObject},
};
use runtime::System;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    audit::log_reader::each_stream,
    command::{CommandError, Ended, Target, wait},
    terminal::{
        output::{self, minute},
        when,
    },
};

#[derive(Args)]
pub(crate) struct EscalationsArguments {
    /// Only records written since: 2026-11-20, 2026-11-20T10:00:00Z, 90m, 24h or 30d.
    #[arg(long, value_name = "WHEN", default_value = "1d")]
    since: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Escalation {
    at: String,
    reason: String,
    /// Who has to see it, by the specification's names.
    targets: Vec<String>,
    /// The key of the record in the log's bucket.
    record: String,
}

/// The fields of a record that the list needs.
#[derive(Deserialize)]
struct Line {
    timestamp: String,
    #[serde(default)]
    details: Value,
}

impl Escalation {
    /// The escalation in a record, if there is one. `oracle audit verify` finds lines that cannot be read.
    fn of(key: &str, line: &[u8]) -> Option<Self> {
        let Line { timestamp, details } = serde_json::from_slice(line).ok()?;
        let evaluation = audit::escalated(&details)?;
        let targets = evaluation["escalation"].as_array().into_iter().flatten();
        Some(Self {
            at: timestamp,
            reason: evaluation["reason_code"].as_str().unwrap_or_default().to_owned(),
            targets: targets.filter_map(Value::as_str).map(str::to_owned).collect(),
            record: key.to_owned(),
        })
    }
}

pub(crate) fn run(arguments: &EscalationsArguments) -> Result<Ended, CommandError> {
    let since = when::parse(&arguments.since, System.now())?;
    let objects = arguments.target.open()?.log_ports().objects;
    let found = wait(find(&objects, since))?;
    output::print_list(arguments.target.json, &found, "no text was escalated\n", || table(&found, output::width()))
}

/// The escalations since a moment, oldest first. Lists the whole log, because the streams of chat accounts are opened
/// long before; reads only what was written since.
async fn find(objects: &Arc<dyn AuditObjects>, since: Timestamp) -> Result<Vec<Escalation>, CommandError> {
    let mut found = Vec::new();
    let work = |_stream: String, listed: Vec<ListedObject>| {
        let objects = objects.clone();
        async move {
            let recent = listed.into_iter().filter(|object| object.written_at >= since);
            let read = objects.objects(recent.map(|object| object.key).collect()).await?;
            Ok(read.iter().filter_map(|(key, line)| Escalation::of(key, line)).collect::<Vec<_>>())
        }
    };
    each_stream(objects.as_ref(), "", work, |some| found.extend(some)).await?;
    found.sort_by(|one, other| (&one.at, &one.record).cmp(&(&other.at, &other.record)));
    Ok(found)
}

fn table(found: &[Escalation], width: usize) -> String {
    let line = |one: &Escalation| output::Row {
        cells: vec![minute(&one.at), one.reason.clone(), one.targets.join(", ")],
        below: one.record.clone(),
    };
    output::table(&["AT (UTC)", "REASON", "TO NOTIFY"], found.iter().map(line), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::{FunctionJournal, Noted};
    use serde_json::json;
    use testkit::{World, run};

    fn recorded(world: &World, text: &str) {
        let journal = FunctionJournal { function: "checkout-1", notes: world, log: world, alerts: world, clock: world };
        let facts = json!({ "authority": authority::evaluate(text, None).envelope() });
        let notebook = run(journal.load::<()>()).unwrap().unwrap();
        let record = |(): &mut (), _| Noted::save(()).recording("authority_evaluated", facts.clone());
        let committed = run(journal.commit(notebook, record)).unwrap().unwrap();
        run(committed.settle()).unwrap();
    }

    #[test]
    fn the_list_has_every_trigger_of_child_safety_and_no_other_text() {
        let world = Arc::new(World::default());
        for text in [
            "Should we open a second shop?",
            "I want to kill myself tonight.",
            "Somebody tampered with the sensor readings of the freezer. Can we still use them?",
            "I'm 15. I don't want to be here anymore. No one would miss me.",
        ] {
            recorded(&world, text);
        }
        let objects: Arc<dyn AuditObjects> = world;
        let found = wait(find(&objects, Timestamp::from_seconds(0))).unwrap();
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(one.reason, "imminent_harm_signal_minor");
        assert_eq!(one.targets, ["988_SUICIDE_LIFELINE", "TRUST_AND_SAFETY"]);
        assert!(one.record.contains("/function/checkout-1/"), "{one:?}");
        let shown = table(&found, 120);
        assert!(shown.contains("imminent_harm_signal_minor") && !shown.contains("miss me"), "{shown}");
        let later = Timestamp::from_seconds(4_000_000_000);
        assert_eq!(wait(find(&objects, later)).unwrap(), []);
    }
}
