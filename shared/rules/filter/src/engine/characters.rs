//! Classifies characters for the code that reads words: letters, signs, tags, ends of paragraphs.

use std::sync::LazyLock;

/// The kind of a character for the code that reads words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A letter, a digit or an apostrophe.
    Word,
    /// White space, emphasis marks and quotation marks, which do not affect the clause.
    Silent,
    LineBreak,
    Sign,
}

/// The kinds of the ASCII characters.
pub(crate) const ASCII: [Kind; 128] = {
    let mut kinds = [Kind::Sign; 128];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'\'' => Kind::Word,
            b'\n' => Kind::LineBreak,
            b'\t' | b'\x0b' | b'\x0c' | b'\r' | b' ' | b'"' | b'*' | b'_' | b'`' | b'~' => Kind::Silent,
            _ => Kind::Sign,
        };
        byte += 1;
    }
    kinds
};

/// The letters and digits among the characters before U+0800, one bit each. The table avoids a slow look-up.
static NEAR_WORDS: LazyLock<[u64; 32]> = LazyLock::new(|| {
    let mut bits = [0; 32];
    for c in (0..0x800).filter_map(char::from_u32).filter(|c| c.is_alphanumeric()) {
        bits[c as usize / 64] |= 1 << (c as usize % 64);
    }
    bits
});

/// A faster [`char::is_alphanumeric`].
pub(crate) fn is_alphanumeric(c: char) -> bool {
    match NEAR_WORDS.get(c as usize / 64) {
        Some(bits) => bits & (1 << (c as usize % 64)) != 0,
        // General punctuation needs no look-up.
        None => !matches!(c, '\u{2000}'..='\u{206f}') && c.is_alphanumeric(),
    }
}

fn is_word(c: char) -> bool {
    c == '’' || is_alphanumeric(c)
}

pub(crate) fn kind(c: char) -> Kind {
    match ASCII.get(c as usize) {
        Some(kind) => *kind,
        None if is_word(c) => Kind::Word,
        None if c.is_whitespace() || matches!(c, '“' | '”' | '„' | '«' | '»' | '‘') => Kind::Silent,
        None => Kind::Sign,
    }
}

/// The number of bytes at the beginning that are characters of a word.
pub(crate) fn word_at_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(byte) if *byte < 128 => match ASCII[*byte as usize] {
                Kind::Word => at += 1,
                _ => return at,
            },
            Some(_) => match text[at..].chars().next().filter(|c| is_word(*c)) {
                Some(c) => at += c.len_utf8(),
                None => return at,
            },
            None => return at,
        }
    }
}

/// The start of the word characters at the end of the text.
pub(crate) fn word_at_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = bytes.len();
    loop {
        match at.checked_sub(1).map(|before| bytes[before]) {
            Some(byte) if byte < 128 => match ASCII[byte as usize] {
                Kind::Word => at -= 1,
                _ => return at,
            },
            Some(_) => match text[..at].chars().next_back().filter(|c| is_word(*c)) {
                Some(c) => at -= c.len_utf8(),
                None => return at,
            },
            None => return at,
        }
    }
}

/// The length of the HTML tag at the beginning of the text; a reader does not see it.
pub(crate) fn tag_at_start(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
        return None;
    }
    inside.find(['<', '>']).filter(|end| inside.as_bytes()[*end] == b'>').map(|end| end + 2)
}

/// The start of the HTML tag at the end of the text.
pub(crate) fn tag_at_end(text: &str) -> Option<usize> {
    let open = text.rfind('<')?;
    (tag_at_start(&text[open..]) == Some(text.len() - open)).then_some(open)
}

/// Whether the line break before `rest` ends a paragraph, because a blank line, a list item or a heading follows.
/// Context after the end of a paragraph does not count.
pub(crate) fn breaks_paragraph(rest: &str) -> bool {
    let line = rest.trim_start_matches([' ', '\t', '\r', '>']);
    let numbered = || {
        let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
        after.starts_with(". ") || after.starts_with(") ")
    };
    line.starts_with(['\n', '•', '#'])
        || ["- ", "* ", "+ "].iter().any(|marker| line.starts_with(marker))
        || (line.starts_with(|c: char| c.is_ascii_digit()) && numbered())
}

/// Whether the line that ends with `head` is blank, so that the line break after it ends a paragraph.
pub(crate) fn ends_in_line_break(head: &str) -> bool {
    head.trim_end_matches([' ', '\t', '\r', '>']).ends_with('\n')
}
