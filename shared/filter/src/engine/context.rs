//! The words around an occurrence, and whether they make it ordinary English.

use crate::engine::replace::{DETERMINERS, FUNCTION_WORDS};
use crate::engine::tables::{Case, Collocation, Condition, Term, WordPattern};

/// How many words to each side are looked at.
const WORDS: usize = 12;

/// How many bytes to each side are looked at.
const REACH: usize = 240;

/// One word or sign beside an occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// In small letters.
    pub(crate) text: String,
    /// Whether it is a word of two letters or more, all capitals.
    pub(crate) capitals: bool,
    /// Whether a line break stands between it and the occurrence's side of the text.
    pub(crate) line_break: bool,
}

/// What stands around an occurrence, nearest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub(crate) left: Vec<Token>,
    pub(crate) right: Vec<Token>,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '’')
}

/// Emphasis and quotation marks say nothing about the clause.
fn is_silent(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '*' | '_' | '`' | '~' | '‘')
}

fn token(raw: &str, line_break: bool) -> Token {
    let text = raw.to_lowercase().replace('’', "'");
    let letters = raw.chars().filter(|c| c.is_alphabetic()).count();
    let capitals = letters >= 2 && !raw.chars().any(char::is_lowercase);
    Token { text: text.trim_matches('\'').to_owned(), capitals, line_break }
}

/// The length of the HTML tag that the text begins with; a reader does not see it.
fn tag_at_start(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
        return None;
    }
    inside.find(['<', '>']).filter(|end| inside.as_bytes()[*end] == b'>').map(|end| end + 2)
}

fn tokens_after(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut line_break = false;
    let mut rest = text;
    while tokens.len() < WORDS
        && let Some(c) = rest.chars().next()
    {
        if let Some(tag) = tag_at_start(rest) {
            rest = &rest[tag..];
            continue;
        }
        let length = if is_word(c) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        let (head, tail) = rest.split_at(length);
        rest = tail;
        if c == '\n' {
            line_break = true;
        } else if !c.is_whitespace() && !is_silent(c) {
            tokens.push(token(head, std::mem::take(&mut line_break)));
        }
    }
    tokens
}

fn tokens_before(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut line_break = false;
    let mut rest = text;
    while tokens.len() < WORDS
        && let Some(c) = rest.chars().next_back()
    {
        if c == '>'
            && let Some(open) = rest.rfind('<')
            && tag_at_start(&rest[open..]) == Some(rest.len() - open)
        {
            rest = &rest[..open];
            continue;
        }
        let from = if is_word(c) {
            rest.rfind(|c| !is_word(c)).map_or(0, |i| i + rest[i..].chars().next().map_or(1, char::len_utf8))
        } else {
            rest.len() - c.len_utf8()
        };
        let (head, tail) = rest.split_at(from);
        rest = head;
        if c == '\n' {
            line_break = true;
        } else if !c.is_whitespace() && !is_silent(c) {
            tokens.push(token(tail, std::mem::take(&mut line_break)));
        }
    }
    tokens
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl Context {
    /// The words around the bytes from `start` to `end`.
    pub(crate) fn of(text: &str, start: usize, end: usize) -> Context {
        let from = floor(text, start.saturating_sub(REACH));
        let to = floor(text, (end + REACH).min(text.len()));
        Context { left: tokens_before(&text[from..start]), right: tokens_after(&text[end..to]) }
    }

    /// Whether a clause begins with the occurrence.
    pub(crate) fn starts_clause(&self) -> bool {
        self.left.first().is_none_or(|t| {
            t.line_break
                || matches!(
                    t.text.as_str(),
                    "." | "!" | "?" | ":" | ";" | "•" | "-" | "–" | "—" | "(" | "…" | ">" | "#"
                )
        })
    }

    /// Whether a clause ends with the occurrence.
    pub(crate) fn ends_clause(&self) -> bool {
        self.right
            .first()
            .is_none_or(|t| matches!(t.text.as_str(), "." | "!" | "?" | ":" | ";" | "," | ")" | "–" | "—" | "…" | "-"))
    }

    /// Whether a determiner stands before the occurrence, with at most one adjective between.
    fn is_determined(&self) -> bool {
        let is_determiner = |t: Option<&Token>| {
            t.is_some_and(|t| matches!(t.text.as_str(), "a" | "an") || DETERMINERS.contains(&t.text.as_str()) || t.text.ends_with("'s"))
        };
        let mut words = self.left.iter().filter(|t| t.text != "-");
        let (first, second) = (words.next(), words.next());
        let adjective = first.is_some_and(|t| {
            let word = t.text.as_str();
            word.chars().all(char::is_alphabetic) && !FUNCTION_WORDS.contains(&word) && !word.ends_with("ed") && !word.ends_with('s')
        });
        is_determiner(first) || (adjective && is_determiner(second))
    }

    /// Whether the occurrence is a heading of its own, in a text that has more lines.
    fn stands_on_its_own_line(&self) -> bool {
        let (left, right) = (self.left.first(), self.right.first());
        left.is_none_or(|t| t.line_break) && right.is_none_or(|t| t.line_break) && (left.is_some() || right.is_some())
    }

    /// The number of the first of the term's ordinary senses that holds here; `split` for a term whose letters
    /// stand apart.
    pub(crate) fn ordinary_sense(&self, term: &Term, case: Case, split: bool) -> Option<usize> {
        let rule = term.allow.iter().position(|condition| condition.split == split && self.holds(condition, case))?;
        let denied = term.deny.iter().any(|condition| self.evidence(condition).is_some());
        (!denied).then_some(rule + 1)
    }

    fn holds(&self, condition: &Condition, case: Case) -> bool {
        match self.evidence(condition) {
            None => false,
            Some(in_capitals) if condition.case.is_empty() => case != Case::Upper || in_capitals,
            Some(_) => condition.case.contains(&case),
        }
    }

    /// Whether the words fit a condition and, if so, whether the words that made it fit are in capitals.
    fn evidence(&self, condition: &Condition) -> Option<bool> {
        let mut in_capitals = true;
        if !condition.left.is_empty() {
            let length = condition.left.iter().find_map(|c| ends_with(&self.left, c))?;
            in_capitals &= self.left[..length].iter().all(|t| t.capitals || t.text.len() < 2);
        }
        if !condition.right.is_empty() {
            let length = condition.right.iter().find_map(|c| begins_with(&self.right, c))?;
            in_capitals &= self.right[..length].iter().all(|t| t.capitals || t.text.len() < 2);
        }
        if !condition.near.is_empty() {
            let sentence = |t: &&Token| !matches!(t.text.as_str(), "." | "!" | "?");
            let mut around = self.left.iter().take_while(sentence).chain(self.right.iter().take_while(sentence));
            in_capitals &= around.find(|t| condition.near.iter().any(|p| fits(&t.text, p)))?.capitals;
        }
        if condition.determined && !self.is_determined() || condition.own_line && !self.stands_on_its_own_line() {
            return None;
        }
        ((!condition.starts || self.starts_clause()) && (!condition.ends || self.ends_clause())).then_some(in_capitals)
    }
}

fn fits(word: &str, pattern: &WordPattern) -> bool {
    match pattern {
        WordPattern::Exact(exact) => word == exact,
        WordPattern::Prefix(stem) => word.starts_with(stem.as_str()),
        WordPattern::Suffix(ending) => word.ends_with(ending.as_str()),
        WordPattern::OneOf(words) => words.iter().any(|w| w == word),
    }
}

/// Matches words against a collocation, both nearest first; a hyphen that only the text has is passed over.
/// Returns how many tokens were used.
fn sequence<'p>(tokens: &[Token], pattern: impl Iterator<Item = &'p WordPattern>) -> Option<usize> {
    let mut used = 0;
    for word in pattern {
        let mut token = tokens.get(used)?;
        if !fits(&token.text, word) && token.text == "-" {
            used += 1;
            token = tokens.get(used)?;
        }
        if !fits(&token.text, word) {
            return None;
        }
        used += 1;
    }
    Some(used)
}

fn begins_with(right: &[Token], collocation: &Collocation) -> Option<usize> {
    sequence(right, collocation.iter())
}

fn ends_with(left: &[Token], collocation: &Collocation) -> Option<usize> {
    sequence(left, collocation.iter().rev())
}
