//! Checks delivered verdicts again when the block list has changed (content filter, failure mode 4): every
//! archived verdict runs through gate 2 with the newest list, a few per check, until the whole archive is checked.
//!
//! A hit is work for an operator (`oracle findings`) and changes nothing for the customer, who already has the verdict.
//! Terms that the newest list only replaces are already replaced on the page; operators are alerted because the mail
//! still contains them.

use crate::{CacheHealthState, Ports, state::SecondLook};
use audit::{Change, CommitError, Context, Notebook, Noted};
use domain::{
    Alert, Sale, SessionId,
    alert::Severity,
    mail::Mail,
    ports::{CacheEntry, Versioned},
    sale::Fulfilment,
};
use filter::Outcome;
use serde_json::json;
use std::collections::BTreeSet;

/// Archived verdicts per check, one read each. At one check a minute that is 200,000 a week.
const MOST: usize = 20;

/// The failed checks after which an unreadable verdict is skipped if another one can be read. A sale that stays
/// unreadable does not keep the newest list from all later ones.
const MOST_FAILURES: u64 = 10;

/// The verdicts that are read to learn whether others can be read: as many at the archive's beginning as behind the
/// unreadable one. While none can be read, each of them raises an alert at every check.
const OTHERS: usize = 2;

type Current = Versioned<Notebook<CacheHealthState>>;

/// Continues with the archive, if the list has changed since the archive was last checked completely.
pub(crate) async fn step(ports: &Ports<'_>, current: Current) -> Result<Current, CommitError> {
    let before = current.value.memory.second_look.clone();
    let list = gates::list_version();
    let mut next = if before.list == list { before.clone() } else { SecondLook::with(list) };
    if next.finished {
        return Ok(current);
    }
    let mut unread = None;
    match check_next_verdicts(ports, &mut next, &mut unread).await {
        Ok(()) => {}
        // The store has alerted; the next check continues from the same position.
        Err(CommitError::Storage(error)) => {
            tracing::error!(error = %runtime::telemetry::chain(&error), "the second look waits for the next check");
        }
        Err(error) => return Err(error),
    }
    let save = |state: &mut CacheHealthState, _| {
        if state.second_look != before || next == before {
            return Noted::nothing(());
        }
        state.second_look = next.clone();
        let mut noted = Noted::save(());
        if let Some(session) = &unread {
            noted = noted.recording("archive_unread", json!({ "session_id": session, "list_version": list }));
        }
        if !next.finished {
            return noted;
        }
        let (looked, found, replaced) = (next.looked, next.found, next.replaced);
        let mut facts = json!({ "list_version": list, "looked": looked, "found": found, "replaced": replaced });
        if next.unread > 0 {
            facts["unread"] = next.unread.into();
        }
        noted.recording("archive_second_look", facts)
    };
    Ok(ports.journal.commit(current, save).await?.settle().await.0)
}

/// Checks the next verdicts of the archive. `unread` gets the one that is passed over, at most one per check.
async fn check_next_verdicts(
    ports: &Ports<'_>,
    next: &mut SecondLook,
    unread: &mut Option<SessionId>,
) -> Result<(), CommitError> {
    let sessions = ports.archive.listed(next.after.as_ref(), MOST).await?;
    next.finished = sessions.is_empty();
    for session in sessions {
        match check_again(ports, &session).await {
            Ok(found) => {
                next.looked += 1;
                next.found += u64::from(found == Found::Hit);
                next.replaced += u64::from(found == Found::Replaced);
            }
            Err(CommitError::Storage(error)) => {
                if next.failures < MOST_FAILURES || !can_read_another(ports, next.after.as_ref(), &session).await {
                    next.failures += 1;
                    return Err(error.into());
                }
                let detail = "cannot be read, and the newest list has not checked it: oracle show";
                let now = ports.journal.clock.now();
                let alert = Alert::event("ORACLE-FILTER", Severity::Error, now, "SECOND_LOOK", &session, detail);
                ports.sales.alerts.raise(alert).await;
                next.unread += 1;
                *unread = Some(session.clone());
            }
            Err(error) => return Err(error),
        }
        next.failures = 0;
        next.after = Some(session);
    }
    if next.finished {
        // No session id is remembered longer than needed.
        next.after = None;
    }
    Ok(())
}

/// Whether another verdict can be read, or none exists: then the unreadable one is at fault, and not the archive or the
/// table. `last` is the verdict that was checked last.
async fn can_read_another(ports: &Ports<'_>, last: Option<&SessionId>, unread: &SessionId) -> bool {
    let Ok(first) = ports.archive.listed(None, OTHERS).await else { return false };
    let Ok(behind) = ports.archive.listed(Some(unread), MOST).await else { return false };
    // A fault may be that of several neighbours, so the farthest ones are tried.
    let far = behind.into_iter().rev().take(OTHERS);
    let mut others: BTreeSet<SessionId> = last.cloned().into_iter().chain(first).chain(far).collect();
    others.remove(unread);
    for session in &others {
        let sale = ports.sales.store.load_with_verdict(session).await;
        if sale.is_ok() && ports.archive.find(session).await.is_ok() {
            return true;
        }
    }
    others.is_empty()
}

/// The result of checking a delivered verdict with the newest list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Hit,
    Replaced,
}

async fn check_again(ports: &Ports<'_>, session: &SessionId) -> Result<Found, CommitError> {
    let (sale, entry) = ports.sales.store.load_with_verdict(session).await?;
    let Some(sale) = sale.filter(|sale| is_delivered(&sale.value)) else { return Ok(Found::Nothing) };
    // An operator may have replaced the first verdict.
    let cached = match entry {
        CacheEntry::Hit(cached) => Some(*cached),
        CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => ports.archive.find(session).await?,
    };
    let Some(cached) = cached else { return Ok(Found::Nothing) };
    let gate = gates::before_page(&cached);
    let now = ports.journal.clock.now();
    match gate.outcome() {
        Outcome::Pass => Ok(Found::Nothing),
        Outcome::Replace => {
            let detail = format!("delivered with {} term(s) that the newest list replaces: read it", gate.term_count());
            // A storm withholds errors, and no list or record names the sale.
            let alert = Alert::event("ORACLE-FILTER", Severity::Warn, now, "SECOND_LOOK", session, &detail);
            ports.sales.alerts.raise(alert).await;
            Ok(Found::Replaced)
        }
        Outcome::Quarantine => found(ports, sale, &gate).await,
    }
}

/// Whether a customer may have the verdict: its mail was sent or may have been, or the page alone has shown it. One that
/// is still in delivery passes gate 2 with the newest list anyway.
fn is_delivered(sale: &Sale) -> bool {
    let is_ready = matches!(sale.fulfilment(), Fulfilment::Ready { .. }) && !sale.smoke();
    is_ready && matches!(sale.mail(), Mail::Sent { .. } | Mail::Unknown { .. } | Mail::Dead { .. } | Mail::NoAddress)
}

/// Shows a hit to operators, once for each list.
async fn found(ports: &Ports<'_>, sale: Versioned<Sale>, gate: &gates::Run) -> Result<Found, CommitError> {
    let session = sale.value.session_id().clone();
    let find = |sale: &mut Sale, now| {
        let Ok(event) = sale.found_again(gates::list_version(), gate.term_count(), now) else {
            return Change::nothing(());
        };
        let detail = format!(
            "delivered with {} term(s) that the block list of today holds back: oracle findings show",
            gate.term_count()
        );
        let alert = Alert::event("ORACLE-FILTER", Severity::Critical, now, "SECOND_LOOK", &session, &detail);
        let context = Context::at(now).with_evidence([gate.record_shown(now, now)]);
        Change::of(&event, &context, ()).alerting(alert)
    };
    let (sale, ()) = ports.sales.commit(sale, find).await?.settle().await;
    // This also counts a finding of an earlier check that failed before it was counted.
    let is_found = sale.value.finding().is_some_and(|finding| finding.list == gates::list_version());
    Ok(if is_found { Found::Hit } else { Found::Nothing })
}
