use super::*;
use crate::overrides::{Request, grant};
use anvil_rules::{Verdict, evidence::Canary};
use testkit::{Fault, Plan, World, every_single_fault, run};

const NOW: Timestamp = Timestamp::from_seconds(1_776_322_800);

fn journal(world: &World) -> FunctionJournal<'_> {
    FunctionJournal { function: FUNCTION, notes: world, log: world, alerts: world, clock: world }
}

fn sound() -> Deployment {
    Deployment {
        smoke: Some(Score { passed: 10, of: 10 }),
        alarms: Some(Vec::new()),
        removed: Some(Vec::new()),
        canary: Some(Canary { requests: 500, errors: 0 }),
        ..Deployment::default()
    }
}

/// The build of a deployment of release v7 that publishes this version.
fn build(deployment: &str, version: u32) -> Build {
    let versions = vec![format!("oracle-checkout:{version}")];
    Build { release: "v7".to_owned(), versions, deployment: Some(deployment.to_owned()) }
}

fn judged_of(world: &World, build: &Build, observed: &Deployment) -> Answer {
    run(judge(journal(world), build, observed)).unwrap().unwrap()
}

fn judged(world: &World, observed: &Deployment) -> Answer {
    judged_of(world, &build("d-1", 7), observed)
}

fn saved_state(world: &World) -> GateState {
    run(journal(world).load()).unwrap().unwrap().value.memory
}

#[test]
fn a_sound_deployment_goes_on_and_its_verdict_is_on_record() {
    let world = World::at(NOW);
    assert_eq!(judged(&world, &sound()), Answer::Succeeded);
    let line: Value = serde_json::from_str(world.state().log.values().next().unwrap()).unwrap();
    assert_eq!((&line["event"], &line["details"]["verdict"]), (&json!("deployment_judged"), &json!("GREEN")));
    assert_eq!(line["details"]["evidence"]["operation"], "calculate");
    assert_eq!(saved_state(&world).verdicts[0].verdict, Verdict::Green);
    assert!(world.state().alerts.is_empty());
}

#[test]
fn a_verdict_is_about_one_build_and_not_about_every_build_of_its_release() {
    let world = World::at(NOW);
    judged_of(&world, &build("d-1", 7), &sound());
    judged_of(&world, &build("d-2", 8), &sound());
    let records = world.state().records();
    let [one, other] = [0, 1].map(|index| records[index]["details"].clone());
    assert_eq!([&one["release"], &other["release"]], ["v7", "v7"]);
    assert_eq!([&one["deployment"], &other["deployment"]], ["d-1", "d-2"]);
    assert_eq!([&one["versions"][0], &other["versions"][0]], ["oracle-checkout:7", "oracle-checkout:8"]);
    let fingerprint = |details: &Value| details["evidence"]["evidence"]["data_sample"]["fingerprint"].clone();
    assert!(fingerprint(&one).is_string());
    assert_ne!(fingerprint(&one), fingerprint(&other), "equal observations of two builds");
    assert_eq!(saved_state(&world).verdicts[1].build, Some(build("d-2", 8)));
}

/// A deployment does not ship if it is wrong, blocked or not observed.
#[test]
fn what_is_wrong_or_not_observed_is_rolled_back_and_operators_are_alerted() {
    let rings = Deployment { alarms: Some(vec!["orders wait".to_owned()]), ..sound() };
    let unseen = Deployment { alarms: None, ..sound() };
    let failed = Deployment { smoke: Some(Score { passed: 9, of: 10 }), ..sound() };
    let replaced = Deployment { removed: Some(vec!["Table".to_owned()]), ..sound() };
    for observed in [rings, unseen, failed, replaced, Deployment::default()] {
        let world = World::at(NOW);
        assert_eq!(judged(&world, &observed), Answer::Failed, "{observed:?}");
        assert!(world.state().alerts[0].line.contains("is rolled back"), "{:?}", world.state().alerts);
    }
}

#[test]
fn two_people_let_one_release_go_live_and_that_is_on_record_with_its_verdict() {
    let world = World::at(NOW);
    let rings = Deployment { alarms: Some(vec!["orders wait".to_owned()]), ..sound() };
    let request = |release| Request::parse(release, "dana", "kim", "the alarm is known").unwrap();
    run(grant(journal(&world), &request("v6"))).unwrap().unwrap();
    assert_eq!(judged(&world, &rings), Answer::Failed, "of another release");
    run(grant(journal(&world), &request("v7"))).unwrap().unwrap();
    assert_eq!(judged(&world, &rings), Answer::Succeeded);
    let overridden = world.state().log.values().filter(|line| line.contains(r#""second":"kim""#)).count();
    assert_eq!(overridden, 3, "two grants and one verdict");
    world.advance(crate::OVERRIDE_LASTS);
    assert_eq!(judged(&world, &rings), Answer::Failed, "it has expired");
}

/// Other code under the name of an overridden release needs an override of its own.
#[test]
fn an_override_lets_one_deployment_through() {
    let rings = Deployment { alarms: Some(vec!["orders wait".to_owned()]), ..sound() };
    let request = Request::parse("v7", "dana", "kim", "the alarm is known").unwrap();
    for first in [&rings, &sound()] {
        let world = World::at(NOW);
        run(grant(journal(&world), &request)).unwrap().unwrap();
        let by_hand = Build { deployment: None, ..build("", 7) };
        assert_eq!(judged_of(&world, &by_hand, &rings), Answer::Succeeded, "it lets nothing go live");
        assert_eq!(judged_of(&world, &build("d-1", 7), first), Answer::Succeeded);
        assert_eq!(judged_of(&world, &build("d-1", 7), &rings), Answer::Succeeded, "the same one asks again");
        assert_eq!(judged_of(&world, &build("d-2", 8), &rings), Answer::Failed, "{first:?}");
        run(grant(journal(&world), &request)).unwrap().unwrap();
        assert_eq!(judged_of(&world, &build("d-2", 8), &rings), Answer::Succeeded, "two people again");
    }
}

/// After an override that may not have been granted, its two people repeat the command or leave it. In both cases, a
/// deployment that it lets through is on record, and operators are alerted.
#[test]
fn whatever_breaks_an_override_that_applies_is_on_record_and_alerted_and_stands_once() {
    let rings = Deployment { alarms: Some(vec!["orders wait".to_owned()]), ..sound() };
    let request = Request::parse("v7", "dana", "kim", "the alarm is known").unwrap();
    let go = |world: &World| run(grant(journal(world), &request));
    let clean = World::at(NOW);
    go(&clean).unwrap().unwrap();
    let mut was_granted_by_a_failed_command = false;
    for (plan, what) in every_single_fault(clean.passed(), 3) {
        for is_repeated in [false, true] {
            let world = World::at(NOW);
            world.plan(plan.clone());
            let first = go(&world);
            world.plan(Plan::none());
            if is_repeated {
                go(&world).unwrap().unwrap();
            }
            let standing = saved_state(&world).overrides.len();
            let is_granted = is_repeated || matches!(first, Some(Ok(_)));
            assert!(standing == 1 || (standing == 0 && !is_granted), "{what}: {standing}");
            was_granted_by_a_failed_command |= standing == 1 && matches!(first, Some(Err(_))) && !is_repeated;
            assert_eq!(judged(&world, &rings) == Answer::Succeeded, standing == 1, "{what}");
            let state = world.state();
            let is_recorded = state.log.values().any(|line| line.contains("override_granted"));
            let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
            let is_alerted = alerts.any(|alert| alert.line.contains("OVERRIDE"));
            assert_eq!((is_recorded, is_alerted), (standing == 1, standing == 1), "{what}");
        }
    }
    assert!(was_granted_by_a_failed_command, "so the command must not say that it is not granted");
}

#[test]
fn only_a_smoke_test_of_this_deployment_counts() {
    let world = World::at(NOW);
    let of = |document: Value| {
        world.state().notes.insert(smoke::FUNCTION.to_owned(), (document.to_string(), 1));
        run(last_smoke_test(&world, NOW, None)).unwrap().unwrap().map(|score| (score.passed, score.of))
    };
    let ran = |at: Timestamp| json!({ "memory": { "last": { "at": at, "passed": 10, "of": 10 } }, "head": null });
    assert_eq!(of(ran(NOW)), Some((10, 10)));
    let late = NOW.plus(SMOKE_TEST_COUNTS_FOR + Duration::from_secs(1));
    assert!(run(last_smoke_test(&world, late, None)).unwrap().unwrap().is_none());
    let since = |deployed_at| run(last_smoke_test(&world, NOW, Some(deployed_at))).unwrap().unwrap();
    assert!(since(NOW).is_some());
    assert!(since(NOW.plus(Duration::from_secs(1))).is_none(), "it tested the build before");
    assert_eq!(of(json!({ "memory": {}, "head": null })), None);
    assert_eq!(of(json!("garbage")), None);
}

/// Nothing ships on a verdict that cannot be recorded.
#[test]
fn without_a_record_there_is_no_answer() {
    let world = World::at(NOW);
    world.plan(Plan::none().whenever("notes.save", Fault::Fail));
    assert!(run(judge(journal(&world), &build("d-1", 7), &sound())).unwrap().is_err());
}

#[test]
fn twenty_verdicts_are_remembered() {
    let world = World::at(NOW);
    for _ in 0..25 {
        judged(&world, &sound());
    }
    assert_eq!(saved_state(&world).verdicts.len(), REMEMBERED);
    assert_eq!(run(verdicts(journal(&world))).unwrap().unwrap().len(), REMEMBERED);
}
