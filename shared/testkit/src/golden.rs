//! Golden files: the output of a run, byte for byte, beside the test that runs it.

use crate::World;
use domain::Alert;
use std::{fmt::Write, fs, path::Path};

/// The environment variable that makes [`difference`] write the golden files instead of comparing with them.
const UPDATE: &str = "UPDATE_GOLDEN";

/// Compares `text` with the golden file at `path`, or writes the file if [`UPDATE`] is set.
///
/// # Panics
/// When the file cannot be read or written, or differs: the message names the first different line.
pub fn check(path: &str, text: &str) {
    let difference = difference(Path::new(path), text);
    assert!(difference.is_none(), "{path}: {}", difference.unwrap_or_default());
}

/// The first line in which `text` differs from the golden file at `path`, with its number, which begins at 1. `None` if
/// they are the same, or if [`UPDATE`] is set: then it writes the file.
///
/// # Panics
/// When the file cannot be read or written.
#[must_use]
pub fn difference(path: &Path, text: &str) -> Option<String> {
    if std::env::var_os(UPDATE).is_some() {
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
        assert!(written.is_ok(), "{}: {written:?}", path.display());
        return None;
    }
    let golden = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if golden == text {
        return None;
    }
    let (mut expected, mut found) = (golden.lines(), text.lines());
    for number in 1.. {
        let (wanted, got) = (expected.next(), found.next());
        if wanted != got {
            let show = |line: Option<&str>| line.unwrap_or("(end of file)").to_owned();
            return Some(format!("line {number}\n  golden: {}\n  now:    {}", show(wanted), show(got)));
        }
        if wanted.is_none() {
            break;
        }
    }
    Some("the line breaks differ".to_owned())
}

impl World {
    /// Everything written so far: every effect in its order, then sales, saved state items, log, digests, alerts and
    /// broadcasts.
    #[must_use]
    pub fn written(&self) -> String {
        let state = self.state();
        let mut text = format!("effects: {}\n", state.boundaries.join(" "));
        let mut line = |kind: &str, content: &str| {
            // Writing to a string never fails.
            let _ = writeln!(text, "{kind}: {content}");
        };
        for (sale, version) in state.sales.values() {
            line("sale", &format!("{version} {}", serde_json::to_string(sale).unwrap_or_default()));
        }
        for (name, (document, version)) in &state.notes {
            line("state item", &format!("{name} {version} {document}"));
        }
        for (key, record) in &state.log {
            line("record", &format!("{key} {record}"));
        }
        for (key, document) in &state.digests {
            line("digest", &format!("{key} {document}"));
        }
        let alert = |alert: &Alert| format!("{:?} {}", alert.channel, alert.line);
        state.alerts.iter().for_each(|it| line("alert", &alert(it)));
        state.held_back_alerts.iter().for_each(|it| line("suppressed alert", &alert(it)));
        state.logged_alerts.iter().for_each(|it| line("undelivered alert", &alert(it)));
        state.broadcasts.iter().for_each(|it| line("broadcast", it));
        text
    }
}
