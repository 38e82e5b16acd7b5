//! Tests of exports: an import gives the same log, and a changed document is refused.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod support;

use memory::{export, log::Unsealed};
use support::{Table, history};

fn exported(table: &Table) -> Vec<u8> {
    export::export(&table.log, &Unsealed).unwrap()
}

#[test]
fn import_after_export_gives_the_same_state_hash() {
    for seed in 0..20 {
        let table = history(seed, 80);
        let bytes = exported(&table);
        let imported = export::import(&bytes).unwrap();
        assert_eq!(imported.state().hash().unwrap(), table.log.state().hash().unwrap());
        assert_eq!(imported, table.log);
        assert_eq!(exported(&Table { log: imported }), bytes);
    }
}

#[test]
fn what_was_changed_is_not_imported() {
    let mut table = Table::new();
    table.plain("harbour", "The harbour lies north.");
    let value = lens::canonical::Value::Integer(3);
    let clock = support::handle("clock/flood");
    table.add(memory::event::StoryPointerChanged { pointer: memory::event::PointerKind::Clock, handle: clock, value });
    let text = String::from_utf8(exported(&table)).unwrap();
    for (from, to) in [
        ("lies north", "lies south"),
        ("\"value\":3", "\"value\":4"),
        ("memory-export/1", "memory-export/2"),
        ("EV-ORC-006", "EV-ORC-013"),
        ("{\"campaign_id\"", "{ \"campaign_id\""),
        ("{\"campaign_id\":\"camp-1\",\"events\"", "{\"aaa\":1,\"campaign_id\":\"camp-1\",\"events\""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(export::import(changed.as_bytes()).is_err(), "{from}");
    }
}
