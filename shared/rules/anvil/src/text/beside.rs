//! Judges the clauses beside the figures. A clause that states something about a system must be understood: an unknown
//! word where a state is named may name a fault, so it must not count as sound.
//!
//! A request, a condition, a question and a clause about people, business or time state nothing about the system.

use super::{
    findings::is_long_ago,
    readings::FoundReadings,
    token::{Kind, Tokens},
    used::Used,
    vocabulary::{List, Lists, is_word},
};
use crate::assessment::{Reason, shown_name};

/// Words that begin a new clause.
const CONJUNCTIONS: [&str; 11] =
    ["but", "while", "although", "though", "because", "that", "and", "so", "since", "whereas", "however"];

/// "And" begins a clause only before one of these: "the lockfile and the manifest" is one subject.
const OPENERS: [&str; 24] = [
    "the", "a", "an", "our", "my", "its", "their", "this", "that", "these", "it", "nobody", "nothing", "someone",
    "one", "two", "three", "half", "some", "all", "every", "most", "many", "we",
];

/// "The earlier outage", "the previous candidate": states nothing about today.
const FORMER: [&str; 3] = ["previous", "earlier", "former"];

/// Words that begin a clause that names its subject.
const NAMING: [&str; 3] = ["this", "it", "here"];

/// Words before a noun: "the build" is no verb.
const DETERMINERS: [&str; 13] =
    ["the", "a", "an", "our", "my", "its", "their", "this", "every", "each", "all", "no", "new"];

/// Words of a heading such as "Release of the ledger service".
const PREPOSITIONS: [&str; 2] = ["of", "for"];

/// Returns what is missing if a clause states something about the system that is not understood.
pub(super) fn find(
    tokens: &Tokens<'_>,
    kernels: &FoundReadings,
    used: &Used,
    original: impl Fn(usize, usize) -> String,
) -> Option<Reason> {
    let mut start = 0;
    while start < tokens.len() {
        let end = clause_end(tokens, used, start);
        let has_figure = (start..end).any(|at| used.is_used(at));
        let first_name = kernels.names.partition_point(|(at, _)| *at < start);
        let has_kernel = kernels.names.get(first_name).is_some_and(|(at, _)| *at < end);
        if !has_figure && !has_kernel && !Clause::of(tokens, start, end).is_understood() {
            let shown = match (tokens.get(start), tokens.get(end - 1)) {
                (Some(first), Some(last)) => shown_name(&original(first.start, last.end)),
                _ => String::new(),
            };
            return Some(Reason::missing(
                format!("The text states something that is not understood: \"{shown}\"."),
                format!("the state that \"{shown}\" describes, in plain words"),
            ));
        }
        start = end + 1;
    }
    None
}

/// The end of the clause that begins at a token: the next separator or conjunction.
fn clause_end(tokens: &Tokens<'_>, used: &Used, start: usize) -> usize {
    let ends = |at: usize| match tokens.kind(at) {
        Some(Kind::Stop(_)) => true,
        Some(Kind::Sign(',' | ':' | '(' | ')' | '—' | '–' | '|')) => !used.is_used(at),
        Some(Kind::Sign('-')) => !tokens.touches_next(at) && !used.is_used(at),
        Some(Kind::Word) if at > start => {
            let word = tokens.word(at);
            CONJUNCTIONS.contains(&word) && (word != "and" || OPENERS.contains(&tokens.word(at + 1)))
        }
        _ => false,
    };
    (start..tokens.len()).find(|at| ends(*at)).unwrap_or(tokens.len())
}

/// "fixes the", "is resolved"; but not "the fixed build".
pub(super) fn mends(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_mending = tokens.is(at, List::Mended);
    let is_passive = at > 0 && ["is", "was", "are", "were", "been"].contains(&tokens.word(at - 1));
    is_mending && (is_passive || ["the", "a", "an", "our", "this", "that", "all"].contains(&tokens.word(at + 1)))
}

struct Clause<'a> {
    tokens: &'a Tokens<'a>,
    /// The lists of the clause's words.
    words: Vec<Lists>,
    start: usize,
    end: usize,
}

impl<'a> Clause<'a> {
    fn of(tokens: &'a Tokens<'a>, start: usize, end: usize) -> Self {
        let start = (start..end).find(|at| !CONJUNCTIONS.contains(&tokens.word(*at))).unwrap_or(start);
        let words = (start..end).map(|at| tokens.lists(at).or_stem(tokens.word(at))).collect();
        Self { tokens, words, start, end }
    }

    fn is_understood(&self) -> bool {
        let all = self.start..self.end;
        let Some(first) = all.clone().find(|at| !self.is_filler(*at)) else { return !self.has_bare_number() };
        let is_request =
            self.has(first, List::Request) && !(self.start..first).any(|at| OPENERS.contains(&self.tokens.word(at)));
        // Statements about the values themselves are judged with the values.
        if self.tokens.is_question(self.start)
            || self.any(all.clone(), List::DataNoun)
            || is_request
            || self.any(all.clone(), List::Condition) && !self.says_could_not()
        {
            return true;
        }
        let auxiliary = all.clone().find(|at| self.has(*at, List::Auxiliary));
        let verb = auxiliary.or_else(|| all.clone().find(|at| self.is_verb(*at) && !self.is_noun(*at)));
        let subject = self.start..verb.unwrap_or(self.start);
        let concerns_people = self.any(all.clone(), List::People);
        let is_of_people = concerns_people && !self.any(all, List::Thing);
        if is_long_ago(self.tokens, self.start) {
            return true;
        }
        let Some(verb) = verb else {
            let has_trouble = self.any(self.start..self.end, List::Trouble);
            return is_of_people || self.is_denied_trouble() || !has_trouble && !self.is_statement();
        };
        if self.is_about_people(subject.clone()) {
            // "Customers see blank pages", "we lost the primary", "we have not tested it"; but "we lost a million".
            let observes = self.any(verb..self.end, List::Observation)
                || self.is_negated() && self.any(verb..self.end, List::Work);
            return !observes || self.any(verb..self.end, List::People) || self.is_denied_trouble();
        }
        let is_of_a_part = self.any(subject.clone(), List::Thing);
        let is_former = subject.clone().any(|at| FORMER.contains(&self.tokens.word(at)));
        // "The scheduler skipped eleven runs": an unknown verb before a known one.
        let has_unknown_verb = auxiliary.is_none() && subject.clone().any(|at| self.is_unknown_past(at));
        is_former
            || !is_of_a_part && (concerns_people || self.has(verb, List::Attitude))
            || !has_unknown_verb && self.is_sound(verb)
    }

    /// Whether the subject's last known noun is of people, business or time: "the platform team", but not "the orders queue".
    fn is_about_people(&self, subject: std::ops::Range<usize>) -> bool {
        let noun = subject.rev().find(|at| self.has(*at, List::People) || self.has(*at, List::Thing));
        // "My job depends on it."
        let is_own = |at: usize| at > self.start && ["my", "your"].contains(&self.tokens.word(at - 1));
        noun.is_some_and(|at| self.has(at, List::People) || is_own(at))
    }

    /// "We could not get the suite to pass" happened; "it could not be better" concerns no part.
    fn says_could_not(&self) -> bool {
        let could = |at: usize| ["could", "couldn"].contains(&self.tokens.word(at));
        self.any(self.start..self.end, List::Thing) && self.is_negated() && (self.start..self.end).any(could)
    }

    /// A word that is also a verb, behind a determiner: "the build", "the smoke test".
    fn is_noun(&self, at: usize) -> bool {
        let is_part_of_a_name = |of: usize| self.has(of, List::Work) && self.has(at, List::Work);
        let before = (self.start..at).rev().find(|of| !is_part_of_a_name(*of));
        before.is_some_and(|of| DETERMINERS.contains(&self.tokens.word(of)))
    }

    /// Whether a clause without a known verb is a statement with an unknown one ("the gateway flaps", "payments bounce") and
    /// not a heading or a fragment ("top priority").
    fn is_statement(&self) -> bool {
        let stop = self.tokens.kind(self.end);
        let words = (self.start..self.end).filter(|at| !self.tokens.word(*at).is_empty()).count();
        let is_heading = (self.start..self.end).any(|at| PREPOSITIONS.contains(&self.tokens.word(at)));
        match stop {
            None | Some(Kind::Stop(_)) if OPENERS.contains(&self.tokens.word(self.start)) => words > 2,
            None | Some(Kind::Stop('.' | '!' | ';')) => {
                words > 1 && !is_heading && self.any(self.start..self.end, List::Thing)
            }
            _ => false,
        }
    }

    /// Judges what a clause says about a part of the system: the first word of its predicate must be known.
    fn is_sound(&self, verb: usize) -> bool {
        if self.any(self.start..self.end, List::Trouble) || self.any(self.start..self.end, List::Defect) {
            return self.is_denied_trouble() || self.is_mended();
        }
        match (verb..self.end).find(|at| !self.is_filler(*at)) {
            Some(head) => {
                let is_known = [List::Sound, List::Neutral, List::Work].iter().any(|list| self.has(head, *list));
                // "This is the third candidate"; "nothing changed".
                let is_name = self.has(head, List::Thing) && NAMING.contains(&self.tokens.word(self.start));
                is_name || is_known && (!self.is_negated() || self.tokens.word(head).starts_with("change"))
            }
            None => !self.has_bare_number() && !self.is_negated(),
        }
    }

    /// Whether a negation precedes the first word of trouble: "No errors".
    fn is_denied_trouble(&self) -> bool {
        let is_trouble = |at: usize| self.has(at, List::Trouble) || self.has(at, List::Defect);
        let first = (self.start..self.end).find(|at| is_trouble(*at));
        first.is_some_and(|first| (self.start..first).any(|at| self.is_negation(at)))
    }

    /// "This build fixes the crash", "the outage is resolved".
    fn is_mended(&self) -> bool {
        !self.is_negated() && (self.start..self.end).any(|at| mends(self.tokens, at))
    }

    fn is_negated(&self) -> bool {
        (self.start..self.end).any(|at| self.is_negation(at))
    }

    fn is_negation(&self, at: usize) -> bool {
        is_word(List::Negation, self.tokens.str(at)) || self.tokens.word(at) == "nobody"
    }

    fn is_unknown_past(&self, at: usize) -> bool {
        self.tokens.word(at).len() > 4
            && self.tokens.word(at).ends_with("ed")
            && !self.is_verb(at)
            && !self.is_filler(at)
    }

    /// A number without a known meaning: "permissions are 0777", "the lag is nine hours".
    fn has_bare_number(&self) -> bool {
        let is_number = |at: usize| matches!(self.tokens.kind(at), Some(Kind::Number | Kind::Malformed));
        self.any(self.start..self.end, List::Thing) && (self.start..self.end).any(is_number)
    }

    fn is_verb(&self, at: usize) -> bool {
        [List::Auxiliary, List::Attitude, List::Sound, List::Neutral, List::Work, List::Observation, List::Mended]
            .iter()
            .any(|list| self.has(at, *list))
    }

    /// Words without a meaning of their own, and signs.
    fn is_filler(&self, at: usize) -> bool {
        self.tokens.word(at).is_empty()
            || [List::Filler, List::Auxiliary].iter().any(|list| self.has(at, *list))
            || self.is_negation(at)
    }

    fn any(&self, mut range: std::ops::Range<usize>, list: List) -> bool {
        range.any(|at| self.has(at, list))
    }

    fn has(&self, at: usize, list: List) -> bool {
        at.checked_sub(self.start).and_then(|at| self.words.get(at)).is_some_and(|lists| lists.has(list))
    }
}
