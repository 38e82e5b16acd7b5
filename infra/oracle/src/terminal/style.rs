//! Colours text on a terminal. A pipe or a file gets no colour unless it is requested.

use std::{
    io::IsTerminal,
    sync::atomic::{AtomicBool, Ordering},
};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use runtime::Environment;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    #[default]
    Auto,
    /// Whatever standard output is.
    Always,
    /// Not at all.
    Never,
}

/// Whether the process uses colour. It is decided once, before any output.
static COLORED: AtomicBool = AtomicBool::new(false);

/// Decides whether the process uses colour.
pub(crate) fn choose(choice: ColorChoice) {
    let environment = Environment::of_process();
    let refused = environment.optional("NO_COLOR").is_some();
    let dumb = environment.optional("TERM").is_some_and(|terminal| terminal == "dumb");
    COLORED.store(is_colored(choice, std::io::stdout().is_terminal(), refused || dumb), Ordering::Relaxed);
}

const fn is_colored(choice: ColorChoice, is_terminal: bool, refused: bool) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal && !refused,
    }
}

/// The text in a style, if the process uses colour.
pub(crate) fn paint(style: Style, text: &str) -> String {
    painted(style, text, COLORED.load(Ordering::Relaxed))
}

fn painted(style: Style, text: &str, colored: bool) -> String {
    if colored && !text.is_empty() && style != Style::new() {
        format!("{style}{text}{style:#}")
    } else {
        text.to_owned()
    }
}

/// The style of titles of columns and sections.
pub(crate) const TITLE: Style = Style::new().bold();

/// The style of secondary text.
pub(crate) const ASIDE: Style = Style::new().dimmed();

const GOOD: Style = AnsiColor::Green.on_default();
const UNSURE: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The style of a table's cell: verdicts in their colours, severities by their weight, overdue work in red. Colour adds
/// no information to the words.
pub(crate) fn of_cell(cell: &str) -> Style {
    match cell.trim() {
        "GREEN" | "ok" | "OK" | "sound" | "sent" => GOOD,
        "AMBER" | "WARN" | "waiting" | "held" => UNSURE,
        "RED" | "ERROR" | "CRITICAL" | "ALARM" | "wrong" | "failed" | "dead" => BAD,
        "NULL" | "-" | "unknown" | "unmeasured" => ASIDE,
        cell if cell.ends_with(" !") => BAD,
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_unless_it_is_asked_for() {
        assert!(is_colored(ColorChoice::Auto, true, false));
        assert!(!is_colored(ColorChoice::Auto, false, false) && !is_colored(ColorChoice::Auto, true, true));
        assert!(is_colored(ColorChoice::Always, false, true) && !is_colored(ColorChoice::Never, true, false));
    }

    #[test]
    fn what_is_painted_is_the_same_text_between_escapes() {
        assert_eq!(painted(of_cell("RED"), "RED", false), "RED");
        let text = painted(of_cell("RED"), "RED", true);
        assert!(text.starts_with('\u{1b}') && text.ends_with("\u{1b}[0m") && text.contains("RED"), "{text:?}");
        assert_eq!(painted(of_cell("full"), "full", true), "full", "an ordinary word has no colour");
        assert_eq!(of_cell("2026-11-20 10:00 !"), of_cell("CRITICAL"));
    }
}
