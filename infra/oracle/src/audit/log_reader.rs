//! Reads the whole audit log, many streams in parallel.
//! The file has more than 300 lines because the verification and the report share one parallel walk over the streams,
//! and the streams of sales and of functions are verified in different ways.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    future::Future,
    sync::Arc,
};

use audit_verify::{
    Aggregate, Period, Verification,
    digests::{DIGESTED_WITHIN, Digested, DigestedStream},
    functions::{Day, Days, verify_days},
    report::Report,
    stream::{
        Damage, Finding, Object, StoredHead, function_of_stream, session_of_stream, stream_of, verify_stream, worst,
    },
};
use domain::{
    SessionId, Timestamp,
    audit_trail::{Audited, StateId},
    chat::{BRIDGE_PREFIX, CHAT_PREFIX, STREAM_PREFIX},
    ports::{AuditObjects, ListedObject, StorageError, Store, StoredStream, Versioned},
    toll,
};
use tokio::task::JoinSet;

use super::digest_reader::{self, Digests};
use crate::{
    command_error::{CommandError, OrFailed},
    stack::log_ports::Ports,
};

/// The number of streams that are read in parallel, because most of the time is spent on waiting for replies.
const AT_ONCE: usize = 32;

/// The most times that a stream which looks damaged is read again while its sale changes.
const ROUNDS: u32 = 5;

/// Runs `work` with the name and the listed objects of each stream that was opened on `since` or later (of all streams
/// if `since` is empty). `done` gets the results in any order.
pub(crate) async fn each_stream<T, Doing>(
    objects: &dyn AuditObjects,
    since: &str,
    mut work: impl FnMut(String, Vec<ListedObject>) -> Doing,
    mut done: impl FnMut(T),
) -> Result<(), CommandError>
where
    T: Send + 'static,
    Doing: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    let mut running = JoinSet::new();
    let (mut stream, mut listed) = (String::new(), Vec::new());
    let mut page = objects.keys("", since).await.map_err(CommandError::unreadable_log)?;
    while let Some(last) = page.last() {
        let after = last.key.clone();
        let begun = async {
            for object in page {
                if stream_of(&object.key) != stream {
                    let ended = std::mem::replace(&mut stream, stream_of(&object.key).to_owned());
                    start(&mut running, work(ended, std::mem::take(&mut listed)), &mut done).await?;
                }
                listed.push(object);
            }
            Ok(())
        };
        // The next page is listed while the streams of this one are read.
        let (next, begun): (_, Result<(), CommandError>) = tokio::join!(objects.keys("", &after), begun);
        begun?;
        page = next.map_err(CommandError::unreadable_log)?;
    }
    start(&mut running, work(stream, listed), &mut done).await?;
    while let Some(finished) = running.join_next().await {
        done(result(finished)?);
    }
    Ok(())
}

/// Starts a task, after a running one has ended if too many run.
async fn start<T: Send + 'static>(
    running: &mut JoinSet<Result<T, StorageError>>,
    work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    done: &mut impl FnMut(T),
) -> Result<(), CommandError> {
    if running.len() >= AT_ONCE
        && let Some(finished) = running.join_next().await
    {
        done(result(finished)?);
    }
    running.spawn(work);
    Ok(())
}

fn result<T>(finished: Result<Result<T, StorageError>, tokio::task::JoinError>) -> Result<T, CommandError> {
    let read = finished.or_failed("a reader of the log died")?;
    read.map_err(CommandError::unreadable_log)
}

/// The result of reading one stream.
enum Seen {
    Judged(Verification),
    /// One day of a function's stream with its comparison with the digests. It is judged together with the other days.
    Day(Day, ByDigests),
}

/// Verifies the log, compares it with the digests, and finds streams that the table knows of and that are missing as a
/// whole. Calls `progress` after each stream.
pub(crate) async fn verify(
    ports: &Ports,
    digests: Option<&Digests>,
    since: &str,
    now: Timestamp,
    mut progress: impl FnMut(&Verification),
) -> Result<Verification, CommandError> {
    // Reads the digests before the log, because objects that are digested by now must be in the log from now on.
    let read = match digests {
        Some(digests) => Some(digest_reader::read(digests, since, now).await?),
        None => None,
    };
    let (report, mut digested) = read.map_or_else(Default::default, |(report, digested)| (Some(report), digested));
    let limit = late_before(report.is_some(), now);
    let mut seen = HashSet::new();
    let mut all = Verification::default();
    let mut functions: BTreeMap<String, (Days, Vec<Finding>)> = BTreeMap::new();
    let work = |stream: String, listed: Vec<ListedObject>| {
        let comparison = DigestComparison { digested: digested.take(&stream), limit };
        let ports = ports.clone();
        async move {
            let verification = examine(&ports, &stream, listed, &comparison).await?;
            Ok((stream, verification))
        }
    };
    let done = |(stream, found): (String, Seen)| {
        match found {
            Seen::Judged(verification) => all.merge(verification),
            Seen::Day(day, by_digests) => {
                let name = function_of_stream(&stream).unwrap_or_default().to_owned();
                let (days, findings) = functions.entry(name).or_default();
                days.insert(stream.clone(), day);
                findings.extend(by_digests.finding);
                all.undigested.extend(by_digests.undigested);
            }
        }
        seen.insert(stream);
        progress(&all);
    };
    each_stream(ports.objects.as_ref(), since, work, done).await?;
    let (others, of_functions) = stored_streams(ports, since).await?;
    for name in of_functions {
        functions.entry(name).or_default();
    }
    for (name, (days, findings)) in functions {
        all.merge(
            examine_function(ports, &name, days, findings, since.is_empty())
                .await
                .map_err(CommandError::unreadable_log)?,
        );
    }
    let stored = stored_sales(ports, since).await?.into_iter().chain(others);
    all.merge(verify_missing_streams(ports, stored, seen, digested, limit).await?);
    all.findings.extend(report.iter().flat_map(|report| report.findings.iter().cloned()));
    all.digests = report;
    all.findings.sort();
    Ok(all)
}

/// Finds streams that are missing from the log as a whole: those of the table (`stored`) that are not in `seen`, and
/// those that only the digests name.
async fn verify_missing_streams(
    ports: &Ports,
    stored: impl Iterator<Item = String>,
    mut seen: HashSet<String>,
    mut digested: Digested,
    limit: Option<Timestamp>,
) -> Result<Verification, CommandError> {
    let mut missing = Verification::default();
    for stream in stored {
        if seen.insert(stream.clone()) {
            let comparison = DigestComparison { digested: digested.take(&stream), limit };
            if let Seen::Judged(verification) =
                examine(ports, &stream, Vec::new(), &comparison).await.map_err(CommandError::unreadable_log)?
            {
                missing.merge(verification);
            }
        }
    }
    for stream in digested.streams() {
        missing.findings.extend(digested.take(&stream).compare(&[], |_| false));
    }
    Ok(missing)
}

/// The streams of the sales in the table that were opened since that day and have published records.
async fn stored_sales(ports: &Ports, since: &str) -> Result<Vec<String>, CommandError> {
    let (mut found, mut from) = (Vec::new(), None);
    loop {
        let page = ports.all.all(from.as_deref()).await.map_err(CommandError::unreadable_log)?;
        let streams = page.sales.iter().filter_map(StoredStream::of);
        found.extend(streams.filter(|it| it.opened.as_str() >= since).map(|it| format!("{}/{}", it.opened, it.name)));
        from = page.next;
        if from.is_none() {
            return Ok(found);
        }
    }
}

/// The same of all other states, and the names of the functions with records since that day.
async fn stored_streams(ports: &Ports, since: &str) -> Result<(Vec<String>, Vec<String>), CommandError> {
    let (mut found, mut functions, mut from) = (Vec::new(), Vec::new(), None);
    loop {
        let page = ports.streams.streams(from.as_deref()).await.map_err(CommandError::unreadable_log)?;
        for StoredStream { name, opened } in page.streams.into_iter().filter(|it| it.opened.as_str() >= since) {
            match name.strip_prefix("function/") {
                Some(function) => functions.push(function.to_owned()),
                None => found.push(format!("{opened}/{name}")),
            }
        }
        from = page.next;
        if from.is_none() {
            return Ok((found, functions));
        }
    }
}

/// Objects that were written before this time must be digested; `None` without digests.
fn late_before(there_are_digests: bool, now: Timestamp) -> Option<Timestamp> {
    let within = i64::try_from(DIGESTED_WITHIN.as_millis()).unwrap_or(i64::MAX);
    there_are_digests.then(|| Timestamp::from_millis(now.as_millis().saturating_sub(within)))
}

/// The digests' entries of a stream.
struct DigestComparison {
    digested: DigestedStream,
    /// Objects that were written before this time must be digested.
    limit: Option<Timestamp>,
}

/// The result of comparing a stream with the digests.
struct ByDigests {
    finding: Option<Finding>,
    /// Objects that are in no digest and should be in one.
    undigested: Vec<String>,
}

impl DigestComparison {
    fn compare(&self, objects: &[Object], listed: &[ListedObject]) -> ByDigests {
        let written: HashMap<&str, Timestamp> =
            listed.iter().map(|object| (object.key.as_str(), object.written_at)).collect();
        let is_late = |key: &str| match (self.limit, written.get(key)) {
            (Some(limit), Some(written)) => *written < limit,
            _ => false,
        };
        ByDigests {
            finding: self.digested.compare(objects, is_late),
            undigested: self.digested.undigested(objects, is_late),
        }
    }
}

/// Aggregates the log over a period. Calls `progress` after each stream with the number of sales and of records so far.
pub(crate) async fn report(
    objects: &Arc<dyn AuditObjects>,
    period: &Period,
    mut progress: impl FnMut(u64, u64),
) -> Result<Report, CommandError> {
    let mut aggregate = Aggregate::over(period.clone());
    let work = |stream: String, listed: Vec<ListedObject>| {
        let objects = objects.clone();
        // Lists every stream, since a sale of any day may be refunded in this period. Reads only streams that count and
        // may have records of the period.
        let opened = stream.get(..10).unwrap_or_default();
        let written = listed.iter().map(|object| object.written_at).max();
        let counted = counted(&stream);
        let is_read = counted.is_some() && written.is_some_and(|written| period.may_hold(opened, written));
        async move {
            let read = if is_read { objects.objects(keys(&listed)).await? } else { Vec::new() };
            Ok((counted, read))
        }
    };
    let done = |(counted, objects): (Option<Counted>, Vec<Object>)| {
        let lines = objects.iter().map(|(_, bytes)| bytes.as_slice());
        match counted {
            Some(Counted::Sale) => aggregate.add_sale(lines),
            Some(Counted::Payments) => aggregate.add_payments(lines),
            None => {}
        }
        progress(aggregate.sales(), aggregate.records());
    };
    each_stream(objects.as_ref(), "", work, done).await?;
    Ok(aggregate.finish())
}

/// What a report counts in a stream.
#[derive(Clone, Copy)]
enum Counted {
    Sale,
    /// Payments in USDC.
    Payments,
}

/// What a report counts in this stream; `None` if nothing. Functions' own streams have no records of sales. Payments in
/// USDC are in their purchases' streams; those that bought nothing are in the toll function's streams. The streams of
/// chat accounts, subscribers and Bridges are not sales of a tier either.
fn counted(stream: &str) -> Option<Counted> {
    if let Some(name) = function_of_stream(stream) {
        return has_payments(name).then_some(Counted::Payments);
    }
    let begins = |prefix: &str| session_of_stream(stream).is_some_and(|session| session.starts_with(prefix));
    if begins(toll::PREFIX) {
        return Some(Counted::Payments);
    }
    let is_other = [CHAT_PREFIX, STREAM_PREFIX, BRIDGE_PREFIX].into_iter().any(begins);
    (!is_other).then_some(Counted::Sale)
}

/// Whether a function's stream is one of the toll's with payments that bought nothing. Its other streams have the
/// evaluations of declined questions.
fn has_payments(name: &str) -> bool {
    name.strip_prefix("toll")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-') && !rest.starts_with("-declined"))
}

fn keys(listed: &[ListedObject]) -> Vec<String> {
    listed.iter().map(|object| object.key.clone()).collect()
}

/// Verifies one stream. A sale that changes while its stream is read can look like damage, so a stream that looks
/// damaged is read again until the sale does not change during the reading.
async fn examine(
    ports: &Ports,
    stream: &str,
    listed: Vec<ListedObject>,
    comparison: &DigestComparison,
) -> Result<Seen, StorageError> {
    let objects = ports.objects.objects(keys(&listed)).await?;
    if stream.is_empty() && listed.is_empty() {
        return Ok(Seen::Judged(Verification::default()));
    }
    if function_of_stream(stream).is_some() {
        let by_digests = comparison.compare(&objects, &listed);
        return Ok(Seen::Day(Day::of(stream, objects), by_digests));
    }
    let mut verification =
        judge(stream, &objects, stored_head(ports, stream).await?, comparison.compare(&objects, &listed));
    if session_of_stream(stream).is_none() {
        return Ok(Seen::Judged(verification));
    }
    for _ in 0..ROUNDS {
        if verification.is_sound() {
            break;
        }
        let before = stored_head(ports, stream).await?;
        let listed = ports.objects.listed(&format!("{stream}/")).await?;
        let objects = ports.objects.objects(keys(&listed)).await?;
        let after = stored_head(ports, stream).await?;
        let version = |stored: &Option<Versioned<StoredHead>>| stored.as_ref().map(|stored| stored.version);
        let stood_still = version(&before) == version(&after);
        verification = judge(stream, &objects, after, comparison.compare(&objects, &listed));
        if stood_still {
            break;
        }
    }
    Ok(Seen::Judged(verification))
}

fn judge(
    stream: &str,
    objects: &[Object],
    stored: Option<Versioned<StoredHead>>,
    by_digests: ByDigests,
) -> Verification {
    let mut verification = Verification { undigested: by_digests.undigested, ..Verification::default() };
    let stored = stored.map(|stored| stored.value);
    let by_chain = verify_stream(stream, objects, stored.as_ref()).err();
    verification.add_stream(objects.len(), stored.is_some(), worst(by_chain.into_iter().chain(by_digests.finding)));
    verification
}

/// Verifies a function's stream over all its days. While it looks damaged, the days that the findings name and the
/// newest ones are read again, until the function writes nothing during the reading. The newest day is read last,
/// because only that one grows.
async fn examine_function(
    ports: &Ports,
    name: &str,
    mut days: Days,
    by_digests: Vec<Finding>,
    is_whole: bool,
) -> Result<Verification, StorageError> {
    let mut verification = Verification::default();
    let mut note = ports.notes.load(name).await?;
    let (mut rounds, mut stood_still) = (0, false);
    loop {
        let stored = note.value.as_deref().and_then(StoredHead::of_note);
        let found = verify_days(name, &days, stored.as_ref(), is_whole);
        if found.is_empty() || rounds == ROUNDS || stood_still {
            let objects = days.values().map(Day::count).sum();
            verification.add_stream(objects, stored.is_some(), None);
            // Reports each day: a known finding of one day must not hide another's. None hides that the function has no
            // note, which is about all days.
            let (orphaned, of_records): (Vec<Finding>, Vec<Finding>) =
                found.into_iter().chain(by_digests).partition(|finding| finding.damage == Damage::Orphaned);
            let mut of_days: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
            for finding in of_records {
                of_days.entry(stream_of(&finding.key).to_owned()).or_default().push(finding);
            }
            verification.findings.extend(of_days.into_values().filter_map(worst));
            verification.findings.extend(orphaned);
            return Ok(verification);
        }
        rounds += 1;
        let named = found.iter().map(|finding| stream_of(&finding.key).to_owned());
        let newest = stored.map(|stored| format!("{}/function/{name}", stored.opened()));
        let again: BTreeSet<String> = named.chain(days.keys().rev().take(2).cloned()).chain(newest).collect();
        for stream in again {
            let listed = ports.objects.listed(&format!("{stream}/")).await?;
            let objects = ports.objects.objects(keys(&listed)).await?;
            days.insert(stream, Day::Objects(objects));
        }
        days.retain(|_, day| day.count() > 0);
        let before = note.version;
        note = ports.notes.load(name).await?;
        stood_still = note.version == before;
    }
}

async fn stored_head_in<S: Audited>(
    store: &(impl Store<S> + ?Sized),
    id: &str,
) -> Result<Option<Versioned<StoredHead>>, StorageError> {
    let Some(id) = S::Id::read(id) else { return Ok(None) };
    let found = store.load(&id).await?;
    Ok(found.map(|it| Versioned { value: StoredHead::of(&it.value), version: it.version }))
}

/// The table's row of a stream: a sale, a purchase in USDC, a chat account, a subscriber or a Bridge.
async fn stored_head(ports: &Ports, stream: &str) -> Result<Option<Versioned<StoredHead>>, StorageError> {
    let Some(session) = session_of_stream(stream).and_then(|session| SessionId::parse(session).ok()) else {
        return Ok(None);
    };
    let text = session.as_str();
    if text.starts_with(toll::PREFIX) {
        return stored_head_in(&*ports.purchases, text).await;
    }
    if let Some(id) = text.strip_prefix(CHAT_PREFIX) {
        return stored_head_in(&*ports.accounts, id).await;
    }
    if let Some(id) = text.strip_prefix(STREAM_PREFIX) {
        return stored_head_in(&*ports.subscribers, id).await;
    }
    if let Some(id) = text.strip_prefix(BRIDGE_PREFIX) {
        return stored_head_in(&*ports.bridges, id).await;
    }
    stored_head_in(&*ports.store, text).await
}

#[cfg(test)]
mod tests;
