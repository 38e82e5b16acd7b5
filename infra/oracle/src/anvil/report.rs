//! `oracle anvil report --html`: the last verdicts with their evidence, and each kernel against its threshold over
//! time.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anvil_rules::{Bound, Effect, Kernel, Measure, Verdict};
use clap::Args;
use domain::ports::Clock;
use release::{Entry, ListedReason};
use runtime::System;

use crate::{
    audit::report_page::{escaped, head},
    command::{CommandError, Ended, OrFailed, Target, read_file, wait},
    terminal::output::{self, Row},
};

/// The number of verdicts in a report. It shows the last ones.
const SHOWN: usize = 50;

/// The chart's size in its own units.
const WIDE: f64 = 420.0;
const HIGH: f64 = 140.0;
const AXIS: f64 = 46.0;

/// The height of the line of dates below the chart.
const DATES: f64 = 24.0;

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
        let rows = last.iter().rev().map(row);
        output::print(&output::table(&["AT (UTC)", "SUBJECT", "VERDICT"], rows, output::width()))?;
        if !unreadable.is_empty() {
            output::print(&left_out(&unreadable))?;
        }
    }
    Ok(Ended::Done)
}

/// The verdicts of a ledger, and the numbers of its unreadable lines. A truncated line must not hide the others.
fn of_ledger(ledger: &Path) -> Result<(Vec<Entry>, Vec<usize>), CommandError> {
    let text = read_file(ledger)?;
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
        let verdicts = release::verdicts(deployed.stores.function_journal(release::FUNCTION)).await;
        verdicts.or_failed("the verdicts cannot be read")
    })
}

fn row(entry: &Entry) -> Row {
    let cells = vec![output::minute(&entry.at), output::printable(&entry.subject), entry.verdict.to_string()];
    Row { cells, below: String::new() }
}

/// The page: the newest verdict first, then each kernel over time, then the earlier verdicts.
fn page(entries: &[Entry], unreadable: &[usize], made_at: &str) -> String {
    let count = if entries.len() == 1 { "1 verdict".to_owned() } else { format!("{} verdicts", entries.len()) };
    let about = format!("{count} · made {} UTC", escaped(&output::minute(made_at)));
    let mut html = head("Quality gate", "Quality gate", &about);
    tally(&mut html, entries);
    if let Some(newest) = entries.last() {
        verdict(&mut html, newest, true);
        kernels(&mut html, entries);
    } else {
        html.push_str("<p class=\"none\">No verdict yet.</p>");
    }
    for entry in entries.iter().rev().skip(1) {
        verdict(&mut html, entry, false);
    }
    if !unreadable.is_empty() {
        let _ = write!(html, "<p class=\"none\">{}</p>", left_out(unreadable));
    }
    html.push_str("</main></body></html>\n");
    html
}

/// How often each verdict was given.
fn tally(html: &mut String, entries: &[Entry]) {
    html.push_str("<ul class=\"tally\" aria-label=\"Verdicts by kind\">");
    for kind in Verdict::ALL {
        let count = entries.iter().filter(|entry| entry.verdict == kind).count();
        if count > 0 {
            let _ = write!(html, "<li><span class=\"verdict {kind}\">{kind} {count}</span></li>");
        }
    }
    html.push_str("</ul>\n");
}

/// One verdict. The reasons that decide it are shown, the others are collapsed except in the newest verdict.
fn verdict(html: &mut String, entry: &Entry, is_newest: bool) {
    let _ = write!(
        html,
        "<section class=\"gate\"><h2><span class=\"verdict {0}\">{0}</span> {1} <span class=\"at\">{2} UTC</span></h2>\
         <p>{3}</p>",
        entry.verdict,
        escaped(&entry.subject),
        escaped(&output::minute(&entry.at)),
        escaped(&entry.narrative)
    );
    let (others, deciding): (Vec<_>, Vec<_>) =
        entry.reasons.iter().partition(|reason| matches!(reason.effect, Effect::Note | Effect::Sound));
    reasons(html, &deciding);
    if is_newest {
        reasons(html, &others);
    } else if !others.is_empty() {
        let _ = write!(html, "<details><summary>Sound or noted: {}</summary>", others.len());
        reasons(html, &others);
        html.push_str("</details>");
    }
    html.push_str(
        "<details><summary>Evidence</summary><table><thead><tr><th>Form of<th>What was observed<th>Fingerprint</thead><tbody>",
    );
    for (category, evidence) in entry.evidence["evidence"].as_object().into_iter().flatten() {
        let of = |name: &str| escaped(evidence[name].as_str().unwrap_or_default());
        let category = escaped(&category.replace('_', " "));
        let _ = match of("fingerprint").get(..12) {
            Some(fingerprint) => {
                write!(html, "<tr><td>{category}<td>{}<td><code>{fingerprint}</code>", of("summary"))
            }
            None => write!(html, "<tr><td>{category}<td>{}<td>", of("reason").replace('_', " ")),
        };
    }
    html.push_str("</tbody></table></details></section>\n");
}

fn reasons(html: &mut String, reasons: &[&ListedReason]) {
    if reasons.is_empty() {
        return;
    }
    html.push_str("<ul class=\"reasons\">");
    for reason in reasons {
        let (class, says) = match reason.effect {
            Effect::Fault => ("fault", "At fault: "),
            Effect::Blocked => ("blocked", "Blocked: "),
            Effect::Missing => ("missing", "Missing: "),
            Effect::Caution => ("caution", "Caution: "),
            Effect::Sound => ("sound", ""),
            Effect::Note => ("note", ""),
        };
        let _ = write!(html, "<li class=\"{class}\">{says}{}</li>", escaped(&reason.text));
    }
    html.push_str("</ul>");
}

/// A picture of each measured kernel, and the names of the others.
fn kernels(html: &mut String, entries: &[Entry]) {
    let mut unmeasured = Vec::new();
    html.push_str("<div class=\"kernels\">");
    for kernel in Kernel::ALL {
        let values: Vec<(&str, f64)> =
            entries.iter().filter_map(|entry| Some((entry.at.as_str(), *entry.kernels.get(&kernel)?))).collect();
        let title = format!("{} {}", kernel.symbol(), kernel.threshold());
        let Some((_, latest)) = values.last() else {
            unmeasured.push(title);
            continue;
        };
        let beyond = values.iter().filter(|(_, value)| !is_within(kernel, *value)).count();
        let about = format!("latest {latest} · {beyond} of {} beyond the threshold", values.len());
        let picture = chart(kernel, &values, &about);
        let _ = writeln!(html, "<section><h2>{}</h2><p>{about}</p>{picture}</section>", escaped(&title));
    }
    html.push_str("</div>\n");
    if !unmeasured.is_empty() {
        let _ = writeln!(html, "<p class=\"none\">Not measured: {}.</p>", escaped(&unmeasured.join(", ")));
    }
}

fn is_within(kernel: Kernel, value: f64) -> bool {
    Measure::from_f64(value).is_some_and(|value| kernel.bound().admits(value))
}

/// Draws one kernel's values in their order, with its threshold as a line and its sound side shaded. The scale includes
/// both. A value beyond the threshold is a square, so that it differs in more than its colour.
fn chart(kernel: Kernel, values: &[(&str, f64)], about: &str) -> String {
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
        "<svg class=\"kernel\" viewBox=\"0 0 {WIDE} {}\" role=\"img\" aria-label=\"{} over time: {about}\">\
         <rect class=\"sound\" x=\"{AXIS}\" y=\"{top:.1}\" width=\"{}\" height=\"{height:.1}\"/>\
         <line x1=\"{AXIS}\" x2=\"{WIDE}\" y1=\"{at_limit:.1}\" y2=\"{at_limit:.1}\"/>\
         <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{limit}</text>",
        HIGH + DATES,
        kernel.symbol(),
        WIDE - AXIS,
        AXIS - 6.0,
        at_limit + 4.0
    );
    let points: Vec<String> =
        values.iter().enumerate().map(|(index, (_, value))| format!("{:.1},{:.1}", x(index), y(*value))).collect();
    let _ = write!(svg, "<polyline points=\"{}\"/>", points.join(" "));
    for (index, (at, value)) in values.iter().enumerate() {
        let (x, y) = (x(index), y(*value));
        let title = format!("<title>{} UTC · {value}</title>", escaped(&output::minute(at)));
        let _ = if is_within(kernel, *value) {
            write!(svg, "<circle class=\"within\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\">{title}</circle>")
        } else {
            let (left, above) = (x - 4.5, y - 4.5);
            write!(
                svg,
                "<rect class=\"beyond\" x=\"{left:.1}\" y=\"{above:.1}\" width=\"9\" height=\"9\">{title}</rect>"
            )
        };
    }
    let day = |(at, _): &(&str, f64)| escaped(at.get(..10).unwrap_or(at));
    let below = HIGH + DATES - 6.0;
    if let [first, .., last] = values {
        let (first, last) = (day(first), day(last));
        let _ = write!(
            svg,
            "<text x=\"{AXIS}\" y=\"{below}\">{first}</text><text x=\"{WIDE}\" y=\"{below}\" text-anchor=\"end\">{last}</text>"
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
                "evidence":{{"evidence":{{"constraint":{{"reason":"not_applicable"}},
                "schema":{{"summary":"s","fingerprint":"{}"}}}}}}}}"#,
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
        assert_eq!(html.matches("<circle").count(), 2);
        assert_eq!(html.matches("<rect class=\"beyond\"").count(), 1, "one value is beyond the threshold");
        assert!(html.contains("latest 0.974 · 1 of 3 beyond the threshold") && html.contains(">2026-11-20</text>"));
        assert!(
            html.contains("Not measured: Ψχ ≤ 0.15, ΔΓ ≤ 0.1, ΩQ ≥ 0.85, λ_c ≤ 0.15.") && html.contains("3 verdicts")
        );
        assert!(html.contains(">0.974</text>") && html.contains("<code>aaaaaaaaaaaa</code>"));
        assert!(html.contains("<td>constraint<td>not applicable<td>"));
        assert!(!html.contains("<script") && !html.contains("http"));
    }

    #[test]
    fn the_newest_verdict_is_first_and_the_reasons_that_decide_are_not_hidden() {
        let red: Entry = serde_json::from_str(
            r#"{"at":"2026-11-19T10:00:00.000Z","subject":"the first","verdict":"RED","text":"Verdict: RED.",
            "reasons":[{"effect":"sound","text":"Fine."},{"effect":"fault","text":"Bad."}]}"#,
        )
        .unwrap();
        let html = page(&[vec![red], entries()].concat(), &[], "2026-11-22T10:00:00.000Z");
        let at = |text: &str| html.find(text).unwrap();
        assert!(at("2026-11-22 10:00 UTC</span>") < at("2026-11-21 10:00 UTC</span>"));
        assert!(
            at("At fault: Bad.") < at("Sound or noted: 1</summary><ul class=\"reasons\"><li class=\"sound\">Fine.")
        );
        assert!(html.contains("GREEN 3</span>") && html.contains("RED 1</span>"));
    }

    #[test]
    fn an_empty_ledger_is_a_page_too() {
        assert!(page(&[], &[3], "now").contains("No verdict yet."));
    }
}
