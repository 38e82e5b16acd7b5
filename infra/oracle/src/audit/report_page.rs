//! A report of the log as one self-contained page with styles and charts and without scripts.

use std::fmt::Write;

use audit_verify::report::{Report, Revenue};
use domain::Tier;

use super::report::{divergences, net, outcomes, pages, seconds, share, toll_revenue, usdc, warnings};
use crate::terminal::output::amount;

const STYLE: &str = include_str!("report_page.css");

/// The greatest width of a bar and height of a column, in units of the chart.
const WIDE: u64 = 420;
const HIGH: u64 = 180;

/// The width of the column chart, and that of the axis to the left of its columns.
const WHOLE: u64 = 900;
const AXIS: u64 = 60;

/// The beginning of a page, up to its first section. Each text is HTML.
pub(crate) fn head(title: &str, heading: &str, about: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" \
         content=\"light dark\"><title>{title}</title><style>{STYLE}</style></head><body><main>\
         <header><h1>{heading}</h1><p>{about}</p></header>\n"
    )
}

/// The page. `made_at` is in ISO 8601. `time` is the period of the report; `None` if it covers all of the log.
/// `missing` says which records the report lacks.
pub(crate) fn page(report: &Report, made_at: &str, time: Option<&str>, missing: Option<&str>) -> String {
    let span = time.map_or_else(|| "all sales".to_owned(), |time| format!("sales {}", escaped(time)));
    let mut html = head("Oracle: audit report", "Audit report", &format!("{span} · made {}", escaped(made_at)));
    for warning in missing.map(str::to_owned).into_iter().chain(warnings(report)) {
        let _ = writeln!(html, "<p class=\"warning\">{}</p>", escaped(&warning));
    }
    let attempts = report.mails.sent + report.mails.failed;
    let shown = pages(&report.retrievals);
    let retrievals: u64 = shown.iter().map(|(_, count)| count).sum();
    let sold: u64 = report.revenue.iter().map(|row| row.sold).sum();
    html.push_str("<section class=\"figures\">");
    for (name, value) in [
        ("Net revenue", money(net(report), report)),
        ("Verdicts sold", grouped(&sold.to_string())),
        ("Refunds", grouped(&report.revenue.iter().map(|row| row.refunds).sum::<u64>().to_string())),
        ("Cache hits", share(report.retrievals.cache, retrievals)),
        ("Mail failures", share(report.mails.failed, attempts)),
        ("Paid by agents", format!("{} USDC", grouped(&usdc(toll_revenue(report))))),
    ] {
        let _ = write!(html, "<div><span>{name}</span><strong>{value}</strong></div>");
    }
    html.push_str("</section>\n");
    section(&mut html, "Revenue by day and tier", &revenue(report));
    section(&mut html, "Latency by tier and step", &latency(report));
    let counted = |parts: &[(&str, u64)]| parts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    html.push_str("<div class=\"pair\">");
    section(&mut html, "Verdicts on the page", &bars(counted(&shown)));
    let mails = [("sent", report.mails.sent), ("failed", report.mails.failed)];
    section(&mut html, "Mail, every attempt", &bars(counted(&mails)));
    // Counts each gate separately, because every verdict passes through both.
    let filter = report
        .filter
        .chunk_by(|one, other| one.gate == other.gate)
        .map(|runs| bars(runs.iter().map(|run| (format!("gate {}: {}", run.gate, run.outcome), run.count)).collect()));
    section(&mut html, "Content filter", &filter.collect::<String>());
    let checks = report.crosscheck.iter().map(|check| {
        let decision = if check.approved { "approved" } else { "rejected" };
        (format!("{decision}: {}", check.reason.replace('_', " ")), check.count)
    });
    section(&mut html, "Crosscheck", &bars(checks.collect()));
    section(&mut html, "Regenerated, against the first verdict", &bars(counted(&divergences(report))));
    section(&mut html, "Agents' payments", &bars(counted(&outcomes(report))));
    html.push_str("</div>");
    let mut errors: Vec<(String, u64)> =
        report.errors.iter().map(|error| (error.detail.clone(), error.count)).collect();
    if report.other_errors > 0 {
        errors.push(("others".to_owned(), report.other_errors));
    }
    section(&mut html, "Errors", &bars(errors));
    let _ = writeln!(
        html,
        "<footer>{} sales, {} records. Amounts are what was charged, in {}; quantiles are within one per cent.\
         </footer></main></body></html>",
        report.sales,
        report.records,
        report.currency.to_uppercase()
    );
    html
}

fn section(html: &mut String, title: &str, content: &str) {
    let content = if content.is_empty() { "<p class=\"none\">nothing</p>" } else { content };
    let _ = writeln!(html, "<section><h2>{title}</h2>{content}</section>");
}

/// An amount with separated thousands.
fn money(cents: i64, report: &Report) -> String {
    grouped(&amount(Some(&(cents, report.currency.to_owned()))))
}

/// Separates the thousands of the number at the beginning of a text.
fn grouped(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let digits = number.trim_start_matches('-').len();
    let mut grouped = String::from(if number.starts_with('-') { "-" } else { "" });
    for (index, digit) in number.trim_start_matches('-').chars().enumerate() {
        if index > 0 && (digits - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// A column per day, divided by tier. Below the chart are the tiers' sums and a collapsed table of the days.
fn revenue(report: &Report) -> String {
    let mut days: Vec<&[Revenue]> = report.revenue.chunk_by(|one, other| one.day == other.day).collect();
    if days.is_empty() {
        return String::new();
    }
    let total = |rows: &[Revenue]| rows.iter().map(gross).sum::<u64>();
    let greatest = days.iter().map(|rows| total(rows)).max().unwrap_or(0).max(1);
    let top = round_up(greatest);
    let step = ((WHOLE - AXIS) / days.len() as u64).clamp(3, 64);
    // Room for the day below a single column.
    let width = AXIS + (step * days.len() as u64).max(80);
    let mut svg = format!(
        "<svg class=\"columns\" viewBox=\"0 0 {width} {}\" style=\"max-width:{width}px\" role=\"img\" \
         aria-label=\"Gross revenue by day\">",
        HIGH + 34
    );
    for quarter in 0..=4 {
        let (y, value) = (HIGH + 10 - HIGH * quarter / 4, cents(top * quarter / 4) / 100);
        let _ = write!(
            svg,
            "<line x1=\"{AXIS}\" x2=\"{width}\" y1=\"{y}\" y2=\"{y}\"/><text x=\"{}\" y=\"{}\" \
             text-anchor=\"end\">{}</text>",
            AXIS - 8,
            y + 4,
            grouped(&value.to_string())
        );
    }
    for (index, rows) in days.iter().enumerate() {
        let (left, mut above) = (AXIS + index as u64 * step, HIGH + 10);
        let _ = write!(svg, "<g><title>{}: {}</title>", rows[0].day, money(cents(total(rows)), report));
        for row in *rows {
            let height = gross(row) * HIGH / top;
            above -= height;
            let (key, wide) = (row.tier.key(), step - step.div_ceil(6));
            let _ =
                write!(svg, "<rect class=\"{key}\" x=\"{left}\" y=\"{above}\" width=\"{wide}\" height=\"{height}\"/>");
        }
        svg.push_str("</g>");
    }
    let (first, last) = (&days[0][0].day, &days[days.len() - 1][0].day);
    let below = HIGH + 30;
    let _ = write!(svg, "<text x=\"{AXIS}\" y=\"{below}\">{first}</text>");
    if width - AXIS >= 190 {
        let _ = write!(svg, "<text x=\"{width}\" y=\"{below}\" text-anchor=\"end\">{last}</text>");
    }
    svg.push_str("</svg><table><thead><tr><th>Tier<th><th>Sold<th>Gross<th>Refunds<th>Net</thead><tbody>");
    for tier in Tier::ALL {
        let of_tier = || report.revenue.iter().filter(|row| row.tier == tier);
        let (sold, refunds) = of_tier().fold((0, 0), |(sold, refunds), row| (sold + row.sold, refunds + row.refunds));
        let sums = [of_tier().map(|row| row.gross_cents).sum(), of_tier().map(|row| row.net_cents).sum()];
        let name = format!("<span class=\"{}\">{}</span><td>", tier.key(), tier.name());
        svg.push_str(&sums_row(&name, sold, sums, refunds, report));
    }
    svg.push_str("</tbody></table><details><summary>Day by day</summary><table><thead><tr><th>Day (UTC)<th>Tier");
    svg.push_str("<th>Sold<th>Gross<th>Refunds<th>Net</thead><tbody>");
    days.reverse();
    for row in days.into_iter().flatten() {
        let name = format!("{}<td>{}", row.day, row.tier.name());
        svg.push_str(&sums_row(&name, row.sold, [row.gross_cents, row.net_cents], row.refunds, report));
    }
    svg.push_str("</tbody></table></details>");
    svg
}

fn sums_row(name: &str, sold: u64, [gross, net]: [i64; 2], refunds: u64, report: &Report) -> String {
    let (gross, net) = (money(gross, report), money(net, report));
    format!("<tr><td>{name}<td>{}<td>{gross}<td>{refunds}<td>{net}", grouped(&sold.to_string()))
}

/// Rounds cents up to an axis whose four equal parts are readable: 1, 2, 4 or 8 and zeros, in whole dollars.
fn round_up(cents: u64) -> u64 {
    let mut step = 400;
    loop {
        for factor in [1, 2, 4] {
            if step * factor >= cents || step >= u64::MAX / 40 {
                return step * factor;
            }
        }
        step *= 10;
    }
}

fn gross(row: &Revenue) -> u64 {
    u64::try_from(row.gross_cents).unwrap_or(0)
}

fn cents(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// A row for each tier and step: three bars in one, on a separate scale for each step.
fn latency(report: &Report) -> String {
    if report.latency.is_empty() {
        return String::new();
    }
    let mut html = "<table><thead><tr><th>Step<th>Tier<th>Count<th>p50<th>p95<th>p99<th>Greatest<th class=\"chart\">\
                    p50 · p95 · p99</thead><tbody>"
        .to_owned();
    let mut rows: Vec<_> = report.latency.iter().collect();
    rows.sort_by_key(|row| (row.step, row.tier));
    for row in &rows {
        let scale = rows.iter().filter(|other| other.step == row.step).map(|other| other.p99_ms).max();
        let bar = |class: &str, millis: u64| {
            let wide = (u128::from(millis) * 200 / u128::from(scale.unwrap_or(1).max(1))).max(1);
            format!("<rect class=\"{class}\" width=\"{wide}\" height=\"12\"/>")
        };
        let bars = [bar("p99", row.p99_ms), bar("p95", row.p95_ms), bar("p50", row.p50_ms)].concat();
        let _ = write!(
            html,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td class=\"chart\"><svg viewBox=\"0 0 200 12\" \
             width=\"200\" height=\"12\" aria-hidden=\"true\">{bars}</svg>",
            row.step.words(),
            row.tier.map_or("not known", Tier::name),
            grouped(&row.count.to_string()),
            seconds(row.p50_ms),
            seconds(row.p95_ms),
            seconds(row.p99_ms),
            seconds(row.greatest_ms)
        );
    }
    html.push_str("</tbody></table>");
    html
}

/// Named counts as bars, each with its share.
fn bars(parts: Vec<(String, u64)>) -> String {
    let all: u64 = parts.iter().map(|(_, count)| count).sum();
    let greatest = parts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if greatest == 0 {
        return String::new();
    }
    let mut html = "<dl>".to_owned();
    for (name, count) in parts {
        let wide = if count == 0 { 0 } else { (count.saturating_mul(WIDE) / greatest).max(2) };
        let _ = write!(
            html,
            "<dt>{}</dt><dd><svg viewBox=\"0 0 {WIDE} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect class=\"bar\" width=\"{wide}\" height=\"10\"/></svg><span>{} · {}</span></dd>",
            escaped(&name),
            grouped(&count.to_string()),
            share(count, all)
        );
    }
    html.push_str("</dl>");
    html
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::report::sample;

    #[test]
    fn a_page_needs_nothing_else_and_escapes_what_it_shows() {
        let missing = "made of the hourly copies <&>";
        let html = page(&sample(), "2026-04-21T00:00:00.000Z", Some("2026-04-16"), Some(missing));
        for absent in ["<script", "http:", "https:", "url(", "@import", "gate 1 <&>"] {
            assert!(!html.contains(absent), "{absent}");
        }
        for present in [
            "Revenue by day",
            "p50 · p95",
            "gate 1 &lt;&amp;&gt;",
            "<p class=\"warning\">made of the hourly copies &lt;&amp;&gt;</p>",
            "97.4 %",
            "230 · 95.8 %",
            "Strategy Session",
            "<details>",
            "<svg",
        ] {
            assert!(html.contains(present), "{present}");
        }
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    }

    #[test]
    fn axes_and_thousands_are_easy_to_read() {
        let marks = [1, 400, 401, 1_600, 1_601, 5_000, 161_000].map(round_up);
        assert_eq!(marks, [400, 400, 800, 1_600, 4_000, 8_000, 400_000]);
        for (text, expected) in [("0", "0"), ("999.00 CAD", "999.00 CAD"), ("-1234567.89 CAD", "-1,234,567.89 CAD")] {
            assert_eq!(grouped(text), expected);
        }
    }

    #[test]
    fn an_empty_report_is_a_page_too() {
        let html = page(&audit_verify::Aggregate::default().finish(), "now", None, None);
        assert!(html.contains("nothing") && html.contains("all sales"));
    }
}
