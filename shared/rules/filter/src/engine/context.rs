//! Reads the words around an occurrence and decides whether they make it ordinary English.
//! The file has more than 300 lines because each clue in the sentence has a short check, and all checks read the same
//! words on both sides.

use crate::engine::code;
use crate::engine::known::Known;
use crate::engine::lists::{Matching, Term};
use crate::engine::senses::{Case, Collocations, Condition, Shape, WordPattern, bit_of};
use crate::engine::token::Token;
use crate::engine::word_lists::{
    ASSESSMENTS, AUXILIARIES, BARE_VERDICTS, DETERMINERS, FUNCTION_WORDS, JUDGEMENTS, NAME_ENDINGS, NO_GIVEN_NAMES,
    OBJECTS_OF_A_VERDICT, PAST_VERBS, VERDICTS,
};
use crate::engine::words::{WORDS, Words};

/// The number of the rule that allows parts of proper names; the list's own rules begin with 1.
const PROPER_NAME: usize = 0;

/// The most words on each side that a collocation may reach.
const NEAREST_WORDS: usize = 5;

/// The number of bytes on each side that are examined.
const REACH: usize = 240;

/// The text around an occurrence, up to the ends of its paragraph or list item.
pub(crate) struct Context<'t> {
    left: Words<'t>,
    right: Words<'t>,
    /// The most words that a collocation may reach.
    nearest: usize,
}

/// The nearest character boundary at or before `at`.
pub(crate) fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl<'t> Context<'t> {
    /// The words around the bytes from `start` to `end`. `known` caches words of the same text from other contexts.
    #[inline]
    pub(crate) fn of(known: Option<&'t Known>, text: &'t str, start: usize, end: usize) -> Context<'t> {
        Context::reaching(NEAREST_WORDS, known, text, start, end)
    }

    /// The same for a symbol, whose senses differ only by the whole sentence.
    pub(crate) fn of_symbol(known: Option<&'t Known>, text: &'t str, start: usize, end: usize) -> Context<'t> {
        Context::reaching(WORDS, known, text, start, end)
    }

    #[inline]
    fn reaching(nearest: usize, known: Option<&'t Known>, text: &'t str, start: usize, end: usize) -> Context<'t> {
        let from = floor(text, start.saturating_sub(REACH));
        let to = floor(text, (end + REACH).min(text.len()));
        let left = Words::before(text, from..start, known);
        let right = Words::after(text, end..to, known);
        Context { left, right, nearest }
    }

    /// The word or sign right before the occurrence.
    pub(crate) fn before(&self) -> Option<Token<'t>> {
        self.left.get(0)
    }

    /// The word or sign right after the occurrence.
    pub(crate) fn after(&self) -> Option<Token<'t>> {
        self.right.get(0)
    }

    /// The words and signs before the occurrence that a collocation may reach, nearest first.
    pub(crate) fn words_before(&self) -> impl Iterator<Item = Token<'t>> {
        self.left.take(self.nearest)
    }

    /// Whether a clause begins with the occurrence.
    pub(crate) fn starts_clause(&self) -> bool {
        const BEFORE: &[&str] = &[".", "!", "?", ":", ";", "•", "-", "–", "—", "(", "…", ">", "#"];
        self.before().is_none_or(|t| t.line_break || t.is_one_of(BEFORE))
    }

    /// Whether a clause ends with the occurrence.
    pub(crate) fn ends_clause(&self) -> bool {
        const AFTER: &[&str] = &[".", "!", "?", ":", ";", ",", ")", "–", "—", "…", "-"];
        self.after().is_none_or(|t| t.line_break || t.is_one_of(AFTER))
    }

    /// Whether a letter or digit stands right behind the occurrence: "TMMScore", "NOUS2".
    pub(crate) fn is_glued(&self) -> bool {
        self.right.text().starts_with(char::is_alphanumeric)
    }

    /// Whether a determiner precedes the occurrence, with at most one adjective between.
    fn is_determined(&self) -> bool {
        let is_determiner = |t: Option<Token<'_>>| {
            t.is_some_and(|t| t.is_one_of(&["a", "an"]) || t.is_one_of(DETERMINERS) || t.ends_with("'s"))
        };
        let mut words = self.words_before().filter(|t| t.text != "-");
        let (first, second) = (words.next(), words.next());
        let adjective = || {
            first.is_some_and(|t| {
                t.text.chars().all(char::is_alphabetic)
                    && !t.is_one_of(FUNCTION_WORDS)
                    && !t.ends_with("ed")
                    && !t.ends_with("s")
            })
        };
        is_determiner(first) || (is_determiner(second) && adjective())
    }

    /// Whether the occurrence is part of another name: "Anvil Holdings", "a letter from Jane Gloss". `case` is the case
    /// of the occurrence itself.
    fn is_in_proper_name(&self, case: Case) -> bool {
        let is_capitalised = |t: &Token<'_>| {
            let mut letters = t.text.chars();
            letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
        };
        let beside = |t: Option<Token<'t>>| t.filter(|t| is_capitalised(t) && !t.line_break);
        if beside(self.after()).is_some_and(|t| t.is_one_of(NAME_ENDINGS)) {
            return true;
        }
        // A capital at the beginning of a clause is no evidence: "Ask Gamma", "Signed, Astra".
        let given = beside(self.before()).filter(|t| !t.is_one_of(NO_GIVEN_NAMES) && t.is_word());
        const STARTS: &[&str] = &[".", "!", "?", ":", ";", "•", "-", "–", "—", "…", ">", "#"];
        case == Case::Title
            && given.is_some()
            && self.left.get(1).is_some_and(|t| !t.line_break && !t.is_one_of(STARTS))
    }

    fn is_before_surname(&self) -> bool {
        self.after().is_some_and(|t| {
            let mut letters = t.text.chars();
            letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase) && t.text.len() > 2
        })
    }

    /// Whether the occurrence is alone on its line, as a heading, in a text with more lines.
    fn stands_on_its_own_line(&self) -> bool {
        let (left, right) = (self.before(), self.after());
        left.is_none_or(|t| t.line_break)
            && right.is_none_or(|t| t.line_break)
            && (left.is_some() || right.is_some() || self.left.is_followed() || self.right.is_followed())
    }

    /// The number of the first of the term's ordinary senses that holds here.
    pub(crate) fn ordinary_sense(&self, term: &Term, shape: Shape) -> Option<usize> {
        let is_one_word = !term.text.contains(' ');
        // "Smokey Stover" is another person's full name.
        if term.category == 4 && is_one_word && shape.case == Case::Title && self.is_before_surname() {
            return Some(PROPER_NAME);
        }
        let may_be_name = term.category == 2 && matches!(shape.case, Case::Initial | Case::Title) && !shape.split;
        if may_be_name && self.is_in_proper_name(shape.case) && !self.is_denied(term) {
            return Some(PROPER_NAME);
        }
        let fits = |condition: &Condition| condition.split == shape.split && (!condition.spaced || shape.spaced);
        let rule =
            term.allow.iter().position(|condition| fits(condition) && self.holds(term, condition, shape.case))?;
        // Where the case alone decides (VELA, AEGIS), the verb does not.
        let is_judge = || term.allow[rule].is_by_words() && self.judges_reader(term);
        (!self.is_denied(term) && !is_judge()).then_some(rule + 1)
    }

    /// Whether the words show that the term acts or is acted upon: it judges, or its list denies every ordinary sense.
    pub(crate) fn is_actor(&self, term: &Term) -> bool {
        self.judges() || self.is_denied(term)
    }

    fn is_denied(&self, term: &Term) -> bool {
        term.deny.iter().any(|condition| self.evidence(condition).is_some())
    }

    /// Whether the occurrence is the subject of a judgement that things do not pass: "the manifold rates your shop",
    /// "the ring has rejected it".
    fn judges(&self) -> bool {
        let mut words = self.right.take(4).skip_while(|t| t.is_one_of(AUXILIARIES));
        let Some(verb) = words.next().filter(|t| t.is_one_of(JUDGEMENTS) || t.is_one_of(VERDICTS)) else {
            return false;
        };
        // "The manifold shows cracks" and "marks an inch deep" are no judgements: the object of a judgement is a plan,
        // a reader or a clause.
        verb.is_one_of(VERDICTS)
            || self
                .right
                .take(6)
                .any(|t| t.is_one_of(&["that", "you", "your", "us", "no", "yes", "why", "red", "green", "amber"]))
    }

    /// Whether the occurrence, or a collocation of it, is the subject of a verdict on what the reader asks: "Lattice
    /// model rejected the price". "The gamma test rejected the hypothesis" is none.
    fn judges_reader(&self, term: &Term) -> bool {
        let behind = |c: &Condition| self.collocated(&self.right, &c.right, |words| words.iter());
        term.category != 4
            && term.matching == Matching::Word
            && (self.has_verdict_at(0)
                || term.allow.iter().filter_map(behind).any(|from| from > 0 && self.has_verdict_at(from)))
    }

    /// Whether the word with this index on the right is the verb of a verdict on what the reader asks.
    fn has_verdict_at(&self, from: usize) -> bool {
        let mut words = self.right.take(from + 8).skip(from).skip_while(|t| t.is_one_of(AUXILIARIES));
        let Some(verb) = words.next() else {
            return false;
        };
        // "An anvil back on your bench": the bare form is a verb only behind an auxiliary.
        let is_helped = self.right.get(from).is_some_and(|t| t.is_one_of(AUXILIARIES));
        let is_verdict = verb.is_one_of(VERDICTS) && (is_helped || !verb.is_one_of(BARE_VERDICTS));
        if !is_verdict && !verb.is_one_of(ASSESSMENTS) {
            return false;
        }
        let mut object = words.take(4).take_while(|t| !t.is_one_of(&[".", "!", "?", ";"]));
        let first = object.next();
        // "The lattice fence approved in your plan" is no subject of "approved".
        let is_participle = verb.ends_with("ed")
            && !is_helped
            && first.is_some_and(|t| t.is_one_of(&["as", "at", "by", "during", "for", "in", "of", "on", "under"]));
        let is_reader = |t: Token<'_>| t.is_one_of(&["you", "your", "against"]) || (from == 0 && t.is("it"));
        let is_act = |t: Token<'_>| t.ends_with("ing") && t.text.len() > 5;
        !is_participle
            && ((is_verdict && first.is_some_and(|t| is_reader(t) || is_act(t)))
                || first.into_iter().chain(object).any(|t| t.is_one_of(OBJECTS_OF_A_VERDICT)))
    }

    /// Whether the occurrence, determined by more than "a", is the subject of a judgement: "the anvil has rejected it".
    fn judges_as_the_one(&self) -> bool {
        // "An anvil weighs more than your van can carry" is said of a thing.
        let is_one_of_many = self.before().is_some_and(|t| t.is_one_of(&["a", "an"]));
        // "Put the anvil back."
        let is_verb = self.after().is_none_or(|t| !t.is_one_of(BARE_VERDICTS))
            || self.right.get(1).is_some_and(|t| t.is_one_of(&["you", "your"]));
        !is_one_of_many && is_verb && self.judges()
    }

    /// Whether the occurrence reads as a capitalised name of an actor: the subject or object of a verb.
    fn reads_as_name(&self) -> bool {
        const AUXILIARIES: &[&str] = &["has", "had", "will", "would", "does", "did", "must", "should", "might"];
        const NO_VERBS: &[&str] = &["is", "was", "as", "plus", "vs", "this", "versus", "its"];
        const TO_AND_BY: &[&str] = &["by", "to", "from", "with", "via", "through", "ask", "asked", "per"];
        let verb = |t: Token<'_>| {
            t.is_one_of(AUXILIARIES)
                || t.is_one_of(PAST_VERBS)
                || ((t.ends_with("s") || t.ends_with("ed")) && t.text.len() > 2 && !t.is_one_of(NO_VERBS))
        };
        let is_possessed = self.before().is_some_and(|t| t.is_one_of(&["of", "about", "for", "like", "in"]));
        let acts = self.after().is_some_and(verb) && !is_possessed;
        let is_acted_on = self.before().is_some_and(|t| t.is_one_of(TO_AND_BY)) && self.ends_clause();
        if !self.is_determined() {
            return acts || is_acted_on;
        }
        // "Our Gamma ran the study" and "the Chroma sent your plan back" are ours. "The Astra took the corner" and "the
        // Astra suits you" are a car, and in "our Gamma sliders" the ending makes no verb.
        let is_past = self.after().is_some_and(|t| !t.ends_with("s") || t.is_one_of(AUXILIARIES));
        let has_reader = || self.right.take(6).any(|t| t.is_one_of(&["you", "your"]));
        let is_ours = self.before().is_some_and(|t| {
            (t.is("our") && (is_past || self.object_follows())) || (t.is("the") && is_past && has_reader())
        });
        acts && is_ours
    }

    /// Whether a determiner or the reader is the second word after the occurrence, as behind a verb: "Gamma checks
    /// your".
    fn object_follows(&self) -> bool {
        self.right.get(1).is_some_and(|t| t.is("you") || t.is_one_of(DETERMINERS))
    }

    fn holds(&self, term: &Term, condition: &Condition, case: Case) -> bool {
        if !condition.case.is_empty() && !condition.case.contains(&case) {
            return false;
        }
        let is_bare = condition.left.is_empty() && condition.right.is_empty();
        let is_weak = is_bare && !condition.near.is_empty();
        let is_name = || term.name && case != Case::Lower && self.reads_as_name();
        let is_answer = || term.category == 4 && self.starts_clause();
        let is_judge = || term.category != 4 && !term.matching.is_symbolic() && self.judges();
        if is_weak && (is_name() || is_answer() || is_judge()) {
            return false;
        }
        if is_bare && condition.determined && (is_name() || self.judges_as_the_one()) {
            return false;
        }
        self.evidence(condition)
            .is_some_and(|in_capitals| !condition.case.is_empty() || case != Case::Upper || in_capitals)
    }

    /// Whether the words match a condition and, if so, whether the matching words are in capitals.
    fn evidence(&self, condition: &Condition) -> Option<bool> {
        let mut in_capitals = true;
        if !condition.left.is_empty() {
            let length = self.collocated(&self.left, &condition.left, |words| words.iter().rev())?;
            in_capitals &= self.left.take(length).all(|t| t.fits_capitals());
        }
        if !condition.right.is_empty() {
            let length = self.collocated(&self.right, &condition.right, |words| words.iter())?;
            in_capitals &= self.right.take(length).all(|t| t.fits_capitals());
        }
        if !condition.near.is_empty() {
            let near = |words: &Words<'t>| words.find_in_sentence(condition, |token| is_near_word(token, condition));
            let is_heading = condition.own_line && self.stands_on_its_own_line();
            let is_near_heading = is_heading && self.heads_near_words(condition);
            in_capitals &= is_near_heading || near(&self.left).or_else(|| near(&self.right))?.fits_capitals();
        }
        let (before, after) = (self.left.text(), self.right.text());
        let holds = (!condition.determined || self.is_determined())
            && (!condition.own_line || self.stands_on_its_own_line())
            && (!condition.starts || self.starts_clause())
            && (!condition.ends || self.ends_clause())
            && (!condition.code || code::is_code(before, after))
            && (!condition.identifier || code::is_in_identifier(before, after))
            && (!condition.hex || code::is_among_bytes(before, after));
        holds.then_some(in_capitals)
    }

    /// Whether one of the condition's near words is in the text around a heading, also in another paragraph.
    fn heads_near_words(&self, condition: &Condition) -> bool {
        let words = |text: &'t str| text.split(|c: char| !c.is_alphanumeric());
        words(self.left.text())
            .chain(words(self.right.text()))
            .any(|word| condition.near.iter().any(|pattern| pattern.is_near_word(word)))
    }

    /// The number of words that the first matching collocation on this side uses. `nearest_first` gives a collocation's
    /// words in the order of that side.
    fn collocated<'p, I: Iterator<Item = &'p WordPattern>>(
        &self,
        words: &Words<'_>,
        collocations: &'p Collocations,
        nearest_first: impl Fn(&'p [WordPattern]) -> I,
    ) -> Option<usize> {
        let begins = words.begins(0)?;
        // If a hyphen may be skipped, the word after it counts too.
        let behind = if begins == b'-' { words.begins(1).unwrap_or(begins) } else { begins };
        if collocations.initials & (bit_of(begins) | bit_of(behind)) == 0 {
            return None;
        }
        // All characters outside ASCII share one initial.
        let is_like = |initial: u8, begins: u8| initial == begins || (initial >= 128 && begins >= 128);
        let may_fit = |initial: u8| initial == 0 || is_like(initial, begins) || is_like(initial, behind);
        let candidates = collocations.all.iter().zip(&collocations.initial).filter(|(_, initial)| may_fit(**initial));
        candidates.map(|(c, _)| c).find_map(|c| sequence(words, self.nearest, nearest_first(c)))
    }
}

/// Whether a token is one of the condition's near words, which are sorted by [`WordPattern::initial`].
fn is_near_word(token: &Token<'_>, condition: &Condition) -> bool {
    let words = &condition.near;
    let Some(initial) = token.initial() else {
        let from = words.partition_point(|word| word.initial() < 128);
        // Compared first, because each word would put the token into lower case again.
        let first = token.first();
        return words[from..].iter().any(|word| word.first() == first && fits(token, word));
    };
    if condition.near_initials & bit_of(initial) == 0 {
        return false;
    }
    let from = words.partition_point(|word| word.initial() < initial);
    words[from..].iter().take_while(|word| word.initial() == initial).any(|word| fits(token, word))
}

fn fits(token: &Token<'_>, pattern: &WordPattern) -> bool {
    match pattern {
        WordPattern::Exact(exact) => token.is(exact),
        WordPattern::Prefix(stem) => token.starts_with(stem),
        WordPattern::Suffix(ending) => token.ends_with(ending),
        WordPattern::OneOf(words) => token.is_one_of(words),
    }
}

/// Matches words against a collocation, both nearest first. Skips a hyphen that only the text has. Returns the number
/// of tokens used.
fn sequence<'p>(words: &Words<'_>, nearest: usize, pattern: impl Iterator<Item = &'p WordPattern>) -> Option<usize> {
    let mut used = 0;
    let token_at = |index: usize| {
        if index < nearest { words.get(index) } else { None }
    };
    for word in pattern {
        let mut token = token_at(used)?;
        if token.text == "-" && !fits(&token, word) {
            used += 1;
            token = token_at(used)?;
        }
        if !fits(&token, word) {
            return None;
        }
        used += 1;
    }
    Some(used)
}
