//! The operators' page of the quality gate, on a phone and a laptop.

use crate::browser::Browser;
use crate::stack::program;
use serde_json::json;
use std::fs;

/// Judges some forges and a deployment, and writes the page of their verdicts.
fn page(directory: &std::path::Path) -> std::path::PathBuf {
    let (observed, ledger) = (directory.join("observed.json"), directory.join("ledger.jsonl"));
    let oracle = |arguments: &[&str], files: &[&std::path::Path]| {
        let output = program().arg("anvil").args(arguments).args(files).output();
        output.expect("the command runs").status.code()
    };
    let forge = |phi_zeta: f64, lambda_c: f64| {
        json!({ "loss": 0.3, "smoke": { "passed": 5, "of": 5 }, "pairs": 200, "corpus_findings": [],
            "kernels": { "phi_zeta": phi_zeta, "psi_chi": 0.05, "delta_gamma": 0.02, "omega_q": 0.95, "lambda_c": lambda_c } })
    };
    let named = "a-name-that-is-very-long-and-has-no-place-to-break".repeat(2);
    for (subject, document) in [
        ("forge", forge(0.98, 0.05)),
        ("forge", forge(0.95, 0.3)),
        ("deploy", json!({ "smoke": { "passed": 9, "of": 10 }, "alarms": [named] })),
    ] {
        fs::write(&observed, document.to_string()).expect("it can be written");
        oracle(&["assess", subject, "--ledger"], &[&ledger, &observed]);
    }
    let html = directory.join("gate.html");
    assert_eq!(oracle(&["report", "--ledger"], &[&ledger, "--html".as_ref(), &html]), Some(0));
    html
}

#[tokio::test]
async fn it_is_accessible_on_a_phone_and_a_laptop_in_both_colour_schemes() {
    let browser = Browser::open().await;
    let directory = std::env::temp_dir().join(format!("gate-{}", std::process::id()));
    // A process that was killed may have had this number, and its ledger would be read.
    fs::remove_dir_all(&directory).ok();
    fs::create_dir_all(&directory).expect("a directory");
    let html = page(&directory);
    browser.open_file(&html).await;
    browser.run("for (const details of document.querySelectorAll('details')) details.open = true; return null").await;
    browser.assert_accessible("gate").await;
    assert_eq!(browser.run("return document.querySelectorAll('svg.kernel').length").await, 5);
    fs::remove_dir_all(&directory).expect("it can be removed");
    browser.close().await;
}
