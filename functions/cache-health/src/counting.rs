//! A simulated cache of any size that computes its entries and counts the calls. It measures what a check costs at a
//! hundred, ten thousand and a million entries.

use crate::{Ports, Service, Settings, When, run};
use async_trait::async_trait;
use audit::FunctionJournal;
use domain::{
    SessionId, Timestamp,
    cache_entries::{CacheDelta, CacheTotals, ListedEntry, ListedPage, Removal, parse_place},
    cache_health::{FUNCTION, Health, ServiceProbe},
    ports::{CacheEntries, StorageError},
};
use runtime::Environment;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use testkit::World;

const DOCUMENT: &str = r#"{"tier":"quick","query":"q","verdict":{"verdict":"GREEN","summary":"Yes."},"cached_at":"t"}"#;
const BEGUN: i64 = 1_776_240_000_000;
const SPAN: i64 = 29 * 86_400_000;

/// Entries at equal intervals.
struct Arithmetic {
    entries: i64,
    /// The calls, each with the number of entries that it returned.
    asked: Mutex<Vec<(&'static str, usize)>>,
}

struct Alive;

#[async_trait]
impl Service for Alive {
    async fn probe(&self) -> ServiceProbe {
        ServiceProbe { reachable: true, response_ms: 1, http_status: Some(200) }
    }
}

impl Arithmetic {
    fn record_read(&self, name: &'static str, came: usize) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((name, came));
    }

    fn entry(&self, number: i64) -> ListedEntry {
        ListedEntry {
            stored_at: Timestamp::from_millis(BEGUN + number * (SPAN / self.entries)),
            session: SessionId::parse(format!("cs_test_{number:08}")).unwrap(),
            bytes: DOCUMENT.len() as u64,
        }
    }
}

#[async_trait]
impl CacheEntries for Arithmetic {
    async fn totals(&self) -> Result<CacheTotals, StorageError> {
        self.record_read("totals", 1);
        let bytes = self.entries * i64::try_from(DOCUMENT.len()).unwrap();
        Ok(CacheTotals { entries: self.entries, bytes, changes: 1 })
    }
    async fn listed(&self, after: &str, most: u32) -> Result<ListedPage, StorageError> {
        let step = SPAN / self.entries;
        let first = match (parse_place(after), after.parse::<i64>()) {
            (Some((stored_at, _)), _) => (stored_at.as_millis() - BEGUN) / step + 1,
            (None, Ok(moment)) => ((moment - BEGUN).max(0) + step - 1) / step,
            (None, Err(_)) => 0,
        };
        let entries: Vec<_> =
            (first..self.entries.min(first + i64::from(most))).map(|number| self.entry(number)).collect();
        self.record_read("listed", entries.len());
        let next = (entries.len() == most as usize).then(|| entries.last().map(ListedEntry::place)).flatten();
        Ok(ListedPage { entries, next })
    }
    async fn newest(&self) -> Result<Option<ListedEntry>, StorageError> {
        self.record_read("newest", 1);
        Ok(Some(self.entry(self.entries - 1)))
    }
    async fn documents(&self, sessions: &[SessionId]) -> Result<BTreeMap<SessionId, String>, StorageError> {
        self.record_read("documents", sessions.len());
        Ok(sessions.iter().map(|session| (session.clone(), DOCUMENT.to_owned())).collect())
    }
    async fn remove(&self, _session: &SessionId) -> Result<bool, StorageError> {
        panic!("a check removes nothing")
    }
    async fn remove_listed(&self, _entry: &ListedEntry) -> Result<Removal, StorageError> {
        panic!("nothing is old enough")
    }
    async fn correct(&self, _delta: CacheDelta, _token: &str) -> Result<(), StorageError> {
        panic!("it is no Sunday")
    }
}

/// The calls of one check, the number of entries it saw in the index, and the number it read whole.
fn cost(entries: i64) -> (Vec<&'static str>, usize, usize) {
    let cache = Arithmetic { entries, asked: Mutex::default() };
    let world = World::at(Timestamp::from_millis(BEGUN + SPAN));
    let settings =
        Settings { count_critical: 10_000_000, ..Settings::from_environment(&Environment::of(&[])).unwrap() };
    let journal = FunctionJournal { function: FUNCTION, notes: &world, log: &world, alerts: &world, clock: &world };
    let ports = Ports {
        journal,
        sales: audit::Journal { store: &world, log: &world, alerts: &world, clock: &world },
        service: &Alive,
        cache: &cache,
        archive: &world,
        randomness: &world,
        pause: &world,
        meter: &world,
    };
    let checks = testkit::run(run(ports, settings, When::Now)).unwrap().unwrap();
    let expected = if entries > 10_000 { Health::Degraded } else { Health::Healthy };
    assert_eq!(checks[0].overall, expected, "{entries}");
    let asked = cache.asked.into_inner().unwrap();
    let came = |name: &str| asked.iter().filter(|(asked, _)| *asked == name).map(|(_, came)| came).sum();
    (asked.iter().map(|(name, _)| *name).collect(), came("listed"), came("documents"))
}

#[test]
fn a_check_costs_the_same_at_a_hundred_ten_thousand_and_a_million_entries() {
    let (hundred, ten_thousand, million) = (cost(100), cost(10_000), cost(1_000_000));
    assert_eq!((ten_thousand.0.len(), ten_thousand.2), (14, 10), "{:?}", ten_thousand.0);
    assert_eq!(ten_thousand.0, million.0, "the same calls in the same order");
    assert!(ten_thousand.1 <= 201 && million.1 <= 201, "one entry, and twenty at each of ten points");
    assert_eq!(million.2, 50, "the sample is larger above the warn threshold, and no larger than this");
    assert!(hundred.0.len() < million.0.len() && hundred.1 <= 101 && hundred.2 == 10);
}
