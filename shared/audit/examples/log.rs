//! Writes a generated log into a directory, in the form of a copy of the log's bucket, for reports and their timing:
//! `cargo run -p audit --example log -- DIRECTORY RECORDS`, then `oracle audit report --directory DIRECTORY`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is run to be read")]

use audit::{Body, Record, RefundStep, Source, Status, chain};
use domain::{Sale, SessionId, Tier, Timestamp};
use serde_json::json;
use std::{error::Error, fs, path::Path};
use testkit::sale::WithField;

const DAYS: i64 = 60;
const DAY: i64 = 86_400_000;
const BEGIN: i64 = 1_776_297_600_000;

/// Numbers that look random and are the same in every run.
const fn drawn(index: i64, salt: i64, below: i64) -> i64 {
    let mixed =
        (index + 1).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(salt.wrapping_mul(1_442_695_040_888_963_407));
    ((mixed >> 33).rem_euclid(below) + (mixed >> 17).rem_euclid(below)) / 2
}

fn sale(index: i64) -> Option<Sale> {
    let day = drawn(index, 1, DAYS);
    let start = Timestamp::from_millis(BEGIN + day * DAY + drawn(index, 2, DAY));
    let mut sale = Sale::ordered(SessionId::parse(format!("cs_live_{index:058}")).ok()?, start);
    let tier = match drawn(index, 3, 100) {
        0..45 => Tier::Quick,
        45..70 => Tier::Full,
        _ => Tier::Strategy,
    };
    sale = sale.with("tier", Some(tier));
    sale = sale.with("query_hash", Some("sha256:8f3a2c1b00000000".to_owned()));
    sale = sale.with("email_tag", Some(format!("hmac-sha256:v1:{index:032}")));
    let slow = match tier {
        Tier::Quick => 1,
        Tier::Full => 2,
        Tier::Strategy => 4,
    };
    let made = 2_000 * slow + drawn(index, 4, 6_000 * slow);
    let mut at = |latency: i64, body: Body| {
        let now = Timestamp::from_millis(start.as_millis() + latency);
        chain::append(&mut sale, &Record::new(now, start, body));
    };
    let event = |source, status, detail: Option<&str>| Body::Pipeline {
        source,
        status,
        error_detail: detail.map(str::to_owned),
        details: None,
    };
    let filter = |gate, outcome: &str| Body::ContentFilter {
        gate,
        outcome: outcome.to_owned(),
        list_version: "7".to_owned(),
        list_hash: "0".repeat(64),
        hits: json!([]),
    };
    let approved = drawn(index, 5, 100) < 80;
    let reason = if approved { "pass" } else { "low_coherence" };
    at(
        made - 40,
        Body::TmmCrosscheck { phi: 0.042, decision: json!({"approved": approved, "crosscheck_reason": reason}) },
    );
    let held = drawn(index, 6, 1000) < 60;
    at(
        made - 20,
        filter(
            1,
            if held {
                "QUARANTINE"
            } else if drawn(index, 7, 100) < 12 {
                "REPLACE"
            } else {
                "PASS"
            },
        ),
    );
    if held {
        at(made, event(Source::Webhook, Status::Error, Some("held by the content filter at gate 1")));
        let (amount_total, currency) = (Some(i64::from(tier.price_cents())), Some("cad".to_owned()));
        let (by, reason) = ("policy".to_owned(), "held for 24 h".to_owned());
        at(
            DAY,
            Body::Refund {
                step: RefundStep::Confirmed,
                by,
                reason,
                identity: None,
                amount_total,
                currency,
                error: None,
            },
        );
        return Some(sale);
    }
    at(made, event(Source::Webhook, Status::Ok, None));
    at(made + 200, filter(2, "PASS"));
    if drawn(index, 8, 100) < 18 {
        let errors = ["Graph API returned 503", "the mailbox is throttled", "the outcome is unknown"];
        let error = errors[usize::try_from(drawn(index, 9, 3)).ok()?];
        at(made + 900, event(Source::EmailService, Status::EmailFailed, Some(error)));
    }
    at(made + 1_200 + drawn(index, 10, 3_000), event(Source::EmailService, Status::EmailSent, Some("sent")));
    for reading in 0..drawn(index, 11, 4) {
        at(20 + drawn(index, 12 + reading, 120), event(Source::CacheHit, Status::Cached, Some("cache_hit")));
    }
    if drawn(index, 20, 1000) < 120 {
        at(90 + drawn(index, 21, 200), event(Source::ResultPage, Status::Cached, Some("restored from the archive")));
    }
    if drawn(index, 22, 10_000) < 700 {
        at(made, event(Source::ResultPage, Status::Regenerated, Some("cache and archive missed")));
    }
    Some(sale)
}

fn write(directory: &Path, sales: impl Iterator<Item = Sale>, records: usize) -> Result<usize, Box<dyn Error>> {
    let mut written = 0;
    for sale in sales {
        for (index, entry) in sale.outbox().iter().enumerate() {
            let path = directory.join(&entry.key);
            if index == 0 {
                fs::create_dir_all(path.parent().unwrap_or(directory))?;
            }
            fs::write(path, format!("{}\n", entry.line))?;
            written += 1;
        }
        if written >= records {
            break;
        }
    }
    Ok(written)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(records)) = (arguments.next(), arguments.next()) else {
        return Err("DIRECTORY RECORDS".into());
    };
    let records: i64 = records.parse()?;
    let sales = (0..records).filter_map(sale);
    let written = write(Path::new(&directory), sales, usize::try_from(records)?)?;
    println!("{written} records in {directory}");
    Ok(())
}
