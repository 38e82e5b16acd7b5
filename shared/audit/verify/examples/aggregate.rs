//! Measures a report over the hourly copies of a million records, or of another number:
//! `cargo run --release -p audit-verify --example aggregate -- 10000000`. The copies are made in memory and read as
//! `oracle audit report --copies` reads them; fetching them is not part of the time.

#![allow(clippy::print_stdout, reason = "it is run to be read")]

use audit::{Record, Source, Status, chain};
use audit_verify::signed_digest::{Document, Entry};
use audit_verify::{Aggregate, copies};
use domain::{Sale, SessionId, Tier, Timestamp};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use testkit::sale::WithField;

const RECORDS: i64 = 1_000_000;
const RECORDS_OF_A_SALE: i64 = 8;
/// The sales of one digest: 5,000 records.
const SALES_OF_A_DIGEST: i64 = 625;

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
    let records = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(RECORDS);
    let mut aggregate = Aggregate::default();
    let (mut reading, mut adding, mut bytes) = (Duration::ZERO, Duration::ZERO, 0);
    for first in (0..records / RECORDS_OF_A_SALE).step_by(SALES_OF_A_DIGEST as usize) {
        let sales = (first..first + SALES_OF_A_DIGEST).filter_map(sale);
        let lines: BTreeMap<String, Vec<u8>> = sales
            .flat_map(|sale| {
                sale.outbox()
                    .iter()
                    .map(|one| (one.key.clone(), format!("{}\n", one.line).into_bytes()))
                    .collect::<Vec<_>>()
            })
            .collect();
        let entries = lines.iter().map(|(key, line)| Entry::of(key, Some(line))).collect();
        let document = Document::following(None, "log", Timestamp::from_millis(1_776_349_384_565), entries);
        let (copy, document) = (copies::copy(&document, &lines), document.bytes());
        bytes += copy.len();

        let begun = Instant::now();
        let Ok(document) = Document::parse(document.as_bytes()) else { continue };
        let (found, _) = copies::records(&document, copy.as_bytes());
        reading += begun.elapsed();
        let begun = Instant::now();
        // The keys are ordered, and all records of a sale have its stream's key up to their number.
        for of_sale in found.chunk_by(|(one, _), (other, _)| stream(one) == stream(other)) {
            aggregate.add_sale(of_sale.iter().map(|(_, line)| *line));
        }
        adding += begun.elapsed();
    }
    let begun = Instant::now();
    let report = aggregate.finish();
    adding += begun.elapsed();
    println!(
        "{} records of {} sales, {bytes} bytes: {reading:.2?} to read and check the copies, {adding:.2?} to add up",
        report.records, report.sales
    );
}

/// The part of a record's key that all records of its stream share.
fn stream(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(stream, _)| stream)
}
