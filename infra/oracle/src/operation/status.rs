//! `oracle status`: checks whether anything is wrong now. It reads each source with a small call and judges the
//! results.
//! The file has more than 300 lines because every source is judged by a short function of its own, and all results go
//! into one table.

use std::{collections::BTreeSet, fmt::Display, time::Duration};

use anvil_rules::evidence::{self, CheckState};
use audit::Notebook;
use audit_verify::{
    recheck::{self, Recheck},
    signed_digest::{self, Head},
};
use domain::{
    Timestamp,
    breaker::{Breaker, Caller, MAILBOX},
    open_work::Work,
    ports::{Breakers, Clock, Notes},
};
use operations::list;
use release::{Build, Entry};
use runtime::System;
use serde::{Deserialize, Serialize};

use super::{
    measurements::{Alarms, Measurements, Runs},
    queues,
};
use crate::{
    chat::bridge as bridge_command,
    command::{CommandError, Ended, Target, wait},
    mail::inquiries,
    stack::Deployed,
    terminal::output::{self, minute},
    toll::command as toll_command,
};

/// Scheduled functions: the name, the output with the function's name, and the longest time without a run, as in its
/// alarm in the template. For daily functions it is 26 hours, because a day's figures arrive late.
const SCHEDULED: [(&str, &str, Duration); 7] = [
    ("deadlines", "DeadlinesFunctionName", Duration::from_secs(15 * 60)),
    ("boot-probe", "BootProbeFunctionName", Duration::from_secs(15 * 60)),
    ("cache-health", "CacheHealthFunctionName", Duration::from_secs(5 * 60)),
    ("inbox-watch", "InboxWatchFunctionName", Duration::from_secs(10 * 60)),
    ("audit-digest", "AuditDigestFunctionName", Duration::from_secs(120 * 60)),
    ("reconcile", "ReconcileFunctionName", Duration::from_secs(26 * 3600)),
    ("smoke-test", "SmokeTestFunctionName", Duration::from_secs(26 * 3600)),
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    what: String,
    state: CheckState,
    detail: String,
}

impl Check {
    fn new(what: impl Into<String>, state: CheckState, detail: impl Into<String>) -> Self {
        Self { what: what.into(), state, detail: detail.into() }
    }

    /// The check of what a source says, or that the source could not be read.
    fn of<T, E: Display>(what: &str, said: Result<T, E>, judged: impl FnOnce(T) -> Self) -> Self {
        said.map_or_else(|error| Self::new(what, CheckState::Unknown, error.to_string()), judged)
    }
}

#[derive(Serialize)]
struct Status {
    stack: String,
    at: String,
    state: CheckState,
    checks: Vec<Check>,
}

pub(crate) fn run(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let now = System.now();
    let checks = wait(async { Ok(run_checks(&deployed, now).await) })?;
    let state = checks.iter().map(|check| check.state).max().unwrap_or(CheckState::Unknown);
    let status = Status { stack: deployed.name().to_owned(), at: now.to_iso(), state, checks };
    output::print_answer(target.json, &status, || for_people(&status, output::width()))?;
    Ok(if state >= CheckState::Unknown { Ended::Nothing } else { Ended::Done })
}

/// The stack's name and the state of all its checks, for the quality gate.
pub(crate) fn check_states(target: &Target) -> Result<(String, Vec<evidence::Check>), CommandError> {
    let deployed = target.open()?;
    let checks = wait(async { Ok(run_checks(&deployed, System.now()).await) })?;
    let checks = checks.into_iter().map(|Check { what, state, .. }| evidence::Check { what, state });
    Ok((deployed.name().to_owned(), checks.collect()))
}

async fn run_checks(deployed: &Deployed, now: Timestamp) -> Vec<Check> {
    let mut checks = Vec::new();
    match list::everything(deployed.lists(), now).await {
        Ok(rows) => {
            checks
                .extend(work(&rows.iter().map(|row| (row.work, row.since.as_str(), row.overdue)).collect::<Vec<_>>()));
            checks.push(Check::of("inquiries", inquiries::waiting(deployed, Some(&rows)).await, |rows| {
                waiting("inquiries", rows.iter().map(|row| row.overdue), "oracle inquiries list")
            }));
        }
        Err(error) => checks.push(Check::new("open work", CheckState::Unknown, error.to_string())),
    }
    checks.push(Check::of("bridge", bridge_command::waiting(deployed).await, |rows| {
        waiting("bridge", rows.iter().map(|row| row.overdue), "oracle bridge list")
    }));
    checks.push(Check::of("toll", toll_command::waiting(&deployed.stores.sales).await, |rows| {
        waiting("toll", rows.iter().map(|row| row.overdue), "oracle toll list")
    }));
    checks.push(Check::of("dead letters", queues::rows(deployed, now).await, |rows| dead_letters(&rows)));
    let models = deployed.output("GeminiModels").unwrap_or_default();
    let models = models.split(',').map(str::trim).filter(|model| !model.is_empty());
    let sells_for_usdc = deployed.output("TollPayTo").is_some();
    let circuits = models.flat_map(|model| callers(sells_for_usdc).map(move |caller| caller.circuit(model)));
    let circuits = circuits.map(|circuit| (format!("model {circuit}"), circuit));
    for (what, circuit) in circuits.chain([(MAILBOX.to_owned(), MAILBOX.into())]) {
        let row = Breakers::load(&deployed.stores.sales, &circuit).await;
        checks.push(Check::of(&what, row, |row| breaker(&what, &row.value)));
    }
    // A stack whose deployment is older than this check has no such output.
    if let Some(switch) = deployed.output("DeployGate") {
        let output = |name| deployed.output(name).unwrap_or_default();
        let verdicts = release::verdicts(deployed.stores.function_journal(release::FUNCTION)).await;
        checks.push(Check::of("deploy gate", verdicts, |verdicts| {
            deploy_gate(switch == "on", output("Release"), output("TrafficVersions"), &verdicts)
        }));
    }
    checks.push(Check::of("audit log", remembered(deployed).await, |found| log(&found, now)));
    let note = Notes::load(&deployed.stores.sales, doctor::FAILED_CHECKS_NOTE).await;
    checks.push(Check::of("dependencies", note, |note| dependencies(note.value.as_deref())));
    let measurements = Measurements::of(&deployed.account);
    checks.push(alarms(measurements.alarms(deployed.name()).await));
    for (name, output, longest) in SCHEDULED {
        let Some(function) = deployed.output(output) else { continue };
        // A schedule that can be disabled has an output with its state.
        let is_off = deployed.output(&output.replace("FunctionName", "State")) == Some("DISABLED");
        checks.push(if is_off {
            Check::new(format!("runs {name}"), CheckState::Ok, "switched off")
        } else {
            runs(name, measurements.runs(function, now).await, longest, now)
        });
    }
    checks
}

/// One check for each kind of open work, or a single one without open work. A row has a sale's work, its start, and
/// whether it is overdue.
fn work(rows: &[(Work, &str, bool)]) -> Vec<Check> {
    let kind = |work: Work| {
        let rows: Vec<_> = rows.iter().filter(|(of, ..)| *of == work).collect();
        let overdue = rows.iter().filter(|(.., overdue)| *overdue).count();
        let oldest = rows.iter().map(|(_, since, _)| *since).min()?;
        // Such a sale is wrong even before it is overdue, because its customer has paid and has nothing.
        let is_wrong = overdue > 0 || matches!(work, Work::Failed | Work::Owed);
        let state = if is_wrong { CheckState::Wrong } else { CheckState::Waiting };
        let next = command(work, oldest);
        let detail = format!("{} since {}, {overdue} overdue: {next}", rows.len(), minute(oldest));
        Some(Check::new(format!("open: {}", work.as_str()), state, detail))
    };
    let checks: Vec<Check> = Work::ALL.into_iter().filter_map(kind).collect();
    if checks.is_empty() { vec![Check::new("open work", CheckState::Ok, "nothing waits for a human")] } else { checks }
}

/// The command that shows details of the work or does it. `oldest` is the time since which the first of it waits.
fn command(work: Work, oldest: &str) -> String {
    let command = match work {
        Work::Failed => return format!("oracle reattempt --failed-since {oldest} --dry-run"),
        Work::Review => "oracle quarantine list",
        Work::Declined => "oracle authority queue",
        Work::Finding => "oracle findings list",
        Work::DeadLetter => "oracle deadletters list",
        Work::Refund | Work::RefundFailed | Work::Unusable | Work::Owed => "oracle refunds list",
        Work::Reply => "oracle replies list",
        Work::UnknownMail => "oracle deadletters settle SALE --sent|--not-sent",
        Work::NotPaid | Work::InFlight | Work::Dispute | Work::Erasure => "oracle list",
    };
    command.to_owned()
}

/// What waits for a human and belongs to no sale: each with whether it is overdue, and the command that lists them.
fn waiting(what: &str, overdue: impl Iterator<Item = bool>, command: &str) -> Check {
    let (count, overdue) = overdue.fold((0, 0), |(count, late), is_late| (count + 1, late + usize::from(is_late)));
    let state = match (count, overdue) {
        (0, _) => return Check::new(what, CheckState::Ok, "none"),
        (_, 0) => CheckState::Waiting,
        _ => CheckState::Wrong,
    };
    Check::new(what, state, format!("{count}, {overdue} overdue: {command}"))
}

fn dead_letters(rows: &[queues::Row]) -> Check {
    let full: Vec<_> = rows.iter().filter(|row| row.dead_letters > 0).collect();
    let Some(first) = full.first() else { return Check::new("dead letters", CheckState::Ok, "none") };
    let queues: Vec<String> = full.iter().map(|row| format!("{} {}", row.queue, row.dead_letters)).collect();
    let detail = format!("{}: oracle queues show {}", queues.join(", "), first.queue);
    Check::new("dead letters", CheckState::Wrong, detail)
}

/// Those that call models. Without sales for USDC the toll calls none, so a circuit that was open then stays open.
fn callers(sells_for_usdc: bool) -> impl Iterator<Item = Caller> {
    Caller::ALL.into_iter().filter(move |caller| sells_for_usdc || *caller != Caller::Toll)
}

fn breaker(what: &str, breaker: &Breaker) -> Check {
    match (breaker.opened_at, breaker.failures) {
        (Some(at), _) => Check::new(what, CheckState::Wrong, format!("circuit open since {}", minute(&at.to_iso()))),
        (None, 0) => Check::new(what, CheckState::Ok, "circuit closed"),
        (None, failures) => Check::new(what, CheckState::Ok, format!("circuit closed, {failures} failure(s) in a row")),
    }
}

/// Whether the deployed build has a verdict that lets it ship. The gate cannot tell that itself: while it is off, and
/// in the deployment that switches it on, it is not asked. A verdict that was requested by hand let nothing go live.
fn deploy_gate(is_on: bool, release: &str, versions: &str, verdicts: &[Entry]) -> Check {
    let check = |state, detail: String| Check::new("deploy gate", state, detail);
    if !is_on {
        return check(CheckState::Waiting, "off: deployments go live without a verdict".to_owned());
    }
    let is_deployed =
        |build: &Build| build.deployment.is_some() && build.release == release && build.versions.join(",") == versions;
    let of_build = |entry: &&Entry| entry.build.as_ref().is_some_and(is_deployed);
    match verdicts.iter().rev().find(of_build) {
        Some(entry) if entry.verdict.may_ship() => {
            check(CheckState::Ok, format!("{release} was judged {}, {}", entry.verdict, minute(&entry.at)))
        }
        Some(entry) => {
            check(CheckState::Waiting, format!("{release} was judged {} and is live by an override", entry.verdict))
        }
        None => check(
            CheckState::Waiting,
            format!("no verdict on {release}, as after the deployment that switches it on: deploy a new Release"),
        ),
    }
}

/// The part of audit-digest's saved state that is shown here.
#[derive(Default, Deserialize)]
struct Remembered {
    head: Option<Head>,
    #[serde(default)]
    recheck: Recheck,
}

async fn remembered(deployed: &Deployed) -> Result<Remembered, CommandError> {
    let unreadable = CommandError::unreadable_log;
    let note = Notes::load(&deployed.stores.sales, signed_digest::FUNCTION).await.map_err(unreadable)?;
    let notebook = note.value.map(|document| serde_json::from_str::<Notebook<Remembered>>(&document)).transpose()?;
    Ok(notebook.map(|notebook| notebook.memory).unwrap_or_default())
}

/// A round of the comparison takes at most 25 days. One that takes longer than this meets a record that it cannot read,
/// or does not run.
const SOUND_WITHIN: Duration = Duration::from_secs(30 * 24 * 3600);

/// The check of the last comparison of the log with its digests.
fn log(Remembered { head, recheck }: &Remembered, now: Timestamp) -> Check {
    let check = |state, detail: String| Check::new("audit log", state, detail);
    let Some(head) = head else { return check(CheckState::Unmeasured, "no digest was made yet".to_owned()) };
    if !recheck.known.is_empty() {
        let detail = format!("not as it was digested: {}; oracle audit verify", recheck::names(&recheck.known));
        return check(CheckState::Wrong, detail);
    }
    let digests = format!("digest {} made {}", head.sequence, minute(&head.made_at));
    match recheck.sound_at {
        Some(at) if now.since(at) > SOUND_WITHIN => check(
            CheckState::Wrong,
            format!("not found sound since {}; {digests}; oracle audit verify", minute(&at.to_iso())),
        ),
        Some(at) => check(CheckState::Ok, format!("last found sound {}; {digests}", minute(&at.to_iso()))),
        None => check(CheckState::Unmeasured, format!("not compared with its digests to the end yet; {digests}")),
    }
}

/// The check of what boot-probe's last run found. It alerts once to each check that fails, which may be days ago.
fn dependencies(note: Option<&str>) -> Check {
    let check = |state, detail: String| Check::new("dependencies", state, detail);
    match note.map(serde_json::from_str::<BTreeSet<String>>).transpose() {
        Ok(failed) => match Vec::from_iter(failed.unwrap_or_default()).as_slice() {
            [] => check(CheckState::Ok, "boot-probe found nothing wrong".to_owned()),
            failed => {
                let reasons = "boot-probe's log has the reasons";
                check(CheckState::Wrong, format!("{}; {reasons}: oracle doctor", failed.join(", ")))
            }
        },
        Err(error) => check(CheckState::Unknown, format!("boot-probe's note cannot be read: {error}")),
    }
}

fn alarms(found: Option<Alarms>) -> Check {
    let check = |state, detail: String| Check::new("alarms", state, detail);
    let Some(Alarms { count, alarming, unevaluated, silent }) = found else {
        return check(CheckState::Unknown, "CloudWatch could not be asked".to_owned());
    };
    match (count, alarming.as_slice(), unevaluated.len()) {
        (0, ..) => check(CheckState::Unknown, "CloudWatch knows none of this stack".to_owned()),
        // A new alarm has no data for a while, and an emulator's alarms never have any. That is not the same as no
        // alarm.
        (_, [], missing) if missing + silent == count => {
            check(CheckState::Unmeasured, "none has been evaluated yet, so none can notify anybody".to_owned())
        }
        (_, [], 0) => check(CheckState::Ok, format!("{count}, all quiet")),
        (_, [], missing) => {
            check(CheckState::Unknown, format!("{missing} of {count} have no data: {}", unevaluated.join("; ")))
        }
        (_, alarming, missing) => {
            let missing = if missing == 0 { String::new() } else { format!("; {missing} more have no data") };
            check(CheckState::Wrong, format!("{} of {count}: {}{missing}", alarming.len(), alarming.join("; ")))
        }
    }
}

fn runs(name: &str, found: Option<Runs>, longest: Duration, now: Timestamp) -> Check {
    let check = |state, detail: String| Check::new(format!("runs {name}"), state, detail);
    let Some(Runs { last, failed }) = found else {
        return check(CheckState::Unknown, "CloudWatch could not be asked".to_owned());
    };
    let Some(last) = last else {
        // A schedule that does not run raises an alarm, which the check of the alarms shows.
        return check(CheckState::Unmeasured, "CloudWatch knows no run of the last 26 hours".to_owned());
    };
    let ago = now.since(last);
    let failures = if failed == 0 { String::new() } else { format!(", {failed} failed in the last hour") };
    let state = if ago > longest || failed > 0 { CheckState::Wrong } else { CheckState::Ok };
    check(state, format!("{} ago{failures}", output::age(ago.as_secs())))
}

fn for_people(status: &Status, width: usize) -> String {
    let line = |check: &Check| output::Row {
        cells: vec![check.what.clone(), check.state.word().to_owned(), check.detail.clone()],
        below: String::new(),
    };
    let verdict = match status.state {
        CheckState::Ok => "nothing is wrong",
        CheckState::Unmeasured => "nothing is wrong, as far as it is measured",
        CheckState::Waiting => "nothing is wrong; something waits",
        CheckState::Unknown => "not everything is known",
        CheckState::Wrong => "something is wrong",
    };
    let head = format!("{}, {} UTC: {verdict}\n\n", status.stack, minute(&status.at));
    head + &output::table(&["WHAT", "STATE", "DETAIL"], status.checks.iter().map(line), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn open(work: Work, overdue: bool) -> (Work, &'static str, bool) {
        (work, "2026-11-20T10:00:00.000Z", overdue)
    }

    #[test]
    fn work_is_wrong_when_it_is_overdue_and_waits_otherwise() {
        assert_eq!(work(&[])[0].state, CheckState::Ok);
        let checks = work(&[open(Work::Review, false), open(Work::Refund, true), open(Work::Review, false)]);
        let states: Vec<_> = checks.iter().map(|check| (check.what.as_str(), check.state)).collect();
        assert_eq!(states, [("open: refund", CheckState::Wrong), ("open: review", CheckState::Waiting)]);
        assert_eq!(checks[1].detail, "2 since 2026-11-20 10:00, 0 overdue: oracle quarantine list");
        let failed = work(&[open(Work::Failed, false)]);
        assert_eq!(failed[0].state, CheckState::Wrong);
        // The command selects the oldest of them too, and so every sale that is overdue.
        let next = "oracle reattempt --failed-since 2026-11-20T10:00:00.000Z --dry-run";
        assert!(failed[0].detail.ends_with(next), "{}", failed[0].detail);
    }

    #[test]
    fn what_belongs_to_no_sale_waits_or_is_wrong_when_it_is_overdue() {
        let seen = |overdue: &[bool]| waiting("toll", overdue.iter().copied(), "oracle toll list");
        assert_eq!(seen(&[]), Check::new("toll", CheckState::Ok, "none"));
        assert_eq!(seen(&[false]).state, CheckState::Waiting);
        let wrong = seen(&[false, true]);
        assert_eq!((wrong.state, wrong.detail.as_str()), (CheckState::Wrong, "2, 1 overdue: oracle toll list"));
    }

    #[test]
    fn a_deployed_build_without_a_verdict_waits_for_one() {
        let entry = |release: &str, verdict: &str, versions: [&str; 2], deployment: Option<&str>| -> Entry {
            serde_json::from_value(serde_json::json!({
                "at": "2026-11-22T10:00:00.000Z", "subject": "a release", "verdict": verdict, "text": "",
                "build": { "release": release, "versions": versions, "deployment": deployment },
            }))
            .unwrap()
        };
        let judged = [
            entry("v7", "AMBER", ["checkout:3", "webhook:4"], Some("d-1")),
            entry("v8", "AMBER", ["checkout:4", "webhook:4"], Some("d-2")),
            entry("v9", "AMBER", ["checkout:5", "webhook:5"], None),
            entry("v10", "RED", ["checkout:6", "webhook:6"], Some("d-3")),
        ];
        let seen = |is_on, release, versions| deploy_gate(is_on, release, versions, &judged);
        let sound = seen(true, "v7", "checkout:3,webhook:4");
        assert_eq!((sound.state, sound.detail.as_str()), (CheckState::Ok, "v7 was judged AMBER, 2026-11-22 10:00"));
        assert_eq!(
            seen(true, "v7", "checkout:4,webhook:4").state,
            CheckState::Waiting,
            "other code under the same name"
        );
        assert_eq!(seen(true, "v9", "checkout:5,webhook:5").state, CheckState::Waiting, "judged by hand");
        let overridden = seen(true, "v10", "checkout:6,webhook:6");
        let detail = "v10 was judged RED and is live by an override";
        assert_eq!((overridden.state, overridden.detail.as_str()), (CheckState::Waiting, detail));
        assert_eq!(seen(false, "v7", "checkout:3,webhook:4").state, CheckState::Waiting);
    }

    #[test]
    fn the_log_is_as_good_as_its_last_comparison() {
        let head =
            serde_json::json!({ "sequence": 3, "hash": "h", "signature": "s", "made_at": "2026-11-22T10:00:00.000Z" });
        let head: Option<Head> = serde_json::from_value(head).ok();
        let seen_at = |recheck: Recheck, now| log(&Remembered { head: head.clone(), recheck }, now);
        let seen = |recheck: Recheck| seen_at(recheck, at(1));
        assert_eq!(log(&Remembered::default(), at(1)).state, CheckState::Unmeasured);
        assert_eq!(seen(Recheck::default()).state, CheckState::Unmeasured);
        let sound = seen(Recheck { sound_at: Some(at(0)), ..Recheck::default() });
        assert_eq!(sound.detail, "last found sound 1970-01-01 00:00; digest 3 made 2026-11-22 10:00");
        let old = seen_at(Recheck { sound_at: Some(at(0)), ..Recheck::default() }, at(30 * 86_400 + 1));
        assert!(old.state == CheckState::Wrong && old.detail.starts_with("not found sound since"), "{}", old.detail);
        let known = ["2026-11-22/session/cs_live_a1B2c3D4e5F6/000003.json".to_owned()].into();
        let bad = seen(Recheck { sound_at: Some(at(0)), known, ..Recheck::default() });
        assert_eq!(
            (bad.state, bad.detail.contains("sale c3D4e5F6 record 3")),
            (CheckState::Wrong, true),
            "{}",
            bad.detail
        );
    }

    #[test]
    fn a_check_of_boot_probe_that_still_fails_is_wrong() {
        let wrong = dependencies(Some(r#"["Stripe key for refunds","mailbox"]"#));
        assert_eq!(wrong.state, CheckState::Wrong);
        assert!(wrong.detail.starts_with("Stripe key for refunds, mailbox; "), "{}", wrong.detail);
        assert_eq!((dependencies(None).state, dependencies(Some("[]")).state), (CheckState::Ok, CheckState::Ok));
        assert_eq!(dependencies(Some("{}")).state, CheckState::Unknown);
    }

    #[test]
    fn an_open_circuit_an_alarm_and_a_silent_schedule_are_wrong() {
        let open = Breaker { opened_at: Some(at(0)), ..Breaker::default() };
        assert_eq!(breaker("model m", &open).state, CheckState::Wrong);
        let closed = breaker(MAILBOX, &Breaker::default());
        assert_eq!((closed.what.as_str(), closed.state), ("mailbox", CheckState::Ok));
        let seen = |count, alarming: usize, unevaluated: usize| {
            let names = |count| vec!["verdict failed".to_owned(); count];
            alarms(Some(Alarms { count, alarming: names(alarming), unevaluated: names(unevaluated), silent: 0 })).state
        };
        assert_eq!(
            (seen(50, 1, 0), seen(50, 1, 49), seen(50, 0, 0)),
            (CheckState::Wrong, CheckState::Wrong, CheckState::Ok)
        );
        assert_eq!((seen(50, 0, 1), seen(50, 0, 50)), (CheckState::Unknown, CheckState::Unmeasured));
        assert_eq!((alarms(None).state, seen(0, 0, 0)), (CheckState::Unknown, CheckState::Unknown));
        let silent = |unevaluated| {
            let unevaluated = vec!["verdict failed".to_owned(); unevaluated];
            alarms(Some(Alarms { count: 50, unevaluated, silent: 4, ..Alarms::default() })).state
        };
        assert_eq!((silent(0), silent(1), silent(46)), (CheckState::Ok, CheckState::Unknown, CheckState::Unmeasured));
        let longest = Duration::from_secs(900);
        let ran =
            |ago: i64, failed| runs("x", Some(Runs { last: Some(at(10_000 - ago)), failed }), longest, at(10_000));
        assert_eq!(
            (ran(900, 0).state, ran(901, 0).state, ran(1, 2).state),
            (CheckState::Ok, CheckState::Wrong, CheckState::Wrong)
        );
        assert_eq!(runs("x", Some(Runs { last: None, failed: 0 }), longest, at(0)).state, CheckState::Unmeasured);
        assert_eq!(runs("x", None, longest, at(0)).state, CheckState::Unknown);
    }

    #[test]
    fn the_circuits_of_a_toll_that_is_off_are_no_problem() {
        assert_eq!(callers(false).collect::<Vec<_>>(), [Caller::Orders, Caller::Chat]);
        assert_eq!(callers(true).collect::<Vec<_>>(), Caller::ALL);
    }

    #[test]
    fn dead_letters_are_counted_by_queue_and_the_first_queue_is_named_in_the_command() {
        let rows = [("orders", 0), ("email", 2), ("payments", 1)].map(|(queue, dead_letters)| queues::Row {
            queue,
            dead_letters,
            ..queues::Row::default()
        });
        let check = dead_letters(&rows);
        let detail = "email 2, payments 1: oracle queues show email";
        assert_eq!((check.state, check.detail.as_str()), (CheckState::Wrong, detail));
        assert_eq!(dead_letters(&rows[..1]).state, CheckState::Ok);
    }

    #[test]
    fn the_screen_says_first_whether_anything_is_wrong_and_fits() {
        let checks = vec![
            alarms(Some(Alarms { count: 50, alarming: vec!["x ".repeat(90)], ..Alarms::default() })),
            Check::new("dead letters", CheckState::Ok, "none"),
        ];
        let status = Status { stack: "oracle".into(), at: at(0).to_iso(), state: CheckState::Wrong, checks };
        let text = for_people(&status, 80);
        assert!(text.starts_with("oracle, 1970-01-01 00:00 UTC: something is wrong\n\nWHAT"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn every_command_is_on_a_screen_of_eighty_columns() {
        let alarms =
            ["verdict failed; oracle status".to_owned(), "dead letters in orders; oracle queues show orders".into()];
        let mut checks = work(&[open(Work::Failed, true), open(Work::UnknownMail, true)]);
        checks.push(super::alarms(Some(Alarms { count: 90, alarming: alarms.into(), ..Alarms::default() })));
        checks.push(breaker("model chat/gemini-3.5-flash", &Breaker::default()));
        let details: Vec<String> = checks.iter().map(|check| check.detail.clone()).collect();
        let status = Status { stack: "oracle".into(), at: at(0).to_iso(), state: CheckState::Wrong, checks };
        let text = for_people(&status, 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for word in details.iter().flat_map(|detail| detail.split_whitespace()) {
            assert!(text.contains(word), "{word} is not in {text}");
        }
    }
}
