//! Reads tables whose header marks the columns with thresholds.

use super::{
    connectors::skip_connectors,
    names::name_at,
    numbers::{broken_end, value_at},
    token::{Kind, Tokens},
    used::Used,
    vocabulary::List,
};
use crate::{kernel::Kernel, load::Readings};

/// The maximum number of tokens in a line.
const LONGEST_LINE: usize = 120;

/// The columns of a table that hold thresholds.
pub(super) struct Table {
    /// The token after its header.
    behind: usize,
    limits: Vec<usize>,
}

impl Table {
    /// The first table whose header names thresholds.
    pub(super) fn of(tokens: &Tokens<'_>) -> Option<Self> {
        let mut start = 0;
        for end in 0..=tokens.len() {
            if end < tokens.len() && !is_line_end(tokens, end) {
                continue;
            }
            let columns = (start..end).filter(|at| tokens.is_sign(*at, '|')).count();
            let is_head = columns >= 2 && end - start <= LONGEST_LINE;
            if is_head && (start..end).all(|at| name_at(tokens, at).is_none()) {
                let limits: Vec<usize> =
                    (start..end).filter(|at| tokens.is(*at, List::Limit)).map(|at| column(tokens, start, at)).collect();
                if !limits.is_empty() {
                    return Some(Self { behind: end, limits });
                }
            }
            start = end + 1;
        }
        None
    }

    /// Reads the row of a kernel: every cell outside the threshold columns is a value.
    pub(super) fn read(
        &self,
        tokens: &Tokens<'_>,
        name: usize,
        end: usize,
        kernel: Kernel,
        readings: &mut Readings,
        used: &mut Used,
    ) -> Option<usize> {
        if name < self.behind
            || !(end..end + LONGEST_LINE).take_while(|at| !is_line_end(tokens, *at)).any(|at| tokens.is_sign(at, '|'))
        {
            return None;
        }
        let start =
            (name.saturating_sub(LONGEST_LINE)..name).rev().find(|at| is_line_end(tokens, *at)).map_or(0, |at| at + 1);
        let line_end = (end..end + LONGEST_LINE).find(|at| is_line_end(tokens, *at))?;
        let mut at = end;
        let mut is_read = false;
        while at < line_end {
            if !tokens.is_sign(at, '|') {
                at += 1;
                continue;
            }
            let cell_end = (at + 1..line_end).find(|of| tokens.is_sign(*of, '|')).unwrap_or(line_end);
            let from = skip_connectors(tokens, at + 1);
            let is_limit = self.limits.contains(&column(tokens, start, at + 1));
            if is_limit {
                used.mark(at, cell_end);
            } else if from < cell_end
                && let Some((value, next)) = value_at(tokens, from)
            {
                match broken_end(tokens, next, None) {
                    Some(_) => readings.add_unusable(kernel),
                    None => readings.add(kernel, value),
                }
                used.mark(at, next);
                is_read = true;
            }
            at = cell_end;
        }
        if !is_read {
            readings.add_unusable(kernel);
        }
        Some(line_end)
    }
}

/// Whether a row ends here: at the end of its line or of the text.
fn is_line_end(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(tokens.kind(at), None | Some(Kind::Stop('\n' | '\r')))
}

/// The column of a token: the number of separators before it in its line.
fn column(tokens: &Tokens<'_>, start: usize, at: usize) -> usize {
    (start..at).filter(|of| tokens.is_sign(*of, '|')).count()
}
