//! A month with a given number of sales: its cost, and the limit that is reached first.

use crate::prices::{Prices, Quota};
use domain::Metric;
use serde_json::{Value, json};

/// The months for which the log and the archive are stored: seven years.
const KEPT_MONTHS: f64 = 84.0;
const SECONDS_OF_MONTH: f64 = 30.0 * 86_400.0;
/// The busiest minute of a month as a multiple of the average minute.
const PEAK: f64 = 5.0;
/// The bytes that the functions log for a sale: about twenty-five lines of 400 bytes.
const LOG_BYTES: f64 = 10_000.0;
/// The tokens of the question, the instructions and a Full Breakdown, with the thoughts.
const TOKENS: f64 = 4_000.0;
/// The seconds of execution per verdict: the model's, and those of all other functions together.
const GENERATING_SECONDS: f64 = 12.0;
const OTHER_SECONDS: f64 = 2.0;
/// The fixed resources of a stack, with or without sales: secrets and keys of template.yaml.
const SECRETS: f64 = 10.0;
const KEYS: f64 = 3.0;
const GIGABYTE: f64 = 1e9;

/// The resources that one sale uses.
pub(crate) struct Sale {
    pub(crate) requests: f64,
    pub(crate) compute: f64,
    pub(crate) audit_bytes: f64,
    pub(crate) archive_bytes: f64,
    pub(crate) row_bytes: f64,
    pub(crate) stripe_calls: f64,
    pub(crate) s3_puts: f64,
    pub(crate) waf_requests: f64,
    /// Writes of the sale's row while it is open work.
    pub(crate) open_work_writes: f64,
}

/// The metrics that the stack's alarms read: CloudWatch charges for each, so that an alarm on a sum of three costs three.
fn alarm_metrics() -> f64 {
    let alarms = include_str!("../../template/alarms.jsonl").lines();
    let metrics = |line: &str| {
        let alarm: Value = serde_json::from_str(line).expect("alarms.jsonl has one alarm on each line");
        let metrics = alarm["Metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
        metrics.iter().filter(|metric| metric["MetricStat"].is_object()).count().max(1) as f64
    };
    alarms.map(metrics).sum()
}

fn cents(dollars: f64) -> f64 {
    (dollars * 100.0).round() / 100.0
}

/// The priced lines of one month.
pub(crate) fn priced(prices: &Prices, sale: &Sale, sales: f64) -> Vec<Value> {
    let usd = |name| prices.usd(name);
    let gigabytes = |bytes: f64| bytes * sales / GIGABYTE;
    let requests = sale.requests * sales + sale.waf_requests * sales * usd("waf_request");
    let is_too_many = |quota: &Quota| quota.of == "mails" && share(quota, sale, sales) > 1.0;
    let mails = if prices.quota.iter().any(is_too_many) { sales * usd("ses_mail") } else { 0.0 };
    let compute = sale.compute * sales;
    let logs = gigabytes(LOG_BYTES) * usd("log_gb");
    let fixed = alarm_metrics() * usd("alarm_metric_month")
        + Metric::ALL.len() as f64 * usd("metric_month")
        + usd("dashboard_month")
        + SECRETS * usd("secret_month")
        + KEYS * usd("key_month")
        + usd("firewall_month");
    let stored = gigabytes(sale.audit_bytes + sale.archive_bytes) * usd("s3_gb_month")
        + gigabytes(sale.row_bytes) * usd("dynamodb_gb_month");
    let total = |months: f64| cents(requests + compute + mails + logs + fixed + stored * months);
    let name = |what: &str| format!("month.{sales}.{what}");
    let mut lines = vec![json!({
        "name": name("cost"), "value": total(1.0), "unit": "USD a month", "after_seven_years": total(KEPT_MONTHS),
        "requests": cents(requests), "compute": cents(compute), "mails": cents(mails), "logs": cents(logs), "fixed": cents(fixed),
        "storage_first_month": cents(stored), "storage_after_seven_years": cents(stored * KEPT_MONTHS),
        "prices_as_of": prices.as_of,
    })];
    let mut used: Vec<(f64, &Quota)> = prices.quota.iter().map(|quota| (share(quota, sale, sales), quota)).collect();
    used.sort_by(|a, b| b.0.total_cmp(&a.0));
    lines.extend(used.iter().take(3).enumerate().map(|(rank, (share, quota))| {
        json!({ "name": name(&format!("quota.{}", rank + 1)), "value": cents(share * 100.0), "unit": "% of the limit at peak",
            "quota": quota.name, "reached_at": (sales / share).round(), "then": quota.then })
    }));
    lines
}

/// The share of a limit that is used in the busiest minute.
fn share(quota: &Quota, sale: &Sale, sales: f64) -> f64 {
    let rate = sales / SECONDS_OF_MONTH * if quota.even { 1.0 } else { PEAK };
    let each = match quota.of.as_str() {
        "mails" | "checkouts" | "counter_writes" | "sales" => 1.0,
        "stripe_calls" => sale.stripe_calls,
        "tokens" => TOKENS,
        "generating" => GENERATING_SECONDS,
        "executing" => GENERATING_SECONDS + OTHER_SECONDS,
        "s3_puts" | "records" => sale.s3_puts,
        "open_work_writes" => sale.open_work_writes,
        other => panic!("prices.toml: nothing is known of {other}"),
    };
    rate * each / quota.per_second
}
