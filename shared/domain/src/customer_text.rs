//! Makes customers' own words safe to show to other readers: in mails, pages, alerts and on operators' screens.
//!
//! A customer types the question and the address that the verdict is mailed to. Shown as typed, a question could
//! imitate our headings and our links under our sender. So each line of a quoted text has a mark, no address in it is a
//! link, and no character in it hides or reorders others. The stored text is never changed.
//!
//! A question can also influence the model's text. That text stays prose in our mails ([`prose`]): it has no mark,
//! except for a line that could be taken for one of our headings, and no address in it is a link either.
//!
//! The file has more than 300 lines because more than a hundred of them list the beginnings of our own lines, and a
//! quotation combines the rules for characters, addresses and headings.

/// The most characters of a text that [`quoted`] shows.
pub const MAX_QUOTED_CHARACTERS: usize = 2_000;

/// The most lines that [`quoted`] shows.
pub const MAX_QUOTED_LINES: usize = 40;

/// The mark before every line of a quotation. No line of ours begins with it.
const MARK: &str = "> ";

/// The columns of a quotation, including the mark: mail programs wrap longer lines, and the wrapped part has no mark.
const COLUMNS: usize = 72;

/// The end of a quotation that was cut.
const CUT: &str = "[…]";

/// The longest text that is shown without a mark.
const MAX_PLAIN_CHARACTERS: usize = 500;

/// The most combining marks on a base character: more of them would paint over other lines.
const MAX_COMBINING: usize = 3;

/// The longest row of rule characters.
const MAX_RULE: usize = 3;

/// The beginnings of our lines in mails and pages: letters and digits in lower case, one space between words. A text
/// with such a beginning is never shown without a mark. The templates' tests check that every line is listed.
const OPENINGS: [&str; 70] = [
    "42",
    "a note about",
    "a reply for you",
    "about your access",
    "about your question",
    "aether 42",
    "alternative",
    "breakdown",
    "change rate",
    "completion",
    "curvature",
    "first reading",
    "follow up",
    "hi there",
    "i hear that you",
    "if anything about",
    "if you d prefer",
    "if you have questions",
    "if you want access",
    "it works once",
    "next step",
    "note due",
    "open this link",
    "oracle",
    "please note",
    "questions",
    "stability",
    "strategic",
    "strategy session",
    "tests",
    "thank you",
    "the money goes back",
    "this is our error",
    "this may be an emergency",
    "this message is confidential",
    "this needs facts",
    "this would need facts",
    "to get your",
    "turbulence",
    "verdict",
    "we answer within",
    "we cannot find a question",
    "we could not give",
    "we do not give a verdict",
    "we have answered",
    "we have ended",
    "we have refunded",
    "we ll process",
    "we need to know more",
    "we re sorry",
    "we received your",
    "what you can do instead",
    "what your question leaves",
    "who can help",
    "you accepted the",
    "you can answer by",
    "you can reach them",
    "you have access",
    "your 42",
    "your access",
    "your first",
    "your follow",
    "your inquiry",
    "your link",
    "your payment",
    "your question can be read",
    "your question leaves",
    "your result",
    "your submission",
    "your verdict",
];

/// Beginnings that ordinary prose may have too ("Completion depends on the landlord."): such a line of the model is
/// marked only if it has the form of a heading.
const PROSE_OPENINGS: [&str; 20] = [
    "42",
    "alternative",
    "breakdown",
    "completion",
    "curvature",
    "oracle",
    "questions",
    "stability",
    "strategic",
    "tests",
    "the money goes back",
    "turbulence",
    "verdict",
    "we could not give",
    "we have ended",
    "you accepted the",
    "you have access",
    "your access",
    "your link",
    "your payment",
];

/// Longer beginnings of ours that start with one of these.
const WHOLE_OPENINGS: [&str; 15] = [
    "42 sisters",
    "alternative path",
    "oracle verdict",
    "questions reply",
    "strategic recommendations",
    "tests to run",
    "the money goes back to the card",
    "we could not give you",
    "we have ended your access",
    "you accepted the agreement",
    "you have access to the bridge",
    "your access to the bridge",
    "your link to sign in",
    "your payment has been refunded",
    "your payment is returned automatically",
];

/// The most words of a heading.
const MAX_HEADING_WORDS: usize = 4;

/// Schemes that mail programs link without `//`.
const SCHEMES: [&str; 11] =
    ["mailto", "tel", "sms", "javascript", "data", "file", "http", "https", "ftp", "magnet", "whatsapp"];

/// The text for a page: no character in it hides, reorders or paints over other text. Line breaks become `\n`; an
/// ordinary text stays unchanged otherwise.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut combining, mut last) = (0, ' ');
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        combining = if is_combining(c) { combining + 1 } else { 0 };
        let next = characters.peek().copied().unwrap_or(' ');
        last = match c {
            '\r' if next == '\n' => continue,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
            '\t' => '\t',
            c if c.is_control() || is_direction(c) => ' ',
            c if is_invisible(c) || combining > MAX_COMBINING => continue,
            // Joiners belong to emoji and to scripts that join their letters, not to Latin words and addresses.
            c if is_joiner(c) && last.is_ascii() => continue,
            c => c,
        };
        shown.push(last);
    }
    shown
}

/// The text on one line of a screen: every break becomes a space.
#[must_use]
pub fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// The text as one line for a mail's subject or an alert: at most `max` characters, and no address in it is a link.
#[must_use]
pub fn defused_line(text: &str, max: usize) -> String {
    let line: String = one_line(text).chars().take(max).collect();
    let defused: String = defused(line.trim()).chars().take(max).collect();
    defused.trim_end().to_owned()
}

/// The text in a mail. An ordinary line stays unchanged; any other text is marked line by line, wrapped, and cut to
/// [`MAX_QUOTED_LINES`] and [`MAX_QUOTED_CHARACTERS`].
#[must_use]
pub fn quoted(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let cut = text.chars().nth(MAX_QUOTED_CHARACTERS).is_some();
    let shown: String = text.chars().take(MAX_QUOTED_CHARACTERS).collect();
    let shown = without_dots(&without_rules(&visible(&shown)));
    let mut lines: Vec<String> = Vec::new();
    for line in shown.trim().split('\n') {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() && lines.last().is_some_and(String::is_empty) {
            continue;
        }
        wrap(&defused(&line), COLUMNS - MARK.len(), &mut lines);
    }
    let cut = cut || lines.len() > MAX_QUOTED_LINES;
    lines.truncate(MAX_QUOTED_LINES);
    lines.extend(cut.then(|| CUT.to_owned()));
    let marked: Vec<String> = lines.iter().map(|line| format!("{MARK}{line}").trim_end().to_owned()).collect();
    marked.join("\n")
}

/// The model's text in a mail: ordinary prose stays unchanged, no address in it is a link, and a line that could be
/// taken for one of our headings is marked.
#[must_use]
pub fn prose(text: &str) -> String {
    let shown = without_dots(&without_rules(&visible(text)));
    let mut lines: Vec<String> = Vec::new();
    for line in shown.trim().split('\n') {
        // Spaces could push a heading to the start of a line in a narrow window.
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() && lines.last().is_some_and(String::is_empty) {
            continue;
        }
        let line = defused(&line);
        if line.is_empty() || !imitates(&line) {
            lines.push(line);
            continue;
        }
        let mut rows = Vec::new();
        wrap(&line, COLUMNS - MARK.len(), &mut rows);
        lines.extend(rows.iter().map(|row| format!("{MARK}{row}")));
    }
    lines.join("\n")
}

/// Whether a line of prose looks like one of ours.
fn imitates(line: &str) -> bool {
    // A struck or accented heading still reads as one.
    let line: String = line.chars().filter(|c| !is_combining(*c)).collect();
    let line = line.as_str();
    let words = words(line);
    let opens = |openings: &[&str]| openings.iter().any(|opening| reads_as(&words, opening));
    let short = |words: &str| words.split_whitespace().count() <= MAX_HEADING_WORDS;
    let head = line.split_once([':', '\u{ff1a}']).map(|(head, _)| self::words(head));
    let is_heading = head.is_some_and(|head| short(&head))
        || !line.chars().any(char::is_lowercase)
        || short(&words) && !line.ends_with(['.', '!', '?']);
    // Each beginning is checked separately: a disguised word may read as several, of which only some are also prose.
    let marks = |opening: &&str| (is_heading || !PROSE_OPENINGS.contains(opening)) && reads_as(&words, opening);
    let starts_alike = opens(&WHOLE_OPENINGS) || OPENINGS.iter().any(marks);
    words.is_empty()
        || starts_alike
        || line.match_indices([':', '\u{ff1a}']).any(|(at, _)| ends_in_capitals_like_ours(&line[..at]))
}

/// Whether the words before a colon end with a heading of ours in capitals. A heading fits into one line, so only the last
/// [`COLUMNS`] characters are read: a text may have thousands of colons.
fn ends_in_capitals_like_ours(text: &str) -> bool {
    let near = text.char_indices().rev().take(COLUMNS).map(|(at, _)| at);
    let tails = near.filter(|at| *at == 0 || text[..*at].ends_with(' ')).map(|at| &text[at..]);
    // The tails grow: after one with a small letter or too many words, every longer one has them too.
    let headings = tails.take_while(|tail| {
        !tail.chars().any(char::is_lowercase) && tail.split_whitespace().count() <= MAX_HEADING_WORDS
    });
    headings.map(words).any(|words| OPENINGS.iter().any(|opening| reads_as(&words, opening)))
}

/// Whether the first words read as a beginning of ours, including letters that look like its letters.
fn reads_as(words: &str, opening: &str) -> bool {
    let mut words = words.chars();
    let alike = |expected: char| {
        words.next().is_some_and(|c| {
            let drawn_alike = if expected.is_ascii_digit() { is_drawn_like_digit(c) } else { is_drawn_like_latin(c) };
            c == expected || expected != ' ' && drawn_alike
        })
    };
    opening.chars().all(alike) && words.next().is_none_or(|c| c == ' ')
}

/// Whether a character is another form of a digit.
fn is_drawn_like_digit(c: char) -> bool {
    matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{2089}' | '\u{2460}'..='\u{24ff}'
        | '\u{ff10}'..='\u{ff19}' | '\u{1d7ce}'..='\u{1d7ff}')
}

/// Whether a letter looks like a Latin one: accented and decorated Latin, and the look-alikes of neighbouring scripts.
fn is_drawn_like_latin(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{24f}' | '\u{250}'..='\u{2af}' | '\u{1d00}'..='\u{1d7f}' | '\u{1e00}'..='\u{1eff}'
        | '\u{2100}'..='\u{214f}' | '\u{2460}'..='\u{24ff}' | '\u{a720}'..='\u{a7ff}' | '\u{ab30}'..='\u{ab6f}'
        | '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{1f110}'..='\u{1f189}'
        | '\u{13a0}'..='\u{13ff}')
        || "αβγεηικνορστυχωϲϳавекмнорстухѕіјԁԛԝһгпьоᴏɩոսօհցԍүҟԃ".contains(c)
}

/// Whether the first words of a line could be taken for one of ours.
#[must_use]
pub fn opens_like_ours(line: &str) -> bool {
    let words = words(line);
    words.is_empty() || OPENINGS.iter().any(|opening| begins_with(&words, opening))
}

/// Whether a text can be shown in a mail without a mark: one line of Latin letters and plain punctuation, without an
/// address, with another beginning than our lines have, and without a heading of ours and its colon inside, which a
/// narrow window may move to the start of a line.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let starts_plain = characters.next().is_some_and(|c| c.is_alphabetic() || matches!(c, '¿' | '¡' | '"' | '“' | '‘'));
    starts_plain
        && text.chars().all(is_plain_character)
        && text.chars().nth(MAX_PLAIN_CHARACTERS).is_none()
        && !text.contains("  ")
        && !["---", "___", "===", "***", "~~~", "———", "–––"].iter().any(|rule| text.contains(rule))
        && defused(text) == text
        && !opens_like_ours(text)
        && !text.match_indices(':').any(|(at, _)| ends_like_ours(&text[..at]))
}

fn is_plain_character(c: char) -> bool {
    c.is_ascii_graphic()
        || matches!(c, ' ' | '¿' | '¡' | '–' | '—' | '‘' | '’' | '“' | '”' | '…' | '«' | '»' | '€' | '£' | '°' | '%')
        || (matches!(c, '\u{c0}'..='\u{ff}') && c.is_alphabetic())
}

/// Whether the words before a colon end with a heading of ours.
fn ends_like_ours(text: &str) -> bool {
    let words = words(text);
    let starts = std::iter::once(0).chain(words.match_indices(' ').map(|(at, _)| at + 1));
    starts.into_iter().any(|at| {
        let tail = &words[at..];
        tail.split(' ').count() <= 3 && OPENINGS.iter().any(|opening| begins_with(tail, opening))
    })
}

/// Letters and digits in lower case, one space between words.
fn words(line: &str) -> String {
    let mut words = String::new();
    for c in line.chars() {
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        } else if !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
    }
    words
}

/// Whether the words begin with an opening; a letter beyond ASCII counts as any letter, because it may look like it.
fn begins_with(words: &str, opening: &str) -> bool {
    let mut words = words.chars().chain([' ']);
    opening.chars().all(|expected| words.next().is_some_and(|c| c == expected || !c.is_ascii()))
}

/// The text with every address written so that no program turns it into a link: `evil[.]example`, `https[:]//`,
/// `name[@]example[.]com`.
fn defused(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: Option<usize>| index.and_then(|index| characters.get(index)).copied().unwrap_or(' ');
    let mut defused = String::with_capacity(text.len());
    for (index, &c) in characters.iter().enumerate() {
        let (before, after) = (at(index.checked_sub(1)), at(Some(index + 1)));
        let links = match c {
            '@' | '\u{ff20}' | '\u{fe6b}' => !before.is_whitespace() || after.is_alphanumeric(),
            // A full stop of Chinese or Japanese prose, which some programs read as a host's dot.
            '\u{3002}' | '\u{ff61}' if !before.is_ascii_alphanumeric() || !after.is_ascii_alphanumeric() => false,
            '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' | '\u{2024}' => {
                let host = !before.is_whitespace() && before != '.';
                let name = after.is_alphabetic() && is_name(at(Some(index + 2)));
                host && (name || is_inside_numeric_address(&characters, index))
            }
            ':' | '\u{ff1a}' => {
                (after == '/' && at(Some(index + 2)) == '/')
                    || (!after.is_whitespace() && is_scheme(&characters[..index]))
            }
            '\\' => after == '\\' && !before.is_alphanumeric(),
            _ => false,
        };
        match (links, c) {
            (false, c) => defused.push(c),
            (true, '@' | '\u{ff20}' | '\u{fe6b}') => defused.push_str("[@]"),
            (true, ':' | '\u{ff1a}') => defused.push_str("[:]"),
            (true, '\\') => defused.push_str("[\\]"),
            (true, _) => defused.push_str("[.]"),
        }
    }
    defused
}

/// A second character of a host's last label: one-letter labels ("e.g.", "U.S.") are not addresses.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '-'
}

/// Whether the dot is inside four groups of digits.
fn is_inside_numeric_address(characters: &[char], dot: usize) -> bool {
    let belongs = |c: &&char| c.is_ascii_digit() || **c == '.';
    let before = characters[..dot].iter().rev().take_while(belongs).filter(|c| **c == '.').count();
    let after = characters[dot + 1..].iter().take_while(belongs).filter(|c| **c == '.').count();
    before + after >= 2 && characters.get(dot + 1).is_some_and(char::is_ascii_digit)
}

fn is_scheme(before: &[char]) -> bool {
    let mut word: Vec<char> = before.iter().rev().take_while(|c| c.is_ascii_alphabetic()).copied().collect();
    word.reverse();
    let word: String = word.into_iter().collect::<String>().to_ascii_lowercase();
    SCHEMES.contains(&word.as_str())
}

/// Replaces rows of rule characters by three hyphens: our mails separate their parts with such rows.
fn without_rules(text: &str) -> String {
    let mut ruled = String::with_capacity(text.len());
    let mut row = 0;
    for c in text.chars() {
        let repeats =
            is_drawn_rule(c) || matches!(c, '-' | '=' | '_' | '~' | '*' | '#' | '–' | '—' | '―' | 'ー' | '一' | '.');
        row = if repeats { row + 1 } else { 0 };
        if row <= MAX_RULE {
            ruled.push(if is_drawn_rule(c) { '-' } else { c });
        }
    }
    ruled
}

/// Whether a character is drawn as part of a line.
fn is_drawn_rule(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}' | '\u{2010}'..='\u{2012}' | '\u{2015}' | '\u{2017}' | '\u{203e}' | '\u{2212}'
        | '\u{23af}' | '\u{23ba}'..='\u{23bd}' | '\u{268a}'..='\u{268f}' | '\u{2e3a}' | '\u{2e3b}' | '\u{2e40}'
        | '\u{3013}' | '\u{301c}' | '\u{30a0}' | '\u{fe49}'..='\u{fe4f}' | '\u{fe58}' | '\u{fe63}' | '\u{fe66}'
        | '\u{ff0d}' | '\u{ff1d}' | '\u{ff3f}' | '\u{ffe3}' | '\u{af}' | '\u{2261}' | '\u{a78a}')
}

/// Replaces the coloured dots of our verdicts by words.
fn without_dots(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '🟢' => shown.push_str("(green)"),
            '🟡' | '🟠' => shown.push_str("(amber)"),
            '🔴' => shown.push_str("(red)"),
            '⚫' => shown.push_str("(black)"),
            c => shown.push(c),
        }
    }
    shown
}

/// Breaks a line into rows of at most `columns` characters, between words if possible.
fn wrap(line: &str, columns: usize, rows: &mut Vec<String>) {
    let mut row = String::new();
    let mut used = 0;
    for word in line.split(' ') {
        let width = word.chars().count();
        if used > 0 && used + 1 + width > columns {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        if used > 0 {
            row.push(' ');
            used += 1;
        }
        for c in word.chars() {
            if used == columns {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            row.push(c);
            used += 1;
        }
    }
    rows.push(row);
}

/// Whether a character changes the direction of writing.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

/// Whether a character is a joiner or a variation selector.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Whether a character has no shape. Joiners and variation selectors are kept: emoji and several scripts need them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
mod tests;
