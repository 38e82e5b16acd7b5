//! Finds the values of the five kernels in all notations.

use super::{
    connectors::{comparison_at, is_limit_before, skip_connectors},
    names::{name_at, names_in_row},
    numbers::{broken_end, value_at},
    table::Table,
    token::{Kind, Tokens},
    used::Used,
    vocabulary::List,
};
use crate::{kernel::Kernel, load::Readings, measure::Measure};

/// The kernel readings of a text.
pub(super) struct FoundReadings {
    pub(super) readings: Readings,
    /// Whether the text names a kernel, with or without a value.
    pub(super) are_named: bool,
    /// The position of each name that has its own value.
    pub(super) names: Vec<(usize, Kernel)>,
}

/// Reads the whole text and marks the numbers that it uses.
pub(super) fn find(tokens: &Tokens<'_>, used: &mut Used) -> FoundReadings {
    let mut found = FoundReadings { readings: Readings::default(), are_named: false, names: Vec::new() };
    let table = Table::of(tokens);
    let mut at = 0;
    // Numbers before this token already belong to a kernel.
    let mut free_from = 0;
    while at < tokens.len() {
        let Some((kernel, end)) = name_at(tokens, at) else {
            at += 1;
            continue;
        };
        found.are_named = true;
        let names = names_in_row(tokens, kernel, end);
        let last = names.0.last().copied().unwrap_or(kernel);
        found.names.push((at, last));
        let is_single = names.0.len() == 1;
        let in_table = table.as_ref().filter(|_| is_single);
        let next = in_table
            .and_then(|table| table.read(tokens, at, end, kernel, &mut found.readings, used))
            .or_else(|| read_row(tokens, &names, &mut found.readings, used))
            .unwrap_or_else(|| read_alone(tokens, at, free_from, &names, &mut found.readings, used));
        free_from = next;
        at = next;
    }
    found
}

/// Reads one value for each name in a row: "Φζ, Ψχ = 0.98, 0.05", or the lines of a table.
fn read_row(
    tokens: &Tokens<'_>,
    (names, end): &(Vec<Kernel>, usize),
    readings: &mut Readings,
    used: &mut Used,
) -> Option<usize> {
    if names.len() < 2 {
        return None;
    }
    let mut from = *end;
    let mut is_read = false;
    // Every line below the names is a row of values.
    while let Some((values, next)) = row_at(tokens, from, names.len()) {
        for (kernel, value) in names.iter().zip(values) {
            readings.add(*kernel, value);
        }
        used.mark(*end, next);
        is_read = true;
        from = next;
        if !matches!(tokens.kind(next), Some(Kind::Stop('\n' | '\r'))) {
            break;
        }
    }
    is_read.then_some(from)
}

fn row_at(tokens: &Tokens<'_>, from: usize, count: usize) -> Option<(Vec<Measure>, usize)> {
    let mut values = Vec::with_capacity(count);
    let mut at = from;
    // The line below a table's head.
    while matches!(tokens.kind(at), Some(Kind::Sign('|' | '-' | ':') | Kind::Stop('\n' | '\r'))) {
        at += 1;
    }
    at = skip_connectors(tokens, at);
    while values.len() < count {
        let (value, next) = value_at(tokens, at)?;
        values.push(value);
        let is_separated = matches!(tokens.kind(next), Some(Kind::Sign(',' | '/') | Kind::Number));
        if !is_separated && broken_end(tokens, next, None).is_some() {
            return None;
        }
        at = next;
        while matches!(tokens.kind(at), Some(Kind::Sign(',' | '/' | '|' | '&') | Kind::Stop(';')))
            || tokens.word(at) == "and"
        {
            at += 1;
        }
        if name_at(tokens, at).is_some() {
            break;
        }
    }
    (values.len() == count).then_some((values, at))
}

/// Reads the value after the last name of a row, or the one before a single name. Returns the token to continue from.
fn read_alone(
    tokens: &Tokens<'_>,
    start: usize,
    free_from: usize,
    (names, end): &(Vec<Kernel>, usize),
    readings: &mut Readings,
    used: &mut Used,
) -> usize {
    let Some(kernel) = names.last().copied() else { return *end };
    let go_on = |used: &mut Used, next: usize| {
        used.mark(start, next);
        next
    };
    if is_limit_before(tokens, start, free_from) {
        let next = value_at(tokens, skip_connectors(tokens, *end)).map_or(*end, |(_, next)| next);
        return go_on(used, next);
    }
    let mut at = skip_connectors(tokens, *end);
    if tokens.is(at, List::Limit) {
        // "Φζ must be ≥ 0.974" repeats the rule and is no reading. Its number belongs to no kernel.
        while !matches!(tokens.kind(at), None | Some(Kind::Number | Kind::Stop(_))) && name_at(tokens, at).is_none() {
            at += 1;
        }
        return go_on(used, if tokens.kind(at) == Some(Kind::Number) { at + 1 } else { at });
    }
    if tokens.word(at) == "between" {
        let ends = value_at(tokens, at + 1).and_then(|(low, and)| Some((low, value_at(tokens, and + 1)?)));
        if let Some((low, (high, next))) = ends {
            readings.add(kernel, low);
            readings.add(kernel, high);
            return go_on(used, next);
        }
    }
    if let Some((is_lower, behind)) = comparison_at(tokens, at) {
        let at = skip_connectors(tokens, behind);
        let Some((value, next)) = value_at(tokens, at) else { return behind };
        if let Some(next) = broken_end(tokens, next, None) {
            readings.add_unusable(kernel);
            return go_on(used, next);
        }
        // A bound on the wrong side proves a breach; a bound on the right side is no measurement.
        let breaches = match kernel.bound() {
            crate::Bound::AtLeast(limit) => !is_lower && value <= limit,
            crate::Bound::AtMost(limit) => is_lower && value >= limit,
        };
        if breaches && !kernel.bound().admits(value) {
            readings.add(kernel, value);
        } else if breaches {
            readings.add(kernel, just_beyond(kernel, value));
        }
        return go_on(used, next);
    }
    let says_equal = (*end..at).any(|of| matches!(tokens.kind(of), Some(Kind::Sign('=' | ':'))));
    match value_at(tokens, at) {
        Some((value, next)) => {
            let next = read_rest(tokens, kernel, value, next, (*end, at), readings);
            go_on(used, next)
        }
        None if matches!(tokens.kind(at), Some(Kind::Malformed | Kind::Number)) => {
            readings.add_unusable(kernel);
            go_on(used, at + 1)
        }
        None => {
            if names.len() == 1
                && let Some((value, from)) = value_before(tokens, start, free_from)
            {
                readings.add(kernel, value);
                used.mark(from, start);
            } else if says_equal && name_at(tokens, at).is_none() {
                readings.add_unusable(kernel);
            }
            *end
        }
    }
}

/// "Ψχ > 0.15" is a breach with an unknown value: uses the next value beyond the limit.
fn just_beyond(kernel: Kernel, limit: Measure) -> Measure {
    let (below, above) = limit.spread(Measure::parse("1e-15").unwrap_or(Measure::ZERO));
    if matches!(kernel.bound(), crate::Bound::AtLeast(_)) { below } else { above }
}

/// Reads the text after a value: the second value of a range, an uncertainty, a change, or a clean end. Before any other
/// text the value is unusable.
fn read_rest(
    tokens: &Tokens<'_>,
    kernel: Kernel,
    value: Measure,
    next: usize,
    (from, value_from): (usize, usize),
    readings: &mut Readings,
) -> usize {
    let limit = Some(kernel.bound().limit());
    let clean = |at: usize| {
        value_at(tokens, skip_connectors(tokens, at)).filter(|(_, end)| broken_end(tokens, *end, limit).is_none())
    };
    let plus_minus = if tokens.is_sign(next, '±') {
        1
    } else if tokens.is_sign(next, '+') && tokens.is_sign(next + 1, '-') {
        2
    } else if tokens.is_sign(next, '+') && tokens.is_sign(next + 1, '/') && tokens.is_sign(next + 2, '-') {
        3
    } else {
        0
    };
    if plus_minus > 0
        && let Some((by, end)) = clean(next + plus_minus)
    {
        let (low, high) = value.spread(by);
        readings.add(kernel, low);
        readings.add(kernel, high);
        return end;
    }
    // 0.96-0.98: adds both ends.
    let is_range = tokens.is_sign(next, '-') && tokens.kind(next + 1) == Some(Kind::Number);
    if is_range && let Some((high, end)) = clean(next + 1) {
        readings.add(kernel, value);
        readings.add(kernel, high);
        return end;
    }
    if let Some((latest, end)) = changed(tokens, next, (from, value_from)).and_then(clean) {
        return read_rest(tokens, kernel, latest, end, (next, next), readings);
    }
    if let Some(end) = broken_end(tokens, next, limit) {
        readings.add_unusable(kernel);
        return end;
    }
    // "0.974 required" repeats the rule and is no reading.
    let behind = tokens.kind(next + 1);
    if Some(value) == limit
        && tokens.is(next, List::Limit)
        && matches!(behind, None | Some(Kind::Stop(_) | Kind::Sign(',' | ')')))
    {
        readings.add_unusable(kernel);
        return next + 1;
    }
    readings.add(kernel, value);
    next
}

/// "from 0.99 to 0.90", "0.99 → 0.90", "was 0.90, now 0.98": the position of the later value, which counts. "0.5 to
/// 0.05" is a range unless it begins with "from".
pub(super) fn changed(tokens: &Tokens<'_>, next: usize, (from, value_from): (usize, usize)) -> Option<usize> {
    if tokens.is_sign(next, '→') {
        return Some(next + 1);
    }
    if tokens.is_sign(next, '-') && tokens.is_sign(next + 1, '>') {
        return Some(next + 2);
    }
    let later = next + usize::from(tokens.is_sign(next, ','));
    let says = |word: &str| (from..value_from).any(|at| tokens.word(at) == word);
    let is_change = tokens.word(next) == "to" && says("from")
        || ["now", "then"].contains(&tokens.word(later)) && (says("was") || says("from"));
    is_change.then_some(later + 1)
}

/// "0.974 for Φζ": a number directly before the name that belongs to no other name.
fn value_before(tokens: &Tokens<'_>, start: usize, free_from: usize) -> Option<(Measure, usize)> {
    let mut at = start;
    while at > free_from
        && (["for", "on", "in", "as", "fur", "pour"].contains(&tokens.word(at - 1)) || tokens.is_sign(at - 1, '='))
    {
        at -= 1;
    }
    let is_percent = at > free_from && tokens.is_sign(at - 1, '%');
    let number = at.checked_sub(1 + usize::from(is_percent)).filter(|number| *number >= free_from)?;
    let value = tokens.decimal(number)?;
    Some((if is_percent { value.percent() } else { value }, number))
}
