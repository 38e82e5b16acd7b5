use super::*;
use domain::Channel;
use std::sync::Mutex;
use testkit::{World, run};

/// A memory that may be out of order.
#[derive(Default)]
struct Notes {
    names: Mutex<BTreeSet<String>>,
    is_broken: bool,
}

#[async_trait]
impl Memory for Notes {
    async fn recall(&self) -> Result<BTreeSet<String>, StorageError> {
        if self.is_broken {
            return Err(StorageError { operation: "note read", source: "down".into() });
        }
        Ok(self.names.lock().unwrap().clone())
    }
    async fn keep(&self, names: &BTreeSet<String>) -> Result<(), StorageError> {
        if self.is_broken {
            return Err(StorageError { operation: "note write", source: "down".into() });
        }
        *self.names.lock().unwrap() = names.clone();
        Ok(())
    }
}

/// The alerts of one look, which found these things wrong.
fn told(world: &World, memory: &Notes, wrong: &[&'static str]) -> Vec<(Channel, String)> {
    world.state().alerts.clear();
    let findings = wrong.iter().map(|name| (*name, "refused".to_owned())).collect();
    run(probe(Ports { memory, alerts: world, clock: world }, &findings)).unwrap();
    let alerts = world.state().alerts.clone();
    alerts.into_iter().map(|alert| (alert.channel, alert.matter().unwrap().detail.to_owned())).collect()
}

#[test]
fn each_thing_is_told_once_when_it_stops_and_once_when_it_starts_to_work() {
    let (world, memory) = (World::at(Timestamp::from_millis(0)), Notes::default());
    assert_eq!(told(&world, &memory, &[]), []);
    let gemini = (Channel::Critical, "Gemini: refused".to_owned());
    assert_eq!(told(&world, &memory, &["Gemini"]), [gemini]);
    assert_eq!(told(&world, &memory, &["Gemini"]), [], "told already");
    let table = (Channel::Critical, "table: refused".to_owned());
    assert_eq!(told(&world, &memory, &["Gemini", "table"]), [table]);
    let works = (Channel::Ops, "Gemini: works again".to_owned());
    assert_eq!(told(&world, &memory, &["table"]), [works]);
}

#[test]
fn without_a_memory_it_is_told_every_time() {
    let (world, memory) = (World::at(Timestamp::from_millis(0)), Notes { is_broken: true, ..Notes::default() });
    for _ in 0..2 {
        assert_eq!(told(&world, &memory, &["table"]).len(), 1);
    }
}
