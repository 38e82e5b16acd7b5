//! Shows the progress of a long operation on a terminal.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// The interval between two updates of the line.
const STEP: Duration = Duration::from_millis(100);

/// The width of the bar in characters.
const WIDE: u64 = 24;

/// Returns to the start of the line and removes its text.
const REMOVE: &str = "\r\u{1b}[2K";

/// Whether a progress line is on the terminal and has not ended.
struct Unfinished(AtomicBool);

static UNFINISHED: Unfinished = Unfinished(AtomicBool::new(false));

impl Unfinished {
    /// Remembers whether the text that was written last ends its line.
    fn remember(&self, written: &str) {
        self.0.store(!written.ends_with('\n'), Ordering::Relaxed);
    }

    /// What removes the unfinished line, if there is one.
    fn removed(&self) -> &'static str {
        if self.0.swap(false, Ordering::Relaxed) { REMOVE } else { "" }
    }
}

/// Removes a progress line whose work ended early. Otherwise the next output would continue it.
pub(crate) fn clear() {
    // A progress line that cannot be removed is no reason to stop.
    let _ = io::stderr().write_all(UNFINISHED.removed().as_bytes());
}

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
        write(&format!("{REMOVE}{line}"));
    }

    pub(crate) fn end(&self) {
        if self.shown.is_some() {
            clear();
        }
    }
}

/// Shows on a terminal that `done` of `of` are done, if there are several, on one line that is overwritten each
/// time.
pub(crate) fn counted(done: u64, of: u64, what: &str) {
    if of > 1 && io::stderr().is_terminal() {
        write(&counted_line(done, of, what));
    }
}

fn write(text: &str) {
    UNFINISHED.remember(text);
    let mut error = io::stderr().lock();
    // A progress line that cannot be written is no reason to stop.
    let _ = error.write_all(text.as_bytes()).and_then(|()| error.flush());
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
    fn a_count_that_ends_early_is_removed_once() {
        let unfinished = Unfinished(AtomicBool::new(false));
        unfinished.remember(&counted_line(2, 3, "verdicts"));
        assert_eq!([unfinished.removed(), unfinished.removed()], [REMOVE, ""]);
        unfinished.remember(&counted_line(3, 3, "verdicts"));
        assert_eq!(unfinished.removed(), "", "it ended its line");
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
