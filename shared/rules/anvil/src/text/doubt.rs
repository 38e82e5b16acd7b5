//! Decides whether a text's values were measured. A value counts as measured only if the reader knows every word of its
//! statement and no other sentence casts doubt on it, changes its unit or calculates with it.

use super::{
    leftover::LABELS,
    names::name_at,
    numbers::is_numeric,
    phrases::Phrases,
    readings::FoundReadings,
    token::{Kind, Tokens},
    used::Used,
    vocabulary::{List, Term},
};
use crate::assessment::Reason;

/// Marks that hide, strike out or reverse the text that they enclose.
const HIDING: [&str; 7] = ["~~", "<!--", "<del", "<s>", "<strike", "\\st{", "\\sout{"];

/// Characters that change the order in which a text is shown.
const REORDERING: [char; 9] =
    ['\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}'];

/// The words after "may", "will" or "could" in a request.
const ASKED: [&str; 5] = ["it", "we", "this", "i", "you"];

/// Returns a reason why the values of a text do not count as measured; `None` for a plain text.
pub(super) fn find(
    original: &str,
    tokens: &Tokens<'_>,
    phrases: &Phrases,
    kernels: &FoundReadings,
    losses_at: &[usize],
    used: &Used,
) -> Option<Reason> {
    let may_hide = tokens.text.bytes().any(|byte| matches!(byte, b'~' | b'<' | b'\\'));
    let is_turned = original.chars().any(|of| of >= '\u{202a}' && REORDERING.contains(&of));
    if is_turned || may_hide && HIDING.iter().any(|mark| tokens.text.contains(mark)) {
        return Some(not_measured("The text strikes out, hides or turns around a part of itself."));
    }

    let asks = request_words(tokens, phrases);
    let mut start = 0;
    while start < tokens.len() {
        let (_, end) = tokens.sentence(start);
        let end = end.max(start + 1);
        let names = within(&kernels.names, start, end, |(at, _)| *at);
        let losses = within(losses_at, start, end, |at| *at);
        let sentence = Sentence { tokens, used, asks: &asks, start, end };
        let reason = if names.is_empty() && losses.is_empty() {
            sentence.judge_beside()
        } else {
            sentence
                .judge_statement(names.iter().map(|(at, kernel)| (*at, kernel.symbol())))
                .or_else(|| sentence.judge_statement(losses.iter().map(|at| (*at, "the loss"))))
        };
        if reason.is_some() {
            return reason;
        }
        start = end;
    }
    None
}

fn not_measured(why: &str) -> Reason {
    Reason::missing(format!("{why} State the measured values plainly."), "measured values")
}

/// The part of a sorted list whose positions are in a range.
fn within<T>(list: &[T], start: usize, end: usize, at: impl Fn(&T) -> usize) -> &[T] {
    let first = list.partition_point(|of| at(of) < start);
    let behind = list.partition_point(|of| at(of) < end);
    list.get(first..behind).unwrap_or_default()
}

/// Marks the tokens that belong to a request for an assessment or an approval. They state nothing about a value.
fn request_words(tokens: &Tokens<'_>, phrases: &Phrases) -> Vec<bool> {
    let mut words = vec![false; tokens.len()];
    let terms = [Term::Assess, Term::Approve, Term::Status, Term::QuickCheck, Term::Pressure];
    for hit in terms.iter().flat_map(|term| phrases.all(*term)) {
        if let Some(range) = words.get_mut(hit.start..hit.end) {
            range.fill(true);
        }
    }
    words
}

struct Sentence<'a> {
    tokens: &'a Tokens<'a>,
    used: &'a Used,
    asks: &'a [bool],
    start: usize,
    end: usize,
}

impl Sentence<'_> {
    fn any(&self, list: List) -> bool {
        (self.start..self.end).any(|at| self.has(at, list))
    }

    fn has(&self, at: usize, list: List) -> bool {
        self.tokens.is(at, list)
    }

    /// Judges a sentence that states a value: every word beside the value must be known, and none may make it a wish or
    /// a condition.
    fn judge_statement(&self, statements: impl Iterator<Item = (usize, &'static str)>) -> Option<Reason> {
        if self.any(List::Unreal) || self.doubts() || self.changes_unit() || self.calculates() {
            return Some(not_measured(
                "A statement of values is a wish, a condition, a guess or a calculation, or has a unit of its own.",
            ));
        }
        let mut checked = self.start;
        for (at, name) in statements {
            if at < checked {
                continue;
            }
            let (from, to) = self.segment(at);
            if (from..to).any(|of| !self.is_plain(of) && !is_version(self.tokens.word(of))) {
                return Some(Reason::missing(
                    format!(
                        "The statement of {name} has words that are not understood. State its measured value plainly."
                    ),
                    name,
                ));
            }
            checked = to;
        }
        None
    }

    /// The tokens around a name up to the next separators, including a bracket directly after them.
    fn segment(&self, at: usize) -> (usize, usize) {
        let ends = |of: usize| {
            let is_sign =
                matches!(self.tokens.kind(of), Some(Kind::Sign(',' | ':' | '|' | '(' | ')' | '{' | '}' | '"')));
            is_sign && !self.used.is_used(of)
        };
        let from = (self.start..at).rev().find(|of| ends(*of)).map_or(self.start, |of| of + 1);
        let mut to = (at..self.end).find(|of| ends(*of)).unwrap_or(self.end);
        if self.tokens.is_sign(to, '(') {
            to = (to..self.end).find(|of| self.tokens.is_sign(*of, ')')).unwrap_or(self.end);
        }
        (from, to)
    }

    fn is_plain(&self, at: usize) -> bool {
        const LISTS: [List; 5] = [List::Plain, List::Connector, List::Limit, List::DataNoun, List::Unit];
        let word = self.tokens.word(at);
        word.is_empty()
            || self.used.is_used(at)
            || self.asks.get(at).copied().unwrap_or(false)
            || LABELS.contains(&word) && is_numeric(self.tokens, at + 1)
            || is_numeric(self.tokens, at)
            || LISTS.iter().any(|list| self.has(at, *list))
            || self.asks_to_ship(at)
            || is_name_part(self.tokens, at)
    }

    /// Judges a sentence that states no value: if it refers to the values, it must be plain, and it must not call them
    /// invented.
    fn judge_beside(&self) -> Option<Reason> {
        if self.tokens.is_question(self.start) {
            return None;
        }
        let speaks_of_values = self.any(List::DataNoun);
        let is_plain = || (self.start..self.end).all(|at| self.is_plain(at));
        let is_doubt = self.any(List::Unreal)
            || self.changes_unit()
            || self.calculates()
            || speaks_of_values && (self.doubts() || !is_plain());
        is_doubt.then(|| not_measured("The text says something about its values that is not understood."))
    }

    /// Whether the sentence contains a wish, a condition or a denial; "may it ship?" does not count.
    fn doubts(&self) -> bool {
        (self.start..self.end).any(|at| self.has(at, List::Doubt) && !ASKED.contains(&self.tokens.word(at + 1)))
    }

    /// "May it ship?", "will we go live?"; but not "I hope it is".
    fn asks_to_ship(&self, at: usize) -> bool {
        ["may", "will"].contains(&self.tokens.word(at))
            && ASKED.contains(&self.tokens.word(at + 1))
            && self.asks.get(at + 2).copied().unwrap_or(false)
    }

    /// "All values are in percent.": a unit without a number of its own.
    fn changes_unit(&self) -> bool {
        (self.start..self.end).any(|at| {
            let is_unit = self.has(at, List::Unit) || matches!(self.tokens.kind(at), Some(Kind::Sign('%' | '‰')));
            let is_per = at > self.start && self.tokens.word(at - 1) == "per";
            let before = at.checked_sub(1 + usize::from(is_per)).filter(|before| *before >= self.start);
            let has_number = self.used.is_used(at) || before.is_some_and(|before| is_numeric(self.tokens, before));
            let is_test = ["test", "tests"].contains(&self.tokens.word(at + 1));
            is_unit && !has_number && !is_test
        })
    }

    /// "Multiply by ten.", "times ten"; but not "3 times".
    fn calculates(&self) -> bool {
        (self.start..self.end).any(|at| {
            let word = self.tokens.word(at);
            self.has(at, List::Calculation)
                && !self.used.is_used(at)
                && (!["times", "factor"].contains(&word) || (at + 1..at + 3).any(|of| is_numeric(self.tokens, of)))
        })
    }
}

/// "v7".
fn is_version(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a token is part of a kernel's name.
fn is_name_part(tokens: &Tokens<'_>, at: usize) -> bool {
    const LONGEST: usize = 6;
    (at.saturating_sub(LONGEST)..=at).any(|from| name_at(tokens, from).is_some_and(|(_, end)| at < end))
}
