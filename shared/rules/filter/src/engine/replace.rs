//! Chooses the wording of a substitute, so that the sentence around it stays grammatical.
//!
//! The words around a term are never changed. If the text already has a determiner, the substitute has none ("the
//! manifold" → "the system"). If no wording fits, the term is not replaced.

use crate::engine::context::{Context, word_before};
use crate::engine::lists::Substitute;
use crate::engine::token::Token;
use crate::engine::word_lists::{DETERMINERS, FUNCTION_WORDS, TITLES};

/// Whether some wording may replace the bytes from `start` on; see [`wording`].
pub(crate) fn fits(substitute: &Substitute, text: &str, start: usize) -> bool {
    fits_after(substitute, word_before(text, start))
}

fn fits_after(substitute: &Substitute, before: Option<Token<'_>>) -> bool {
    match before {
        Some(before) if before.is("an") => substitute.noun.starts_with(['a', 'e', 'i', 'o', 'u']),
        Some(before) => !(substitute.alone && before.is_one_of(TITLES)),
        None => true,
    }
}

/// The wording that replaces the bytes from `start` to `end`, or `None` when no wording would be grammatical.
pub(crate) fn wording(substitute: &Substitute, text: &str, start: usize, end: usize, plural: bool) -> Option<String> {
    let context = Context::of(None, text, start, end);
    if !fits_after(substitute, context.before()) {
        return None;
    }
    let mut chosen = match form(substitute, &context) {
        Form::Full => substitute.full.clone(),
        Form::Noun => substitute.noun.clone(),
        Form::AfterA => substitute.after_a.clone(),
    };
    // "0.042 constant" must not become "our stability constant constant".
    if let (Some(next), Some((rest, head))) = (context.after(), chosen.rsplit_once(' '))
        && next.is(head)
    {
        chosen = rest.to_owned();
    }
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

enum Form {
    Full,
    Noun,
    AfterA,
}

/// The form that agrees with the words before, if one does.
fn form(substitute: &Substitute, context: &Context<'_>) -> Form {
    let Some(before) = context.before() else {
        return Form::Full;
    };
    if before.is("a") {
        return Form::AfterA;
    }
    if before.is("an") || before.is_one_of(DETERMINERS) || before.ends_with("'s") {
        return Form::Noun;
    }
    if !before.is_word() || before.is_one_of(FUNCTION_WORDS) || substitute.alone {
        return Form::Full;
    }
    let phrase = context.words_before().take(4).take_while(|t| t.is_word() && !t.is_one_of(FUNCTION_WORDS));
    let determined = phrase.skip(1).any(|t| t.is_one_of(DETERMINERS) || t.is_one_of(&["a", "an"]));
    let verb_like = ["s", "ed", "ing"].iter().any(|ending| before.ends_with(ending));
    if determined || !verb_like { Form::Noun } else { Form::Full }
}

fn begins_sentence(context: &Context<'_>) -> bool {
    let mut left = context.words_before();
    left.next().is_none_or(|t| {
        let is_dash = t.is_one_of(&["-", "–"]);
        t.is_one_of(&[".", "!", "?", "•"]) || (is_dash && left.next().is_none_or(|b| b.line_break))
    })
}
