//! What can go wrong in a command, in words for the person who typed it.

use std::path::{Path, PathBuf};

/// A failed command; Display is the whole message a person needs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file could not be read, written or run.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A program that was run ended with a failure.
    #[error("{program} failed ({status}){}", log_tail(.log.as_deref()))]
    Program {
        /// Which program.
        program: String,
        /// Its exit status.
        status: String,
        /// Where its output went.
        log: Option<PathBuf>,
    },
    /// A service that was started did not come up.
    #[error("{service} did not start: {why}{}", log_tail(Some(.log)))]
    NotStarted {
        /// Which service.
        service: &'static str,
        /// What was observed.
        why: String,
        /// Where its output went.
        log: PathBuf,
    },
    /// A command that needs a running stack found none.
    #[error("no local stack is running in {}; start one with `cargo xtask up --detach`", .0.display())]
    NotRunning(PathBuf),
    /// A call to the stack was not answered as expected.
    #[error("{call}: {why}")]
    Call {
        /// Method and address.
        call: String,
        /// What came back.
        why: String,
    },
    /// Something about the input, or the machine, that the message explains.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// Wraps an I/O error with what was being done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// The last lines of a log, as an appendix to a message.
fn log_tail(log: Option<&Path>) -> String {
    const LINES: usize = 30;
    let Some(log) = log else { return String::new() };
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    format!("\n--- end of {} ---\n{}", log.display(), tail.join("\n"))
}
