//! The errors of commands, with messages for the person at the terminal.

use std::{
    path::{Path, PathBuf},
    process::ExitStatus,
};

/// A failed command; its Display is the whole message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file could not be read, written or run.
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("{program} failed ({status}){}", log_tail(.log.as_deref()))]
    Program { program: String, status: String, log: Option<PathBuf> },
    #[error("{service} did not start: {why}{}", log_tail(Some(.log)))]
    NotStarted { service: &'static str, why: String, log: PathBuf },
    /// A command that needs a running stack found none.
    #[error("no local stack is running in {}; start one with `cargo xtask up --detach`", .0.display())]
    NotRunning(PathBuf),
    /// A call to the stack had an unexpected result.
    #[error("{call}: {why}")]
    Call {
        /// The method and the address.
        call: String,
        why: String,
    },
    /// A problem of the input, or of the machine, that the message explains.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// Wraps an I/O error with the action.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Refuses the status of a program that failed; the message names it `program` and ends with its log, if it has one.
pub(crate) fn require_success(
    program: impl Into<String>,
    status: ExitStatus,
    log: Option<PathBuf>,
) -> Result<(), Error> {
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program: program.into(), status: status.to_string(), log })
}

/// The last lines of a log, to append to a message.
fn log_tail(log: Option<&Path>) -> String {
    const LINES: usize = 30;
    let Some(log) = log else { return String::new() };
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    format!("\n--- end of {} ---\n{}", log.display(), tail.join("\n"))
}
