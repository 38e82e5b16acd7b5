//! Golden files: what sales of every kind store and send, byte for byte.
//!
//! Each scenario drives one sale through the functions and writes a transcript of all visible effects: the stored sale,
//! audit records with the metrics that they count for, queue messages, alerts, mails, page replies, the cache, the
//! archive, the quarantine and the dead letters. `golden/<scenario>.txt` contains the transcript that the scenario must
//! reproduce. After an intended change, `UPDATE_GOLDEN=1 cargo test -p tests --test pipeline golden` rewrites the
//! files; review the diff.

mod scenarios;
mod transcript;

use domain::Alert;
use operations::reference::{is_reference, sales_with};
use std::{fmt::Write as _, fs, path::PathBuf};
use testkit::{Plan, golden::difference};
use transcript::Transcript;

type Scenario = (&'static str, fn() -> Transcript);

fn golden_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("pipeline/golden").join(format!("{name}.txt"))
}

#[test]
fn sales_leave_behind_what_they_always_did() {
    let mut differences = String::new();
    for (name, scenario) in scenarios::ALL {
        if let Some(difference) = difference(&golden_file(name), &scenario().text()) {
            writeln!(differences, "golden/{name}.txt: {difference}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// The text after `label` in an alert's line, up to the next space.
fn labelled<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(label)?;
    rest.split(' ').next()
}

/// Every sale that an alert names is found by `oracle show` of that name.
#[test]
fn every_alert_names_its_sale_as_oracle_show_finds_it() {
    // Alerts about all sales, and about a scheduled function.
    let not_of_a_sale = ["-", "reconcile", "deadlines", "smoke-test"];
    let mut found = 0;
    for (name, scenario) in scenarios::ALL {
        let world = scenario().sim.world;
        world.plan(Plan::none());
        let alerts: Vec<Alert> = {
            let state = world.state();
            state.alerts.iter().chain(&state.logged_alerts).cloned().collect()
        };
        for alert in alerts {
            let subject = alert.parts().map(|parts| parts.subject);
            // The subject of an alert about a reply is the message.
            let labels = ["session_id=", "session=", "a reply to a mail of "];
            let labelled = labels.iter().find_map(|label| labelled(&alert.line, label));
            let subject =
                labelled.or(subject).unwrap_or_else(|| panic!("{name}: {}", alert.line)).trim_end_matches(':');
            if not_of_a_sale.contains(&subject) {
                continue;
            }
            assert!(is_reference(subject), "{name}: {}", alert.line);
            let sales = testkit::run(sales_with(&world, &world, subject)).unwrap().unwrap();
            assert_eq!(sales.len(), 1, "{name}: {}", alert.line);
            found += 1;
        }
    }
    assert!(found > 30, "{found} alerts about a sale");
}

#[test]
fn every_golden_file_has_its_scenario() {
    for entry in fs::read_dir(golden_file("x").parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(scenarios::ALL.iter().any(|(known, _)| *known == name), "{}", path.display());
        }
    }
}

/// Every stored sale of a golden file is read and rewritten with the same bytes.
#[test]
fn stored_sales_are_read_and_written_identically() {
    let mut read = 0;
    for (name, _) in scenarios::ALL {
        for line in fs::read_to_string(golden_file(name)).unwrap().lines() {
            let Some((_, stored)) = line.strip_prefix("stored ").and_then(|rest| rest.split_once(": ")) else {
                continue;
            };
            let sale: domain::Sale = serde_json::from_str(stored).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(serde_json::to_string(&sale).unwrap(), stored, "{name}");
            read += 1;
        }
    }
    assert!(read > 50, "{read} stored sales");
}
