//! A report of the log as one page that needs nothing else: styles and charts are in it, and no script.

use std::fmt::Write;

use audit::report::{Report, Revenue};
use domain::Tier;

use crate::{
    audit_report::{net, pages, seconds, share, warnings},
    output::amount,
};

const STYLE: &str = include_str!("report_page.css");

/// The widest a bar is, and the highest a column is, in units of the chart.
const WIDE: u64 = 420;
const HIGH: u64 = 160;

/// The page. `made_at` is a moment in ISO 8601, `since` the first day, if there is one.
pub(crate) fn page(report: &Report, made_at: &str, since: Option<&str>) -> String {
    let span = since.map_or_else(|| "all sales".to_owned(), |day| format!("sales since {}", escaped(day)));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" \
         content=\"light dark\"><title>Oracle: audit report</title><style>{STYLE}</style></head><body><main>\
         <header><h1>Audit report</h1><p>{span} · made {}</p></header>\n",
        escaped(made_at)
    );
    for warning in warnings(report) {
        let _ = writeln!(html, "<p class=\"warning\">{}</p>", escaped(&warning));
    }
    let attempts = report.mails.sent + report.mails.failed;
    let shown = pages(&report.retrievals);
    let retrievals: u64 = shown.iter().map(|(_, count)| count).sum();
    let sold: u64 = report.revenue.iter().map(|row| row.sold).sum();
    html.push_str("<section class=\"figures\">");
    for (name, value) in [
        ("Net revenue", money(net(report), report)),
        ("Verdicts sold", sold.to_string()),
        ("Cache hits", share(report.retrievals.cache, retrievals)),
        ("Mail failures", share(report.mails.failed, attempts)),
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
    // Each gate by itself: every verdict passes both.
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
    html.push_str("</div>");
    let mut errors: Vec<(String, u64)> =
        report.errors.iter().map(|error| (error.detail.clone(), error.count)).collect();
    if report.other_errors > 0 {
        errors.push(("others".to_owned(), report.other_errors));
    }
    section(&mut html, "Errors", &bars(errors));
    let _ = writeln!(
        html,
        "<footer>{} sales, {} records. Amounts are the tiers' prices in {}; quantiles are within one per cent.\
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

fn money(cents: i64, report: &Report) -> String {
    amount(Some(&(cents, report.currency.to_owned())))
}

/// A column a day, its parts the tiers; below it the table.
fn revenue(report: &Report) -> String {
    let mut days: Vec<&[Revenue]> = report.revenue.chunk_by(|one, other| one.day == other.day).collect();
    if days.is_empty() {
        return String::new();
    }
    let total = |rows: &[Revenue]| rows.iter().map(gross).sum::<u64>();
    let greatest = days.iter().map(|rows| total(rows)).max().unwrap_or(0).max(1);
    let step = (800 / days.len() as u64).clamp(3, 64);
    let width = step * days.len() as u64;
    let mut svg = format!(
        "<svg class=\"columns\" viewBox=\"0 0 {} {}\" style=\"max-width:{}px\" role=\"img\" \
         aria-label=\"Gross revenue by day\">",
        width + 2,
        HIGH + 28,
        width + 2
    );
    for (index, rows) in days.iter().enumerate() {
        let (left, mut top) = (index as u64 * step, HIGH + 4);
        let _ = write!(svg, "<g><title>{}: {}</title>", rows[0].day, money(cents(total(rows)), report));
        for row in *rows {
            let height = gross(row) * HIGH / greatest;
            top -= height;
            let (key, wide) = (row.tier.key(), step - step / 6);
            let _ =
                write!(svg, "<rect class=\"{key}\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{height}\"/>");
        }
        svg.push_str("</g>");
    }
    let (first, last) = (&days[0][0].day, &days[days.len() - 1][0].day);
    let below = HIGH + 22;
    if step * days.len() as u64 >= 190 {
        let _ = write!(svg, "<text x=\"0\" y=\"{below}\">{first}</text>");
        let _ = write!(svg, "<text x=\"{width}\" y=\"{below}\" text-anchor=\"end\">{last}</text>");
    }
    let _ = write!(svg, "<line x1=\"0\" x2=\"{width}\" y1=\"{0}\" y2=\"{0}\"/></svg>", HIGH + 4);
    svg.push_str("<p class=\"legend\">");
    for tier in Tier::ALL {
        let _ = write!(svg, "<span class=\"{}\">{}</span> ", tier.key(), tier.name());
    }
    svg.push_str("</p><table><thead><tr><th>Day (UTC)<th>Tier<th>Sold<th>Gross<th>Refunds<th>Net</thead><tbody>");
    days.reverse();
    for row in days.into_iter().flatten() {
        let _ = write!(
            svg,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            row.day,
            row.tier.name(),
            row.sold,
            money(row.gross_cents, report),
            row.refunds,
            money(row.net_cents, report)
        );
    }
    svg.push_str("</tbody></table>");
    svg
}

fn gross(row: &Revenue) -> u64 {
    u64::try_from(row.gross_cents).unwrap_or(0)
}

fn cents(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// A row for each tier and step: three bars in one, on a scale of the step's own.
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
            row.count,
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
             <rect class=\"bar\" width=\"{wide}\" height=\"10\"/></svg><span>{count} · {}</span></dd>",
            escaped(&name),
            share(count, all)
        );
    }
    html.push_str("</dl>");
    html
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit_report::sample;

    #[test]
    fn a_page_needs_nothing_else_and_escapes_what_it_shows() {
        let html = page(&sample(), "2026-04-21T00:00:00.000Z", Some("2026-04-16"));
        for absent in ["<script", "http:", "https:", "url(", "@import", "gate 1 <&>"] {
            assert!(!html.contains(absent), "{absent}");
        }
        for present in [
            "Revenue by day",
            "p50 · p95",
            "gate 1 &lt;&amp;&gt;",
            "97.4 %",
            "230 · 95.8 %",
            "Strategy Session",
            "<svg",
        ] {
            assert!(html.contains(present), "{present}");
        }
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    }

    #[test]
    fn an_empty_report_is_a_page_too() {
        let html = page(&audit::Aggregate::default().finish(), "now", None);
        assert!(html.contains("nothing") && html.contains("all sales"));
    }
}
