//! Shows one sale: its state, and its history from the audit log.

use audit::chain;
use audit_verify::stream::{Finding, Object, StoredHead, verify_stream};
use domain::{
    Sale, SessionId,
    open_work::OpenWork,
    ports::{AuditObjects, SaleStore, StorageError, Versioned},
};
use serde::Serialize;
use serde_json::Value;

/// The ports of showing a sale.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub store: &'a dyn SaleStore,
    pub objects: &'a dyn AuditObjects,
}

/// The number of times that a stream with a finding is read again, while its sale changes.
const ROUNDS: u32 = 5;

/// One sale.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Its session.
    pub session: SessionId,
    /// Its state; `None` when only the audit log still has the sale.
    pub sale: Option<Sale>,
    /// Its follow-up, if one was ordered.
    pub followup: Option<Sale>,
    /// The open work, if any.
    pub open: Option<OpenWork>,
    /// Its audit records in order, including those that are not in the log yet.
    pub timeline: Vec<Value>,
    /// The number of records in its stream.
    pub records: u64,
    /// The number of them that were found in the log. Fewer than `records` minus those that still wait means that some
    /// are missing.
    pub records_in_log: u64,
    /// The finding about its stream, from its hash chain and from the end that the sale stores. Does not use the signed
    /// digests.
    pub finding: Option<Finding>,
}

/// Shows a sale; `None` if neither the table nor the log has it.
///
/// # Errors
/// [`StorageError`] when the store or the log could not be read.
pub async fn show(ports: Ports<'_>, session: &SessionId) -> Result<Option<Overview>, StorageError> {
    let mut rounds = 0;
    loop {
        let Some(Versioned { value: sale, version }) = ports.store.load(session).await? else {
            return from_the_log(ports, session).await;
        };
        let overview = of_sale(ports, sale).await?;
        rounds += 1;
        // A sale that changes while its stream is read looks damaged.
        let is_told = overview.finding.is_none()
            || rounds == ROUNDS
            || ports.store.load(session).await?.is_some_and(|again| again.version == version);
        if is_told {
            return Ok(Some(overview));
        }
    }
}

async fn of_sale(ports: Ports<'_>, sale: Sale) -> Result<Overview, StorageError> {
    let objects = match chain::prefix(&sale) {
        Some(prefix) => read(ports, &prefix).await?,
        None => Vec::new(),
    };
    let stream = chain::prefix(&sale).unwrap_or_default();
    let followup = match sale.is_followup() {
        true => None,
        false => ports.store.load(&sale.session_id().followup()).await?.map(|followup| followup.value),
    };
    let finding = verify_stream(stream.trim_end_matches('/'), &objects, Some(&StoredHead::of(&sale))).err();
    let mut timeline: Vec<Value> = objects.iter().map(|(_, bytes)| parse(&String::from_utf8_lossy(bytes))).collect();
    // A record whose write lost its reply is in the log and also waits in the sale.
    let waiting = sale.outbox().iter().map(|entry| parse(&entry.line));
    let unseen: Vec<Value> = waiting.filter(|record| !timeline.contains(record)).collect();
    timeline.extend(unseen);
    Ok(Overview {
        session: sale.session_id().clone(),
        followup,
        open: sale.open_work(),
        timeline,
        records: sale.audit().map_or(0, |head| head.count),
        records_in_log: objects.len() as u64,
        finding,
        sale: Some(sale),
    })
}

async fn read(ports: Ports<'_>, prefix: &str) -> Result<Vec<Object>, StorageError> {
    let listed = ports.objects.listed(prefix).await?;
    ports.objects.objects(listed.into_iter().map(|object| object.key).collect()).await
}

/// The history of a sale that the table has lost. The day on which its stream was opened is unknown, so each day is
/// searched, from the oldest to the newest, with two requests each.
async fn from_the_log(ports: Ports<'_>, session: &SessionId) -> Result<Option<Overview>, StorageError> {
    let mut after = String::new();
    while let Some(first) = ports.objects.keys("", &after).await?.first() {
        let day = first.key.split('/').next().unwrap_or_default();
        let stream = format!("{day}/session/{}", session.as_str());
        let objects = read(ports, &format!("{stream}/")).await?;
        if !objects.is_empty() {
            let timeline: Vec<Value> =
                objects.iter().map(|(_, bytes)| parse(&String::from_utf8_lossy(bytes))).collect();
            // The highest number found: this reveals a missing record before it, but not one after it.
            let last = timeline.iter().filter_map(|record| record["seq"].as_u64()).max();
            let count = objects.len() as u64;
            return Ok(Some(Overview {
                session: session.clone(),
                sale: None,
                followup: None,
                open: None,
                timeline,
                records: last.unwrap_or(count).max(count),
                records_in_log: count,
                finding: verify_stream(&stream, &objects, None).err(),
            }));
        }
        // Continues behind all keys of that day: no key of ours has a tilde.
        after = format!("{day}/~");
    }
    Ok(None)
}

/// A line that is not JSON is shown unchanged, because the log is evidence.
fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|_| line.trim_end().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Operator,
        testing::{journal, sale, session, world},
    };
    use audit::{Change, Context};
    use audit_verify::stream::Damage;
    use testkit::{Fault, Plan, run};

    #[test]
    fn a_sale_is_shown_with_its_records_whether_or_not_the_log_has_them() {
        let world = world();
        world.state().sales.insert(session(), (sale(), 1));
        let operator = Operator::parse("dana", None).unwrap();
        for plan in [Plan::none(), Plan::none().whenever("log.publish", Fault::Fail)] {
            world.plan(plan);
            let journal = journal(&world);
            let loaded = run(journal.load(&session(), sale().received_at())).unwrap().unwrap();
            let remove = |sale: &mut Sale, _| match sale.remove_from_cache(&operator) {
                Ok(event) => Change::of(&event, &Context::at(sale.received_at()), ()),
                Err(refused) => panic!("{refused}"),
            };
            run(journal.commit(loaded, remove)).unwrap().unwrap().unsettled();
        }
        world.plan(Plan::none());
        let ports = Ports { store: &world, objects: &world };
        let shown = run(show(ports, &session())).unwrap().unwrap().unwrap();
        assert_eq!((shown.records, shown.records_in_log, shown.timeline.len()), (2, 1, 2));
        assert_eq!((&shown.timeline[0]["seq"], &shown.timeline[1]["seq"]), (&1.into(), &2.into()));
        assert_eq!((&shown.timeline[1]["by"], shown.finding), (&"dana".into(), None));
        let key = world.state().log.keys().next().unwrap().clone();
        let line = world.state().log[&key].replace("dana", "dora");
        world.state().log.insert(key.clone(), line);
        let shown = run(show(ports, &session())).unwrap().unwrap().unwrap();
        assert_eq!(shown.finding, Some(Finding { key, damage: Damage::Forked }));
    }

    #[test]
    fn an_unknown_sale_is_nothing() {
        let world = world();
        let ports = Ports { store: &world, objects: &world };
        assert!(run(show(ports, &session())).unwrap().unwrap().is_none());
    }

    /// The log has the history of a sale that the table has lost, whatever the day of its stream.
    #[test]
    fn a_sale_that_the_table_has_lost_is_shown_from_the_log() {
        let world = world();
        for day in 1..=9 {
            let key = format!("2026-01-0{day}/session/cs_test_other{day}/000001.json");
            world.state().log.insert(key, "{}".to_owned());
        }
        for seq in [1, 2, 4] {
            let key = format!("2026-01-05/session/{}/{seq:06}.json", session().as_str());
            world.state().log.insert(key, format!(r#"{{"seq":{seq}}}"#));
        }
        let ports = Ports { store: &world, objects: &world };
        let shown = run(show(ports, &session())).unwrap().unwrap().unwrap();
        assert_eq!((shown.sale, shown.timeline.len()), (None, 3));
        assert_eq!((shown.records, shown.records_in_log), (4, 3), "the third one is missing");
        assert!(shown.finding.is_some(), "and nothing vouches for the others");
    }
}
