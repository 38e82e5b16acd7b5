//! What the failed tests say, from the output of `cargo test`.

/// The most lines and the most characters of a line that are repeated of one test.
const LINES: usize = 12;
const CHARACTERS: usize = 1_000;

#[derive(PartialEq, Debug)]
pub(super) struct Failure {
    pub(super) test: String,
    /// The beginning of what it printed, with the panic's place and message.
    pub(super) said: String,
}

/// The failed tests, in the order of the output.
pub(super) fn failures(output: &str) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut kept = None;
    for line in output.lines() {
        if let Some(test) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
            failures.push(Failure { test: test.to_owned(), said: String::new() });
            kept = Some(0);
        } else if line == "failures:" {
            kept = None;
        } else if let (Some(lines), Some(failure)) = (&mut kept, failures.last_mut())
            && *lines < LINES
            && !line.is_empty()
        {
            *lines += 1;
            failure.said.extend(line.chars().take(CHARACTERS));
            failure.said.push('\n');
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_keeps_its_beginning() {
        let long = "x".repeat(CHARACTERS + 1);
        let lines = "line\n".repeat(LINES);
        let output = format!(
            "running 3 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... FAILED\n\nfailures:\n\n---- b stdout ----\n\n\
             thread 'b' panicked at b.rs:1:2:\n{long}\n\n---- c stdout ----\n{lines}one more\n\nfailures:\n    b\n    c\n\n\
             test result: FAILED. 1 passed; 2 failed\n"
        );
        let said = format!("thread 'b' panicked at b.rs:1:2:\n{}\n", "x".repeat(CHARACTERS));
        let failure = |test: &str, said: String| Failure { test: test.to_owned(), said };
        assert_eq!(failures(&output), [failure("b", said), failure("c", lines)]);
        assert_eq!(failures("test result: ok. 1 passed\n"), []);
    }
}
