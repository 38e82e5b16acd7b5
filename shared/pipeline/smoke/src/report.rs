//! The result of a run in the forms of the spec: the report, the broadcast, the alert, the exit code.

use crate::stage::{Failure, Outcome, Stage};
use domain::{Alert, Channel, SessionId, Timestamp, smoke::LastRun};
use serde_json::{Value, json};
use std::time::Duration;

domain::enum_with_words! {
    /// The starter of a run (Smoke Test, execution schedule).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Trigger {
        /// A person at a terminal.
        Manual = "manual",
        /// A deployment, which waits for the outcome.
        Deploy = "deploy",
        /// The daily schedule.
        Cron = "cron",
    }
    /// Its name in records.
    pub const fn as_str;
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// When it began.
    pub(crate) started_at: Timestamp,
    /// How long it took.
    pub(crate) took: Duration,
    /// Every stage, in order, with its outcome.
    pub(crate) stages: Vec<(Stage, Outcome)>,
    /// Problems that do not count as failures.
    pub(crate) warnings: Vec<String>,
    /// The session that was used.
    pub session: Option<SessionId>,
    /// Sessions whose cache entries may still exist or may still be created.
    pub(crate) leftovers: Vec<SessionId>,
}

/// The overall result, for an exit code or a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every stage passed.
    Passed,
    /// One or more stages failed.
    Failed,
    /// The environment check failed.
    Misconfigured,
}

impl Ending {
    /// 0, 1 or 2, as specified.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Misconfigured => 2,
        }
    }
}

/// The most characters of an error in a line for operators.
const SHORT: usize = 80;

impl Report {
    /// The report of a run that could not begin: it counts as a failed environment check, so that operators are alerted
    /// as to any other failure.
    #[must_use]
    pub fn not_begun(now: Timestamp, error: &str) -> Self {
        let outcome = |stage| match stage {
            Stage::EnvironmentCheck => Outcome::Fail(Failure::new(error)),
            _ => Outcome::Skip("the environment check failed: nothing is called".to_owned()),
        };
        let stages = Stage::ALL.into_iter().map(|stage| (stage, outcome(stage))).collect();
        let (took, warnings, leftovers) = (Duration::ZERO, Vec::new(), Vec::new());
        Self { started_at: now, took, stages, warnings, session: None, leftovers }
    }

    /// The number of stages that passed.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.stages.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Pass(_))).count()
    }

    /// When it ran, and how many stages passed.
    pub(crate) fn last_run(&self) -> LastRun {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        LastRun { at: self.started_at, passed: count(self.passed()), of: count(Stage::ALL.len()) }
    }

    /// The overall result.
    #[must_use]
    pub fn ending(&self) -> Ending {
        let environment = self.stages.iter().find(|(stage, _)| *stage == Stage::EnvironmentCheck);
        match environment {
            Some((_, Outcome::Pass(_))) if self.passed() == Stage::ALL.len() => Ending::Passed,
            Some((_, Outcome::Pass(_))) => Ending::Failed,
            _ => Ending::Misconfigured,
        }
    }

    /// The first stage that failed, with its error.
    pub(crate) fn first_failure(&self) -> Option<(Stage, String)> {
        self.stages.iter().find_map(|(stage, outcome)| match outcome {
            Outcome::Fail(failure) => Some((*stage, short(&failure.error))),
            _ => None,
        })
    }

    /// The report (Smoke Test, primary output). `log` says where to find it later.
    #[must_use]
    pub fn text(&self, log: &str) -> String {
        let title = format!("ORACLE SMOKE TEST — {}", to_second(self.started_at));
        let mut text = format!("{title}\n{}\n\n", "=".repeat(42));
        for (stage, outcome) in &self.stages {
            text.push_str(&format!("{} {}", stage.head(), outcome.word()));
            match outcome {
                Outcome::Pass(detail) | Outcome::Skip(detail) if detail.is_empty() => text.push('\n'),
                Outcome::Pass(detail) | Outcome::Skip(detail) => text.push_str(&format!("  {detail}\n")),
                Outcome::Fail(failure) => {
                    text.push_str(&format!("\n  Error: {}\n", failure.error));
                    if let Some(payload) = &failure.payload {
                        text.push_str(&format!("  Payload: {payload}\n"));
                    }
                }
            }
        }
        for warning in &self.warnings {
            text.push_str(&format!("WARNING: {warning}\n"));
        }
        let (passed, all) = (self.passed(), Stage::ALL.len());
        let result = if self.ending() == Ending::Passed {
            "Pipeline operational.".to_owned()
        } else {
            format!("Pipeline DEGRADED. See {log}")
        };
        text.push_str(&format!("\nRESULT: {passed}/{all} PASS — {result}\nDuration: {}\n", self.seconds()));
        text
    }

    /// The report as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let stages: Vec<Value> = self
            .stages
            .iter()
            .map(|(stage, outcome)| {
                let mut value = json!({
                    "stage": stage.number(), "name": stage.name(), "status": outcome.word(),
                });
                match outcome {
                    Outcome::Pass(detail) | Outcome::Skip(detail) => value["detail"] = detail.as_str().into(),
                    Outcome::Fail(failure) => {
                        value["error"] = failure.error.as_str().into();
                        value["payload"] = failure.payload.clone().unwrap_or_default();
                    }
                }
                value
            })
            .collect();
        json!({
            "started_at": self.started_at.to_iso(),
            "duration_ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "passed": self.passed(),
            "stages_total": Stage::ALL.len(),
            "exit_code": self.ending().exit_code(),
            "session_id": self.session,
            "stages": stages,
            "warnings": self.warnings,
        })
    }

    /// The facts of the run for the audit log.
    pub(crate) fn facts(&self, trigger: Trigger) -> Value {
        let failed = |word: &str| -> Vec<usize> {
            let such = self.stages.iter().filter(|(_, outcome)| outcome.word() == word);
            such.map(|(stage, _)| stage.number()).collect()
        };
        json!({
            "trigger": trigger.as_str(),
            "passed": self.passed(),
            "failed_stages": failed("FAIL"),
            "skipped_stages": failed("SKIP"),
            "first_error": self.first_failure().map(|(_, error)| error),
            "exit_code": self.ending().exit_code(),
            "duration_ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "session": self.session.as_ref().map(SessionId::prefix),
        })
    }

    /// The broadcast after every run (Smoke Test, verification criterion 5), and the critical alert when an unattended
    /// run failed (execution schedule).
    #[must_use]
    pub fn alerts(&self, trigger: Trigger, now: Timestamp, log: &str) -> Vec<Alert> {
        let (passed, all, time) = (self.passed(), Stage::ALL.len(), to_second(now));
        let outcome = match self.first_failure() {
            Some((stage, error)) => format!("{passed}/{all} FAIL — Stage {} {error}", stage.number()),
            None if self.ending() == Ending::Passed => format!("{passed}/{all} PASS ({})", self.seconds()),
            None => format!("{passed}/{all} FAIL"),
        };
        let line = format!("[SMOKE] Oracle pipeline: {outcome} | {time}");
        let mut alerts = vec![Alert { channel: Channel::Ops, line }];
        if trigger != Trigger::Manual && self.ending() != Ending::Passed {
            let (stage, error) =
                self.first_failure().unwrap_or((Stage::CacheCleanup, "not every stage ran".to_owned()));
            let (number, name) = (stage.number(), stage.name());
            let line = format!("[{time}] ORACLE SMOKE FAIL — Stage {number} ({name}) — {error}. Check {log}");
            alerts.push(Alert { channel: Channel::Critical, line });
        }
        alerts
    }

    fn seconds(&self) -> String {
        format!("{:.1}s", self.took.as_secs_f64())
    }
}

/// `2026-04-16T07:00:00Z`.
fn to_second(moment: Timestamp) -> String {
    let iso = moment.to_iso();
    iso.get(..19).map_or_else(|| iso.clone(), |second| format!("{second}Z"))
}

fn short(error: &str) -> String {
    let line = error.trim_end_matches('.').chars().map(|c| if c.is_control() { ' ' } else { c });
    line.take(SHORT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: Timestamp = Timestamp::from_seconds(1_776_322_800);
    const ENDED: Timestamp = Timestamp::from_seconds(1_776_322_822);
    const LOG: &str = "/aws/lambda/oracle-smoke-test";

    fn report(outcome: impl Fn(Stage) -> Outcome) -> Report {
        Report {
            started_at: STARTED,
            took: Duration::from_millis(18_340),
            stages: Stage::ALL.into_iter().map(|stage| (stage, outcome(stage))).collect(),
            warnings: Vec::new(),
            session: None,
            leftovers: Vec::new(),
        }
    }

    fn green() -> Report {
        report(|stage| {
            Outcome::Pass(
                match stage {
                    Stage::SessionCreation => "session_id=cs_test_abc123",
                    Stage::WebhookSimulation => "verdict=GREEN",
                    Stage::CacheWrite => "GET /cache/cs_test_abc123 → 200",
                    Stage::VerdictRoute => "tier=quick query_match=true",
                    Stage::EmailSend => "status=sent",
                    Stage::Crosscheck => "C=0.9953 approved=true",
                    Stage::CacheCleanup => "cs_test_abc123 deleted",
                    _ => "",
                }
                .to_owned(),
            )
        })
    }

    fn gemini_down() -> Report {
        report(|stage| match stage.number() {
            1..=4 => Outcome::Pass(String::new()),
            5 => Outcome::Fail(Failure::with("Gemini quota exceeded.", json!({ "error": "quota_exceeded" }))),
            _ => Outcome::Skip("no verdict".to_owned()),
        })
    }

    /// Verbatim, except for the remark that stage 9 is conditional.
    #[test]
    fn the_green_report_is_the_specs() {
        let expected = "ORACLE SMOKE TEST — 2026-04-16T07:00:00Z\n\
            ==========================================\n\n\
            [STAGE 1] Environment check ....................... PASS\n\
            [STAGE 2] oracle_toll health ..................... PASS\n\
            [STAGE 3] oracle_email_service health ............. PASS\n\
            [STAGE 4] Stripe test session creation ........... PASS  session_id=cs_test_abc123\n\
            [STAGE 5] Webhook simulation ..................... PASS  verdict=GREEN\n\
            [STAGE 6] Cache write verification ............... PASS  GET /cache/cs_test_abc123 → 200\n\
            [STAGE 7] Verdict route retrieval ................ PASS  tier=quick query_match=true\n\
            [STAGE 8] Email service send validation .......... PASS  status=sent\n\
            [STAGE 9] TMM crosscheck on test verdict ......... PASS  C=0.9953 approved=true\n\
            [STAGE 10] Cache cleanup ......................... PASS  cs_test_abc123 deleted\n\n\
            RESULT: 10/10 PASS — Pipeline operational.\n\
            Duration: 18.3s\n";
        assert_eq!(green().text(LOG), expected);
        assert_eq!(green().ending().exit_code(), 0);
    }

    #[test]
    fn a_failure_is_reported_in_the_form_of_the_spec() {
        let report = gemini_down();
        let text = report.text(LOG);
        let failed = "[STAGE 5] Webhook simulation ..................... FAIL\n  Error: Gemini quota exceeded.\n  Payload: {\"error\":\"quota_exceeded\"}\n";
        assert!(text.contains(failed), "{text}");
        assert!(text.contains("RESULT: 4/10 PASS — Pipeline DEGRADED. See /aws/lambda/oracle-smoke-test\n"), "{text}");
        assert_eq!(report.ending().exit_code(), 1);
    }

    #[test]
    fn the_lines_for_operators_are_the_specs() {
        let lines = |report: &Report, trigger| -> Vec<(Channel, String)> {
            report.alerts(trigger, ENDED, LOG).into_iter().map(|alert| (alert.channel, alert.line)).collect()
        };
        let passed = "[SMOKE] Oracle pipeline: 10/10 PASS (18.3s) | 2026-04-16T07:00:22Z".to_owned();
        for trigger in [Trigger::Manual, Trigger::Deploy, Trigger::Cron] {
            assert_eq!(lines(&green(), trigger), [(Channel::Ops, passed.clone())]);
        }
        let failed =
            "[SMOKE] Oracle pipeline: 4/10 FAIL — Stage 5 Gemini quota exceeded | 2026-04-16T07:00:22Z".to_owned();
        let alert = "[2026-04-16T07:00:22Z] ORACLE SMOKE FAIL — Stage 5 (webhook simulation) — Gemini quota exceeded. \
            Check /aws/lambda/oracle-smoke-test"
            .to_owned();
        let loud = [(Channel::Ops, failed.clone()), (Channel::Critical, alert)];
        assert_eq!(lines(&gemini_down(), Trigger::Cron), loud);
        assert_eq!(lines(&gemini_down(), Trigger::Deploy), loud);
        assert_eq!(lines(&gemini_down(), Trigger::Manual), [(Channel::Ops, failed)], "a manual run alerts nobody");
    }

    #[test]
    fn a_failed_environment_check_is_exit_code_2_whatever_else_passed() {
        let report = report(|stage| match stage {
            Stage::EnvironmentCheck => Outcome::Fail(Failure::new("x")),
            _ => Outcome::Pass(String::new()),
        });
        assert_eq!(report.ending().exit_code(), 2);
        assert_eq!(report.json()["exit_code"], 2);
        assert_eq!(report.json()["stages"][0]["error"], "x");
    }

    /// A variable is missing: nothing runs, and operators are alerted in the lines of the spec.
    #[test]
    fn a_run_that_cannot_begin_alerts_like_any_other() {
        let report = Report::not_begun(ENDED, "environment variable SITE_URL is not set");
        assert_eq!((report.ending().exit_code(), report.passed()), (2, 0));
        let lines: Vec<_> = report.alerts(Trigger::Cron, ENDED, LOG).into_iter().map(|alert| alert.line).collect();
        assert_eq!(
            lines,
            [
                "[SMOKE] Oracle pipeline: 0/10 FAIL — Stage 1 environment variable SITE_URL is not set | \
                 2026-04-16T07:00:22Z",
                "[2026-04-16T07:00:22Z] ORACLE SMOKE FAIL — Stage 1 (environment check) — environment variable SITE_URL \
                 is not set. Check /aws/lambda/oracle-smoke-test",
            ]
        );
    }

    #[test]
    fn what_was_skipped_has_not_passed() {
        let report = report(|stage| match stage {
            Stage::CacheCleanup => Outcome::Skip("nothing was cached".to_owned()),
            _ => Outcome::Pass(String::new()),
        });
        assert_eq!((report.passed(), report.ending()), (9, Ending::Failed));
        let alerts = report.alerts(Trigger::Cron, ENDED, LOG);
        assert!(alerts[0].line.starts_with("[SMOKE] Oracle pipeline: 9/10 FAIL | "), "{alerts:?}");
        assert_eq!(alerts.len(), 2);
    }
}
