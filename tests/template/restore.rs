//! The guide's commands for a restore, run with bash and jq on records that the journal writes.

use crate::model::root;
use audit::{ChatStatus, Context, Record, Source, Status, chain, sale_events};
use domain::{
    Operator, Sale, SessionId, Tier, Timestamp,
    audit_trail::Audited,
    chat::{Account, SubscriberId},
    money::{Authorisation, Money},
    open_work::Work,
    sale::{AuditEntry, AuditHead, ERASURE_SETTLES_AFTER},
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

fn guide() -> String {
    fs::read_to_string(root().join("infra/README.md")).expect("the guide")
}

/// A restore without lost rows has nothing to write, and goes on.
#[test]
fn the_guide_writes_no_rows_if_there_are_none() {
    let guide = guide();
    let (_, function) = guide.split_once("    write_rows() {").expect("the function's beginning");
    let (function, _) = function.split_once("\n    }").expect("the function's end");
    let script = format!("write_rows() {{{function}\n}}\nwrite_rows /dev/null && echo written");
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash runs");
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"written\n"[..], &b""[..]));
}

/// The lines of the guide from the first that begins with `start` to the one before `end`, without the text between.
fn commands(guide: &str, start: &str, end: &str) -> String {
    let (_, rest) = guide.split_once(&format!("\n    {start}")).expect(start);
    let (rest, _) = rest.split_once(&format!("\n    {end}")).expect(end);
    let rest = format!("    {start}{rest}");
    rest.lines().filter(|line| line.starts_with("    ")).map(|line| format!("{line}\n")).collect()
}

/// A session that its customer has ended has no row. Written again, it would sign the browser in.
#[test]
fn the_guide_brings_no_session_and_no_link_of_the_chat_back() {
    let list = commands(&guide(), "jq -nc --slurpfile live live ", "aws s3api list-objects-v2 ");
    let row = |(pk, sk): (&str, &str)| format!("{}\n", json!({ "pk": { "S": pk }, "sk": { "S": sk } }));
    let kept = [("SESSION#cs_live_1", "SALE"), ("CHAT#c", "ACCOUNT")];
    let lost = [("SESSION#cs_live_2", "SALE"), ("CHAT#c", "REPLY#1"), ("MEMORY#c", "CHATSESSION#1")];
    let ended = [("CHATSESSION#1", "SESSION"), ("CHATLOGIN#1", "LOGIN")];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lost_rows");
    fs::create_dir_all(&folder).expect("a folder");
    for (name, rows) in [("live", kept.to_vec()), ("restored", [&kept[..], &ended[..], &lost[..]].concat())] {
        fs::write(folder.join(name), rows.into_iter().map(row).collect::<String>()).expect("a file");
    }
    let output = Command::new("bash").args(["-e", "-c", &list]).current_dir(&folder).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = fs::read_to_string(folder.join("lost")).expect("the rows");
    assert_eq!(found, lost.map(row).concat());
}

/// The log's objects of a sale that is erased, and the end of its stream.
fn erased_sale(session: &str) -> (Vec<AuditEntry>, Option<AuditHead>) {
    let (session, now) = (SessionId::parse(session).expect("a session"), Timestamp::from_seconds(1_776_300_000));
    let mut sale = Sale::ordered(session, now);
    chain::append(&mut sale, &Record::pipeline(now, now, Source::Webhook, Status::Ok, None));
    let operator = Operator::parse("alex", Some("asked")).expect("an operator");
    let erased = sale.erase(&operator, now).expect("a decision");
    let later = now.plus(ERASURE_SETTLES_AFTER);
    let finished = sale.erasure_finished(later).expect("the last check");
    for (event, at) in [(erased, now), (finished, later)] {
        sale_events::records(&event, &Context::at(at)).iter().for_each(|record| chain::append(&mut sale, record));
    }
    (sale.outbox().to_vec(), sale.audit().cloned())
}

/// The log's object of an account whose memory is erased.
fn erased_memory() -> Vec<AuditEntry> {
    let now = Timestamp::from_seconds(1_776_300_000);
    let mut account = Account::new(SubscriberId::parse("c".repeat(64)).expect("an id"));
    chain::append(&mut account, &Record::chat(now, now, ChatStatus::Erased, json!({})));
    account.trail().outbox().to_vec()
}

/// Writes a record's object below `log`.
fn publish(folder: &Path, entry: &AuditEntry) {
    let path = folder.join("log").join(&entry.key);
    fs::create_dir_all(path.parent().expect("a stream")).expect("a folder");
    fs::write(path, format!("{}\n", entry.line)).expect("an object");
}

/// After a restore, an erased sale without a row would be ordered again. The guide's blocks find the erased sales in
/// the log and write rows that are sales, and each row continues the stream that the log has.
#[test]
fn the_guide_gives_every_erased_sale_without_a_row_a_row() {
    let guide = guide();
    let list = commands(&guide, "while read key;", "write_rows() {");
    let make = commands(&guide, "jq -r 'select(.sk.S == \"SALE\" and ", "write_rows tombstones");
    // `aws s3 cp OPTION s3://AUDIT/KEY FILE`
    let aws = r#"aws() { if [ "$5" = - ]; then cat "log/${4#s3://AUDIT/}"; else cp "log/${4#s3://AUDIT/}" "$5"; fi; }"#;
    let script = format!("{aws}\n{list}{make}");
    let row = |session: &str, document: Value| {
        let pk = format!("SESSION#{session}");
        json!({ "pk": { "S": pk }, "sk": { "S": "SALE" }, "document": { "S": document.to_string() } }).to_string()
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("erased_rows");
    fs::create_dir_all(&folder).expect("a folder");
    let sales = ["cs_live_have", "cs_live_new", "cs_live_new-followup", "cs_live_old"].map(erased_sale);
    let mut records = String::new();
    for entry in sales.iter().flat_map(|(entries, _)| entries).chain(&erased_memory()) {
        publish(&folder, entry);
        records.push_str(&format!("{}\n", entry.key));
    }
    let decided = Authorisation::by_policy("quarantine-24h", "held").expect("a policy");
    let money = Money::RefundAuthorised { authorisation: decided.clone(), at: Timestamp::from_seconds(5) };
    let restored =
        json!({ "session_id": "cs_live_old", "tier": "quick", "query_hash": "abc", "received_at": 5, "money": money });
    let dispute = Money::Disputed { at: Timestamp::from_seconds(5), refund: Some(decided.clone()), bounced: false };
    let disputed = json!({ "session_id": "cs_live_new", "received_at": 5, "money": dispute });
    for (name, text) in [
        ("live", row("cs_live_have", json!({}))),
        ("restored", format!("{}\n{}", row("cs_live_old", restored), row("cs_live_new", disputed))),
        ("older", row("cs_live_unlogged", json!({ "fulfilment": { "state": "erased" } }))),
        ("records", records),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
    let output = Command::new("bash").args(["-e", "-c", &script]).current_dir(&folder).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = fs::read_to_string(folder.join("tombstones")).expect("the rows");
    let (mut rows, mut failed_refunds) = (Vec::new(), 0);
    for line in written.lines() {
        let request: Value = serde_json::from_str(line).expect("a request");
        let item = &request["PutRequest"]["Item"];
        let sale: Sale = serde_json::from_str(item["document"]["S"].as_str().unwrap_or_default()).expect("a sale");
        let open = sale.open_work().expect("the last check");
        assert_eq!((open.work, item["open"]["S"].as_str()), (Work::Erasure, Some(Work::Erasure.as_str())));
        assert!(sale.is_erased() && sale.query_hash().is_none(), "{line}");
        assert_eq!(item["pk"]["S"], format!("SESSION#{}", sale.session_id().as_str()));
        // A refund that was decided before the restore point may have been made by hand since.
        if let Money::RefundFailed { refund, .. } = sale.money() {
            assert_eq!((sale.session_id().as_str(), refund), ("cs_live_old", &Some(decided.clone())));
            let mut checked = sale.clone();
            checked.erasure_finished(Timestamp::from_seconds(4_000_000_000)).expect("the last check");
            assert_eq!(checked.open_work().map(|open| open.work), Some(Work::RefundFailed));
            failed_refunds += 1;
        }
        if let Money::Disputed { refund, bounced, .. } = sale.money() {
            assert_eq!((sale.session_id().as_str(), refund, bounced), ("cs_live_new", &Some(decided.clone()), &true));
            failed_refunds += 1;
        }
        rows.push((sale.session_id().as_str().to_owned(), sale.tier(), sale.audit().cloned()));
    }
    assert_eq!(failed_refunds, 2);
    let [_, (_, new), (_, followup), (_, old)] = sales;
    assert!(old.as_ref().is_some_and(|head| head.count == 3), "{old:?}");
    let expected = [
        ("cs_live_new", None, new),
        ("cs_live_new-followup", None, followup),
        ("cs_live_old", Some(Tier::Quick), old),
        ("cs_live_unlogged", None, None),
    ];
    assert_eq!(rows, expected.map(|(session, tier, head)| (session.to_owned(), tier, head)));
}

/// A new region's table has no rows of erased sales, and a page of one would order it.
#[test]
fn the_guide_takes_the_rows_of_erased_sales_to_another_region() {
    let guide = guide();
    for start in ["**Restore after the loss", "**Move to another region.**"] {
        let paragraph = guide.split_once(&format!("\n{start}")).expect(start).1;
        let paragraph = paragraph.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        assert!(paragraph.contains("rite the rows of all erased sales"), "{start}");
    }
    // The log has a record of each minute: one process for each object would take days before the site is switched.
    let list = commands(&guide, "aws s3 sync ", "for file in live ");
    assert!(list.contains("--include '*/session/cs_[lt]*'") && !list.contains("s3 cp"), "{list}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("erased_rows_of_a_region");
    for entry in ["cs_live_new", "cs_live_old"].into_iter().flat_map(|session| erased_sale(session).0) {
        publish(&folder, &entry);
    }
    let script = format!("aws() {{ :; }}\n{list}cat erased");
    let output = Command::new("bash").args(["-e", "-c", &script]).current_dir(&folder).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "cs_live_new\ncs_live_old\n", "{output:?}");
}
