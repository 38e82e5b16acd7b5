//! `oracle anvil report --html`: the last verdicts with their evidence, and each kernel against its threshold over time.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anvil_rules::{Bound, Kernel};
use clap::Args;
use domain::ports::Clock;
use release::Entry;
use runtime::System;

use crate::{
    command::{CommandError, Ended, Target, wait},
    output::{self, Row},
    report_page::{escaped, head},
};

/// Verdicts that a report shows, the last ones.
const SHOWN: usize = 50;

/// The chart's size in its own units.
const WIDE: f64 = 880.0;
const HIGH: f64 = 150.0;
const AXIS: f64 = 60.0;

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// The ledger that `oracle anvil assess … --ledger` writes; without this the stack's last deployments.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stack_name", "stack"])]
    ledger: Option<PathBuf>,
    /// Write a page that needs nothing else.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

/// Reports the last verdicts.
pub(crate) fn run(arguments: &ReportArguments) -> Result<Ended, CommandError> {
    let (entries, unreadable) = match &arguments.ledger {
        Some(ledger) => of_ledger(ledger)?,
        None => (of_deployments(&arguments.target)?, Vec::new()),
    };
    let last = &entries[entries.len().saturating_sub(SHOWN)..];
    if let Some(file) = &arguments.html {
        let failed = |error| CommandError::failed(&format!("{} cannot be written", file.display()), error);
        fs::write(file, page(last, &unreadable, &System.now().to_iso())).map_err(failed)?;
    } else if arguments.target.json {
        for entry in last {
            output::print_json(entry)?;
        }
    } else {
        let rows: Vec<Row> = last.iter().rev().map(row).collect();
        output::print(&output::table(&["AT (UTC)", "SUBJECT", "VERDICT"], &rows, output::width()))?;
        if !unreadable.is_empty() {
            output::print(&left_out(&unreadable))?;
        }
    }
    Ok(Ended::Done)
}

/// The verdicts of a ledger, and the numbers of its lines that are none: one that was cut off must not hide the others.
fn of_ledger(ledger: &Path) -> Result<(Vec<Entry>, Vec<usize>), CommandError> {
    let failed = |error| CommandError::failed(&format!("{} cannot be read", ledger.display()), error);
    let text = fs::read_to_string(ledger).map_err(failed)?;
    let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(entry) => entries.push(entry),
            Err(_) => unreadable.push(index + 1),
        }
    }
    Ok((entries, unreadable))
}

fn left_out(unreadable: &[usize]) -> String {
    let numbers: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
    format!("Left out, because they are no verdicts: lines {}.\n", numbers.join(", "))
}

fn of_deployments(target: &Target) -> Result<Vec<Entry>, CommandError> {
    let deployed = target.open()?;
    wait(async {
        let verdicts = release::verdicts(deployed.function_journal(release::FUNCTION)).await;
        verdicts.map_err(|error| CommandError::failed("the verdicts cannot be read", error))
    })
}

fn row(entry: &Entry) -> Row {
    let cells = vec![output::minute(&entry.at), output::printable(&entry.subject), entry.verdict.to_string()];
    Row { cells, below: String::new() }
}

/// The page; the newest verdict first.
fn page(entries: &[Entry], unreadable: &[usize], made_at: &str) -> String {
    let count = if entries.len() == 1 { "1 verdict".to_owned() } else { format!("{} verdicts", entries.len()) };
    let about = format!("{count} · made {}", escaped(made_at));
    let mut html = head("Quality gate", "Quality gate", &about);
    let mut unmeasured = Vec::new();
    for kernel in Kernel::ALL {
        let values: Vec<(&str, f64)> =
            entries.iter().filter_map(|entry| Some((entry.at.as_str(), *entry.kernels.get(&kernel)?))).collect();
        let title = format!("{} {}", kernel.symbol(), kernel.threshold());
        if values.is_empty() {
            unmeasured.push(title);
            continue;
        }
        let _ = writeln!(html, "<section><h2>{}</h2>{}</section>", escaped(&title), chart(kernel, &values));
    }
    if !unmeasured.is_empty() {
        let _ = writeln!(html, "<p class=\"none\">Not measured: {}.</p>", escaped(&unmeasured.join(", ")));
    }
    for entry in entries.iter().rev() {
        let _ = write!(
            html,
            "<section><h2>{} · {}</h2><p>{} UTC</p><p>{}</p><ul>",
            entry.verdict,
            escaped(&entry.subject),
            escaped(&output::minute(&entry.at)),
            escaped(&entry.narrative)
        );
        for reason in &entry.reasons {
            let _ = write!(html, "<li>{}</li>", escaped(&reason.text));
        }
        html.push_str("</ul><details><summary>Evidence</summary><table>");
        for (category, bound) in entry.evidence["evidence"].as_object().into_iter().flatten() {
            let of = |name: &str| escaped(bound[name].as_str().unwrap_or_default());
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
                escaped(category),
                of("summary"),
                of("fingerprint").get(..12).unwrap_or_default()
            );
        }
        html.push_str("</table></details></section>\n");
    }
    if !unreadable.is_empty() {
        let _ = write!(html, "<p class=\"none\">{}</p>", left_out(unreadable));
    }
    if entries.is_empty() {
        html.push_str("<p class=\"none\">No verdict yet.</p>");
    }
    html.push_str("</main></body></html>\n");
    html
}

/// One kernel's values in their order, with its threshold as a line. The scale holds both.
fn chart(kernel: Kernel, values: &[(&str, f64)]) -> String {
    let limit = kernel.bound().limit().to_f64();
    let all = || values.iter().map(|(_, value)| *value).chain([limit]).filter(|value| value.is_finite());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let margin = ((high - low) * 0.15).max(0.01);
    let (low, high) = (low - margin, high + margin);
    let y = |value: f64| HIGH - (value - low) / (high - low) * HIGH;
    let step = (WIDE - AXIS) / values.len() as f64;
    let x = |index: usize| AXIS + step * (index as f64 + 0.5);
    let at_limit = y(limit);
    let (top, height) = match kernel.bound() {
        Bound::AtLeast(_) => (0.0, at_limit),
        Bound::AtMost(_) => (at_limit, HIGH - at_limit),
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDE} {HIGH}\" width=\"100%\" role=\"img\" aria-label=\"{} over time\">\
         <rect x=\"{AXIS}\" y=\"{top:.1}\" width=\"{}\" height=\"{height:.1}\" fill=\"var(--full)\" fill-opacity=\".12\"/>\
         <line x1=\"{AXIS}\" x2=\"{WIDE}\" y1=\"{at_limit:.1}\" y2=\"{at_limit:.1}\" style=\"stroke:var(--warn)\"/>\
         <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{limit}</text>",
        kernel.symbol(),
        WIDE - AXIS,
        AXIS - 8.0,
        at_limit + 4.0
    );
    let points: Vec<String> =
        values.iter().enumerate().map(|(index, (_, value))| format!("{:.1},{:.1}", x(index), y(*value))).collect();
    let _ = write!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--bar)\"/>", points.join(" "));
    for (index, (at, value)) in values.iter().enumerate() {
        let is_within = anvil_rules::Measure::from_f64(*value).is_some_and(|value| kernel.bound().admits(value));
        let colour = if is_within { "var(--full)" } else { "var(--warn)" };
        let _ = write!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\"><title>{} · {value}</title></circle>",
            x(index),
            y(*value),
            escaped(&output::minute(at))
        );
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let line = |day: u32, value: f64| {
            let text = format!(
                r#"{{"at":"2026-11-{day:02}T10:00:00.000Z","subject":"<b>the forge</b>","verdict":"GREEN","text":"Verdict: GREEN.",
                "kernels":{{"phi_zeta":{value}}},"reasons":[{{"effect":"sound","text":"Φζ {value}."}}],
                "evidence":{{"evidence":{{"schema":{{"summary":"s","fingerprint":"{}"}}}}}}}}"#,
                "a".repeat(64)
            );
            serde_json::from_str(&text).unwrap()
        };
        vec![line(20, 0.98), line(21, 0.95), line(22, 0.974)]
    }

    #[test]
    fn a_page_draws_each_kernel_against_its_threshold_and_escapes_what_it_shows() {
        let html = page(&entries(), &[], "2026-11-22T10:00:00.000Z");
        assert!(html.contains("&lt;b&gt;the forge") && !html.contains("<b>"));
        assert_eq!(html.matches("<circle").count(), 3);
        assert_eq!(html.matches("r=\"4\" fill=\"var(--warn)\"").count(), 1, "one value is beyond the threshold");
        assert!(
            html.contains("Not measured: Ψχ ≤ 0.15, ΔΓ ≤ 0.1, ΩQ ≥ 0.85, λ_c ≤ 0.15.") && html.contains("3 verdicts")
        );
        assert!(html.contains(">0.974</text>") && html.contains("<code>aaaaaaaaaaaa</code>"));
        assert!(!html.contains("<script") && !html.contains("http"));
    }

    #[test]
    fn an_empty_ledger_is_a_page_too() {
        assert!(page(&[], &[3], "now").contains("No verdict yet."));
    }
}
