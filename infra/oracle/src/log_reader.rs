//! Reads the whole audit log, many streams at a time.

use std::{collections::HashSet, future::Future, sync::Arc};

use audit::{
    Aggregate,
    report::Report,
    verify::{Known, Object, Verification, session_of_stream, stream_of},
};
use domain::{
    Sale, SessionId,
    ports::{AllSales, AuditObjects, SaleStore, StorageError, Versioned},
};
use tokio::task::JoinSet;

use crate::command::CommandError;

/// Streams that are read at once: the time goes into waiting for replies.
const AT_ONCE: usize = 16;

/// How often a stream that looks bad is read again while its sale goes on.
const ROUNDS: u32 = 5;

/// The log and the table.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) objects: Arc<dyn AuditObjects>,
    pub(crate) store: Arc<dyn SaleStore>,
    pub(crate) all: Arc<dyn AllSales>,
}

/// Does `work` for each stream that was opened on `since` or later (all of them where it is empty): the stream's
/// name and its keys. `done` takes the results, in any order.
pub(crate) async fn each_stream<T, Doing>(
    objects: &dyn AuditObjects,
    since: &str,
    work: impl Fn(String, Vec<String>) -> Doing,
    mut done: impl FnMut(T),
) -> Result<(), CommandError>
where
    T: Send + 'static,
    Doing: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    let mut running = JoinSet::new();
    let (mut stream, mut keys) = (String::new(), Vec::new());
    let mut after = since.to_owned();
    loop {
        let page = objects.keys("", &after).await.map_err(unreadable)?;
        let is_last = page.is_empty();
        if let Some(last) = page.last() {
            after.clone_from(last);
        }
        for key in page {
            if stream_of(&key) != stream {
                start(&mut running, work(stream, std::mem::take(&mut keys)), &mut done).await?;
                stream = stream_of(&key).to_owned();
            }
            keys.push(key);
        }
        if is_last {
            break;
        }
    }
    start(&mut running, work(stream, keys), &mut done).await?;
    while let Some(finished) = running.join_next().await {
        done(result(finished)?);
    }
    Ok(())
}

/// Starts a piece of work once there is room for it.
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
    let read = finished.map_err(|error| CommandError::failed("a reader of the log died", error))?;
    read.map_err(unreadable)
}

fn unreadable(error: StorageError) -> CommandError {
    CommandError::failed("the audit log or the table cannot be read", error)
}

/// The objects with these keys. One that is gone since it was listed is left out.
pub(crate) async fn fetch(objects: &dyn AuditObjects, keys: Vec<String>) -> Result<Vec<Object>, StorageError> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(bytes) = objects.object(&key).await? {
            found.push((key, bytes));
        }
    }
    Ok(found)
}

/// Verifies the log, and that no sale has lost its whole stream. `progress` hears of every stream.
pub(crate) async fn verify(
    ports: &Ports,
    since: &str,
    mut progress: impl FnMut(&Verification),
) -> Result<Verification, CommandError> {
    let mut seen = HashSet::new();
    let mut all = Verification::default();
    let work = |stream: String, keys: Vec<String>| {
        let ports = ports.clone();
        async move {
            let verification = examine(&ports, &stream, keys).await?;
            Ok((stream, verification))
        }
    };
    let done = |(stream, verification): (String, Verification)| {
        seen.insert(stream);
        all.merge(verification);
        progress(&all);
    };
    each_stream(ports.objects.as_ref(), since, work, done).await?;
    let mut from = None;
    loop {
        let page = ports.all.all(from.as_deref()).await.map_err(unreadable)?;
        for sale in page.sales {
            let Some(head) = sale.audit.as_ref().filter(|head| head.opened.as_str() >= since) else { continue };
            let stream = format!("{}/session/{}", head.opened, sale.session_id.as_str());
            if Known::of(&sale).published() > 0 && !seen.contains(&stream) {
                all.merge(examine(ports, &stream, Vec::new()).await.map_err(unreadable)?);
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    all.findings.sort();
    Ok(all)
}

/// Sums the log up. `progress` hears of every sale: how many there were, and how many records.
pub(crate) async fn report(
    ports: &Ports,
    since: &str,
    mut progress: impl FnMut(u64, u64),
) -> Result<Report, CommandError> {
    let mut aggregate = Aggregate::default();
    let work = |_, keys| {
        let objects = ports.objects.clone();
        async move { fetch(objects.as_ref(), keys).await }
    };
    let done = |objects: Vec<Object>| {
        aggregate.add_sale(objects.iter().map(|(_, bytes)| bytes.as_slice()));
        progress(aggregate.sales(), aggregate.records());
    };
    each_stream(ports.objects.as_ref(), since, work, done).await?;
    Ok(aggregate.finish())
}

/// Verifies one stream. A sale that goes on while its stream is read looks like damage: what looks bad is read
/// again, until the sale has stood still meanwhile.
async fn examine(ports: &Ports, stream: &str, keys: Vec<String>) -> Result<Verification, StorageError> {
    if stream.is_empty() && keys.is_empty() {
        return Ok(Verification::default());
    }
    let mut verification = judge(stream, &fetch(ports.objects.as_ref(), keys).await?, sale(ports, stream).await?);
    if session_of_stream(stream).is_none() {
        return Ok(verification);
    }
    for _ in 0..ROUNDS {
        if verification.is_sound() {
            break;
        }
        let before = sale(ports, stream).await?;
        let objects = fetch(ports.objects.as_ref(), keys_of(ports.objects.as_ref(), stream).await?).await?;
        let after = sale(ports, stream).await?;
        let version = |sale: &Option<Versioned<Sale>>| sale.as_ref().map(|sale| sale.version);
        let stood_still = version(&before) == version(&after);
        verification = judge(stream, &objects, after);
        if stood_still {
            break;
        }
    }
    Ok(verification)
}

fn judge(stream: &str, objects: &[Object], sale: Option<Versioned<Sale>>) -> Verification {
    let mut verification = Verification::default();
    verification.add(stream, objects, sale.map(|sale| Known::of(&sale.value)).as_ref());
    verification
}

async fn sale(ports: &Ports, stream: &str) -> Result<Option<Versioned<Sale>>, StorageError> {
    match session_of_stream(stream).and_then(|session| SessionId::parse(session).ok()) {
        Some(session) => ports.store.load(&session).await,
        None => Ok(None),
    }
}

/// The keys of one stream.
async fn keys_of(objects: &dyn AuditObjects, stream: &str) -> Result<Vec<String>, StorageError> {
    let prefix = format!("{stream}/");
    let mut keys: Vec<String> = Vec::new();
    loop {
        let page = objects.keys(&prefix, keys.last().map_or("", String::as_str)).await?;
        if page.is_empty() {
            return Ok(keys);
        }
        keys.extend(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::{Record, Source, Status, chain, verify::Damage};
    use domain::{Timestamp, sale::AuditEntry};
    use std::sync::Arc;
    use testkit::{Fault, Plan, World};

    fn ports(world: &Arc<World>) -> Ports {
        Ports { objects: world.clone(), store: world.clone(), all: world.clone() }
    }

    /// Twenty sales of three records, all published, on two days.
    fn world() -> Arc<World> {
        let world = World::default();
        for index in 0..20 {
            let opened = Timestamp::from_seconds(1_800_000_000 + (index / 10) * 86_400);
            let mut sale = Sale::ordered(SessionId::parse(format!("cs_test_{index:02}")).unwrap(), opened);
            for _ in 0..3 {
                let record = Record::pipeline(opened, opened, Source::Webhook, Status::Ok, None);
                chain::append(&mut sale, &record);
            }
            let outbox = std::mem::take(&mut sale.outbox);
            let mut state = world.state();
            state.log.extend(outbox.into_iter().map(|AuditEntry { key, line }| (key, line)));
            state.sales.insert(sale.session_id.clone(), (sale, 1));
        }
        Arc::new(world)
    }

    fn verified(world: &Arc<World>, since: &str) -> Verification {
        crate::command::wait(verify(&ports(world), since, |_| ())).unwrap()
    }

    #[test]
    fn a_sound_log_is_sound_and_a_day_is_where_it_begins() {
        let world = world();
        let found = verified(&world, "");
        assert_eq!((found.streams, found.records, found.findings.len()), (20, 60, 0));
        let found = verified(&world, "2027-01-16");
        assert_eq!((found.streams, found.records, found.is_sound()), (10, 30, true));
    }

    #[test]
    fn every_bad_stream_is_named_and_lost_ones_too() {
        let world = world();
        let key = |session: &str, seq| chain::key("2027-01-15", &format!("session/{session}"), seq);
        let mut state = world.state();
        for seq in 1..=3 {
            state.log.remove(&key("cs_test_03", seq));
        }
        state.log.remove(&key("cs_test_05", 3));
        *state.log.get_mut(&key("cs_test_07", 2)).unwrap() = "{}".into();
        state.log.insert("readme.txt".into(), "x".into());
        drop(state);
        let found = verified(&world, "").findings;
        let found: Vec<_> = found.iter().map(|finding| (finding.key.clone(), finding.damage)).collect();
        let expected = [
            (key("cs_test_03", 1), Damage::Truncated),
            (key("cs_test_05", 3), Damage::Truncated),
            (key("cs_test_07", 2), Damage::Unreadable),
            ("readme.txt".to_owned(), Damage::Foreign),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_report_reads_every_record_once() {
        let world = world();
        let whole = crate::command::wait(report(&ports(&world), "", |_, _| ())).unwrap();
        assert_eq!((whole.sales, whole.records, whole.latency[0].count), (20, 60, 60));
        let second = crate::command::wait(report(&ports(&world), "2027-01-16", |_, _| ())).unwrap();
        assert_eq!((second.sales, second.records), (10, 30));
        world.plan(Plan::none().whenever("log.object", Fault::Fail));
        assert!(crate::command::wait(report(&ports(&world), "", |_, _| ())).is_err());
    }

    #[test]
    fn a_log_that_cannot_be_read_is_not_called_sound() {
        for name in ["log.keys", "log.object", "store.load", "store.all"] {
            let world = world();
            world.plan(Plan::none().whenever(name, Fault::Fail));
            let result = crate::command::wait(verify(&ports(&world), "", |_| ()));
            assert!(matches!(result, Err(CommandError::Failed { .. })), "{name}");
        }
    }
}
