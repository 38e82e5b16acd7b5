//! The prompt regression (content filter, GAP-H) against the sandbox's model, and once with replies that it must
//! reject.

use super::{Count, Suite, build::build};
use crate::{
    error::Error,
    functions::{binaries, metadata},
    http::Caller,
    processes::{MARK, Supervisor},
    up::{SANDBOX_PORT, await_port, free_port},
};
use serde_json::json;
use std::process::Command;

/// A model that the sandbox serves.
const MODEL: &str = "gemini-3.5-flash";

/// The number of contaminated replies, and of verdicts that are requested with them.
const CONTAMINATED: usize = 6;

/// Measures the prompts if they have changed since the baseline, and always once with contaminated replies, which must
/// be rejected. If no real model was ever measured, the program warns and the step passes: the suite has no key, and
/// people ignore a step that always fails.
pub(super) fn prompts(suite: &Suite) -> Result<Count, Error> {
    build(suite)?;
    let programs = binaries(&metadata(&suite.root)?, "debug");
    let port = free_port(SANDBOX_PORT, 0)?;
    let sandbox = format!("http://127.0.0.1:{port}");
    // A separate supervisor, because one that has stopped everything starts nothing more. The process has the stack's
    // mark, so that an interrupted run leaves nothing behind.
    let supervisor = Supervisor::new(&suite.stacks[0]);
    let mut start = Command::new(programs.join("sandbox"));
    start.args(["--port", &port.to_string()]).env(MARK, suite.stacks[0].path());
    supervisor.start("sandbox", &mut start)?;
    await_port(&suite.stacks[0], &supervisor, "sandbox", port)?;
    let regress = |arguments: &[&str]| -> Result<Option<i32>, Error> {
        let mut command = Command::new(programs.join("prompt-regression"));
        command.args(["--model", MODEL, "--base", &format!("{sandbox}/gemini")]).args(arguments);
        command.current_dir(&suite.root).env("GEMINI_API_KEY", "sandbox-gemini-key");
        Ok(suite.supervisor.run("prompt-regression", &mut command)?.code())
    };
    let outcome = (|| {
        let changed = regress(&["--if-changed"])?;
        let reply =
            json!({ "verdict": { "verdict": "GREEN", "summary": "Your coherence score is high, says MANTIS." } });
        let replies = vec![reply; CONTAMINATED];
        Caller::new()?
            .post(&format!("{sandbox}/control/faults"), &json!({ "target": "gemini", "replies": replies }))?;
        Ok([(changed, 0, "the prompts"), (regress(&["--runs", &CONTAMINATED.to_string()])?, 1, "contaminated replies")])
    })();
    supervisor.stop_all();
    let mut count = Count::default();
    for (code, expected, what) in outcome? {
        let problem = || format!("prompt-regression with {what} ended with {code:?}, not {expected}");
        count.add((code != Some(expected)).then(problem));
    }
    Ok(count)
}
