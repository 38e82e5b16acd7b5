//! Runs `cargo test` and counts its results.

use super::{Count, Suite, failures::failures, machine, results};
use crate::error::Error;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    thread,
};

/// Runs `cargo test`, shows its lines as they arrive, and counts the results. Keeps the output in a log of its own and the
/// results under the step's name, if one is given.
pub(super) fn run_tests(suite: &Suite, step: Option<&str>, command: &mut Command) -> Result<Count, Error> {
    let log = suite.stacks[0].log(step.unwrap_or("cargo-test"));
    let (reader, writer) = std::io::pipe().map_err(Error::io("opening a pipe"))?;
    command.current_dir(&suite.root).stdout(writer).stdin(Stdio::null());
    let copy = thread::spawn(move || -> std::io::Result<String> {
        let mut reader = BufReader::new(reader);
        let (mut text, mut shown) = (Vec::new(), 0);
        // Whole lines, because another step may write beside this one.
        while reader.read_until(b'\n', &mut text)? > 0 {
            std::io::stdout().write_all(&text[shown..])?;
            shown = text.len();
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    });
    let began = results::commit(&suite.root);
    let status = suite.supervisor.run("cargo test", command);
    // The copy ends only after the writing end is closed.
    command.stdout(Stdio::null());
    let output = copy.join().unwrap_or_else(|_| Ok(String::new())).map_err(Error::io("reading test output"))?;
    fs::write(&log, &output).map_err(Error::io(format!("writing {}", log.display())))?;
    suite.failures().extend(failures(&output));
    if let Some(step) = step {
        results::keep(&suite.root, step, &output, began)?;
    }
    let (status, count) = (status?, count(&output));
    if status.success() || count.failed > 0 {
        return Ok(count);
    }
    Err(Error::Program { program: "cargo test".to_owned(), status: status.to_string(), log: None })
}

pub(super) fn at_lowest_priority(command: Command) -> Command {
    let Some(nice) = machine::program("nice") else { return command };
    let mut lowest = Command::new(nice);
    lowest.args(["-n", "19"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => lowest.env(name, value),
            None => lowest.env_remove(name),
        };
    }
    lowest
}

/// Adds up the `test result:` lines of a `cargo test` run.
fn count(output: &str) -> Count {
    let number = |line: &str, what: &str| {
        line.split([';', '.']).find_map(|part| part.trim().strip_suffix(what)?.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    output.lines().filter(|line| line.starts_with("test result:")).fold(Count::default(), |sum, line| Count {
        passed: sum.passed + number(line, "passed"),
        failed: sum.failed + number(line, "failed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_result_line() {
        let output = "running 2 tests\ntest a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s\n\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\nerror: test failed";
        assert_eq!(count(output), Count { passed: 13, failed: 2 });
        assert_eq!(count("error: could not compile"), Count::default());
    }
}
