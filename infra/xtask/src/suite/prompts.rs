//! A changed prompt is tried before it is accepted (content filter, GAP-H): against the sandbox's model, and once
//! with replies that must be refused, so that the refusal is known to work.

use super::{Count, Suite, steps::build};
use crate::{
    error::Error,
    functions::{binaries, metadata},
    http::Caller,
    processes::{MARK, Supervisor},
    up::{await_port, free_port},
};
use serde_json::json;
use std::process::Command;

/// A model that the sandbox serves.
const MODEL: &str = "gemini-3.5-flash";

/// How many contaminated replies are planted, and verdicts asked for.
const PLANTED: usize = 6;

/// Runs `oracle prompts regress` where a prompt has changed since the baseline, and in any case with planted replies.
/// While no real model was tried with these prompts, the command warns of it and the step passes all the same: there is
/// no key here, and a step that is always red is not read.
pub(super) fn prompts(suite: &Suite) -> Result<Count, Error> {
    build(suite)?;
    let programs = binaries(&metadata(&suite.root)?, "debug");
    let port = free_port(0)?;
    let sandbox = format!("http://127.0.0.1:{port}");
    // Of its own, since a supervisor that has stopped everything starts nothing more; marked, so that an interrupted
    // run leaves nothing behind.
    let supervisor = Supervisor::new(&suite.stack);
    let mut start = Command::new(programs.join("sandbox"));
    start.args(["--port", &port.to_string()]).env(MARK, suite.stack.path());
    supervisor.start("sandbox", &mut start)?;
    await_port(&suite.stack, &supervisor, "sandbox", port)?;
    let regress = |arguments: &[&str]| -> Result<Option<i32>, Error> {
        let mut command = Command::new(programs.join("oracle"));
        command.args(["prompts", "regress", "--model", MODEL, "--base", &format!("{sandbox}/gemini")]).args(arguments);
        command.current_dir(&suite.root).env("GEMINI_API_KEY", "sandbox-gemini-key");
        Ok(suite.supervisor.run("oracle", &mut command)?.code())
    };
    let outcome = (|| {
        let changed = regress(&["--if-changed"])?;
        let reply =
            json!({ "verdict": { "verdict": "GREEN", "summary": "Your coherence score is high, says MANTIS." } });
        let replies = vec![reply; PLANTED];
        Caller::new()?
            .post(&format!("{sandbox}/control/faults"), &json!({ "target": "gemini", "replies": replies }))?;
        Ok([(changed, 0, "the prompts"), (regress(&["--runs", &PLANTED.to_string()])?, 1, "planted replies")])
    })();
    supervisor.stop_all();
    let mut count = Count::default();
    for (code, expected, what) in outcome? {
        if code == Some(expected) {
            count.passed += 1;
        } else {
            eprintln!("error: oracle prompts regress with {what} ended with {code:?}, not {expected}");
            count.failed += 1;
        }
    }
    Ok(count)
}
