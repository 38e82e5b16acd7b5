//! Every history of six steps, compared with a model that computes the state from the history alone.

use super::*;

const EXPIRES_AFTER: i64 = 15;

fn second_version() -> Agreement {
    Agreement { version: CURRENT_AGREEMENT.version + 1, text: "another text", sha256: "another hash" }
}

/// A step that a customer, an operator or the clock can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Accept,
    AcceptSecond,
    Grant,
    Revoke,
    Post,
    Reply,
    Wait,
    Erase,
}

const STEPS: [Step; 8] =
    [Step::Accept, Step::AcceptSecond, Step::Grant, Step::Revoke, Step::Post, Step::Reply, Step::Wait, Step::Erase];

/// The expected state, computed from the history alone.
#[derive(Clone, Debug, Default)]
struct Model {
    accepted: Option<u32>,
    granted_until: Option<i64>,
    revoked: bool,
    posts: usize,
    has_mails_left: bool,
}

impl Model {
    fn state(&self, now: i64) -> BridgeState {
        match (self.accepted, self.granted_until) {
            (None, _) => BridgeState::Offered,
            (Some(_), _) if self.revoked => BridgeState::Revoked,
            (Some(_), None) => BridgeState::Accepted,
            (Some(_), Some(until)) if now < until => BridgeState::Granted,
            (Some(_), Some(_)) => BridgeState::Expired,
        }
    }
}

/// Takes a step on the Bridge and on the model. A refusal must change nothing and name the states.
fn take(bridge: &mut Bridge, model: &mut Model, now: &mut i64, step: Step) {
    let (before, state) = (bridge.clone(), model.state(*now));
    let agreement = if step == Step::AcceptSecond { second_version() } else { CURRENT_AGREEMENT };
    let number = model.posts as u32;
    let done: Result<bool, BridgeRefused> = match step {
        Step::Wait => {
            *now += 10;
            assert_eq!(bridge.record_mails_removed().is_some(), model.has_mails_left);
            model.has_mails_left = false;
            Ok(false)
        }
        Step::Erase => {
            let is_erased = state != BridgeState::Offered;
            *model = Model { has_mails_left: model.has_mails_left || is_erased, ..Model::default() };
            assert_eq!(bridge.erase(at(*now)).is_some(), is_erased);
            Ok(true)
        }
        Step::Accept | Step::AcceptSecond => {
            bridge.accept(&agreement, "memory", "person", at(*now)).map(|event| event.is_some())
        }
        Step::Grant => bridge.grant(&dana(), "asked", at(*now + EXPIRES_AFTER), at(*now)).map(|event| event.is_some()),
        Step::Revoke => bridge.revoke(&dana(), "over", at(*now)).map(|_| true),
        Step::Post => bridge.post(&id(number), "sealed", at(*now)).map(|event| event.is_some()),
        Step::Reply => bridge.reply(&id(number), &dana(), None, "sealed", at(*now)).map(|event| event.is_some()),
    };
    let allowed = match step {
        Step::Wait | Step::Erase => true,
        Step::Accept | Step::AcceptSecond => state != BridgeState::Granted || model.accepted == Some(agreement.version),
        Step::Grant => !matches!(state, BridgeState::Offered | BridgeState::Revoked) && !model.has_mails_left,
        Step::Revoke => !matches!(state, BridgeState::Offered | BridgeState::Revoked),
        Step::Post | Step::Reply => state == BridgeState::Granted,
    };
    assert_eq!(done.is_ok(), allowed, "{step:?} while {state}: {done:?}");
    if let Err(refused) = done {
        assert_eq!(*bridge, before, "{step:?} was refused and changed something");
        let text = refused.to_string();
        assert!(text.contains(state.as_str()), "{text}");
        if let BridgeRefused::Transition { from, to } = refused {
            assert!(from == state && text.contains(to.as_str()), "{text}");
        }
    } else {
        match step {
            Step::Accept | Step::AcceptSecond if done == Ok(true) => {
                let Model { posts, has_mails_left, .. } = *model;
                *model = Model { accepted: Some(agreement.version), posts, has_mails_left, ..Model::default() };
            }
            Step::Grant => model.granted_until = Some(*now + EXPIRES_AFTER),
            Step::Revoke => (model.revoked, model.granted_until) = (true, None),
            Step::Post | Step::Reply => model.posts += 1,
            _ => {}
        }
    }
    assert_eq!(bridge.state(at(*now)), model.state(*now), "after {step:?}");
    assert_eq!(bridge.acceptance().map(Acceptance::version), model.accepted, "after {step:?}");
    assert_eq!(bridge.thread().len(), model.posts, "after {step:?}");
}

fn explore(bridge: &Bridge, model: &Model, now: i64, depth: u32, seen: &mut [usize; 5]) {
    if depth == 0 {
        return;
    }
    for step in STEPS {
        let (mut bridge, mut model, mut now) = (bridge.clone(), model.clone(), now);
        take(&mut bridge, &mut model, &mut now, step);
        seen[BridgeState::ALL.iter().position(|state| *state == bridge.state(at(now))).unwrap()] += 1;
        explore(&bridge, &model, now, depth - 1, seen);
    }
}

/// Every history of six steps: no grant without an acceptance, no message without a grant that lasts.
#[test]
fn every_history_of_six_steps_agrees_with_the_table() {
    let mut seen = [0; 5];
    explore(&bridge(), &Model::default(), 0, 6, &mut seen);
    assert!(seen.iter().all(|count| *count > 500), "{seen:?}");
}
