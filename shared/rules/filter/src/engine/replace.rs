//! Chooses the wording of a substitute, so that the sentence around it stays grammatical.
//!
//! The words around a term are never changed. If the text already has a determiner, the substitute has none ("the
//! manifold" → "the system"). If no wording fits, the term is not replaced.

use crate::engine::context::Context;
use crate::engine::lists::Substitute;
use crate::engine::token::Token;
use crate::engine::word_lists::{
    ADJECTIVES, AUXILIARIES, CONTRACTIONS, DETERMINERS, FUNCTION_WORDS, NO_PRONOUNS, PAST_VERBS, QUANTITIES, TITLES,
};

/// Whether some wording may replace the bytes from `start` to `end`; see [`wording`].
pub(crate) fn fits(substitute: &Substitute, text: &str, start: usize, end: usize, plural: bool) -> bool {
    agreeing(substitute, &Context::of(None, text, start, end), plural).is_some()
}

/// The wording that replaces the bytes from `start` to `end`, or `None` when no wording would be grammatical.
pub(crate) fn wording(substitute: &Substitute, text: &str, start: usize, end: usize, plural: bool) -> Option<String> {
    let context = Context::of(None, text, start, end);
    let mut chosen = agreeing(substitute, &context, plural)?.to_owned();
    if plural {
        chosen.push('s');
    }
    if begins_sentence(&context) {
        let mut chars = chosen.chars();
        if let Some(first) = chars.next() {
            chosen = first.to_uppercase().chain(chars).collect();
        }
    }
    Some(chosen)
}

/// The wording that agrees with the words beside the term, in the singular and in lower case; `None` if none does.
fn agreeing<'s>(substitute: &'s Substitute, context: &Context<'_>, plural: bool) -> Option<&'s str> {
    let before = context.before();
    // The rest of the word would stay: "analysisScore".
    if context.is_glued() {
        return None;
    }
    if substitute.alone && before.is_some_and(|before| before.is_one_of(TITLES)) {
        return None;
    }
    let mut chosen = match form(substitute, context)? {
        Form::Full => &substitute.full,
        Form::Noun => &substitute.noun,
        Form::AfterA => &substitute.after_a,
    }
    .as_str();
    // "0.042 constant" must not become "our stability constant constant".
    let head = chosen.rsplit(' ').next()?;
    if context.after().is_some_and(|next| is_noun(&next, head)) {
        // A plural's ending would go to the word before the head.
        chosen = without_head(chosen, head).or_else(|| without_head(&substitute.after_a, head)).filter(|_| !plural)?;
    }
    let agrees = before.is_none_or(|before| !before.is("an")) || chosen.starts_with(['a', 'e', 'i', 'o', 'u']);
    agrees.then_some(chosen)
}

/// The words before the last one, which must be `head`.
fn without_head<'s>(wording: &'s str, head: &str) -> Option<&'s str> {
    wording.strip_suffix(head)?.strip_suffix(' ')
}

/// Whether a word is this noun, in the singular or the plural.
fn is_noun(word: &Token<'_>, noun: &str) -> bool {
    let (stem, plural) = noun.strip_suffix("is").map_or((noun, "s"), |stem| (stem, "es"));
    word.is(noun) || (word.text.len() == stem.len() + plural.len() && word.starts_with(stem) && word.ends_with(plural))
}

enum Form {
    Full,
    Noun,
    AfterA,
}

/// The form that agrees with the words before, if one does.
fn form(substitute: &Substitute, context: &Context<'_>) -> Option<Form> {
    let Some(before) = context.before() else {
        return Some(Form::Full);
    };
    if before.is("a") {
        return Some(Form::AfterA);
    }
    if !before.is_word() || before.is_one_of(FUNCTION_WORDS) || before.is_one_of(CONTRACTIONS) {
        return Some(Form::Full);
    }
    if before.is("an") || before.is_one_of(DETERMINERS) || is_possessive(&before) || before.is_one_of(ADJECTIVES) {
        return Some(Form::Noun);
    }
    if substitute.alone {
        return (!is_inside_phrase(context) || begins_clause(context)).then_some(Form::Full);
    }
    let phrase = context.words_before().take(4).take_while(|t| t.is_word() && !t.is_one_of(FUNCTION_WORDS));
    let determined = phrase.skip(1).any(|t| t.is_one_of(DETERMINERS) || t.is_one_of(&["a", "an"]));
    let verb_like = ["s", "ed", "ing"].iter().any(|ending| before.ends_with(ending));
    Some(if determined || !verb_like { Form::Noun } else { Form::Full })
}

fn is_possessive(word: &Token<'_>) -> bool {
    word.ends_with("'s") && !word.is_one_of(CONTRACTIONS)
}

/// Whether a quantity, or a determiner and one more word, precedes the term: "12 CLOD", "the staging CGNT-1", "your
/// in-house MANTIS".
fn is_inside_phrase(context: &Context<'_>) -> bool {
    let mut words = context.words_before();
    let Some(first) = words.next() else {
        return false;
    };
    if first.is_one_of(QUANTITIES) || first.text.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let mut second = words.next();
    if second.is_some_and(|t| t.is("-")) {
        words.next();
        second = words.next();
    }
    // In "this helped AION" the second word before is a pronoun, and the first one its verb.
    let may_be_verb = first.ends_with("s") || first.ends_with("ed");
    !first.is_one_of(PAST_VERBS)
        && second.is_some_and(|t| {
            t.is_one_of(NO_PRONOUNS) || is_possessive(&t) || (!may_be_verb && t.is_one_of(DETERMINERS))
        })
}

/// Whether the term begins a clause of its own: "the report AION wrote".
fn begins_clause(context: &Context<'_>) -> bool {
    context.after().is_some_and(|t| t.is_one_of(AUXILIARIES) || t.is_one_of(PAST_VERBS) || t.ends_with("ed"))
}

fn begins_sentence(context: &Context<'_>) -> bool {
    let mut left = context.words_before();
    left.next().is_none_or(|t| {
        let is_dash = t.is_one_of(&["-", "–"]);
        t.is_one_of(&[".", "!", "?", "•"]) || (is_dash && left.next().is_none_or(|b| b.line_break))
    })
}
