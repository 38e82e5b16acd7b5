//! Measures a report over a million records: `cargo run --release -p audit-verify --example aggregate`.

#![allow(clippy::print_stdout, reason = "it is run to be read")]

use audit::{Record, Source, Status, chain};
use audit_verify::Aggregate;
use domain::{Sale, SessionId, Tier, Timestamp};
use std::time::{Duration, Instant};
use testkit::sale::WithField;

const SALES: i64 = 125_000;

/// A sale of eight records on one of a hundred days.
fn sale(index: i64) -> Option<Sale> {
    let start = Timestamp::from_millis(1_776_349_384_565 + index % 100 * 86_400_000);
    let mut sale = Sale::ordered(SessionId::parse(format!("cs_live_{index:058}")).ok()?, start);
    sale = sale.with("tier", Tier::ALL.into_iter().cycle().nth(usize::try_from(index % 3).ok()?));
    sale = sale.with("query_hash", Some("sha256:8f3a2c1b00000000".to_owned()));
    sale = sale.with("email_tag", Some(format!("hmac-sha256:v1:{index:032}")));
    let mut add = |latency: i64, source, status, detail| {
        let now = Timestamp::from_millis(start.as_millis() + latency);
        chain::append(&mut sale, &Record::pipeline(now, start, source, status, detail));
    };
    let latency = 1000 + index * 7919 % 60_000;
    add(latency, Source::Webhook, Status::Ok, None);
    add(latency / 2, Source::EmailService, Status::EmailFailed, Some("Graph API returned 503"));
    add(latency / 3, Source::EmailService, Status::EmailSent, Some("sent"));
    for reading in 1..=4 {
        add(reading * 13 + index % 50, Source::CacheHit, Status::Cached, Some("cache_hit"));
    }
    add(latency / 5, Source::ResultPage, Status::Cached, Some("restored from the archive"));
    Some(sale)
}

fn main() {
    let mut aggregate = Aggregate::default();
    let mut spent = Duration::ZERO;
    let mut bytes = 0;
    for sale in (0..SALES).filter_map(sale) {
        let lines: Vec<&[u8]> = sale.outbox().iter().map(|entry| entry.line.as_bytes()).collect();
        bytes += lines.iter().map(|line| line.len()).sum::<usize>();
        let begun = Instant::now();
        aggregate.add_sale(lines);
        spent += begun.elapsed();
    }
    let begun = Instant::now();
    let report = aggregate.finish();
    spent += begun.elapsed();
    println!("{} records of {} sales, {bytes} bytes: {spent:.2?}", report.records, report.sales);
}
