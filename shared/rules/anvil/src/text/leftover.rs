//! Finds numbers that no reader has used. An unassigned figure beside the kernels may be a second value of one of them,
//! so it must not be ignored.

use super::{
    numbers::{is_decimal, is_loose, is_numeric, value_at},
    readings::FoundReadings,
    token::{Kind, Tokens},
    used::Used,
};
use crate::{assessment::Reason, kernel::Kernel, measure::Measure};

/// Words that make the number after them a label: "node 1", "run 12".
pub(super) const LABELS: [&str; 21] = [
    "node", "nodes", "v", "version", "run", "build", "host", "shard", "replica", "day", "week", "page", "batch", "no",
    "number", "step", "port", "stage", "epoch", "rate", "lr",
];

/// The first unused number that may be a value.
pub(super) fn find(tokens: &Tokens<'_>, kernels: &FoundReadings, loss_at: &[usize], used: &Used) -> Option<Reason> {
    let mut names = kernels.names.iter().peekable();
    let mut losses = loss_at.iter().peekable();
    let mut current: Option<Kernel> = None;
    let mut in_statement = false;
    for at in 0..tokens.len() {
        while let Some((_, kernel)) = names.next_if(|(name, _)| *name <= at) {
            (current, in_statement) = (Some(*kernel), true);
        }
        while losses.next_if(|loss| **loss <= at).is_some() {
            (current, in_statement) = (None, true);
        }
        if let Some(Kind::Stop(stop)) = tokens.kind(at) {
            let behind = (at + 1..at + 5).find(|of| !matches!(tokens.kind(*of), Some(Kind::Sign(_) | Kind::Stop(_))));
            let goes_on = stop == ';' || behind.is_some_and(|of| is_loose(tokens, of));
            in_statement &= goes_on;
            continue;
        }
        if used.is_used(at) || !is_numeric(tokens, at) || is_name_or_date(tokens, at) {
            continue;
        }
        let value = value_at(tokens, at).map(|(value, _)| value);
        let is_leftover = if in_statement {
            let is_known = current.is_some_and(|kernel| {
                value.is_some_and(|value| value == kernel.bound().limit() || kernels.readings.has(kernel, value))
            });
            !is_known && is_value_like(tokens, at)
        } else {
            is_value_outside(tokens, at, value) && !kernels.names.is_empty()
        };
        if is_leftover {
            let shown = value.map_or_else(|| "a number".to_owned(), |value| value.to_string());
            return Some(Reason::blocked(format!(
                "The text also gives {shown} and does not say clearly of what: it may contradict the values."
            )));
        }
    }
    None
}

/// In a statement about kernels every number counts, except a count of something or a label.
fn is_value_like(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_share = is_decimal(tokens, at) || tokens.kind(at) == Some(Kind::Malformed) && tokens.str(at).contains('.');
    let is_label = at > 0 && LABELS.contains(&tokens.word(at - 1));
    let is_fraction = tokens.is_sign(at + 1, '/') && is_numeric(tokens, at + 2);
    (!is_label || is_share)
        && (is_share || is_fraction || tokens.kind(at) != Some(Kind::Malformed) && is_loose(tokens, at))
}

/// Elsewhere only a number that looks like a kernel's value counts: a decimal from 0 to 1 that is no threshold, or a
/// number after an equals sign.
fn is_value_outside(tokens: &Tokens<'_>, at: usize, value: Option<Measure>) -> bool {
    let Some(value) = value else { return false };
    let is_share = value >= Measure::ZERO && value <= Measure::UNIT;
    let is_limit = Kernel::ALL.iter().any(|kernel| kernel.bound().limit() == value);
    let is_given = at > 0 && tokens.is_sign(at - 1, '=');
    let is_written = tokens.str(at).contains(['.', ',']) || tokens.word(at + 1) == "point";
    let is_label = at > 0 && LABELS.contains(&tokens.word(at - 1));
    is_share && !is_label && (is_given || is_written && !is_limit)
}

/// "v0.9", "10.0.0.1", "2026-11-22", "12:30".
fn is_name_or_date(tokens: &Tokens<'_>, at: usize) -> bool {
    let text = tokens.str(at);
    let touches_before = at > 0 && tokens.touches_next(at - 1);
    if touches_before && tokens.word(at - 1).starts_with('v') {
        return true;
    }
    if text.split('.').count() == 4 {
        return true;
    }
    let is_part = |of: usize, sign: char| {
        tokens.is_sign(of, sign) && tokens.touches_next(of) && of > 0 && tokens.touches_next(of - 1)
    };
    let is_digits = |of: usize, lengths: &[usize]| {
        lengths.contains(&tokens.str(of).len()) && tokens.str(of).bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_time = is_digits(at, &[2])
        && (is_part(at + 1, ':') && is_digits(at + 2, &[2])
            || at > 1 && is_part(at - 1, ':') && is_digits(at - 2, &[2]));
    let is_date = [at, at.saturating_sub(2), at.saturating_sub(4)].iter().any(|year| {
        is_digits(*year, &[4]) && is_part(*year + 1, '-') && is_digits(*year + 2, &[2]) && is_part(*year + 3, '-')
    });
    is_time || is_date
}
