//! Parses numbers as people write them, and checks the text after each.

use super::token::{Kind, Tokens};
use crate::measure::Measure;

const DIGIT_WORDS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const TENS_WORDS: [&str; 10] =
    ["", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

const TEEN_WORDS: [&str; 9] =
    ["eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];

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
    let decimal = |at: usize| digit(at).or_else(|| ["oh", "nought"].contains(&tokens.word(at)).then_some(0));
    if tokens.word(at) == "point" && decimal(at + 1).is_some() {
        written.push('.');
        at += 1;
        while let Some(next) = decimal(at) {
            written.push_str(&next.to_string());
            at += 1;
        }
    }
    Some((Measure::parse(&written)?, at))
}

/// Words that continue a number: "zero comma five", "five tenths", "ten times three".
const JOINING: [&str; 19] = [
    "comma",
    "dot",
    "point",
    "oh",
    "times",
    "plus",
    "minus",
    "divided",
    "multiplied",
    "x",
    "e",
    "tenth",
    "tenths",
    "hundredth",
    "hundredths",
    "thousandth",
    "thousandths",
    "squared",
    "exp",
];

/// Arithmetic signs: the number before one is not the value.
const OPERATORS: [char; 8] = ['×', '+', '^', '÷', '·', '⋅', '∗', '∙'];

pub(super) fn is_spelled(word: &str) -> bool {
    !word.is_empty()
        && (DIGIT_WORDS.contains(&word)
            || TENS_WORDS.contains(&word)
            || TEEN_WORDS.contains(&word)
            || ["oh", "nought", "half"].contains(&word))
}

/// Whether a token is a number of any kind, in digits or in words.
pub(super) fn is_numeric(tokens: &Tokens<'_>, at: usize) -> bool {
    match tokens.kind(at) {
        Some(Kind::Number | Kind::Malformed) => true,
        Some(Kind::Sign(sign)) => sign.is_numeric(),
        Some(Kind::Word) => is_spelled(tokens.word(at)),
        _ => false,
    }
}

/// Whether a number is written as a share: with decimals, an exponent or a percent sign.
pub(super) fn is_decimal(tokens: &Tokens<'_>, at: usize) -> bool {
    let has_decimals = tokens.str(at).trim_start_matches('.').contains(['.', ',', 'e']);
    tokens.kind(at) == Some(Kind::Number) && (has_decimals || tokens.str(at).starts_with('.'))
        || matches!(tokens.kind(at + 1), Some(Kind::Sign('%' | '‰')))
        || ["percent", "pct", "prozent", "pourcent", "procent"].contains(&tokens.word(at + 1))
}

/// Whether a number is no count: "5" alone, but not "5 minutes" or "200-pair".
pub(super) fn is_loose(tokens: &Tokens<'_>, at: usize) -> bool {
    if !is_numeric(tokens, at) || tokens.word(at) == "one" && !JOINING.contains(&tokens.word(at + 1)) {
        return false;
    }
    let is_hyphen = tokens.is_sign(at + 1, '-') && tokens.touches_next(at) && tokens.touches_next(at + 1);
    let noun = tokens.word(at + 1 + usize::from(is_hyphen));
    noun.is_empty() || JOINING.contains(&noun) || is_spelled(noun)
}

/// The token after the numbers that begin within four tokens.
fn past_numbers(tokens: &Tokens<'_>, from: usize) -> usize {
    let Some(mut at) = (from..from + 4).find(|at| is_numeric(tokens, *at)) else { return from };
    loop {
        while is_numeric(tokens, at) {
            at += 1;
        }
        let mut behind = at;
        while behind < at + 3
            && matches!(tokens.kind(behind), Some(Kind::Sign(sign)) if OPERATORS.contains(&sign) || "*/-".contains(sign))
        {
            behind += 1;
        }
        if behind == at || !is_numeric(tokens, behind) {
            return at;
        }
        at = behind;
    }
}

/// Checks the text after a number. It must be a clean end: a separator, a bracket or a word. Otherwise the number is
/// part of an expression that the reader does not understand, and the result is the token after the whole expression.
/// `limit` is a number that may follow any value.
pub(super) fn broken_end(tokens: &Tokens<'_>, next: usize, limit: Option<Measure>) -> Option<usize> {
    let touches = next > 0 && tokens.touches_next(next - 1);
    let is_limit = |at: usize| limit.is_some() && value_at(tokens, at).map(|(value, _)| value) == limit;
    let behind = next + 1;
    let is_broken = match tokens.kind(next)? {
        Kind::Number | Kind::Malformed => !is_limit(next),
        Kind::Word => JOINING.contains(&tokens.word(next)) || is_spelled(tokens.word(next)) && is_loose(tokens, next),
        Kind::Stop('.') => {
            let is_ratio = tokens.is_sign(behind + 1, '/');
            let is_number = !is_ratio && !is_decimal(tokens, behind) && is_loose(tokens, behind);
            // "0 .5", in any spelling of the 5: a full stop touches the word before it.
            let is_point = !touches && tokens.touches_next(next);
            is_point || tokens.touches_next(next) && is_numeric(tokens, behind) || is_number
        }
        Kind::Stop('!' | '?') => touches && tokens.touches_next(next) && is_numeric(tokens, behind),
        Kind::Stop(_) => false,
        Kind::Sign(',') => {
            let doubled = matches!(tokens.kind(behind), Some(Kind::Sign(',') | Kind::Stop('.')));
            doubled || is_loose(tokens, behind) && !is_decimal(tokens, behind) && !tokens.is_sign(behind + 1, '/')
        }
        Kind::Sign('/') => is_numeric(tokens, behind) && !is_decimal(tokens, behind) && !is_limit(behind),
        Kind::Sign('…') => !is_decimal(tokens, behind),
        Kind::Sign('\'' | '_' | '"' | '`' | ':') => tokens.touches_next(next) && is_numeric(tokens, behind),
        Kind::Sign('*') => {
            let last = (next..next + 4).find(|at| !tokens.is_sign(*at, '*')).unwrap_or(next);
            is_numeric(tokens, last)
        }
        Kind::Sign('(') => {
            matches!(tokens.kind(behind), Some(Kind::Sign(sign)) if OPERATORS.contains(&sign) || sign == '*')
        }
        Kind::Sign(
            '|' | ')' | ']' | '}' | '$' | '&' | '~' | '≈' | '=' | '<' | '>' | '≤' | '≥' | '≧' | '≦' | '⩽' | '⩾',
        ) => false,
        // "0.05-" may be a negative number, as in accounting.
        Kind::Sign('-') => {
            touches
                && !tokens.is_sign(behind, '>')
                && matches!(tokens.kind(behind), None | Some(Kind::Stop(_) | Kind::Sign(_)))
        }
        Kind::Sign('→' | '±') => false,
        Kind::Sign(_) => touches || is_numeric(tokens, behind),
    };
    is_broken.then(|| past_numbers(tokens, next).max(behind))
}
