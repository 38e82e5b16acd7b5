//! Analyses the text of a model's answer: its sentences, the values that they judge, and approvals.

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The minimum number of words in reasons. The shortest answer with reasons in the specification's corpus has eleven.
const FEWEST_WORDS: usize = 8;

/// Requires function words, so that a list of keywords does not count as a sentence.
pub(super) fn check_sentence(answer: &str) -> Result<(), String> {
    const HOLDING: [&str; 30] = [
        "the", "a", "an", "is", "are", "of", "and", "for", "to", "not", "no", "with", "within", "that", "it", "in",
        "below", "above", "by", "at", "i", "was", "has", "be", "or", "this", "every", "each", "all", "on",
    ];
    let lower = plain(answer);
    let all: Vec<&str> = words(&lower).filter(|word| word.chars().any(char::is_alphabetic)).collect();
    let count = words(answer).count();
    if count < FEWEST_WORDS {
        return Err(format!("{count} words are no reasons"));
    }
    let holding = all.iter().filter(|word| HOLDING.contains(word)).count();
    if holding * 12 < all.len() || holding == 0 {
        return Err("its words make no sentence".to_owned());
    }
    Ok(())
}

/// Converts to lower case and normalises apostrophes.
pub(super) fn plain(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Whether a text contains a phrase as whole words.
pub(super) fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let touches = |of: Option<char>| of.is_some_and(char::is_alphanumeric);
        !touches(text.get(..at).and_then(|before| before.chars().next_back()))
            && !touches(text.get(at + phrase.len()..).and_then(|behind| behind.chars().next()))
    })
}

/// The sentences of an answer. A point between digits does not end a sentence.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = |at: usize, mark: char| {
            let next = rest.get(at + mark.len_utf8()..).and_then(|behind| behind.chars().next());
            mark != '.' || !next.is_some_and(|next| next.is_ascii_digit())
        };
        let end = rest.char_indices().find(|(at, mark)| ".!?;\n".contains(*mark) && ends(*at, *mark));
        let (sentence, behind) = match end {
            Some((at, mark)) => (rest.get(..at), rest.get(at + mark.len_utf8()..)),
            None => (Some(rest), None),
        };
        rest = behind.unwrap_or_default();
        Some(sentence.unwrap_or_default())
    })
}

/// Rejects an answer that contains an approval although its verdict does not ship.
pub(super) fn approves_nothing(answer: &str) -> Result<(), String> {
    const APPROVALS: [&str; 9] =
        ["approve", "approved", "ship it", "go ahead", "is live", "live now", "promoted", "shipped", "greenlit"];
    const DENIALS: [&str; 19] = [
        "not", "cannot", "can't", "won't", "never", "no", "nothing", "refuse", "refused", "without", "until", "unless",
        "don't", "decline", "unable", "before", "isn't", "wouldn't", "deny",
    ];
    for sentence in sentences(answer) {
        let lower = plain(sentence);
        for phrase in APPROVALS.iter().filter(|phrase| has_phrase(&lower, phrase)) {
            let before = lower.split(phrase).next().unwrap_or_default();
            let before = before.rsplit([',', ':']).next().unwrap_or_default();
            if !before.split(|of: char| !of.is_alphanumeric() && of != '\'').any(|word| DENIALS.contains(&word)) {
                return Err(format!("it says \"{phrase}\" and refuses"));
            }
        }
    }
    Ok(())
}

/// Words that express a judgement of the name before them.
const JUDGING: [&str; 44] = [
    "exceeds",
    "exceed",
    "within",
    "below",
    "above",
    "meets",
    "meet",
    "met",
    "under",
    "over",
    "at",
    "satisfies",
    "passes",
    "passed",
    "pass",
    "fails",
    "failed",
    "fail",
    "breaches",
    "breached",
    "violates",
    "missing",
    "given",
    "unknown",
    "known",
    "insufficient",
    "provide",
    "alive",
    "dead",
    "down",
    "up",
    "responding",
    "unreachable",
    "high",
    "low",
    "higher",
    "lower",
    "outside",
    "acceptable",
    "good",
    "sound",
    "healthy",
    "contradict",
    "not",
];

/// Fault words. Every reason for RED or HOLD contains at least one.
pub(super) const FAULTS: [&str; 32] = [
    "exceeds",
    "exceed",
    "exceeded",
    "above",
    "below",
    "over",
    "under",
    "fail",
    "fails",
    "failed",
    "failure",
    "failures",
    "breach",
    "breaches",
    "breached",
    "violates",
    "violated",
    "dead",
    "down",
    "unreachable",
    "exposure",
    "exposed",
    "high",
    "low",
    "not",
    "outside",
    "insufficient",
    "stands",
    "unauthorized",
    "unavailable",
    "blocked",
    "missing",
];

/// Whether a sentence contains a name of the group followed by a judging word.
pub(super) fn is_judged(answer: &str, group: &[String]) -> bool {
    sentences(answer).any(|sentence| {
        let lower = plain(sentence);
        let named = group.iter().filter_map(|name| {
            let name = name.to_lowercase();
            lower.find(&name).map(|at| at + name.len())
        });
        named.min().is_some_and(|behind| {
            let behind = lower.get(behind..).unwrap_or_default();
            words(behind).any(|word| JUDGING.contains(&word))
        })
    })
}
