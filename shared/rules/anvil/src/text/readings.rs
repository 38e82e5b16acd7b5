//! Finds the values of the five kernels, however they are written.

use super::token::{Kind, Tokens};
use super::vocabulary::{List, is_word};
use crate::{kernel::Kernel, load::Readings, measure::Measure};

/// What a text says about kernels.
pub(super) struct Found {
    pub(super) readings: Readings,
    /// Whether one is named with or without a value.
    pub(super) are_named: bool,
}

/// How the two halves of a name are spelled, folded.
const SPELLINGS: [(Kernel, [&[&str]; 2]); 5] = [
    (Kernel::PhiZeta, [&["φ", "phi", "fi"], &["ζ", "zeta", "zêta", "dzeta"]]),
    (Kernel::PsiChi, [&["ψ", "psi"], &["χ", "chi", "khi"]]),
    (Kernel::DeltaGamma, [&["δ", "delta"], &["γ", "gamma"]]),
    (Kernel::OmegaQ, [&["ω", "omega"], &["q"]]),
    (Kernel::LambdaC, [&["λ", "lambda"], &["c", "crit", "critical"]]),
];

/// Words and signs that make a number a bound instead of a value.
const UPPER: [&str; 6] = ["below", "under", "less", "most", "unter", "menos"];
const LOWER: [&str; 8] = ["above", "over", "more", "least", "exceeds", "exceeding", "uber", "mas"];

const DIGIT_WORDS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const TENS_WORDS: [&str; 10] =
    ["", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

const TEEN_WORDS: [&str; 9] =
    ["eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];

/// Reads the whole text.
pub(super) fn find(tokens: &Tokens<'_>) -> Found {
    let mut found = Found { readings: Readings::default(), are_named: false };
    let mut at = 0;
    // Numbers before this token belong to a kernel already.
    let mut free_from = 0;
    while at < tokens.len() {
        let Some((kernel, end)) = name_at(tokens, at) else {
            at += 1;
            continue;
        };
        found.are_named = true;
        let names = names_in_row(tokens, kernel, end);
        let next = match read_row(tokens, &names, &mut found.readings) {
            Some(next) => next,
            None => read_alone(tokens, at, free_from, &names, &mut found.readings),
        };
        free_from = next;
        at = next;
    }
    found
}

/// The kernel whose name begins at a token, and the token behind it.
fn name_at(tokens: &Tokens<'_>, at: usize) -> Option<(Kernel, usize)> {
    let word = tokens.word(at);
    let first = word.chars().next()?;
    if !matches!(first, 'φ' | 'ψ' | 'δ' | 'ω' | 'λ' | 'p' | 'f' | 'd' | 'o' | 'l') {
        return None;
    }
    for (kernel, [firsts, seconds]) in SPELLINGS {
        let Some(rest) = firsts.iter().find_map(|half| word.strip_prefix(half)) else { continue };
        if !rest.is_empty() {
            if seconds.contains(&rest) {
                return Some((kernel, at + 1));
            }
            continue;
        }
        // Φ_ζ, Phi-zeta, \Phi_{\zeta}, Φ ζ: at most four signs between the halves.
        let mut behind = at + 1;
        while behind < at + 5
            && matches!(tokens.kind(behind), Some(Kind::Sign('_' | '-' | '\\' | '{' | '}' | '$' | '*')))
        {
            behind += 1;
        }
        if seconds.contains(&tokens.word(behind)) {
            return Some((kernel, behind + 1));
        }
        // λ alone, with its sign, can be nothing else.
        if word == "λ" && matches!(tokens.kind(at + 1), Some(Kind::Sign('=' | ':'))) {
            return Some((kernel, at + 1));
        }
    }
    None
}

/// The kernels that are named one after the other, with nothing but separators between them, and the token behind.
fn names_in_row(tokens: &Tokens<'_>, first: Kernel, end: usize) -> (Vec<Kernel>, usize) {
    let (mut names, mut behind) = (vec![first], end);
    loop {
        let mut at = behind;
        while matches!(tokens.kind(at), Some(Kind::Sign(',' | '/' | '&' | '|' | '(' | '{' | '$')))
            || tokens.word(at) == "and"
        {
            at += 1;
        }
        match name_at(tokens, at) {
            Some((kernel, end)) => {
                names.push(kernel);
                behind = end;
            }
            None => return (names, behind),
        }
    }
}

/// Reads as many values as there are names in a row: "Φζ, Ψχ = 0.98, 0.05", or the two lines of a table.
fn read_row(tokens: &Tokens<'_>, (names, end): &(Vec<Kernel>, usize), readings: &mut Readings) -> Option<usize> {
    if names.len() < 2 {
        return None;
    }
    let mut values = Vec::with_capacity(names.len());
    let mut at = *end;
    // The line below a table's head.
    while matches!(tokens.kind(at), Some(Kind::Sign('|' | '-' | ':') | Kind::Stop('\n' | '\r'))) {
        at += 1;
    }
    at = skip_connectors(tokens, at);
    while values.len() < names.len() {
        let (value, next) = value_at(tokens, at)?;
        values.push(value);
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
    if values.len() != names.len() {
        return None;
    }
    for (kernel, value) in names.iter().zip(values) {
        readings.add(*kernel, value);
    }
    Some(at)
}

/// Reads the value behind the last name of a row, or the one before a single name. Returns the token to go on from.
fn read_alone(
    tokens: &Tokens<'_>,
    start: usize,
    free_from: usize,
    (names, end): &(Vec<Kernel>, usize),
    readings: &mut Readings,
) -> usize {
    let Some(kernel) = names.last().copied() else { return *end };
    if is_limit_before(tokens, start, free_from) {
        return value_at(tokens, skip_connectors(tokens, *end)).map_or(*end, |(_, next)| next);
    }
    let mut at = skip_connectors(tokens, *end);
    if is_word(List::Limit, tokens.word(at)) {
        // "Φζ must be ≥ 0.974": the rule, not a reading. Its number is nobody's.
        while !matches!(tokens.kind(at), None | Some(Kind::Number | Kind::Stop(_))) && name_at(tokens, at).is_none() {
            at += 1;
        }
        return if tokens.kind(at) == Some(Kind::Number) { at + 1 } else { at };
    }
    if tokens.word(at) == "between" {
        let ends = value_at(tokens, at + 1).and_then(|(low, and)| Some((low, value_at(tokens, and + 1)?)));
        if let Some((low, (high, next))) = ends {
            readings.add(kernel, low);
            readings.add(kernel, high);
            return next;
        }
    }
    if let Some((is_lower, behind)) = comparison_at(tokens, at) {
        let at = skip_connectors(tokens, behind);
        let Some((value, next)) = value_at(tokens, at) else { return behind };
        // A bound on the wrong side proves a breach; on the right side it proves nothing that was measured.
        let breaches = match kernel.bound() {
            crate::Bound::AtLeast(limit) => !is_lower && value <= limit,
            crate::Bound::AtMost(limit) => is_lower && value >= limit,
        };
        if breaches && !kernel.bound().admits(value) {
            readings.add(kernel, value);
        } else if breaches {
            readings.add(kernel, just_beyond(kernel, value));
        }
        return next;
    }
    match value_at(tokens, at) {
        Some((value, next)) => read_rest(tokens, kernel, value, next, readings),
        None if matches!(tokens.kind(at), Some(Kind::Malformed | Kind::Number)) => {
            readings.add_unusable(kernel);
            at + 1
        }
        None => {
            if names.len() == 1
                && let Some(value) = value_before(tokens, start, free_from)
            {
                readings.add(kernel, value);
            }
            *end
        }
    }
}

/// "Ψχ > 0.15" is a breach whose value is not known: the next larger one stands for it.
fn just_beyond(kernel: Kernel, limit: Measure) -> Measure {
    let (below, above) = limit.spread(Measure::parse("1e-15").unwrap_or(Measure::ZERO));
    if matches!(kernel.bound(), crate::Bound::AtLeast(_)) { below } else { above }
}

/// What may follow a value: a second one after a range, an uncertainty or a change.
fn read_rest(tokens: &Tokens<'_>, kernel: Kernel, value: Measure, next: usize, readings: &mut Readings) -> usize {
    let second = |at: usize| value_at(tokens, skip_connectors(tokens, at));
    if tokens.is_sign(next, '±')
        && let Some((by, end)) = second(next + 1)
    {
        let (low, high) = value.spread(by);
        readings.add(kernel, low);
        readings.add(kernel, high);
        return end;
    }
    // 0.96-0.98, 0.96..0.98: both ends.
    let is_range = tokens.is_sign(next, '-') && tokens.kind(next + 1) == Some(Kind::Number);
    if is_range && let Some((high, end)) = second(next + 1) {
        readings.add(kernel, value);
        readings.add(kernel, high);
        return end;
    }
    // "from 0.99 to 0.90", "0.99 → 0.90", "was 0.90, now 0.98": the later one counts.
    let is_arrow = tokens.is_sign(next, '→') || tokens.is_sign(next, '-') && tokens.is_sign(next + 1, '>');
    let later = next + usize::from(tokens.is_sign(next, ','));
    let is_change = is_arrow || tokens.word(next) == "to" || ["now", "then"].contains(&tokens.word(later));
    let after_arrow = if is_arrow && tokens.is_sign(next, '-') { next + 2 } else { later + 1 };
    if is_change && let Some((latest, end)) = second(after_arrow) {
        readings.add(kernel, latest);
        return end;
    }
    readings.add(kernel, value);
    next
}

/// "threshold for Φζ", "minimum Φζ": the number behind is no reading.
fn is_limit_before(tokens: &Tokens<'_>, start: usize, free_from: usize) -> bool {
    let mut at = start;
    while at > free_from && ["for", "of", "on", "the", "de", "fur"].contains(&tokens.word(at - 1)) {
        at -= 1;
    }
    let before = if at > free_from { tokens.word(at - 1) } else { "" };
    let is_direct = ["minimum", "maximum", "min", "max"].contains(&before);
    is_direct || at < start && is_word(List::Limit, before)
}

fn skip_connectors(tokens: &Tokens<'_>, from: usize) -> usize {
    let mut at = from;
    let limit = from + 10;
    while at < limit {
        match tokens.kind(at) {
            Some(Kind::Sign(
                '=' | ':' | '|' | '"' | '\'' | '`' | '*' | '}' | ')' | ']' | '$' | '~' | '≈' | '≃' | '_',
            )) => at += 1,
            Some(Kind::Sign('(')) => match gloss_end(tokens, at) {
                Some(end) => at = end,
                None => at += 1,
            },
            // A dash between name and value; a minus sign touches its number.
            Some(Kind::Sign('-')) if !tokens.touches_next(at) || tokens.is_sign(at + 1, '-') => at += 1,
            Some(Kind::Word) if is_word(List::Connector, tokens.word(at)) => at += 1,
            _ => break,
        }
    }
    at
}

/// The end of a bracket without a number, such as "(coherence)".
fn gloss_end(tokens: &Tokens<'_>, open: usize) -> Option<usize> {
    for at in open + 1..open + 8 {
        match tokens.kind(at)? {
            Kind::Sign(')') => return Some(at + 1),
            Kind::Number | Kind::Malformed | Kind::Stop(_) => return None,
            _ => {}
        }
    }
    None
}

/// A comparison: whether the number is a lower bound of the value, and the token behind.
fn comparison_at(tokens: &Tokens<'_>, at: usize) -> Option<(bool, usize)> {
    match tokens.kind(at)? {
        Kind::Sign('≥' | '≧' | '⩾') => Some((true, at + 1)),
        Kind::Sign('≤' | '≦' | '⩽') => Some((false, at + 1)),
        Kind::Sign(sign @ ('<' | '>')) => Some((sign == '>', at + 1 + usize::from(tokens.is_sign(at + 1, '=')))),
        Kind::Word if UPPER.contains(&tokens.word(at)) => {
            Some((false, at + 1 + usize::from(tokens.word(at + 1) == "than")))
        }
        Kind::Word if LOWER.contains(&tokens.word(at)) => {
            Some((true, at + 1 + usize::from(tokens.word(at + 1) == "than")))
        }
        _ => None,
    }
}

/// A value at this token: a decimal, a percentage, a fraction, or a number in words.
pub(super) fn value_at(tokens: &Tokens<'_>, at: usize) -> Option<(Measure, usize)> {
    let negative = tokens.is_sign(at, '-') && tokens.touches_next(at);
    let from = at + usize::from(negative || tokens.is_sign(at, '+'));
    let (value, next) = match tokens.kind(from)? {
        Kind::Number => (tokens.decimal(from)?, from + 1),
        Kind::Word => in_words(tokens, from)?,
        _ => return None,
    };
    let value = if negative { Measure::ZERO.spread(value).0 } else { value };
    if tokens.is_sign(next, '%') {
        return Some((value.percent(), next + 1));
    }
    if tokens.is_sign(next, '‰') {
        return Some((value.permille(), next + 1));
    }
    let is_percent = ["percent", "pct", "prozent", "pourcent", "procent"].contains(&tokens.word(next));
    if is_percent {
        return Some((value.percent(), next + 1));
    }
    let is_two_words = [("per", "cent"), ("pour", "cent"), ("por", "ciento"), ("por", "cento")]
        .contains(&(tokens.word(next), tokens.word(next + 1)));
    if is_two_words {
        return Some((value.percent(), next + 2));
    }
    if tokens.is_sign(next, '/') {
        if tokens.str(next + 1) == "100" {
            return Some((value.percent(), next + 2));
        }
        // 19/20; "0.98/0.974" is a value beside its threshold.
        if let (false, Some(numerator), Some(denominator)) =
            (tokens.str(from).contains(['.', ',']), tokens.count(from), tokens.count(next + 1))
            && numerator <= denominator
            && denominator > 1
        {
            return Some((Measure::ratio(numerator, denominator)?, next + 2));
        }
    }
    Some((value, next))
}

/// "zero point nine seven four", "ninety-seven point four percent".
fn in_words(tokens: &Tokens<'_>, from: usize) -> Option<(Measure, usize)> {
    let digit = |at: usize| DIGIT_WORDS.iter().position(|word| *word == tokens.word(at));
    let mut at = from;
    let mut written = match TENS_WORDS.iter().position(|word| !word.is_empty() && *word == tokens.word(at)) {
        Some(tens) => {
            at += 1;
            let unit_at = at + usize::from(tokens.is_sign(at, '-'));
            let unit = digit(unit_at).filter(|unit| *unit > 0);
            if unit.is_some() {
                at = unit_at + 1;
            }
            (tens * 10 + unit.unwrap_or(0)).to_string()
        }
        None => match tokens.word(at) {
            "nought" | "oh" => {
                at += 1;
                "0".to_owned()
            }
            "point" if digit(at + 1).is_some() => "0".to_owned(),
            teen if TEEN_WORDS.contains(&teen) => {
                at += 1;
                (11 + TEEN_WORDS.iter().position(|word| *word == teen).unwrap_or(0)).to_string()
            }
            _ => {
                let unit = digit(at)?;
                at += 1;
                // "Φζ is one of five": only a fraction, a percentage or zero is a value.
                let goes_on = ["point", "percent", "per"].contains(&tokens.word(at)) || tokens.is_sign(at, '%');
                if unit != 0 && !goes_on {
                    return None;
                }
                unit.to_string()
            }
        },
    };
    if tokens.word(at) == "point" && digit(at + 1).is_some() {
        written.push('.');
        at += 1;
        while let Some(next) = digit(at) {
            written.push_str(&next.to_string());
            at += 1;
        }
    }
    Some((Measure::parse(&written)?, at))
}

/// "0.974 for Φζ": a number directly before the name that belongs to no other.
fn value_before(tokens: &Tokens<'_>, start: usize, free_from: usize) -> Option<Measure> {
    let mut at = start;
    while at > free_from
        && (["for", "on", "in", "as", "fur", "pour"].contains(&tokens.word(at - 1)) || tokens.is_sign(at - 1, '='))
    {
        at -= 1;
    }
    let is_percent = at > free_from && tokens.is_sign(at - 1, '%');
    let number = at.checked_sub(1 + usize::from(is_percent)).filter(|number| *number >= free_from)?;
    let value = tokens.decimal(number)?;
    Some(if is_percent { value.percent() } else { value })
}
