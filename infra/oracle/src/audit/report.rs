//! A report of the log as text for a terminal.

use std::fmt::Write;

use audit_verify::report::{Report, Retrievals, SLOW_MS, Step, TOLL_SLOW_MS};
use domain::Tier;

use crate::terminal::output::{self, Row, amount};

/// Tables, one for each part.
pub(crate) fn for_people(report: &Report, width: usize) -> String {
    let mut text = format!("sales: {}, records: {}\n", report.sales, report.records);
    for warning in warnings(report) {
        text.push_str(&output::wrapped(&warning, 0, width));
    }
    let mut part = |title: &str, head: &[&str], cells: Vec<Vec<String>>| {
        let _ = writeln!(text, "\n{title}");
        if cells.is_empty() {
            text.push_str("nothing\n");
        } else {
            let rows = cells.into_iter().map(|cells| Row { cells, below: String::new() });
            text.push_str(&output::table(head, rows, width));
        }
    };
    let money = |cents| amount(Some(&(cents, report.currency.to_owned())));
    let mut revenue: Vec<Vec<String>> = report
        .revenue
        .iter()
        .map(|row| {
            let tier = row.tier.key().to_owned();
            let counts = [row.sold.to_string(), money(row.gross_cents), row.refunds.to_string(), money(row.net_cents)];
            [vec![row.day.clone(), tier], counts.to_vec()].concat()
        })
        .collect();
    if !revenue.is_empty() {
        let rows = || report.revenue.iter();
        revenue.push(vec![
            "all".to_owned(),
            String::new(),
            rows().map(|row| row.sold).sum::<u64>().to_string(),
            money(rows().map(|row| row.gross_cents).sum()),
            rows().map(|row| row.refunds).sum::<u64>().to_string(),
            money(net(report)),
        ]);
    }
    part("REVENUE, as charged", &["DAY (UTC)", "TIER", "SOLD", "GROSS", "REFUNDS", "NET"], revenue);
    let latency = report.latency.iter().map(|row| {
        let tier = row.tier.map_or("-", Tier::key).to_owned();
        let times = [row.p50_ms, row.p95_ms, row.p99_ms, row.greatest_ms].map(seconds);
        [vec![tier, row.step.words().to_owned(), row.count.to_string()], times.to_vec()].concat()
    });
    let head = ["TIER", "STEP", "COUNT", "P50", "P95", "P99", "GREATEST"];
    part("LATENCY", &head, latency.collect());
    let pages = pages(&report.retrievals);
    part("VERDICTS ON THE PAGE", &["FROM", "COUNT", "SHARE"], shares(&pages));
    let mails = [("sent", report.mails.sent), ("failed", report.mails.failed)];
    part("MAIL, every attempt", &["OUTCOME", "COUNT", "SHARE"], shares(&mails));
    let mut errors: Vec<Vec<String>> =
        report.errors.iter().map(|error| vec![error.count.to_string(), error.detail.clone()]).collect();
    if report.other_errors > 0 {
        errors.push(vec![report.other_errors.to_string(), "others".to_owned()]);
    }
    part("ERRORS", &["COUNT", "DETAIL"], errors);
    let filter = report.filter.iter().map(|run| vec![run.gate.to_string(), run.outcome.clone(), run.count.to_string()]);
    part("CONTENT FILTER", &["GATE", "OUTCOME", "COUNT"], filter.collect());
    let checks = report.crosscheck.iter().map(|check| {
        let decision = if check.approved { "approved" } else { "rejected" };
        vec![decision.to_owned(), check.reason.clone(), check.count.to_string()]
    });
    part("CROSSCHECK", &["DECISION", "REASON", "COUNT"], checks.collect());
    part("REGENERATED, against the first verdict", &["DIFFERENCE", "COUNT", "SHARE"], shares(&divergences(report)));
    let mut sold: Vec<Vec<String>> = report
        .toll
        .revenue
        .iter()
        .map(|row| vec![row.day.clone(), row.endpoint.clone(), row.sold.to_string(), usdc(row.usdc_millionths)])
        .collect();
    if !sold.is_empty() {
        let count: u64 = report.toll.revenue.iter().map(|row| row.sold).sum();
        sold.push(vec!["all".to_owned(), String::new(), count.to_string(), usdc(toll_revenue(report))]);
    }
    part("TOLL, sold to agents", &["DAY (UTC)", "ADDRESS", "SOLD", "USDC"], sold);
    part("TOLL, every payment", &["STATUS", "COUNT", "SHARE"], shares(&outcomes(report)));
    let latency = report.toll.latency.iter().map(|row| {
        let times = [row.p50_ms, row.p95_ms, row.p99_ms, row.greatest_ms].map(seconds);
        [vec![row.endpoint.clone(), row.count.to_string()], times.to_vec()].concat()
    });
    part("TOLL, latency", &["ADDRESS", "COUNT", "P50", "P95", "P99", "GREATEST"], latency.collect());
    text
}

/// Warnings about facts that the figures leave out.
pub(crate) fn warnings(report: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.unreadable > 0 {
        warnings.push(format!("records that cannot be read: {}; see `oracle audit verify`", report.unreadable));
    }
    if report.processed_twice > 0 {
        warnings.push(format!(
            "sales with more than one first verdict, which means double work: {}",
            report.processed_twice
        ));
    }
    if report.slow_verdicts > 0 {
        let limit = SLOW_MS / 1000;
        warnings.push(format!("verdicts that took more than {limit} s: {}", report.slow_verdicts));
    }
    for row in report.latency.iter().filter(|row| row.step == Step::Verdict && row.p95_ms >= SLOW_MS) {
        let tier = row.tier.map_or("-", Tier::key);
        warnings.push(format!(
            "p95 of the verdicts of {tier}: {}, not below {}",
            seconds(row.p95_ms),
            seconds(SLOW_MS)
        ));
    }
    for row in report.toll.latency.iter().filter(|row| row.p95_ms >= TOLL_SLOW_MS) {
        let (p95, limit) = (seconds(row.p95_ms), seconds(TOLL_SLOW_MS));
        warnings.push(format!("p95 of the answers of {}: {p95}, not below {limit}", row.endpoint));
    }
    let all: u64 = divergences(report).iter().map(|(_, count)| count).sum();
    let differ: u64 = divergences(report).iter().filter(|(level, _)| DIFFERENT.contains(level)).map(|(_, n)| n).sum();
    if differ * 20 > all {
        warnings.push(format!(
            "regenerated verdicts with another colour than the first one: {differ} of {all}, more than 5 %; compare the \
             models and the prompt"
        ));
    }
    if report.without_verdict > 0 || report.refunds_without_verdict > 0 {
        warnings.push(format!(
            "sales that failed, are held or unusable: {}; refunds of sales without a verdict: {}; neither is in \
             the revenue",
            report.without_verdict, report.refunds_without_verdict
        ));
    }
    if report.other_amounts > 0 {
        warnings.push(format!(
            "sales paid with another amount or currency than their price: {}, {} all together, which the revenue has \
             in; other currencies are in no sum",
            report.other_amounts,
            amount(Some(&(report.other_amounts_cents, report.currency.to_owned())))
        ));
    }
    warnings
}

pub(crate) fn net(report: &Report) -> i64 {
    report.revenue.iter().map(|row| row.net_cents).sum()
}

/// The sum of agents' payments in millionths of a dollar.
pub(crate) fn toll_revenue(report: &Report) -> u64 {
    report.toll.revenue.iter().map(|row| row.usdc_millionths).sum()
}

/// The outcomes of agents' payments, with their counts.
pub(crate) fn outcomes(report: &Report) -> Vec<(&'static str, u64)> {
    report.toll.outcomes.iter().map(|outcome| (outcome.status, outcome.count)).collect()
}

/// The levels of regenerated verdicts that have another colour than the first one.
const DIFFERENT: [&str; 2] = ["minor", "significant"];

/// Regenerated verdicts by their difference to the first one.
pub(crate) fn divergences(report: &Report) -> Vec<(&str, u64)> {
    report.divergences.iter().map(|of| (of.level.as_str(), of.count)).collect()
}

/// An amount of USDC with its cents. No price has fractions of a cent.
pub(crate) fn usdc(millionths: u64) -> String {
    format!("{}.{:02}", millionths / 1_000_000, millionths % 1_000_000 / 10_000)
}

/// The sources of the verdicts on the page, with readable names.
pub(crate) const fn pages(retrievals: &Retrievals) -> [(&'static str, u64); 3] {
    [("cache", retrievals.cache), ("archive", retrievals.archive), ("regeneration", retrievals.regenerated)]
}

fn shares(parts: &[(&str, u64)]) -> Vec<Vec<String>> {
    let all: u64 = parts.iter().map(|(_, count)| count).sum();
    let row = |(name, count): &(&str, u64)| vec![(*name).to_owned(), count.to_string(), share(*count, all)];
    if all == 0 { Vec::new() } else { parts.iter().map(row).collect() }
}

/// A share in per cent with one decimal, rounded down, so that an incomplete share is never shown as 100.
pub(crate) fn share(part: u64, all: u64) -> String {
    let thousandths = part.saturating_mul(1000).checked_div(all).unwrap_or(0);
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

/// Milliseconds, from ten seconds on as seconds.
pub(crate) fn seconds(millis: u64) -> String {
    match millis {
        0..10_000 => format!("{millis} ms"),
        _ => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
    }
}

/// A report with data in every part.
#[cfg(test)]
pub(crate) fn sample() -> Report {
    use audit_verify::report::{
        Counted, Crosschecked, Diverged, Filtered, Latency, Mails, Revenue, Toll, TollLatency, TollOutcome, TollRevenue,
    };
    let days = ["2026-04-16", "2026-04-17", "2026-04-18", "2026-04-19", "2026-04-20"];
    let revenue = days.iter().enumerate().flat_map(|(index, day)| {
        let index = index as u64;
        [(Tier::Quick, 30 + index * 3, 1), (Tier::Full, 12 + index, 0), (Tier::Strategy, 2 + index % 2, index % 2)].map(
            |(tier, sold, refunds)| {
                let price = i64::from(tier.price_cents());
                let (gross_cents, net) = (sold as i64 * price, (sold as i64 - refunds as i64) * price);
                Revenue { day: (*day).to_owned(), tier, sold, gross_cents, refunds, net_cents: net }
            },
        )
    });
    let latency =
        [Step::Verdict, Step::Page, Step::Mail].into_iter().zip([9000_u64, 60, 2400]).flat_map(|(step, p50_ms)| {
            Tier::ALL.map(|tier| Latency {
                tier: Some(tier),
                step,
                count: 200,
                p50_ms,
                p95_ms: p50_ms * 2,
                p99_ms: p50_ms * 3,
                greatest_ms: p50_ms * 4,
            })
        });
    Report {
        sales: 240,
        records: 1900,
        unreadable: 1,
        processed_twice: 0,
        slow_verdicts: 3,
        currency: "cad",
        revenue: revenue.collect(),
        without_verdict: 3,
        refunds_without_verdict: 2,
        other_amounts: 4,
        other_amounts_cents: -400,
        latency: latency.collect(),
        retrievals: Retrievals { cache: 420, archive: 9, regenerated: 2 },
        mails: Mails { sent: 236, failed: 11 },
        errors: vec![
            Counted { detail: "Graph API returned 503".into(), count: 9 },
            Counted { detail: "held by the content filter at gate 1 <&>".into(), count: 2 },
        ],
        other_errors: 1,
        filter: vec![
            Filtered { gate: 1, outcome: "PASS".into(), count: 230 },
            Filtered { gate: 1, outcome: "REPLACE".into(), count: 8 },
            Filtered { gate: 1, outcome: "QUARANTINE".into(), count: 2 },
            Filtered { gate: 2, outcome: "PASS".into(), count: 238 },
        ],
        crosscheck: vec![
            Crosschecked { approved: false, reason: "low_coherence".into(), count: 7 },
            Crosschecked { approved: true, reason: "pass".into(), count: 240 },
        ],
        divergences: vec![Diverged { level: "none".into(), count: 2 }],
        toll: Toll {
            revenue: [("/query", 40, 2_000_000), ("/query/premium", 3, 3_000_000)]
                .map(|(endpoint, sold, usdc_millionths)| TollRevenue {
                    day: "2026-04-16".into(),
                    endpoint: endpoint.into(),
                    sold,
                    usdc_millionths,
                })
                .into(),
            outcomes: [("OK", 43), ("PAYMENT_REJECTED", 5), ("REPLAY", 2)]
                .map(|(status, count)| TollOutcome { status, count })
                .into(),
            latency: vec![TollLatency {
                endpoint: "/query".into(),
                count: 40,
                p50_ms: 2400,
                p95_ms: 4800,
                p99_ms: 5100,
                greatest_ms: 12_000,
            }],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_shown_and_fits() {
        let text = for_people(&sample(), 80);
        for part in
            ["REVENUE", "LATENCY", "VERDICTS ON THE PAGE", "MAIL", "ERRORS", "CONTENT FILTER", "CROSSCHECK", "TOLL"]
        {
            assert!(text.contains(&format!("\n{part}")), "{part}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for line in [
            "cache         420    97.4 %",
            "failed   11     4.4 %",
            "2026-04-17  full      13    65.00 CAD",
            "all                         43    5.00",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    /// A sale that failed on the last day of a month is refunded in the next one.
    #[test]
    fn refunds_of_sales_that_failed_in_an_earlier_period_are_reported() {
        let report = Report { without_verdict: 0, refunds_without_verdict: 1, ..sample() };
        let is_told = |report: &Report| {
            warnings(report).iter().any(|warning| warning.contains("refunds of sales without a verdict"))
        };
        assert!(is_told(&report) && !is_told(&Report { refunds_without_verdict: 0, ..report }));
    }

    /// Audit Trail, verification criterion 2: the 95th percentile, below a minute for verdicts and below 5 s for answers.
    #[test]
    fn a_p95_that_is_not_below_its_bound_is_warned_about() {
        let with = |verdict: u64, answer: u64| {
            let mut report = sample();
            report.latency.iter_mut().filter(|row| row.step == Step::Verdict).for_each(|row| row.p95_ms = verdict);
            report.toll.latency.iter_mut().for_each(|row| row.p95_ms = answer);
            warnings(&report).iter().filter(|warning| warning.starts_with("p95 of ")).count()
        };
        assert_eq!((with(59_999, 4_999), with(60_000, 4_999), with(59_999, 5_000)), (0, Tier::ALL.len(), 1));
    }

    /// Regen Consistency, failure mode 6.
    #[test]
    fn more_than_one_in_twenty_regenerated_verdicts_of_another_colour_is_warned_about() {
        use audit_verify::report::Diverged;
        let with = |same, other| {
            let of = |level: &str, count| Diverged { level: level.to_owned(), count };
            let divergences = vec![of("minor", other), of("none", same)];
            let report = Report { divergences, ..sample() };
            warnings(&report).iter().any(|warning| warning.contains("another colour"))
        };
        assert_eq!((with(19, 1), with(18, 1), with(0, 0)), (false, true, false));
    }

    #[test]
    fn an_empty_log_has_a_report_too() {
        let text = for_people(&audit_verify::Aggregate::default().finish(), 80);
        assert!(text.starts_with("sales: 0, records: 0\n") && text.contains("REVENUE"), "{text}");
        assert_eq!((share(0, 0).as_str(), share(999_999, 1_000_000).as_str()), ("0.0 %", "99.9 %"));
    }
}
