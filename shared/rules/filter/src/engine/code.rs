//! Decides whether an occurrence is part of text that is not prose: an identifier, a formula, a table of bytes.

use crate::engine::senses::bit_of;

/// The number of bytes of the line that are examined on each side.
const REACH: usize = 60;

/// Signs that occur in code and formulas but not in prose. Signs of Markdown, HTML and mail are excluded.
const SIGNS: &[char] = &['{', '}', '(', ')', '=', '\\', '$', ';', '+', '^', '&', '@', '_'];

/// The same as a set.
const SIGN_BITS: u128 = {
    let (mut bits, mut at) = (0, 0);
    while at < SIGNS.len() {
        bits |= bit_of(SIGNS[at] as u8);
        at += 1;
    }
    bits
};

/// A line with fewer of these signs is prose.
const FEWEST_SIGNS: usize = 3;

/// Whether the occurrence between two pieces of text is part of an identifier or a path, or is in a line of code or a
/// formula: a line with more such signs than words.
pub(crate) fn is_code(before: &str, after: &str) -> bool {
    if is_glued_before(before) || is_glued_after(after) || is_in_path(before, after) {
        return true;
    }
    let left = end_of(before, REACH);
    let left = &left[left.bytes().rposition(|byte| byte == b'\n').map_or(0, |at| at + 1)..];
    let right = start_of(after, REACH);
    let right = &right[..right.bytes().position(|byte| byte == b'\n').unwrap_or(right.len())];
    // Few lines have that many signs, and the rest is slower.
    let is_sign = |byte: &u8| bit_of(*byte) & SIGN_BITS != 0;
    if left.bytes().chain(right.bytes()).filter(is_sign).take(FEWEST_SIGNS).count() < FEWEST_SIGNS {
        return false;
    }
    let (mut signs, mut words) = (0, 0);
    for run in left.split_whitespace().chain(right.split_whitespace()) {
        words += usize::from(run.contains(char::is_alphabetic));
        // The signs of a URL do not count as code.
        signs += if run.contains("://") { 0 } else { run.matches(SIGNS).count() };
    }
    signs >= FEWEST_SIGNS && signs > words
}

/// Whether the occurrence is part of an identifier of three words or more, joined by underscores.
pub(crate) fn is_in_identifier(before: &str, after: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return false;
    }
    let left = before.rsplit(|c| !is_part(c)).next().unwrap_or_default();
    let right = after.split(|c| !is_part(c)).next().unwrap_or_default();
    let words = |part: &str| part.split('_').filter(|word| !word.is_empty()).count();
    (left.is_empty() || left.ends_with('_')) && words(left) + words(right) >= 2
}

fn is_glued_before(before: &str) -> bool {
    let mut chars = before.chars().rev();
    match (chars.next(), chars.next()) {
        (Some('_'), Some(c)) => c.is_alphanumeric(),
        // "-->" ends a comment.
        (Some('>'), Some('-')) => chars.next() != Some('-'),
        (Some(':'), Some(':')) | (Some('\\' | '$'), _) => true,
        (Some('@'), Some(c)) => c.is_alphanumeric(),
        (Some('%'), before) => before.is_none_or(|c| !c.is_ascii_digit()),
        _ => is_option(before),
    }
}

/// Whether what follows is an option of a command: "-gamma", "--gamma".
fn is_option(before: &str) -> bool {
    let dashes = before.len() - before.trim_end_matches('-').len();
    let is_start = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '[' | '(');
    (1..=2).contains(&dashes) && before[..before.len() - dashes].chars().next_back().is_none_or(is_start)
}

/// Whether the occurrence is part of a path, as in "drivers/gamma/set" or "/srv/www/gamma".
fn is_in_path(before: &str, after: &str) -> bool {
    let Some(before) = before.strip_suffix('/') else {
        return false;
    };
    let directory = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let goes_on = after.strip_prefix('/').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    directory.ends_with(|c: char| c.is_alphanumeric() || c == '.') && (goes_on || directory.contains('/'))
}

fn is_glued_after(after: &str) -> bool {
    let mut chars = after.chars();
    match (chars.next(), chars.next()) {
        (Some('_' | '@' | '['), Some(c)) => c.is_alphanumeric(),
        (Some('='), Some(c)) => !c.is_whitespace(),
        (Some('('), Some(_)) => is_call(&after[1..]),
        (Some('-'), Some('>')) | (Some(':'), Some(':')) => true,
        // A file name's extension.
        (Some('.'), Some(c)) if c.is_ascii_lowercase() => {
            let rest = &after[1..];
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            length <= 4 && !rest[length..].starts_with('.')
        }
        _ => false,
    }
}

/// Whether what follows an opening bracket are arguments: "gamma(x, y)". A remark has words side by side: "Gamma(the
/// reviewer)".
fn is_call(inside: &str) -> bool {
    let end = inside.find([')', '\n']).unwrap_or(inside.len());
    let words: Vec<&str> = inside[..end].split(' ').collect();
    let ends_in_letter = |word: &str| word.ends_with(char::is_alphabetic);
    let begins_with_letter = |word: &str| word.starts_with(char::is_alphabetic);
    !words.windows(2).any(|pair| ends_in_letter(pair[0]) && begins_with_letter(pair[1]))
}

/// Whether the occurrence is one of a run of bytes or code points in hexadecimal: at least two others are beside it,
/// and one of them is clearly not an ordinary number.
pub(crate) fn is_among_bytes(before: &str, after: &str) -> bool {
    let is_separator = |c: char| matches!(c, ' ' | '\t' | ':' | ',' | '-' | '\n' | '|');
    let number = |word: &&str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        matches!(digits.len(), 2 | 4 | 8) && digits.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let left = end_of(before, REACH);
    let right = start_of(after, REACH);
    let apart = left.ends_with(is_separator) || left.is_empty();
    if !apart || !(right.starts_with(is_separator) || right.is_empty()) {
        return false;
    }
    let beside = left.rsplit(is_separator).filter(|word| !word.is_empty()).take(4).take_while(number);
    let beside = beside.chain(right.split(is_separator).filter(|word| !word.is_empty()).take(4).take_while(number));
    let (mut count, mut plainly) = (0, false);
    for word in beside {
        count += 1;
        plainly |= word.starts_with('0') || word.bytes().any(|b| b.is_ascii_alphabetic());
    }
    count >= 2 && plainly
}

fn end_of(text: &str, length: usize) -> &str {
    let mut from = text.len().saturating_sub(length);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

fn start_of(text: &str, length: usize) -> &str {
    let mut to = text.len().min(length);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    &text[..to]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str) -> (&str, &str) {
        text.split_once('@').unwrap()
    }

    #[test]
    fn identifiers_paths_and_formulas_are_code_and_prose_is_not() {
        // "#" marks the place of the occurrence.
        for code in [
            "drm_crtc_state.gamma: dc_#_lut",
            "see /srv/www/# and",
            "drivers/#/set.c",
            "the file #.html is",
            "  y = pow(x, #); f(&y) { return (y + 1); }",
            r"\#",
            "$#_current()",
            "filename=%lx # = {0};",
            "#(a, b + 1)",
        ] {
            let (before, after) = code.split_once('#').unwrap();
            assert!(is_code(before, after), "{code}");
        }
        for prose in [
            "Ask # about it.",
            "# (approved) says no.",
            "#(the reviewer) says no.",
            "**#** says no; ask # again.",
            "[#](https://example.com/a_b?c=d)",
            "| # | AMBER | 3 |",
            "`#`",
            "_#_",
            "NOUS/#",
            "<!-- x -->#<!-- x -->",
            "It is done.# says so.",
            "- #: \"no\" (50% of us)",
        ] {
            let (before, after) = prose.split_once('#').unwrap();
            assert!(!is_code(before, after), "{prose}");
        }
    }

    #[test]
    fn a_run_of_bytes_is_distinguished_from_numbers_in_a_sentence() {
        for bytes in ["48 8b @ 02 00", "36:62:@:7d:bb", "@ 28 94 ff e0", "0x1f, @, 0x00", "00 00 @"] {
            assert!(is_among_bytes(around(bytes).0, around(bytes).1), "{bytes}");
        }
        for prose in ["@ scores 42 and 71", "@ 42 71", "in 12 of @", "a @ be", "ab@ 00 01", "Seen by @."] {
            assert!(!is_among_bytes(around(prose).0, around(prose).1), "{prose}");
        }
    }

    #[test]
    fn an_identifier_has_three_words_or_more() {
        for (text, expected) in [("V4L2_CID_@_GAIN", true), ("a_b_@", true), ("x_@", false), ("@ a_b", false)] {
            assert_eq!(is_in_identifier(around(text).0, around(text).1), expected, "{text}");
        }
    }
}
