use super::*;
use audit::Change;
use domain::{Operator, Timestamp, audit_trail::Audited, chat::SubscriberId, due::Report};
use std::time::Duration;
use testkit::{Fault, Plan, World, every_single_fault, run as live};

fn ports(world: &World) -> Ports<'_> {
    let journal = ChatJournal { store: world, log: world, alerts: world, clock: world };
    let bridges = BridgeJournal { store: world, log: world, alerts: world, clock: world };
    Ports { journal, bridges, logs: world, keys: world }
}

fn somebody() -> SubscriberId {
    SubscriberId::parse("e".repeat(64)).unwrap()
}

/// A world in which a customer's call began an erasure and then died.
fn begun() -> World {
    let world = World::at(Timestamp::from_seconds(1_800_000_000));
    let journal = ports(&world).journal;
    let account = live(journal.load(&somebody())).unwrap().unwrap();
    let name = account.value.memory();
    live(ports(&world).keys.find_or_create(&name)).unwrap().unwrap();
    let operator = Operator::parse("dana", Some("asked for by letter")).unwrap();
    let (account, is_new) = live(begin(journal, account, Some(&operator))).unwrap().unwrap();
    let (_, again) = live(begin(journal, account, None)).unwrap().unwrap();
    assert!(is_new && !again);
    assert!(world.state().log.values().any(|line| line.contains("dana") && line.contains("asked for by letter")));
    world.advance(Duration::from_secs(120));
    world.plan(Plan::none());
    world
}

fn run_schedule(world: &World) -> Option<Report> {
    live(run(ports(world))).map(|report| report.unwrap_or(Report { failed: 1, ..Report::default() }))
}

fn is_erased(world: &World) -> bool {
    let state = world.state();
    let (account, _) = &state.accounts[&somebody()];
    let done = state.log.values().filter(|line| line.contains(r#""step":"done""#)).count();
    !account.is_erasing() && state.memory_keys.is_empty() && done == 1 && account.trail().outbox().is_empty()
}

#[test]
fn an_erasure_that_nobody_comes_back_for_ends_within_a_run() {
    let world = begun();
    assert_eq!(run_schedule(&world).unwrap(), Report { due: 1, failed: 0, left: 0 });
    assert!(is_erased(&world));
    assert_eq!(run_schedule(&world).unwrap(), Report::default(), "nothing is listed any more");
    assert!(world.state().alerts.is_empty());
}

/// An operator began it, as the audit log says, and the memory's last record stays for ever.
#[test]
fn the_last_record_does_not_say_that_the_customer_began_it() {
    let world = begun();
    run_schedule(&world).unwrap();
    let logs = world.state().memory_logs.clone();
    let last = String::from_utf8_lossy(&logs.values().flatten().next_back().unwrap().body);
    assert!(last.contains("EV-ORC-012") && !last.contains("page") && !last.contains("letter"), "{last}");
}

#[test]
fn the_call_that_began_it_is_left_alone() {
    let world = begun();
    world.state().now -= 1;
    assert_eq!(run_schedule(&world).unwrap(), Report::default());
}

/// Injects every fault at every effect. The next due run ends the erasure, with one audit record.
#[test]
fn every_fault_at_every_effect() {
    let clean = begun();
    run_schedule(&clean).unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 8) {
        let world = begun();
        world.plan(plan);
        run_schedule(&world);
        world.plan(Plan::none());
        for _ in 0..2 {
            world.advance(Duration::from_secs(3600));
            run_schedule(&world).unwrap();
        }
        // The account's next step settles the records that a run published and could not settle.
        live(async {
            let journal = ports(&world).journal;
            let account = journal.load(&somebody()).await.unwrap();
            journal.commit(account, |_, _| Change::<()>::nothing(())).await.unwrap().settle().await
        })
        .unwrap();
        assert!(is_erased(&world), "{what}");
    }
}

#[test]
fn one_that_keeps_failing_is_alerted_and_tried_again_and_holds_up_no_other() {
    for name in ["memory.destroy_key", "memory.append", "memory.read"] {
        for fault in [Fault::Fail, Fault::CrashBefore] {
            let world = begun();
            world.plan(Plan::none().whenever(name, fault));
            for _ in 0..5 {
                run_schedule(&world);
                world.advance(Duration::from_secs(3600));
            }
            let alerts: Vec<_> = world.state().alerts.iter().map(domain::Alert::redacted).collect();
            assert_eq!(alerts.len(), 1, "{fault:?} at {name}: {alerts:?}");
            assert!(alerts[0].contains("ERASURE") && alerts[0].contains("after 3 attempts"), "{alerts:?}");
            world.plan(Plan::none());
            run_schedule(&world).unwrap();
            assert!(is_erased(&world), "{fault:?} at {name}");
        }
    }
}
