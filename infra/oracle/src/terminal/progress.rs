//! Shows the progress of a long operation on a terminal.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// The interval between two updates of the line.
const STEP: Duration = Duration::from_millis(100);

/// The width of the bar in characters.
const WIDE: u64 = 24;

/// A line on standard error with the progress of the reading. The total is unknown before the end, so the bar moves
/// back and forth and does not fill.
pub(crate) struct Progress {
    what: &'static str,
    begun: Instant,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    /// A line that counts records and `what`.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, begun: Instant::now(), shown: None, is_terminal: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&mut self, count: u64, records: u64) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= STEP);
        if !self.is_terminal || !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let line = line(self.what, count, records, self.begun.elapsed());
        let mut error = io::stderr().lock();
        // A progress line that cannot be written is no reason to stop.
        let _ = write!(error, "\r\u{1b}[2K{line}").and_then(|()| error.flush());
    }

    pub(crate) fn end(&self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\u{1b}[2K");
        }
    }
}

/// Shows on a terminal that `done` of several are done, on one line that is overwritten each time.
pub(crate) fn counted(done: u64, of: u64, what: &str) {
    let mut error = io::stderr().lock();
    if of > 1 && error.is_terminal() {
        // A progress line that cannot be written is no reason to stop.
        let _ = error.write_all(counted_line(done, of, what).as_bytes()).and_then(|()| error.flush());
    }
}

fn counted_line(done: u64, of: u64, what: &str) -> String {
    let end = if done >= of { "\n" } else { "" };
    format!("\r{done} of {of} {what}{end}")
}

fn line(what: &str, count: u64, records: u64, elapsed: Duration) -> String {
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let round = millis / 60 % (2 * WIDE);
    let at = if round < WIDE { round } else { 2 * WIDE - 1 - round };
    let bar: String = (0..WIDE).map(|place| if place.abs_diff(at) <= 1 { '█' } else { '░' }).collect();
    let each_second = records.saturating_mul(1000) / millis;
    format!("{bar} {records} records, {count} {what}, {each_second} a second")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_ends_its_line_when_all_is_done() {
        assert_eq!(counted_line(2, 3, "verdicts"), "\r2 of 3 verdicts");
        assert_eq!(counted_line(3, 3, "verdicts"), "\r3 of 3 verdicts\n");
        assert_eq!(counted_line(4, 3, "verdicts"), "\r4 of 3 verdicts\n");
    }

    #[test]
    fn the_bar_moves_and_the_counts_are_shown() {
        let at = |millis| line("sales", 7, 40, Duration::from_millis(millis));
        assert!(at(2000).ends_with("40 records, 7 sales, 20 a second"), "{}", at(2000));
        assert_ne!(at(0), at(600));
        for millis in (0..6000).step_by(17) {
            assert_eq!(at(millis).chars().take(24).filter(|c| matches!(c, '█' | '░')).count(), 24);
        }
    }
}
