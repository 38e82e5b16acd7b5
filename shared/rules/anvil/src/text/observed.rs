//! The observed services, and the names of services in texts.

use super::{
    token::{Kind, Tokens},
    vocabulary::List,
};
use crate::{
    assessment::{Reason, Verdict, shown_name},
    facts::{Facts, ServiceState},
};
use std::collections::BTreeMap;

/// The comparison key of a service name: lower-case letters and digits only.
pub(super) fn key(name: &str) -> String {
    let words = name.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(str::to_lowercase).collect();
    if words.len() > 1 {
        words.retain(|word| !["port", "service", "server"].contains(&word.as_str()));
    }
    words.concat()
}

/// The end of a run of adjacent tokens that form a name: `smoke-test`, `api.internal`, `8891`.
pub(super) fn name_run(tokens: &Tokens<'_>, start: usize) -> Option<usize> {
    let is_part = |at: usize| matches!(tokens.kind(at), Some(Kind::Word | Kind::Number | Kind::Malformed));
    if !is_part(start) {
        return None;
    }
    let mut end = start + 1;
    loop {
        if tokens.touches_next(end - 1) && is_part(end) {
            end += 1;
        } else if tokens.touches_next(end - 1)
            && matches!(tokens.kind(end), Some(Kind::Sign('-' | '_' | '/' | '@' | '.')))
            && tokens.touches_next(end)
            && is_part(end + 1)
        {
            end += 2;
        } else {
            return Some(end);
        }
    }
}

/// A name in the text: its key and its range of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All possible service names in a range.
pub(super) fn names_in(tokens: &Tokens<'_>, start: usize, end: usize) -> Vec<Name> {
    let mut names = Vec::new();
    let mut at = start;
    while at < end {
        let Some(behind) = name_run(tokens, at) else {
            at += 1;
            continue;
        };
        let is_single_filler = behind == at + 1 && tokens.is(at, List::NoName);
        if !is_single_filler && !Verdict::is_verdict_word(tokens.word(at)) {
            let text = (at..behind).map(|of| tokens.str(of)).collect::<Vec<_>>().join(" ");
            names.push(Name { key: key(&text), start: at, end: behind });
        }
        at = behind;
    }
    names
}

/// The observed services by key, with their original names.
pub(super) struct Observed<'a>(BTreeMap<String, (&'a str, ServiceState)>);

impl<'a> Observed<'a> {
    pub(super) fn of(facts: &'a Facts) -> Self {
        let mut observed: BTreeMap<String, (&str, ServiceState)> = BTreeMap::new();
        for (name, state) in &facts.services {
            let known = observed.entry(key(name)).or_insert((name, *state));
            // If the same service appears twice, the worse observation counts.
            if *state == ServiceState::Dead || known.1 == ServiceState::Alive {
                *known = (name, *state);
            }
        }
        Self(observed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The observed services that the text names. Several words in a row can form one name.
    pub(super) fn named(&self, tokens: &Tokens<'_>) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let longest = self.0.values().map(|(name, _)| name.split_whitespace().count()).max().unwrap_or(1).min(6);
        let mut named = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let Some(first_end) = name_run(tokens, at) else {
                at += 1;
                continue;
            };
            let mut end = first_end;
            for _ in 0..longest {
                let joined = (at..end).map(|of| tokens.str(of)).collect::<Vec<_>>().join(" ");
                let joined = key(&joined);
                if self.0.contains_key(&joined) && !named.contains(&joined) {
                    named.push(joined);
                }
                match name_run(tokens, end) {
                    Some(next) => end = next,
                    None => break,
                }
            }
            at = first_end;
        }
        named
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The observation of one service.
    pub(super) fn judge(&self, name: &str) -> Option<Reason> {
        let (shown, state) = self.0.get(name)?;
        let shown = shown_name(shown);
        Some(match state {
            ServiceState::Alive => Reason::sound(format!("{shown} is alive.")),
            ServiceState::Dead => Reason::fault(format!("{shown} is dead.")),
            ServiceState::Unknown => unknown(&shown),
        })
    }

    /// The dead services that the text does not name: the requested service may depend on them.
    pub(super) fn dead_dependencies(&self, named: &[String]) -> Vec<Reason> {
        let others = self.0.iter().filter(|(key, (_, state))| *state == ServiceState::Dead && !named.contains(key));
        others
            .map(|(_, (name, _))| Reason::blocked(format!("{} is dead, a dependency is down.", shown_name(name))))
            .collect()
    }
}

pub(super) fn unknown(name: &str) -> Reason {
    Reason::missing(format!("The status of {name} is not known."), format!("the status of {name}"))
}

/// Whether a word is a service's name: it has capitals or digits, or follows a word such as "service". A person's title
/// never counts.
pub(super) fn is_name_like(tokens: &Tokens<'_>, start: usize, shown: &str) -> bool {
    const NO_SERVICES: [&str; 12] =
        ["CEO", "CTO", "CFO", "COO", "VP", "URGENT", "ASAP", "IT", "WE", "THIS", "EVERYTHING", "ALL"];
    let is_capital =
        shown.chars().filter(|of| of.is_uppercase()).count() >= 2 && !shown.chars().any(char::is_lowercase);
    let is_called = start > 0 && ["service", "server", "port", "node", "host"].contains(&tokens.word(start - 1));
    (is_capital || is_called || shown.chars().any(|of| of.is_ascii_digit()))
        && !NO_SERVICES.contains(&shown)
        && !Verdict::is_verdict_word(shown)
}
