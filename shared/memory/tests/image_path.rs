//! Tests of the path of a picture, from the brief to the surface (Memory Contract, section 9.2).
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod support;

use lens::{Digest, Domain, Pvib};
use memory::{
    Handle,
    event::Payload,
    image::{self, Destination, Engine, Produced, QualityDirector, RequestSpec, SandboxEngine},
};
use std::collections::BTreeMap;
use support::{Table, handle};

struct Blank;

impl Engine for Blank {
    fn render(&self, _: &[u8]) -> Option<Vec<u8>> {
        Some(vec![0; 4096])
    }
}

struct Broken;

impl Engine for Broken {
    fn render(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

const DIRECTOR: QualityDirector = QualityDirector { threshold: 50 };

fn spec(table: &Table, handle_of: &str) -> RequestSpec {
    let brief = Pvib::of(&table.build("").set, &[handle_of]).unwrap();
    RequestSpec::of(&brief, handle("sandbox/1"), (512, 512)).unwrap()
}

fn destination<'a>(pool_id: &'a Handle, surface: &'a Handle, weight: u32) -> Destination<'a> {
    Destination { pool_id, surface, weight }
}

#[test]
fn a_picture_goes_from_its_request_to_its_surface() {
    let mut table = Table::new();
    table.plain("harbour", "The harbour lies north of the tower.");
    table.plain("tower", "The tower stands alone.");
    let (pool, surface) = (handle("pool-1"), handle("table-centre"));
    let mut assets = BTreeMap::new();
    let facts: Vec<String> = table.log.state().facts().canon().map(|(id, _)| id.to_string()).collect();
    let before = table.build("harbour").set;
    for (fact, weight) in facts.iter().zip([1, 9]) {
        let spec = spec(&table, fact);
        let to = destination(&pool, &surface, weight);
        let made = image::produce(&spec, &SandboxEngine, DIRECTOR, &mut assets, to).unwrap();
        assert_eq!(made, image::produce(&spec, &SandboxEngine, DIRECTOR, &mut BTreeMap::new(), to).unwrap());
        let Produced::Pooled(events) = made else { panic!("not pooled") };
        let ids: Vec<&str> = events.iter().map(|event| event.id().as_str()).collect();
        assert_eq!(ids, ["EV-ORC-009", "EV-ORC-010", "EV-ORC-011"]);
        for event in events {
            table.add(event);
        }
    }
    // Delivery draws by weight, gives the same picture for the same arguments, and needs only the asset store.
    let state = table.log.state();
    let mut drawn: BTreeMap<Digest, u32> = BTreeMap::new();
    for delivery in 0..1000 {
        let asset = image::deliver(state, &surface, delivery).unwrap();
        assert_eq!(image::deliver(state, &surface, delivery), Some(asset));
        assert_eq!(Digest::of(Domain::AssetBytes, &assets[&asset.bytes_hash]), asset.bytes_hash);
        *drawn.entry(asset.asset_id).or_default() += 1;
    }
    let mut counts: Vec<u32> = drawn.into_values().collect();
    counts.sort_unstable();
    assert!((60..150).contains(&counts[0]), "{counts:?}");
    assert_eq!(image::deliver(state, &handle("elsewhere"), 1), None);
    // No backflow: pictures do not change the working set.
    assert_eq!(table.build("harbour").set, before);
}

#[test]
fn what_the_director_fails_is_not_pooled() {
    let mut table = Table::new();
    let fact = table.plain("harbour", "The harbour lies north.").to_string();
    let (pool, surface) = (handle("pool-1"), handle("table-centre"));
    for engine in [&Blank as &dyn Engine, &Broken] {
        let mut assets = BTreeMap::new();
        let to = destination(&pool, &surface, 1);
        let made = image::produce(&spec(&table, &fact), engine, DIRECTOR, &mut assets, to).unwrap();
        assert!(matches!(&made, Produced::Failed(events) if matches!(events[..], [Payload::ImageRequested(_)])));
        assert!(assets.is_empty());
    }
}

#[test]
fn an_asset_needs_its_request_and_a_binding_its_pool() {
    let mut table = Table::new();
    let fact = table.plain("harbour", "The harbour lies north.").to_string();
    let (pool, surface) = (handle("pool-1"), handle("table-centre"));
    let to = destination(&pool, &surface, 1);
    let made = image::produce(&spec(&table, &fact), &SandboxEngine, DIRECTOR, &mut BTreeMap::new(), to).unwrap();
    let Produced::Pooled(events) = made else { panic!("not pooled") };
    assert!(table.refusal(events[2].clone()).contains("pool is empty"));
    assert!(table.refusal(events[1].clone()).contains("never requested"));
    table.add(events[0].clone()).add(events[1].clone());
    assert!(table.refusal(events[1].clone()).contains("in the pool already"));
    let Payload::ImageRequested(mut request) = events[0].clone() else { panic!("no request") };
    request.request_hash = Digest::of(Domain::Asset, b"");
    assert!(table.refusal(request).contains("request_hash"));
}
