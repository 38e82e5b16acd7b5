//! Judges one deployment and answers its hook, even if the judgement fails.

use crate::{
    Settings,
    observe::{DeployedStack, observe},
};
use audit::FunctionJournal;
use domain::{
    Alert,
    alert::Severity,
    deployment::{Answer, Execution},
    ports::{Deployments, Pause},
};
use release::{Build, judge, record_rollback};
use runtime::{Error, within};
use serde_json::Value;
use std::time::Duration;

/// The time limit for a judgement, so that the hook gets its answer. Each AWS call has a time-out of two seconds and
/// three retries.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// The time limit for the record of an answer without a verdict. The function ends after 90 seconds.
const RECORD_WITHIN: Duration = Duration::from_secs(10);

/// The ports of the function.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: FunctionJournal<'a>,
    pub deployments: &'a dyn Deployments,
    pub stack: &'a dyn DeployedStack,
    pub pause: &'a dyn Pause,
}

/// Judges the deployment of the settings' release and answers the hook that waits for it. For any other event, such as an
/// operator's own invocation, it records the verdict and sends no answer.
///
/// If the judgement fails, the verdict may be on record nevertheless. So the answer, which rolls the deployment back,
/// is recorded then too, if that is possible.
///
/// # Errors
/// With a hook, if the answer could not be sent. Without a hook, if the verdict may not be on record. The invocation
/// then fails.
pub async fn handle(ports: Ports<'_>, settings: &Settings, event: &Value) -> Result<(), Error> {
    let (execution, release) = (Execution::of(event), settings.release.as_str());
    let build = Build {
        release: release.to_owned(),
        versions: settings.versions.iter().map(ToString::to_string).collect(),
        deployment: execution.as_ref().map(|execution| execution.deployment.clone()),
    };
    let judged = async {
        let observed = observe(ports.stack, ports.journal.notes, ports.journal.clock.now()).await;
        judge(ports.journal, &build, &observed).await.map_err(|error| runtime::telemetry::chain(&error))
    };
    let judged =
        within(ports.pause, ANSWER_WITHIN, judged).await.unwrap_or_else(|interrupted| Err(interrupted.to_string()));
    let Some(execution) = execution else { return judged.map(drop).map_err(Error::from) };
    let is_judged = judged.is_ok();
    let answer = match judged {
        Ok(answer) => answer,
        Err(error) => {
            let detail = format!("the verdict may not be on record, so the deployment is rolled back: {error}");
            let now = ports.journal.clock.now();
            let alert = Alert::about("ORACLE-GATE", Severity::Critical, now, "DEPLOYMENT", release, &detail);
            ports.journal.alerts.raise(alert).await;
            Answer::Failed
        }
    };
    tracing::info!(?answer, release, "the deployment is answered");
    ports.deployments.answer(&execution, answer).await?;
    if !is_judged {
        let recorded = within(ports.pause, RECORD_WITHIN, record_rollback(ports.journal, &build)).await;
        if !matches!(recorded, Ok(Ok(()))) {
            tracing::error!(release, "the answer may not be on record");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anvil_rules::evidence::Canary;
    use async_trait::async_trait;
    use aws::{FunctionVersion, Raised};
    use domain::{Timestamp, ports::StorageError, smoke};
    use serde_json::json;
    use std::sync::Mutex;
    use testkit::{Fault, Plan, World, run};

    const NOW: Timestamp = Timestamp::from_seconds(1_776_322_800);

    #[derive(Default)]
    struct Answers(Mutex<Vec<(String, Answer)>>);

    #[async_trait]
    impl Deployments for Answers {
        async fn answer(&self, execution: &Execution, answer: Answer) -> Result<(), StorageError> {
            self.0.lock().unwrap().push((execution.hook.clone(), answer));
            Ok(())
        }
    }

    /// CodeDeploy, which does not take the answer.
    struct Unreachable;

    #[async_trait]
    impl Deployments for Unreachable {
        async fn answer(&self, _: &Execution, _: Answer) -> Result<(), StorageError> {
            Err(StorageError { operation: "answer", source: "down".into() })
        }
    }

    /// A stack that answers, or whose alarms cannot be read or do not answer in time.
    enum Stack {
        Answers,
        Fails,
        Hangs,
    }

    #[async_trait]
    impl DeployedStack for Stack {
        async fn ringing(&self) -> Result<Raised, StorageError> {
            match self {
                Self::Answers => {
                    let by_outsiders = vec!["a forged event".to_owned()];
                    Ok(Raised { by_outsiders, ..Raised::default() })
                }
                Self::Fails => Err(StorageError { operation: "alarms", source: "down".into() }),
                Self::Hangs => std::future::pending().await,
            }
        }
        async fn replaced(&self) -> Result<Vec<String>, StorageError> {
            Ok(Vec::new())
        }
        async fn traffic(&self, _: Timestamp) -> Result<Canary, StorageError> {
            Ok(Canary { requests: 0, errors: 0 })
        }
    }

    fn world() -> World {
        let world = World::at(NOW);
        let ran = json!({ "memory": { "last": { "at": NOW, "passed": 10, "of": 10 } }, "head": null });
        world.state().notes.insert(smoke::FUNCTION.to_owned(), (ran.to_string(), 1));
        world
    }

    fn journal(world: &World) -> FunctionJournal<'_> {
        FunctionJournal { function: release::FUNCTION, notes: world, log: world, alerts: world, clock: world }
    }

    fn answered(world: &World, stack: &Stack, event: &Value) -> (Vec<(String, Answer)>, bool) {
        let answers = Answers::default();
        let is_ok = handled(world, stack, event, &answers);
        (answers.0.into_inner().unwrap(), is_ok)
    }

    fn handled(world: &World, stack: &Stack, event: &Value, deployments: &dyn Deployments) -> bool {
        let ports = Ports { journal: journal(world), deployments, stack, pause: world };
        let versions = FunctionVersion::parse("oracle-checkout:7").into_iter().collect();
        let settings = Settings { stack: "oracle".to_owned(), release: "v7".to_owned(), versions };
        run(handle(ports, &settings, event)).unwrap().is_ok()
    }

    fn hook() -> Value {
        json!({ "DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1" })
    }

    #[test]
    fn a_sound_deployment_is_let_go_on_once() {
        let world = world();
        let (answers, is_ok) = answered(&world, &Stack::Answers, &hook());
        assert_eq!((answers, is_ok), (vec![("e-1".to_owned(), Answer::Succeeded)], true));
        let lines: Vec<String> = world.state().log.values().cloned().collect();
        let build = r#""deployment":"d-1","#;
        let names = |line: &String| line.contains(build) && line.contains(r#""versions":["oracle-checkout:7"]"#);
        assert!(lines.iter().any(|line| line.contains("deployment_judged") && names(line)), "{lines:?}");
    }

    #[test]
    fn what_cannot_be_asked_hangs_or_cannot_be_recorded_is_rolled_back() {
        for (stack, plan) in [
            (Stack::Fails, Plan::none()),
            (Stack::Hangs, Plan::none()),
            (Stack::Answers, Plan::none().whenever("notes.save", Fault::Fail)),
            (Stack::Answers, Plan::none().whenever("notes.load", Fault::Fail)),
            (Stack::Answers, Plan::none().whenever("notes.save", Fault::CrashBefore)),
        ] {
            let world = world();
            world.plan(plan);
            let (answers, is_ok) = answered(&world, &stack, &hook());
            assert_eq!((answers, is_ok), (vec![("e-1".to_owned(), Answer::Failed)], true));
            assert!(!world.state().alerts.is_empty(), "operators are alerted");
        }
    }

    /// The log's verdict says that the release may ship, so it must also say that the release was rolled back.
    #[test]
    fn a_verdict_that_may_be_on_record_is_not_denied_and_the_answer_follows_it() {
        for fault in [Fault::LoseReply, Fault::CrashAfter] {
            let world = world();
            world.plan(Plan::none().whenever("notes.save", fault));
            let (answers, is_ok) = answered(&world, &Stack::Answers, &hook());
            assert_eq!((answers, is_ok), (vec![("e-1".to_owned(), Answer::Failed)], true), "{fault:?}");
            let raised = world.state().alerts.clone();
            assert!(raised.iter().any(|alert| alert.line.contains("the verdict may not be on record")), "{raised:?}");
            world.plan(Plan::none());
            // As the deadlines function does minutes later.
            run(journal(&world).flush()).unwrap().unwrap();
            let records = world.state().records();
            let events: Vec<_> = records.iter().map(|record| record["event"].as_str().unwrap()).collect();
            assert_eq!(events, ["deployment_judged", "deployment_answered"], "{fault:?}");
            let [judged, answered] = [0, 1].map(|index| records[index]["details"].clone());
            assert_eq!((&judged["may_ship"], &answered["answer"]), (&json!(true), &json!("Failed")), "{fault:?}");
            assert_eq!(judged["deployment"], answered["deployment"], "{fault:?}");
            let verdicts = run(release::verdicts(journal(&world))).unwrap().unwrap();
            assert_eq!(verdicts.len(), 1, "{fault:?}: the gate's state stays");
        }
    }

    /// A hook may be delivered twice. The first delivery has used the override up.
    #[test]
    fn a_hook_that_got_no_answer_is_answered_as_before_when_it_comes_again() {
        for (stack, is_overridden, expected) in [
            (Stack::Answers, false, Answer::Succeeded),
            (Stack::Fails, false, Answer::Failed),
            (Stack::Fails, true, Answer::Succeeded),
        ] {
            let world = world();
            if is_overridden {
                let request = release::Request::parse("v7", "dana", "kim", "the alarms are known").unwrap();
                run(release::grant(journal(&world), &request)).unwrap().unwrap();
            }
            assert!(!handled(&world, &stack, &hook(), &Unreachable), "an invocation without an answer fails");
            assert_eq!(answered(&world, &stack, &hook()), (vec![("e-1".to_owned(), expected)], true));
        }
    }

    #[test]
    fn a_run_by_hand_is_on_record_and_answers_nobody() {
        let world = world();
        let (answers, is_ok) = answered(&world, &Stack::Answers, &json!({}));
        assert!(answers.is_empty() && is_ok);
        assert_eq!(world.state().log.len(), 1);
        world.plan(Plan::none().whenever("notes.save", Fault::Fail));
        assert!(!answered(&world, &Stack::Answers, &json!({})).1);
    }
}
