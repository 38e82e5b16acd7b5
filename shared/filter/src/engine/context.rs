//! The words around an occurrence, and whether they make it ordinary English.

use std::cell::OnceCell;

use crate::engine::code;
use crate::engine::replace::{DETERMINERS, FUNCTION_WORDS};
use crate::engine::tables::{Case, Condition, Term, WordPattern};

/// How many words to each side are looked at.
const WORDS: usize = 12;

/// How many, until a condition looks further than a collocation.
const NEAREST_WORDS: usize = 5;

/// How many bytes to each side are looked at.
const REACH: usize = 240;

/// One word or sign beside an occurrence, as the text has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    /// Whether a line break stands between it and the occurrence, or the token before it on that side.
    pub(crate) line_break: bool,
}

impl Token<'_> {
    /// Whether it is this word, which is in small letters.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.may_begin_like(word)
            && (self.text.eq_ignore_ascii_case(word) || (!self.text.is_ascii() && self.folded().eq(word.chars())))
    }

    /// Cheap, and never wrong by "no".
    fn may_begin_like(&self, word: &str) -> bool {
        match (self.text.as_bytes().first(), word.as_bytes().first()) {
            (Some(own), Some(other)) if *own < 128 => own.to_ascii_lowercase() == *other,
            (Some(_), Some(_)) => self.folded().next() == word.chars().next(),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(crate) fn ends_with(&self, ending: &str) -> bool {
        let at = self.text.len().checked_sub(ending.len());
        at.and_then(|at| self.text.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    }

    fn starts_with(&self, stem: &str) -> bool {
        if !stem.is_empty() && !self.may_begin_like(stem) {
            return false;
        }
        let mut folded = self.folded();
        stem.chars().all(|c| folded.next() == Some(c))
    }

    /// In small letters, with a straight apostrophe.
    fn folded(&self) -> impl Iterator<Item = char> {
        self.text.chars().flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c })
    }

    /// Whether it is a word of two letters or more, all capitals; a sign or a single letter fits in with them.
    fn fits_capitals(&self) -> bool {
        self.text.len() < 2 || !self.text.chars().any(char::is_lowercase)
    }

    pub(crate) fn is_word(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric)
    }
}

/// What stands around an occurrence, nearest first, up to the ends of its paragraph or list item. A line break
/// alone ends nothing: mail wraps its lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context<'t> {
    pub(crate) left: Vec<Token<'t>>,
    pub(crate) right: Vec<Token<'t>>,
    /// Whether the text has more paragraphs than this one.
    has_more: bool,
    /// The characters before and after, paragraphs or not.
    around: (&'t str, &'t str),
    /// All the words of the sentence that are looked at, to the left and to the right, once they are asked for.
    sentence: OnceCell<(Vec<Token<'t>>, Vec<Token<'t>>)>,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '’')
}

/// Emphasis and quotation marks say nothing about the clause.
fn is_silent(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '*' | '_' | '`' | '~' | '‘')
}

fn token(text: &str, line_break: bool) -> Token<'_> {
    let bare = text.trim_matches('\'');
    Token { text: if bare.is_empty() { text } else { bare }, line_break }
}

/// The length of the HTML tag that the text begins with; a reader does not see it.
fn tag_at_start(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
        return None;
    }
    inside.find(['<', '>']).filter(|end| inside.as_bytes()[*end] == b'>').map(|end| end + 2)
}

/// Whether a paragraph ends with the line break that stands before `rest`, because a blank line, a list item or
/// a heading follows. What is true there is no reason for anything here.
fn breaks_paragraph(rest: &str) -> bool {
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
fn ends_in_line_break(head: &str) -> bool {
    head.trim_end_matches([' ', '\t', '\r', '>']).ends_with('\n')
}

fn tokens_after<'t>(text: &'t str, words: usize, has_more: &mut bool) -> Vec<Token<'t>> {
    let mut tokens = Vec::with_capacity(words);
    let mut line_break = false;
    let mut rest = text;
    while tokens.len() < words
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
            if breaks_paragraph(rest) {
                *has_more |= !rest.trim().is_empty();
                break;
            }
            line_break = true;
        } else if !c.is_whitespace() && !is_silent(c) {
            tokens.push(token(head, std::mem::take(&mut line_break)));
        }
    }
    tokens
}

fn tokens_before<'t>(text: &'t str, words: usize, has_more: &mut bool) -> Vec<Token<'t>> {
    let mut tokens = Vec::with_capacity(words);
    let mut line_break = false;
    let mut rest = text;
    while tokens.len() < words
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
            if breaks_paragraph(&text[head.len() + 1..]) || ends_in_line_break(head) {
                *has_more |= !head.trim().is_empty();
                break;
            }
            line_break = true;
        } else if !c.is_whitespace() && !is_silent(c) {
            tokens.push(token(tail, std::mem::take(&mut line_break)));
        }
    }
    tokens
}

/// The nearest place at or before `at` that is between two characters.
pub(crate) fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl<'t> Context<'t> {
    /// The words around the bytes from `start` to `end`.
    pub(crate) fn of(text: &'t str, start: usize, end: usize) -> Context<'t> {
        Context::of_words(text, start, end, NEAREST_WORDS)
    }

    /// The same for a symbol, whose senses only the sentence tells apart.
    pub(crate) fn of_symbol(text: &'t str, start: usize, end: usize) -> Context<'t> {
        let context = Context::of_words(text, start, end, WORDS);
        let _ = context.sentence.set((context.left.clone(), context.right.clone()));
        context
    }

    fn of_words(text: &'t str, start: usize, end: usize, words: usize) -> Context<'t> {
        let from = floor(text, start.saturating_sub(REACH));
        let to = floor(text, (end + REACH).min(text.len()));
        let around = (&text[from..start], &text[end..to]);
        let mut has_more = false;
        let left = tokens_before(around.0, words, &mut has_more);
        let right = tokens_after(around.1, words, &mut has_more);
        Context { left, right, has_more, around, sentence: OnceCell::new() }
    }

    /// Whether a clause begins with the occurrence.
    pub(crate) fn starts_clause(&self) -> bool {
        const BEFORE: &[&str] = &[".", "!", "?", ":", ";", "•", "-", "–", "—", "(", "…", ">", "#"];
        self.left.first().is_none_or(|t| t.line_break || t.is_one_of(BEFORE))
    }

    /// Whether a clause ends with the occurrence.
    pub(crate) fn ends_clause(&self) -> bool {
        const AFTER: &[&str] = &[".", "!", "?", ":", ";", ",", ")", "–", "—", "…", "-"];
        self.right.first().is_none_or(|t| t.line_break || t.is_one_of(AFTER))
    }

    /// Whether a determiner stands before the occurrence, with at most one adjective between.
    fn is_determined(&self) -> bool {
        let is_determiner = |t: Option<&Token<'_>>| {
            t.is_some_and(|t| t.is_one_of(&["a", "an"]) || t.is_one_of(DETERMINERS) || t.ends_with("'s"))
        };
        let mut words = self.left.iter().filter(|t| t.text != "-");
        let (first, second) = (words.next(), words.next());
        let adjective = first.is_some_and(|t| {
            t.text.chars().all(char::is_alphabetic)
                && !t.is_one_of(FUNCTION_WORDS)
                && !t.ends_with("ed")
                && !t.ends_with("s")
        });
        is_determiner(first) || (adjective && is_determiner(second))
    }

    /// Whether the occurrence is a heading of its own, in a text that has more lines.
    fn stands_on_its_own_line(&self) -> bool {
        let (left, right) = (self.left.first(), self.right.first());
        left.is_none_or(|t| t.line_break)
            && right.is_none_or(|t| t.line_break)
            && (left.is_some() || right.is_some() || self.has_more)
    }

    /// The number of the first of the term's ordinary senses that holds here; `split` for a term whose letters
    /// stand apart.
    pub(crate) fn ordinary_sense(&self, term: &Term, case: Case, split: bool) -> Option<usize> {
        let rule =
            term.allow.iter().position(|condition| condition.split == split && self.holds(term, condition, case))?;
        let denied = term.deny.iter().any(|condition| self.evidence(condition).is_some());
        (!denied).then_some(rule + 1)
    }

    /// Whether a capitalised name stands here: somebody who does something, or to or by whom it is done.
    fn reads_as_name(&self) -> bool {
        const AUXILIARIES: &[&str] = &["has", "had", "will", "would", "does", "did", "must", "should", "might"];
        const NO_VERBS: &[&str] = &["is", "was", "as", "plus", "vs", "this", "versus", "its"];
        const TO_AND_BY: &[&str] = &["by", "to", "from", "with", "via", "through", "ask", "asked", "per"];
        let verb = |t: &Token<'_>| {
            t.is_one_of(AUXILIARIES)
                || ((t.ends_with("s") || t.ends_with("ed")) && t.text.len() > 2 && !t.is_one_of(NO_VERBS))
        };
        let is_possessed = self.left.first().is_some_and(|t| t.is_one_of(&["of", "about", "for", "like", "in"]));
        let acts = self.right.first().is_some_and(verb) && !is_possessed;
        let is_acted_on = self.left.first().is_some_and(|t| t.is_one_of(TO_AND_BY)) && self.ends_clause();
        (acts || is_acted_on) && !self.is_determined()
    }

    fn holds(&self, term: &Term, condition: &Condition, case: Case) -> bool {
        if !condition.case.is_empty() && !condition.case.contains(&case) {
            return false;
        }
        let is_weak = !condition.near.is_empty() && condition.left.is_empty() && condition.right.is_empty();
        let is_name = term.name && case != Case::Lower && self.reads_as_name();
        let is_answer = term.category == 4 && self.starts_clause();
        if is_weak && (is_name || is_answer) {
            return false;
        }
        self.evidence(condition)
            .is_some_and(|in_capitals| !condition.case.is_empty() || case != Case::Upper || in_capitals)
    }

    /// Whether the words fit a condition and, if so, whether the words that made it fit are in capitals.
    fn evidence(&self, condition: &Condition) -> Option<bool> {
        let mut in_capitals = true;
        if !condition.left.is_empty() {
            let length = condition.left.iter().find_map(|c| sequence(&self.left, c.iter().rev()))?;
            in_capitals &= self.left[..length].iter().all(Token::fits_capitals);
        }
        if !condition.right.is_empty() {
            let length = condition.right.iter().find_map(|c| sequence(&self.right, c.iter()))?;
            in_capitals &= self.right[..length].iter().all(Token::fits_capitals);
        }
        if !condition.near.is_empty() {
            let in_sentence = |t: &&Token<'_>| !matches!(t.text, "." | "!" | "?");
            let (left, right) = self.sentence.get_or_init(|| {
                let mut has_more = false;
                let left = tokens_before(self.around.0, WORDS, &mut has_more);
                (left, tokens_after(self.around.1, WORDS, &mut has_more))
            });
            let mut around = left.iter().take_while(in_sentence).chain(right.iter().take_while(in_sentence));
            in_capitals &= around.find(|t| is_near_word(t, &condition.near))?.fits_capitals();
        }
        let holds = (!condition.determined || self.is_determined())
            && (!condition.own_line || self.stands_on_its_own_line())
            && (!condition.starts || self.starts_clause())
            && (!condition.ends || self.ends_clause())
            && (!condition.code || code::is_code(self.around.0, self.around.1))
            && (!condition.identifier || code::is_in_identifier(self.around.0, self.around.1))
            && (!condition.hex || code::is_among_bytes(self.around.0, self.around.1));
        holds.then_some(in_capitals)
    }
}

/// Whether a token is one of these words, which are sorted by [`WordPattern::initial`].
fn is_near_word(token: &Token<'_>, words: &[WordPattern]) -> bool {
    let Some(initial) = token.text.bytes().next().filter(u8::is_ascii).map(|byte| byte.to_ascii_lowercase()) else {
        let from = words.partition_point(|word| word.initial() < 128);
        return words[from..].iter().any(|word| fits(token, word));
    };
    let from = words.partition_point(|word| word.initial() < initial);
    words[from..].iter().take_while(|word| word.initial() == initial).any(|word| fits(token, word))
}

fn fits(token: &Token<'_>, pattern: &WordPattern) -> bool {
    match pattern {
        WordPattern::Exact(exact) => token.is(exact),
        WordPattern::Prefix(stem) => token.starts_with(stem),
        WordPattern::Suffix(ending) => token.ends_with(ending),
        WordPattern::OneOf(words) => words.iter().any(|word| token.is(word)),
    }
}

/// Matches words against a collocation, both nearest first; a hyphen that only the text has is passed over.
/// Returns how many tokens were used.
fn sequence<'p>(tokens: &[Token<'_>], pattern: impl Iterator<Item = &'p WordPattern>) -> Option<usize> {
    let mut used = 0;
    for word in pattern {
        let mut token = tokens.get(used)?;
        if token.text == "-" && !fits(token, word) {
            used += 1;
            token = tokens.get(used)?;
        }
        if !fits(token, word) {
            return None;
        }
        used += 1;
    }
    Some(used)
}
