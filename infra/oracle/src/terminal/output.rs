//! Formats text output: tables that fit a terminal, times, amounts.

use std::{
    error::Error,
    io::{self, IsTerminal, Write},
};

use runtime::Environment;
use serde::Serialize;

use super::{json_lines::LinesError, progress, style};
use crate::command::{CommandError, Ended};

/// The assumed width of a terminal that does not report its width.
const WIDTH: usize = 80;

/// The width of a pipe or a file: a row of a table stays one line, so that `grep` finds all of it.
const PIPED: usize = 1000;

/// The narrowest last column whose texts are wrapped: in a narrower one they are cut.
const NARROWEST: usize = 20;

/// A row of a table. `below` is a line under the row that is never cut; an empty one is left out.
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) below: String,
}

/// Writes to standard output, as [`print_to`] does.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    progress::clear();
    print_to(io::stdout().lock(), text.as_bytes())
}

/// Writes to the command's output. A closed pipe, as in `oracle status | head -3`, is no failure, so that it does not
/// change the exit code of a failed check or hide that a decision was not carried out.
pub(crate) fn print_to(mut output: impl Write, text: &[u8]) -> Result<(), CommandError> {
    match output.write_all(text) {
        Err(error) if is_broken_pipe(&error) => Ok(()),
        written => Ok(written?),
    }
}

/// Whether the reader of our output has closed the pipe. The causes of an error do not count: a connection to AWS or to a
/// vendor breaks in the same way.
pub(crate) fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let written = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(CommandError::Terminal(error)), _) | (_, Some(LinesError::Write(error))) => Some(error),
        _ => error.downcast_ref::<io::Error>(),
    };
    written.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes one JSON document and a line break.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), CommandError> {
    print(&format!("{}\n", serde_json::to_string(document)?))
}

/// Writes the answer of a command: the document as JSON if that is asked for, or else the text.
pub(crate) fn print_answer(
    json: bool,
    document: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<Ended, CommandError> {
    if json {
        print_json(document)?
    } else {
        print(&text())?
    }
    Ok(Ended::Done)
}

/// As [`print_answer`] for a list, whose text is `none` if it is empty.
pub(crate) fn print_list<T: Serialize>(
    json: bool,
    rows: &[T],
    none: &str,
    table: impl FnOnce() -> String,
) -> Result<Ended, CommandError> {
    print_answer(json, &rows, || if rows.is_empty() { none.to_owned() } else { table() })
}

/// The number of columns of a line, from COLUMNS or the terminal.
pub(crate) fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let otherwise = if io::stdout().is_terminal() { WIDTH } else { PIPED };
    Environment::of_process().bounded("COLUMNS", terminal.unwrap_or(otherwise).max(40), 40, PIPED).unwrap_or(WIDTH)
}

/// Formats a table. Columns are as wide as their widest cell. The last cell of a row, which has the details and the
/// commands, goes on in the lines below where it is wider than the rest of `width`; other cells are cut there.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Row>, width: usize) -> String {
    let rows: Vec<Row> = rows.into_iter().collect();
    let lengths = |index: usize| rows.iter().filter_map(move |row| row.cells.get(index)).map(|cell| characters(cell));
    let widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(index, title)| lengths(index).max().unwrap_or(0).max(characters(title)))
        .collect();
    let titles: Vec<String> = head.iter().map(|title| (*title).to_owned()).collect();
    let mut text = line(&titles, &widths, width, |_| style::TITLE);
    for row in &rows {
        let mut cells: Vec<String> = row.cells.iter().map(|cell| printable(cell)).collect();
        let last = cells.pop().unwrap_or_default();
        let start: usize = widths.iter().take(cells.len()).map(|width| width + 2).sum();
        for part in parts(&last, width.saturating_sub(start)) {
            cells.push(part);
            text.push_str(&line(&cells, &widths, width, style::of_cell));
            cells.pop();
            // The lines below have the last column only.
            cells.iter_mut().for_each(String::clear);
        }
        if !row.below.is_empty() {
            text.push_str(&format!("  {}\n", style::paint(style::ASIDE, &row.below)));
        }
    }
    text
}

/// The lines of a cell in a column of this width: wrapped between words, and a longer word within.
fn parts(cell: &str, room: usize) -> Vec<String> {
    if room < NARROWEST || characters(cell) <= room {
        return vec![cell.to_owned()];
    }
    let mut parts = Vec::new();
    for line in wrapped(cell, 0, room).lines() {
        let characters: Vec<char> = line.chars().collect();
        parts.extend(characters.chunks(room).map(|part| part.iter().collect::<String>()));
    }
    parts
}

/// One line of a table. Colour codes have no width, so every cell is cut before it is coloured.
fn line(cells: &[String], widths: &[usize], width: usize, style: fn(&str) -> anstyle::Style) -> String {
    let (mut text, mut column, mut start) = (String::new(), 0, 0);
    for (index, cell) in cells.iter().enumerate() {
        let shown = cut(cell.trim_end(), width.saturating_sub(start));
        if !shown.is_empty() && start < width {
            text.push_str(&" ".repeat(start - column));
            column = start + characters(&shown);
            text.push_str(&style::paint(style(&shown), &shown));
        }
        start += widths.get(index).copied().unwrap_or_default() + 2;
    }
    text.push('\n');
    text
}

/// Wraps the text at `width` characters and indents each line. A longer word gets a line of its own.
pub(crate) fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if indent + characters(line) + 1 + characters(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
}

/// The text, cut to `width` characters.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if characters(text) <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// The text without characters that could move a terminal's cursor.
pub(crate) fn printable(text: &str) -> String {
    domain::customer_text::one_line(text)
}

/// `2026-04-16T14:23:07.412Z` as `2026-04-16 14:23`.
pub(crate) fn minute(iso: &str) -> String {
    iso.get(..16).unwrap_or(iso).replace('T', " ")
}

/// A duration in its largest unit: `45s`, `12m`, `5h`, `3d`.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Formats an amount in the currency's smallest unit, which for every price here is a hundredth.
pub(crate) fn amount(amount: Option<&(i64, String)>) -> String {
    amount.map_or_else(
        || "unknown".to_owned(),
        |(cents, currency)| {
            let sign = if *cents < 0 { "-" } else { "" };
            let cents = cents.unsigned_abs();
            format!("{sign}{}.{:02} {}", cents / 100, cents % 100, currency.to_uppercase())
        },
    )
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output that fails.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn that_nobody_reads_any_more_is_no_failure_and_all_else_is() {
        assert!(print_to(Failing(io::ErrorKind::BrokenPipe), b"text").is_ok());
        assert!(print_to(Failing(io::ErrorKind::StorageFull), b"text").is_err());
        let mut written = Vec::new();
        print_to(&mut written, b"text").unwrap();
        assert_eq!(written, b"text");
    }

    #[test]
    fn a_table_fits_and_cuts_neither_its_last_cells_nor_what_is_below() {
        let id = format!("cs_live_{}", "a".repeat(80));
        let rows = [
            Row {
                cells: vec!["failed".into(), "2026".into(), format!("{}\u{1b}[2J", "é".repeat(60))],
                below: id.clone(),
            },
            Row { cells: vec!["x".into(), "y".into(), "short".into()], below: "cs_1".into() },
        ];
        let text = table(&["WORK", "DUE", "DETAIL"], rows, 40);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "WORK    DUE   DETAIL");
        assert_eq!(lines[1], format!("failed  2026  {}", "é".repeat(26)));
        assert_eq!(lines[2], format!("{:14}{}", "", "é".repeat(26)));
        assert_eq!((lines[3].trim(), lines[4].trim()), ("é".repeat(8).as_str(), "[2J"));
        assert_eq!((lines[5].trim(), lines[6]), (id.as_str(), "x       y     short"));
        assert!(!text.contains('\u{1b}'));
        let narrow = Row { cells: vec!["x".repeat(30), "what else is there".into()], below: String::new() };
        assert_eq!(
            table(&["A", "B"], [narrow], 40).lines().nth(1),
            Some(format!("{}  what el…", "x".repeat(30)).as_str())
        );
    }

    #[test]
    fn the_last_cell_of_a_row_goes_on_below_itself() {
        let detail = "3 since 2026-11-25 10:00: oracle reattempt --failed-since 24h --dry-run";
        let row = || Row { cells: vec!["open: failed".into(), "wrong".into(), detail.into()], below: "cs_1".into() };
        let text = table(&["WHAT", "STATE", "DETAIL"], [row()], 60);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "open: failed  wrong  3 since 2026-11-25 10:00: oracle",
                "                     reattempt --failed-since 24h --dry-run",
                "  cs_1"
            ]
        );
        assert!(table(&["WHAT", "STATE", "DETAIL"], [row()], PIPED).contains(detail), "one line in a pipe");
    }

    #[test]
    fn long_texts_are_wrapped_between_words() {
        assert_eq!(wrapped("one two  three", 2, 9), "  one two\n  three\n");
        assert_eq!(wrapped("", 2, 9), "");
        assert_eq!(wrapped("overlong-word x", 2, 9), "  overlong-word\n  x\n");
    }

    #[test]
    fn amounts_and_times_are_for_people() {
        assert_eq!(amount(Some(&(2500, "cad".into()))), "25.00 CAD");
        assert_eq!(amount(Some(&(-5, "cad".into()))), "-0.05 CAD");
        assert_eq!(amount(None), "unknown");
        assert_eq!([59, 60, 7_200, 172_799, 172_800].map(age), ["59s", "1m", "2h", "47h", "2d"]);
        assert_eq!(minute("2026-04-16T14:23:07.412Z"), "2026-04-16 14:23");
    }
}
