//! Codes in the disguises that a model or an author might write.

use testkit::Random;

const DIGITS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const TEENS: [&str; 10] =
    ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// A token in one disguise, or in several at once.
pub(crate) fn disguised(draw: &mut Random, token: &str) -> String {
    let apart = |with: &str| token.chars().map(|c| c.to_string()).collect::<Vec<_>>().join(with);
    match draw.below(18) {
        0 => token.to_owned(),
        1 => token.to_lowercase(),
        2 => apart(" "),
        3 => apart("\u{200b}"),
        4 => apart("."),
        5 => token.chars().map(full_width).collect(),
        6 => token.chars().map(|c| format!("&#{};", c as u32)).collect(),
        7 => token.chars().map(|c| format!("\\u{:04x}", c as u32)).collect(),
        8 => token.chars().rev().collect(),
        9 => format!("\u{202e}{}", token.chars().rev().collect::<String>()),
        10 => apart("<i></i>"),
        11 => token.bytes().map(|b| format!("%{b:02X}")).collect(),
        12 => token.chars().map(look_alike).collect(),
        13 => token.chars().map(mathematical).collect(),
        14 => spelled(token, |number| {
            number.to_string().bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect::<Vec<_>>().join(" ")
        }),
        15 => spelled(token, in_pairs),
        // Another disguise for every character.
        16 => token.chars().map(|c| mixed(draw, c)).collect(),
        _ => split(draw, token),
    }
}

fn full_width(c: char) -> char {
    if c.is_ascii_graphic() { char::from_u32(c as u32 + 0xfee0).unwrap_or(c) } else { c }
}

/// Cyrillic and Greek letters that look like those of [`super::code`].
fn look_alike(c: char) -> char {
    match c {
        'X' => 'Х',
        'K' => 'К',
        'J' => 'Ј',
        'Z' => 'Ζ',
        'Q' => 'Ԛ',
        other => other,
    }
}

fn mathematical(c: char) -> char {
    let of = |first: u32, from: char| char::from_u32(first + (c as u32 - from as u32)).unwrap_or(c);
    match c {
        '0'..='9' => of(0x1d7ce, '0'),
        'A'..='Z' => of(0x1d400, 'A'),
        other => other,
    }
}

/// The digits before the hyphen in words, the rest as it is.
fn spelled(token: &str, words: impl Fn(&str) -> String) -> String {
    let (digits, rest) = token.split_once('-').unwrap();
    format!("{} {rest}", words(digits))
}

/// "4471" as "forty-four seventy-one", and "0507" as "zero five zero seven".
fn in_pairs(digits: &str) -> String {
    let pair = |pair: &str| {
        let digit = |at: usize| usize::from(pair.as_bytes()[at] - b'0');
        match (digit(0), digit(1)) {
            (0, one) => format!("zero {}", DIGITS[one]),
            (1, one) => TEENS[one].to_owned(),
            (ten, 0) => TENS[ten].to_owned(),
            (ten, one) => format!("{}-{}", TENS[ten], DIGITS[one]),
        }
    };
    format!("{} {}", pair(&digits[..2]), pair(&digits[2..]))
}

fn mixed(draw: &mut Random, c: char) -> String {
    match draw.below(6) {
        0 => full_width(c).to_string(),
        1 => format!("&#x{:x};", c as u32),
        2 => look_alike(c).to_string(),
        3 => mathematical(c).to_string(),
        4 => format!("{c}\u{200d}"),
        _ => c.to_lowercase().to_string(),
    }
}

/// The token in two or three parts.
fn split(draw: &mut Random, token: &str) -> String {
    let at = 1 + draw.below(token.len() as u64 - 1) as usize;
    let between = draw.pick(&["\n", " / ", "</b><b>", " - ", "_", "\u{ad}", "  ", "·"]).unwrap();
    format!("{}{between}{}", &token[..at], &token[at..])
}
