//! Writes the hash of the authority gate's test suite into the build, and whether the suite passed before this build
//! ("A release may not publish 'Canonical' status unless CI attests the test suite hash and pass state").

use std::{error::Error, fs, path::Path};

#[path = "src/suite.rs"]
mod suite;

fn main() -> Result<(), Box<dyn Error>> {
    // Watches the folder instead of the file, because `cargo xtask test --only attest` may create the file later.
    println!("cargo::rerun-if-changed=.");
    for watched in suite::SUITE {
        println!("cargo::rerun-if-changed=../{watched}");
    }
    let hash = suite::hash(Path::new(".."))?;
    let state = fs::read_to_string("attested.json").map_or_else(|_| "not attested", |text| state(&text, &hash));
    println!("cargo::rustc-env=AUTHORITY_SUITE={hash}");
    println!("cargo::rustc-env=AUTHORITY_SUITE_STATE={state}");
    Ok(())
}

/// The state of the built suite according to an attestation.
fn state(attested: &str, hash: &str) -> &'static str {
    let Ok(attested) = serde_json::from_str::<serde_json::Value>(attested) else { return "not attested" };
    match (attested["suite"] == hash, attested["passed"] == true) {
        (true, true) => "passed",
        (true, false) => "failed",
        (false, _) => "attested for another suite",
    }
}
