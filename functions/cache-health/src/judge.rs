//! Judges one check of the cache: makes its record and its alerts. Plain data in, plain data out.

use crate::{
    Settings,
    check::CheckResult,
    state::{CacheHealthState, Problem},
};
use audit::Noted;
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    cache_health::{Health, HealthRecord},
};
use serde_json::json;
use std::collections::BTreeSet;

/// The most corrupt entries that are remembered: each of them is read again at every check.
const MOST_REMEMBERED: usize = 40;

/// Updates the state with a check, records it, and alerts operators to what has changed since the last check.
pub(crate) fn judge(
    state: &mut CacheHealthState,
    result: &CheckResult,
    settings: Settings,
    now: Timestamp,
) -> Noted<HealthRecord> {
    let count = |failures: u32, works: bool| if works { 0 } else { failures.saturating_add(1) };
    state.service_failures = count(state.service_failures, result.service.reachable);
    state.cache_failures = count(state.cache_failures, result.cache.is_some());
    let new = result.cache.as_ref().map(|cache| remember(state, &cache.corrupt, &cache.mended)).unwrap_or_default();
    let record = record(state, result, settings, now);
    let problems = problems(state, &record, settings);
    let mut noted = Noted::save(record.clone()).recording("cache_health", record.line());
    noted = report_corrupt(noted, &new, now);
    for problem in problems.difference(&state.alerted).filter(|problem| **problem != Problem::Corrupt) {
        noted = noted.alerting(alert_for(*problem, state, &record, settings, now));
    }
    for problem in state.alerted.difference(&problems) {
        noted = noted.alerting(recovered(*problem, &problems, now));
    }
    state.alerted = problems;
    state.last = Some(record);
    noted
}

/// Adds corrupt entries to the state, removes mended ones, and returns those that no alert has named yet.
pub(crate) fn remember(
    state: &mut CacheHealthState,
    corrupt: &BTreeSet<SessionId>,
    mended: &BTreeSet<SessionId>,
) -> Vec<SessionId> {
    state.corrupt.retain(|session| !mended.contains(session));
    state.more_corrupt &= state.corrupt.len() >= MOST_REMEMBERED;
    let mut new = Vec::new();
    for session in corrupt.iter().filter(|session| !state.corrupt.contains(*session)).cloned().collect::<Vec<_>>() {
        if state.corrupt.len() < MOST_REMEMBERED {
            state.corrupt.insert(session.clone());
            new.push(session);
        } else {
            state.more_corrupt = true;
        }
    }
    new
}

/// Reports corrupt entries: alerts name the sale's reference and a digest, the log names the whole id.
pub(crate) fn report_corrupt<A>(noted: Noted<A>, new: &[SessionId], now: Timestamp) -> Noted<A> {
    if new.is_empty() {
        return noted;
    }
    let list = |session: &SessionId| json!({ "session_id": session, "digest": short_digest(session) });
    let noted = noted.recording("cache_corrupt", json!({ "entries": new.iter().map(list).collect::<Vec<_>>() }));
    new.iter().fold(noted, |noted, session| noted.alerting(corrupt_alert(now, session)))
}

/// A digest of the id: the same in the alert and in the log's record.
fn short_digest(session: &SessionId) -> String {
    let mut digest = audit::hash::sha256(session.as_str().as_bytes());
    digest.truncate(8);
    digest
}

fn record(state: &CacheHealthState, result: &CheckResult, settings: Settings, now: Timestamp) -> HealthRecord {
    let measures = result.cache.as_ref().map(|cache| cache.measures);
    let cache = match measures {
        None => Health::Failed,
        Some(found) if found.entries > settings.count_critical || found.bytes > settings.budget_bytes => Health::Failed,
        Some(found) if found.entries > settings.count_warn || !state.corrupt.is_empty() => Health::Degraded,
        // An empty cache is healthy too (Cache Health, invariant 7).
        Some(_) => Health::Healthy,
    };
    let overall = if result.service.reachable { cache } else { Health::Failed };
    HealthRecord {
        at: now,
        service: result.service,
        measures,
        budget_bytes: settings.budget_bytes,
        corrupt: state.corrupt.first().cloned(),
        cache,
        overall,
        interval_s: settings.interval.as_secs(),
    }
}

/// The problems to alert on, once each. A first failure is no problem yet (Cache Alert, severity levels).
fn problems(state: &CacheHealthState, record: &HealthRecord, settings: Settings) -> BTreeSet<Problem> {
    let mut problems = BTreeSet::new();
    let mut add = |problem, holds| {
        if holds {
            problems.insert(problem);
        }
    };
    add(Problem::Service, state.service_failures >= settings.failures_critical);
    add(Problem::Cache, state.cache_failures >= settings.failures_critical);
    match record.measures {
        Some(found) => {
            let too_many = found.entries > settings.count_critical;
            add(Problem::TooMany, too_many);
            add(Problem::Many, found.entries > settings.count_warn && !too_many);
            add(Problem::Bytes, found.bytes > settings.budget_bytes);
        }
        // Not measured: the last alert still applies.
        None => {
            for problem in [Problem::TooMany, Problem::Many, Problem::Bytes] {
                add(problem, state.alerted.contains(&problem));
            }
        }
    }
    add(Problem::Corrupt, !state.corrupt.is_empty());
    add(Problem::MoreCorrupt, state.more_corrupt);
    problems
}

const TAG: &str = "ORACLE-CACHE-ALERT";
const OPERATION: &str = "HEALTH_PROBE";

pub(crate) fn alert(severity: Severity, now: Timestamp, subject: &str, detail: &str) -> Alert {
    Alert::about(TAG, severity, now, OPERATION, subject, detail)
}

pub(crate) fn all_clear(now: Timestamp, subject: &str, detail: &str) -> Alert {
    Alert::all_clear(TAG, now, OPERATION, subject, detail)
}

fn corrupt_alert(now: Timestamp, session: &SessionId) -> Alert {
    alert(Severity::Critical, now, session.reference(), &format!("corrupt entry {}", short_digest(session)))
}

fn alert_for(
    problem: Problem,
    state: &CacheHealthState,
    record: &HealthRecord,
    settings: Settings,
    now: Timestamp,
) -> Alert {
    let entries = record.measures.map_or(0, |found| found.entries);
    let bytes = record.measures.map_or(0, |found| found.bytes);
    // The detail of an outage has the time: an equal alert within a minute is suppressed, and a new outage may begin
    // sooner.
    let detail = match problem {
        Problem::Service => {
            let answer =
                record.service.http_status.map_or("no answer".to_owned(), |status| format!("answered {status}"));
            let failures = state.service_failures;
            format!("service unreachable: {failures} consecutive probes failed, {answer}, last at {now}")
        }
        Problem::Cache => {
            format!("cache not readable: {} consecutive looks failed, last at {now}", state.cache_failures)
        }
        Problem::Many => format!("{entries} entries, more than {} (warn threshold)", settings.count_warn),
        Problem::TooMany => format!("{entries} entries, more than {} (critical threshold)", settings.count_critical),
        Problem::Bytes => {
            let budget = settings.budget_bytes;
            format!("{bytes} bytes, budget {budget} passed: entries past their age are taken out")
        }
        Problem::Corrupt => "corrupt entry".to_owned(),
        Problem::MoreCorrupt => format!("corrupt entries beyond the {MOST_REMEMBERED} that have alerts of their own"),
    };
    alert(problem.severity(), now, problem.subject(), &detail)
}

/// The recovery alert (Cache Health, HEALTH-GAP-05) for operators who were alerted to the problem. Its subject differs
/// from the problem's, so that deduplication of the problem's alert does not drop it.
fn recovered(problem: Problem, problems: &BTreeSet<Problem>, now: Timestamp) -> Alert {
    let detail = match problem {
        Problem::Service => "recovered: the service answers again",
        Problem::Cache => "recovered: the cache can be read again",
        Problem::Many if problems.contains(&Problem::TooMany) => "more than the warn threshold: now the critical one",
        Problem::TooMany if problems.contains(&Problem::Many) => "recovered: below the critical threshold of entries",
        Problem::Many | Problem::TooMany => "recovered: the number of entries is below its thresholds",
        Problem::Bytes => "recovered: within the budget of bytes",
        Problem::Corrupt => "recovered: no corrupt entry is left",
        Problem::MoreCorrupt => "recovered: every corrupt entry has an alert of its own",
    };
    match problem.severity() {
        Severity::Critical => all_clear(now, problem.subject(), detail),
        Severity::Warn | Severity::Error => alert(Severity::Warn, now, &format!("ok:{}", problem.subject()), detail),
    }
}
