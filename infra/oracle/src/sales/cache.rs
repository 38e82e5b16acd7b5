//! `oracle cache`: shows the state of the cached verdicts, and removes one.

use audit::Notebook;
use clap::Subcommand;
use crosscheck::constants::PHI;
use domain::{
    SessionId, Timestamp,
    cache_entries::CacheTotals,
    cache_health::{FUNCTION, HealthRecord, unknown_block},
    ports::{CacheEntries, CacheEntry, Clock, Notes, SaleStore},
};
use operations::cache;
use runtime::System;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::slice;

use super::signed_sale::SignedSale;
use crate::{
    command::{CommandError, Ended, OrFailed, OrRefused, Target, wait},
    evidence,
    terminal::output::{self, minute},
};

/// The cached verdicts.
#[derive(Subcommand)]
pub(crate) enum CacheCommand {
    /// Show the last check of the cache and its current counters.
    #[command(
        after_help = "Example:\n  oracle cache status --json | jq .last.overall\n\nExit code 1: the cache was not checked recently, or a check found something wrong."
    )]
    Status(Target),
    /// Remove one cached verdict. The archive keeps it, and the page restores it at the next request; so a verdict that
    /// an operator replaced is not removed.
    #[command(
        after_help = "Example:\n  oracle cache remove cs_live_abc123 --by dana --reason 'damaged by hand'\n\nExit code 1: refused, or the verdict was not cached."
    )]
    Remove(SignedSale),
}

/// The part of cache-health's saved state that is shown here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Remembered {
    last: Option<HealthRecord>,
}

pub(crate) fn run(command: &CacheCommand) -> Result<Ended, CommandError> {
    match command {
        CacheCommand::Status(target) => status(target),
        CacheCommand::Remove(arguments) => remove(arguments),
    }
}

fn status(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let (last, totals) = wait(async {
        let unreadable = |error| CommandError::failed("the cache's state cannot be read", error);
        let note = Notes::load(&deployed.stores.sales, FUNCTION).await.map_err(unreadable)?;
        let notebook = note.value.map(|document| serde_json::from_str::<Notebook<Remembered>>(&document));
        let last = notebook.transpose()?.and_then(|notebook| notebook.memory.last);
        Ok((last, deployed.stores.sales.totals().await.map_err(unreadable)?))
    })?;
    let stale = last.as_ref().is_none_or(|record| record.is_stale(System.now()));
    let line = last.as_ref().map(HealthRecord::line);
    if target.json {
        output::print_json(&document(last.as_ref(), totals, System.now()))?;
    } else {
        output::print(&text(line.as_ref(), stale))?;
        output::print(&format!("now: {} entries, {} bytes\n", totals.entries, totals.bytes))?;
    }
    let fine = !stale && line.is_some_and(|line| line["overall"] == "healthy");
    Ok(if fine { Ended::Done } else { Ended::Nothing })
}

/// The status for programs: the last check, and the fields of the specified health page (Cache Health, outputs 2) that
/// the public one leaves out.
fn document(last: Option<&HealthRecord>, totals: CacheTotals, now: Timestamp) -> Value {
    json!({
        "last": last.map(HealthRecord::line),
        "stale": last.is_none_or(|record| record.is_stale(now)),
        "now": { "entries": totals.entries, "bytes": totals.bytes },
        "cache": last.map_or_else(unknown_block, |record| record.block(now)),
        "phi": PHI,
        // No part of the service has a mode in which it does nothing.
        "dry_run": false,
    })
}

fn text(line: Option<&Value>, stale: bool) -> String {
    let Some(line) = line else { return "the cache has not been checked yet\n".to_owned() };
    let word = |name: &str| line[name].as_str().map_or_else(|| line[name].to_string(), str::to_owned);
    let late = if stale { " - the next check is overdue" } else { "" };
    let rows = [
        ("overall", format!("{}{late}", word("overall"))),
        ("checked", minute(&word("ts"))),
        ("service", format!("reachable {}, {} ms", word("service_reachable"), word("service_response_ms"))),
        ("cache", word("cache")),
        ("entries", word("verdicts_count")),
        ("bytes", format!("{}, {} MiB of the budget left", word("verdicts_dir_bytes"), word("disk_free_mb"))),
        ("ages", format!("{} to {} days", word("newest_entry_age_days"), word("oldest_entry_age_days"))),
        ("sample", format!("{} of {} read", word("sample_integrity"), word("sampled"))),
    ];
    rows.iter().map(|(name, value)| format!("{name:<10} {}\n", output::printable(value))).collect()
}

fn remove(one: &SignedSale) -> Result<Ended, CommandError> {
    let (deployed, operator, session) = one.open()?;
    let question = format!("Remove the cached verdict of {}?", session.as_str());
    let mut observed = evidence::of_sales(&deployed, slice::from_ref(&session))?;
    observed.items.push(wait(entry(&deployed.stores.sales, &session))?);
    if !observed.confirm(&deployed, (&one.signed, &operator), "cache remove", &question)? {
        return Ok(Ended::Nothing);
    }
    let archive = deployed.backend().archive()?;
    let removed = wait(async {
        let (journal, entries) = (deployed.stores.journal(), &deployed.stores.sales);
        let removed = cache::remove(journal, entries, &archive, &operator, &session).await;
        removed.or_refused("the entry may still be cached: repeat the command")
    })?;
    if one.signed.target.json {
        output::print_json(&json!({ "session_id": session, "removed": removed }))?;
    } else {
        let outcome = if removed { "is removed from the cache" } else { "was not in the cache" };
        output::print(&format!("{} {outcome}\n", session.as_str()))?;
    }
    Ok(if removed { Ended::Done } else { Ended::Nothing })
}

/// The cached verdict as it is before it is removed. One that is damaged has only its state.
async fn entry(store: &dyn SaleStore, session: &SessionId) -> Result<Value, CommandError> {
    let (_, found) = store.load_with_verdict(session).await.or_failed("the cached verdict cannot be read")?;
    let (state, verdict) = match found {
        CacheEntry::Hit(cached) => ("cached", json!(cached)),
        CacheEntry::Miss => ("none", Value::Null),
        CacheEntry::Removed => ("removed", Value::Null),
        CacheEntry::Corrupt => ("damaged", Value::Null),
    };
    Ok(json!({ "session": session, "entry": state, "verdict": verdict }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{CachedVerdict, Colour, Query, Tier, Verdict};
    use testkit::World;

    #[test]
    fn the_cached_verdict_is_observed_before_it_is_removed() {
        let world = World::default();
        let session = SessionId::parse("cs_test_1").unwrap();
        assert_eq!(wait(entry(&world, &session)).unwrap()["entry"], "none");
        let verdict = Verdict { verdict: Colour::Green, summary: "Yes.".into(), breakdown: None, strategy: None };
        let at = Timestamp::from_seconds(0);
        let cached = CachedVerdict::first(Tier::Quick, &Query::parse("Open a shop?").unwrap(), verdict, at);
        world.state().cache_verdict(&session, &cached, at);
        let item = wait(entry(&world, &session)).unwrap();
        assert_eq!((&item["entry"], &item["verdict"]), (&json!("cached"), &json!(cached)));
    }

    #[test]
    fn programs_get_the_fields_that_the_public_page_leaves_out() {
        let totals = CacheTotals { entries: 7, bytes: 9, changes: 8 };
        let shown = document(None, totals, Timestamp::from_seconds(0));
        assert_eq!((&shown["phi"], &shown["dry_run"]), (&json!(0.042), &json!(false)));
        assert_eq!((&shown["stale"], &shown["cache"]["stale"]), (&json!(true), &json!(true)));
        assert_eq!((&shown["last"], &shown["now"]), (&Value::Null, &json!({ "entries": 7, "bytes": 9 })));
    }

    #[test]
    fn the_status_is_for_people() {
        assert_eq!(text(None, true), "the cache has not been checked yet\n");
        let line = json!({
            "overall": "degraded", "ts": "2026-04-16T14:23:07.412Z", "service_reachable": true,
            "service_response_ms": 3, "cache": "degraded", "verdicts_count": 7, "verdicts_dir_bytes": 9,
            "disk_free_mb": 1, "newest_entry_age_days": 0.1, "oldest_entry_age_days": 2.5, "sampled": 7,
            "sample_integrity": "corrupt:cs_1",
        });
        let shown = text(Some(&line), true);
        assert!(shown.contains("overall    degraded - the next check is overdue\n"), "{shown}");
        assert!(shown.contains("checked    2026-04-16 14:23\n") && shown.contains("corrupt:cs_1 of 7 read"), "{shown}");
    }
}
