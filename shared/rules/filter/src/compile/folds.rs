//! Gives every Unicode character its class: the private tables first, then compatibility decomposition
//! without marks, then the skeleton of UTS #39.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::compile::lookalikes::{Private, only_char};
use crate::engine::lists::{Class, FIRST_SPECIAL, Symbols, ascii_symbol, kind};

/// The folds of all characters, and the classes that they refer to.
pub(crate) struct Folds {
    pub(crate) classes: Vec<Class>,
    pub(crate) expansions: Vec<Vec<u8>>,
    pub(crate) pages: Vec<u16>,
    pub(crate) folds: Vec<u16>,
}

/// Whether a character is ignored: letters that look like a separator or like nothing, and ranges that Unicode marks as
/// ignorable.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' | '\u{1f3fb}'..='\u{1f3ff}')
        || is_combining_mark(c)
        || (c.is_control() && !c.is_whitespace())
}

/// The ASCII letters and digits of a folded text; `None` when other characters remain.
fn ascii_letters(text: impl Iterator<Item = char>) -> Option<String> {
    let kept: String = text
        .filter(|c| !is_combining_mark(*c) && !matches!(c, '(' | ')' | '.' | ',' | '\u{2044}'))
        .flat_map(char::to_lowercase)
        .collect();
    (!kept.is_empty() && kept.chars().all(|c| c.is_ascii_alphanumeric())).then_some(kept)
}

/// Whether a character is in a large block without look-alikes of Latin letters: ideographs, Hangul syllables, private
/// use and unassigned planes. Such blocks are skipped.
fn is_far(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{e000}'..='\u{f8ff}' | '\u{12000}'..='\u{167ff}'
        | '\u{17000}'..='\u{1bc00}' | '\u{20000}'..='\u{dffff}' | '\u{e1000}'..)
}

/// The fold of a character: several readings of one position, or several positions.
enum Fold {
    AnyOf(String),
    Sequence(String),
    Nothing,
}

fn fold(c: char, private: &Private, depth: u8) -> Fold {
    if c.is_ascii_alphanumeric() {
        return Fold::AnyOf(c.to_ascii_lowercase().to_string());
    }
    if c.is_ascii() || depth > 3 {
        return Fold::Nothing;
    }
    if let Some(letters) = private.any_of.get(&c) {
        return Fold::AnyOf(letters.clone());
    }
    if let Some(letters) = private.letters.get(&c) {
        return if letters.len() == 1 { Fold::AnyOf(letters.clone()) } else { Fold::Sequence(letters.clone()) };
    }
    if is_far(c) {
        return Fold::Nothing;
    }
    let decomposed: Vec<char> = std::iter::once(c).nfkd().filter(|d| !is_combining_mark(*d)).collect();
    if let Some(letters) = ascii_letters(decomposed.iter().copied()) {
        return if letters.len() == 1 { Fold::AnyOf(letters) } else { Fold::Sequence(letters) };
    }
    if let [only] = decomposed[..]
        && only != c
    {
        return fold(only, private, depth + 1);
    }
    for other in c.to_lowercase().chain(c.to_uppercase()) {
        if other != c
            && c.to_lowercase().count() == 1
            && (private.letters.contains_key(&other) || private.any_of.contains_key(&other))
        {
            return fold(other, private, depth + 1);
        }
    }
    // The skeleton of "m" is "rn" and that of "w" is "vv"; a single character folds to the one letter instead.
    let skeleton: String = unicode_security::skeleton(&c.to_string()).collect();
    if let Some(letters) = ascii_letters(skeleton.chars()) {
        return match letters.as_str() {
            "rn" => Fold::AnyOf("m".to_owned()),
            "vv" => Fold::AnyOf("w".to_owned()),
            "l" => Fold::AnyOf("li".to_owned()),
            one if one.len() == 1 => Fold::AnyOf(letters),
            _ => Fold::Sequence(letters),
        };
    }
    // Cherokee and other scripts have small letters that the skeleton lacks.
    let upper: String = c.to_uppercase().collect();
    if let (Ok(upper), true) = (only_char(&upper), c.is_lowercase())
        && upper != c
    {
        return fold(upper, private, depth + 1);
    }
    Fold::Nothing
}

/// The listed characters that a character can be read as: itself, and those of which it is a variant ("γ" is a
/// callsign, and a small "Γ").
fn special_of(c: char, private: &Private) -> Symbols {
    if is_far(c) {
        return 0;
    }
    let listed = |c: char| private.special.get(&c).map_or(0, |special| 1 << special);
    let direct = |c: char| listed(c) | private.symbols.get(&c).map_or(0, |other| listed(*other));
    match direct(c) {
        0 => {
            let decomposed: Vec<char> = std::iter::once(c).nfkd().filter(|d| !is_combining_mark(*d)).collect();
            if let [only] = decomposed[..] { direct(only) } else { 0 }
        }
        special => special,
    }
}

fn readings(letters: &str, private: &Private) -> Symbols {
    let mut symbols = 0;
    for c in letters.chars() {
        symbols |= ascii_symbol(c).map_or(0, |s| 1 << s);
        for other in private.leet.get(&c).map_or("", String::as_str).chars() {
            symbols |= ascii_symbol(other).map_or(0, |s| 1 << s);
        }
    }
    // A capital I and a small l have the same shape.
    let (i, l) = (1 << 8, 1 << 11);
    if symbols & (i | l) != 0 && !letters.starts_with(|c: char| c.is_ascii_digit()) {
        symbols |= i | l;
    }
    symbols
}

fn class_of(letters: &str, c: char, private: &Private) -> Class {
    let primary = letters.chars().next().and_then(ascii_symbol).unwrap_or(Class::NONE);
    let mut kinds = if letters.starts_with(|c: char| c.is_ascii_digit()) { kind::DIGIT } else { kind::LETTER };
    // A sign that looks like a letter may also separate letters.
    if !c.is_alphanumeric() && kinds == kind::LETTER {
        kinds = kind::SEPARATOR;
    }
    if matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}') {
        kinds |= kind::GREEK;
    }
    if private.turned.contains(&c) {
        kinds |= kind::TURNED;
    }
    let symbols = readings(letters, private) | special_of(c, private);
    Class { symbols, primary, kind: kinds }
}

fn unfolded(c: char, private: &Private) -> Class {
    let decomposed: Vec<char> = if is_far(c) { Vec::new() } else { std::iter::once(c).nfkd().collect() };
    let sign = if let [only] = decomposed[..] { only } else { c };
    let punctuation = private.punctuation.get(&c).copied().unwrap_or(sign);
    let mut symbols: Symbols =
        ascii_symbol(punctuation).filter(|_| !punctuation.is_alphanumeric()).map_or(0, |s| 1 << s);
    let primary = if symbols == 0 { Class::NONE } else { symbols.trailing_zeros() as u8 };
    symbols |= readings(&sign.to_string(), private) & !(if c.is_alphanumeric() { Symbols::MAX } else { 0 });
    symbols |= special_of(c, private);
    let greek = if matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}') { kind::GREEK } else { 0 };
    let kinds = if c.is_whitespace() || c == '\u{2800}' {
        kind::SPACE | kind::SEPARATOR
    } else if c.is_alphabetic() {
        kind::LETTER | greek
    } else if c.is_numeric() {
        kind::DIGIT
    } else {
        kind::SEPARATOR
    };
    Class { symbols, primary, kind: kinds }
}

/// Folds every character. `special` numbers the listed non-ASCII characters.
pub(crate) fn compile(lookalikes: &str, special: &[char]) -> Result<Folds, String> {
    let numbered = special.iter().enumerate().map(|(i, c)| (*c, FIRST_SPECIAL + i as u8)).collect();
    let private = Private::parse(lookalikes, numbered)?;
    let mut classes: Vec<Class> = vec![Class { symbols: 0, primary: Class::NONE, kind: kind::SEPARATOR }];
    let mut expansions: Vec<Vec<u8>> = Vec::new();
    let mut id_of = |class: Class| -> Result<u8, String> {
        let index = classes.iter().position(|known| *known == class).unwrap_or_else(|| {
            classes.push(class);
            classes.len() - 1
        });
        u8::try_from(index).map_err(|_| "lookalikes: more than 256 classes".to_owned())
    };
    let (mut pages, mut folds): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
    let mut known: HashMap<Vec<u16>, u16> = HashMap::new();
    for block in 0..0x1100_u32 {
        let mut page = vec![0_u16; 256];
        for offset in 0..256 {
            let Some(c) = char::from_u32(block * 256 + offset) else {
                continue;
            };
            page[offset as usize] = if is_ignorable(c) {
                id_of(Class { symbols: 0, primary: Class::NONE, kind: kind::IGNORABLE })?.into()
            } else {
                match fold(c, &private, 0) {
                    Fold::AnyOf(letters) => id_of(class_of(&letters, c, &private))?.into(),
                    Fold::Sequence(letters) => {
                        let ids = letters
                            .chars()
                            .map(|l| id_of(class_of(&l.to_string(), l, &private)))
                            .collect::<Result<Vec<u8>, String>>()?;
                        let index = expansions.iter().position(|e| *e == ids).unwrap_or_else(|| {
                            expansions.push(ids);
                            expansions.len() - 1
                        });
                        256 + index as u16
                    }
                    Fold::Nothing => id_of(unfolded(c, &private))?.into(),
                }
            };
        }
        let number = *known.entry(page).or_insert_with_key(|page| {
            folds.extend_from_slice(page);
            (folds.len() / 256 - 1) as u16
        });
        pages.push(number);
    }
    Ok(Folds { classes, expansions, pages, folds })
}
