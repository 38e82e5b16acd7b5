//! Reads one JSON object per line and writes one per line.

use std::io::{self, BufRead, Write};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

/// The caller's id of a line. The answer repeats its bytes, so that a number of any size and form stays the caller's.
pub(crate) type Id = Box<RawValue>;

/// The reason why a command over lines stopped. The lines before the faulty one are already answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinesError {
    #[error("line {line} of standard input cannot be read")]
    Read { line: usize, source: io::Error },
    #[error("line {line} of standard input is not what this command reads ({expected}): {problem}")]
    Line { line: usize, expected: &'static str, problem: String },
    #[error("the answer cannot be written")]
    Write(#[from] io::Error),
}

/// The bytes without UTF-8's byte order mark, which some programs write at the beginning of a file.
pub(crate) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The lines of `input` that are not blank, with their numbers from 1, without a byte order mark before the first.
pub(crate) fn numbered_lines(input: impl BufRead) -> impl Iterator<Item = Result<(usize, Vec<u8>), LinesError>> {
    (1..).zip(input.split(b'\n')).filter_map(|(line, bytes)| match bytes {
        Ok(bytes) => {
            let bytes = if line == 1 { without_byte_order_mark(&bytes).to_vec() } else { bytes };
            (!bytes.iter().all(u8::is_ascii_whitespace)).then_some(Ok((line, bytes)))
        }
        Err(source) => Some(Err(LinesError::Read { line, source })),
    })
}

/// Answers every line of `input` with one line on `output`, as soon as it is read, and skips blank lines. An error
/// names the `expected` form of a line; `answer` may refuse a line with a reason.
pub(crate) fn answer_lines<Request: DeserializeOwned, Reply: Serialize>(
    input: impl BufRead,
    mut output: impl Write,
    expected: &'static str,
    mut answer: impl FnMut(Request) -> Result<Reply, String>,
) -> Result<(), LinesError> {
    for numbered in numbered_lines(input) {
        let (line, bytes) = numbered?;
        let reply = serde_json::from_slice(&bytes)
            // serde_json counts lines too, and each of our lines is line 1 for it.
            .map_err(|error: serde_json::Error| error.to_string().replace(" at line 1 column ", " at column "))
            .and_then(&mut answer)
            .and_then(|reply| serde_json::to_string(&reply).map_err(|error| error.to_string()));
        match reply {
            Ok(reply) => writeln!(output, "{reply}")?,
            Err(problem) => return Err(LinesError::Line { line, expected, problem }),
        }
        // A caller may wait for this answer before it sends its next line.
        output.flush()?;
    }
    Ok(())
}

/// The answers of a command over lines, and how it ended, for its tests.
#[cfg(test)]
pub(crate) fn answers<T>(command: impl FnOnce(&mut Vec<u8>) -> T) -> (Vec<serde_json::Value>, T) {
    let mut output = Vec::new();
    let ended = command(&mut output);
    let text = String::from_utf8(output).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), ended)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{BufReader, BufWriter, Read};

    use serde_json::Value;

    use super::*;

    /// A caller that sends each of its two lines only after the answer to the line before.
    struct Caller<'a> {
        sent: usize,
        answers: &'a RefCell<Vec<u8>>,
    }

    impl Read for Caller<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let answered = self.answers.borrow().iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(answered, self.sent, "a caller waits for its answer");
            if self.sent == 2 {
                return Ok(0);
            }
            self.sent += 1;
            (&b"{}\n"[..]).read(buffer)
        }
    }

    struct Answers<'a>(&'a RefCell<Vec<u8>>);

    impl Write for Answers<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_line_is_answered_before_the_next_is_read() {
        let answers = RefCell::default();
        let caller = BufReader::new(Caller { sent: 0, answers: &answers });
        answer_lines(caller, BufWriter::new(Answers(&answers)), "{}", Ok::<Value, String>).unwrap();
        assert_eq!(answers.into_inner(), b"{}\n{}\n");
    }
}
