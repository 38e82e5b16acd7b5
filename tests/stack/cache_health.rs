//! The cached verdicts on the deployed stack: checked, removed by age, counted.

use crate::{
    operators::{asked, decided, listed, printed},
    world::World,
};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tests::{SOON, eventually};

const FUNCTION: &str = "CacheHealthFunctionName";

pub(crate) async fn check(world: &World) -> Value {
    world.aws.invoke(FUNCTION, &json!({ "look": "now" })).await;
    let mut health = world.get("/health").await.json();
    // Only operators see the figures.
    health["cache"] = asked(world, &["cache", "status"]).1["cache"].clone();
    assert_eq!(health["cache"]["stale"], false, "{health}");
    health
}

/// A term was not yet on the block list on the day of delivery.
#[tokio::test]
async fn what_a_newer_list_finds_is_an_operators_to_decide_and_the_page_stays() {
    let world = World::alone().await;
    let sales = [world.bought("full").await, world.bought("full").await];
    for sale in &sales {
        let mut document = world.aws.document(&sale.session, "VERDICT").await.expect("a verdict");
        document["verdict"]["summary"] = json!("The CSDM leaves no doubt about it.");
        world.aws.rewrite_verdict(&sale.session, &document).await;
    }
    check(&world).await;
    let mut note = world.aws.note("cache-health").await.expect("a memory");
    note["memory"]["second_look"] = json!({ "list": "an earlier one" });
    world.aws.replace_note("cache-health", &note).await;
    for sale in &sales {
        eventually("the finding", 4 * SOON, async || {
            check(&world).await;
            let document = world.aws.document(&sale.session, "SALE").await?;
            document["finding"].is_object().then_some(())
        })
        .await;
        listed(&world, &["findings", "list"], &sale.session, true).await;
        assert_eq!(world.verdict(&sale.session).await.status, 200, "the customer keeps the page");
    }
    let [stands, replaced] = &sales;
    let shown = printed(&world, &["findings", "show", &stands.session]);
    assert!(shown.contains("CSDM"), "{shown}");
    let (_, found) = asked(&world, &["findings", "show", &stands.session]);
    let list = found["list"].as_str().expect("a list's version");
    decided(&world, &["findings", "dismiss", &stands.session, "--list", list]);
    assert_eq!(world.verdict(&stands.session).await.status, 200);
    let mut verdict = world.verdict(&replaced.session).await.json()["verdict"].clone();
    verdict["summary"] = json!("The numbers leave no doubt about it.");
    let file = world.stack.directory.join("finding.json");
    std::fs::write(&file, verdict.to_string()).expect("a file");
    decided(&world, &["findings", "replace", &replaced.session, "--file", &file.to_string_lossy()]);
    let page = world.verdict(&replaced.session).await;
    assert_eq!(page.json()["verdict"]["summary"], "The numbers leave no doubt about it.");
    for sale in &sales {
        listed(&world, &["findings", "list"], &sale.session, false).await;
        assert_eq!(world.mails(&sale.email).await.len(), 1, "nothing is mailed again");
    }
}

/// The records with this name in the function's own stream, in order.
async fn events(world: &World, name: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for key in world.aws.keys("AuditBucket", "/function/cache-health/").await {
        let record: Value = serde_json::from_str(&world.aws.text("AuditBucket", &key).await).expect("JSON");
        if record["event"] == name {
            events.push(record);
        }
    }
    events
}

fn days_ago(days: u64) -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock stands before 1970");
    (now - Duration::from_secs(days * 86_400)).as_millis()
}

/// Waits until both queues have an alert with this end.
async fn all_clear(world: &World, [critical, ops]: [&str; 2], end: &str) {
    eventually("the all-clear", SOON, async || {
        let (alerts, others) = (world.aws.alerts(critical).await, world.aws.alerts(ops).await);
        alerts.iter().any(|alert| others.contains(alert) && alert.ends_with(end)).then_some(())
    })
    .await;
}

/// Checks the change of the counters. Items that other tests wrote by hand do not count.
async fn counters_moved(world: &World, before: (i64, i64), by: (i64, i64)) {
    assert_eq!(world.aws.cache_totals().await, (before.0 + by.0, before.1 + by.1));
}

#[tokio::test]
async fn a_corrupt_entry_alerts_and_so_does_its_end() {
    let world = World::alone().await;
    let critical = world.aws.subscribe("CriticalTopicArn").await;
    let ops = world.aws.subscribe("OpsTopicArn").await;
    let sale = world.bought("full").await;
    world.aws.spoil_verdict(&sale.session).await;
    // Of few entries, ten random ones are sampled, and this one might be missed for long. Of many, samples are drawn at
    // points in time, from the entries that follow: only this entry follows a point in the future.
    world.aws.miscount_entries(Some(1000)).await;
    world.aws.age_verdict(&sale.session, days_ago(0) + Duration::from_secs(20 * 86_400).as_millis()).await;
    let health = eventually("the corrupt entry to be met", SOON, async || {
        let health = check(&world).await;
        (health["cache"]["status"] == "degraded").then_some(health)
    })
    .await;
    world.aws.miscount_entries(None).await;
    assert_eq!((&health["status"], &health["service"]), (&json!("degraded"), &json!("resonant")));
    let last = events(&world, "cache_health").await.pop().expect("a record")["details"].clone();
    assert_eq!(last["sample_integrity"], format!("corrupt:{}", sale.session));
    assert_eq!((&last["overall"], &last["service_reachable"]), (&json!("degraded"), &json!(true)));
    let corrupt_entry = format!("| HEALTH_PROBE | {} | corrupt entry ", &sale.session[sale.session.len() - 8..]);
    eventually("the alert", SOON, async || {
        let alerts = world.aws.alerts(&critical).await;
        alerts
            .iter()
            .any(|alert| alert.starts_with("[ORACLE-CACHE-ALERT] CRITICAL |") && alert.contains(&corrupt_entry))
            .then_some(())
    })
    .await;
    // The page quarantines the entry and restores it from the archive; then no entry is corrupt.
    assert_eq!(world.verdict(&sale.session).await.status, 200);
    assert_eq!(check(&world).await["cache"]["status"], "healthy");
    all_clear(&world, [&critical, &ops], "recovered: no corrupt entry is left").await;
}

#[tokio::test]
async fn what_is_past_its_age_goes_after_it_was_listed_and_comes_back_with_its_customer() {
    let world = World::alone().await;
    let ops = world.aws.subscribe("OpsTopicArn").await;
    let (old, young) = (world.bought("full").await, world.bought("full").await);
    let page = world.verdict(&old.session).await.json();
    world.aws.age_verdict(&old.session, days_ago(31)).await;
    world.aws.age_verdict(&young.session, days_ago(29)).await;
    world.aws.forget_function("cache-health").await;
    let before = world.aws.cache_totals().await;
    let bytes =
        world.aws.item(&old.session, "VERDICT").await.expect("a verdict")["bytes"].as_n().expect("a number").clone();
    check(&world).await;
    let left = world.aws.item(&old.session, "VERDICT").await.expect("an empty place");
    assert!(left.contains_key("removed_at") && !left.contains_key("document"), "{left:?}");
    assert!(world.aws.document(&young.session, "VERDICT").await.is_some());
    counters_moved(&world, before, (-1, -bytes.parse::<i64>().expect("a number"))).await;
    let planned = events(&world, "cache_cleanup_planned").await.pop().expect("the list");
    let listed = planned["details"]["entries"].to_string();
    assert!(listed.contains(&old.session) && !listed.contains(&young.session), "{planned}");
    let line = planned["details"]["line"].as_str().expect("a line");
    assert!(line.starts_with("[CLEANUP] ") && line.contains(" removed 1 entries older than 30 days. Freed "), "{line}");
    let done = events(&world, "cache_cleanup").await.pop().expect("the end of it");
    assert_eq!(done["details"]["removed"], 1);
    assert!(planned["seq"].as_u64() < done["seq"].as_u64());
    assert!(
        planned["timestamp"].as_str() < left["removed_at"].as_s().ok().map(String::as_str),
        "listed before it went"
    );
    // The page restores the first verdict from the archive without an alert, and it stays.
    let reply = world.verdict(&old.session).await;
    assert_eq!((reply.status, reply.json()), (200, page));
    counters_moved(&world, before, (0, 0)).await;
    check(&world).await;
    assert!(world.aws.document(&old.session, "VERDICT").await.is_some(), "it is as young as a new one");
    let alerts = world.aws.alerts(&ops).await;
    assert!(!alerts.iter().any(|alert| alert.contains("write-confirm")), "{alerts:?}");
}

#[tokio::test]
async fn two_failed_probes_are_critical_one_is_not_and_recovery_is_announced() {
    let world = World::alone().await;
    let critical = world.aws.subscribe("CriticalTopicArn").await;
    let ops = world.aws.subscribe("OpsTopicArn").await;
    check(&world).await;
    let unreachable = async || {
        let alerts = world.aws.alerts(&critical).await;
        alerts.into_iter().find(|alert| alert.contains("| HEALTH_PROBE | service | service unreachable"))
    };
    let site = world.stack.site.clone();
    world.aws.configure(FUNCTION, "SITE_URL", "http://127.0.0.1:9").await;
    check(&world).await;
    assert_eq!(unreachable().await, None, "not on the first failure");
    let health = check(&world).await;
    // The probe's own records about the service do not count as a failure of the cache.
    assert_eq!((&health["service"], &health["cache"]["status"]), (&json!("resonant"), &json!("healthy")));
    let alert = eventually("the critical alert", SOON, unreachable).await;
    assert!(alert.starts_with("[ORACLE-CACHE-ALERT] CRITICAL | ") && alert.contains("2 consecutive"), "{alert}");
    let last = events(&world, "cache_health").await.pop().expect("a record")["details"].clone();
    assert_eq!(
        (&last["overall"], &last["service_reachable"], &last["cache"]),
        (&json!("failed"), &json!(false), &json!("healthy"))
    );
    world.aws.configure(FUNCTION, "SITE_URL", &site).await;
    check(&world).await;
    assert_eq!(events(&world, "cache_health").await.pop().expect("a record")["details"]["overall"], "healthy");
    all_clear(&world, [&critical, &ops], "recovered: the service answers again").await;
}

#[tokio::test]
async fn the_counters_move_with_every_sale_and_every_setting_aside() {
    let world = World::alone().await;
    let before = world.aws.cache_totals().await;
    let sales = [world.buy("quick").await, world.buy("full").await, world.buy("strategy").await];
    let mut bytes = 0;
    for sale in &sales {
        world.delivered(sale).await;
        let item = world.aws.item(&sale.session, "VERDICT").await.expect("a verdict");
        let length = item["document"].as_s().expect("text").len();
        assert_eq!(item["bytes"].as_n().expect("a number"), &length.to_string());
        bytes += i64::try_from(length).expect("a length");
    }
    counters_moved(&world, before, (3, bytes)).await;
    let length = world.aws.item(&sales[0].session, "VERDICT").await.expect("a verdict")["bytes"].clone();
    world.aws.spoil_verdict(&sales[0].session).await;
    assert_eq!(world.verdict(&sales[0].session).await.status, 200, "set aside, restored");
    counters_moved(&world, before, (3, bytes)).await;
    assert_eq!(world.aws.item(&sales[0].session, "VERDICT").await.expect("a verdict")["bytes"], length);
    let block = check(&world).await["cache"].clone();
    assert_eq!(block["verdicts_count"], world.aws.cache_totals().await.0);
    for field in [
        "verdicts_dir",
        "verdicts_count",
        "dir_bytes",
        "oldest_entry_age_days",
        "newest_entry_age_days",
        "disk_free_mb",
    ] {
        assert!(!block[field].is_null(), "{field}: {block}");
    }
}
