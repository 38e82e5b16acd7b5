//! Parses the patterns of a file. Replaces names with numbers; an unknown name is an error.

use std::collections::{BTreeMap, BTreeSet};

use super::lexicon::Lexicon;
use super::ontology::{Files, Text};
use super::{DataError, Source};
use crate::tables::ConceptId;

/// Words that occur in nearly every question: no pattern is indexed by them.
const COMMON: &[&str] = &[
    "i", "im", "my", "me", "we", "our", "us", "a", "an", "the", "is", "are", "am", "be", "to", "should", "can",
    "could", "do", "does", "it", "he", "she", "they", "you", "this", "that", "with", "for", "of", "in", "on", "at",
    "and", "or", "if", "not", "no", "get", "have", "has", "what", "how", "much", "many", "will", "would", "need",
    "take", "make", "new", "from", "more", "two", "one", "three", "buy", "sell", "give", "use", "want", "any", "his",
    "her", "him", "all", "before", "after", "up", "out", "or",
];

/// A pattern, resolved.
pub(crate) struct Pattern {
    pub(crate) elements: Vec<(u8, Vec<ConceptId>)>,
    /// The element that indexes the pattern.
    pub(crate) anchor: usize,
    /// The most specific of the other elements; the anchor if there is no other.
    pub(crate) second: usize,
    /// The window in words within which the elements may occur in any order; 0 if their order matters.
    pub(crate) window: u8,
}

/// Defines all concepts of all files, by name, with everything they include. A concept named like a quantity
/// (`"#i_am_minor"`) lists the words that mean the same without a number.
pub(crate) fn define(lexicon: &mut Lexicon, files: &Files) -> Result<(), DataError> {
    let mut all: BTreeMap<&str, (&Source, &Vec<Text>)> = BTreeMap::new();
    for (source, concepts) in files.concepts() {
        for (name, entries) in concepts {
            let offset = entries.first().map_or(0, |entry| entry.span().start);
            if all.insert(name, (source, entries)).is_some() {
                return Err(source.error(offset, name, "a concept of this name is defined already"));
            }
        }
    }
    for (name, (source, entries)) in &all {
        let concept = match name.starts_with('#') {
            true => lexicon.concepts.get(*name).copied(),
            false => Some(lexicon.concept(&format!("@{name}"))),
        };
        let Some(concept) = concept else {
            let offset = entries.first().map_or(0, |entry| entry.span().start);
            return Err(source.error(offset, name, "there is no quantity of this name"));
        };
        let mut seen = BTreeSet::from([*name]);
        let mut next: Vec<&Text> = entries.iter().collect();
        while let Some(entry) = next.pop() {
            if let Some(included) = entry.get_ref().strip_prefix('@') {
                let Some((other, (_, others))) = all.get_key_value(included) else {
                    return Err(source.error(entry.span().start, name, format!("there is no concept @{included}")));
                };
                if seen.insert(other) {
                    next.extend(others.iter());
                }
                continue;
            }
            if entry.get_ref().starts_with('#') {
                let Some(quantity) = lexicon.concepts.get(entry.get_ref()).copied() else {
                    let problem = format!("there is no quantity {}", entry.get_ref());
                    return Err(source.error(entry.span().start, name, problem));
                };
                lexicon.quantities.entry(concept).or_default().insert(quantity);
                continue;
            }
            lexicon.add(concept, entry.get_ref()).map_err(|problem| source.error(entry.span().start, name, problem))?;
        }
    }
    Ok(())
}

/// One alternative of an element or of a condition.
fn concept(lexicon: &mut Lexicon, name: &str) -> Result<ConceptId, String> {
    if name.starts_with(['@', '#']) {
        return lexicon.concepts.get(name).copied().ok_or_else(|| format!("there is no concept {name}"));
    }
    lexicon.literal(name)
}

/// Alternatives, separated by `|`.
pub(crate) fn alternatives(lexicon: &mut Lexicon, text: &str) -> Result<Vec<ConceptId>, String> {
    let mut found = text.split('|').map(|name| concept(lexicon, name)).collect::<Result<Vec<_>, _>>()?;
    let quantities = found.iter().filter_map(|concept| lexicon.quantities.get(concept)).flatten().copied();
    found.extend(quantities.collect::<Vec<_>>());
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Parses `kill~ ..2 myself|@self`: elements separated by spaces; `..N` allows N words between two elements, `..`
/// allows four. The elements of `~12 @means @despair` may occur in any order within twelve words of the most specific
/// one.
pub(crate) fn pattern(lexicon: &mut Lexicon, text: &str) -> Result<Pattern, String> {
    let (mut elements, mut names, mut gap, mut window) = (Vec::new(), Vec::new(), 0, 0);
    for part in text.split_whitespace() {
        if let Some(width) = part.strip_prefix('~') {
            window = width
                .parse()
                .ok()
                .filter(|_| elements.is_empty())
                .ok_or_else(|| format!("{part:?} is not a window"))?;
            continue;
        }
        if let Some(width) = part.strip_prefix("..") {
            gap = if width.is_empty() { 4 } else { width.parse().map_err(|_| format!("{part:?} is not a gap"))? };
            continue;
        }
        elements.push((std::mem::take(&mut gap), alternatives(lexicon, part)?));
        names.push(part);
    }
    if elements.is_empty() || gap != 0 || (window > 0 && elements.iter().any(|(gap, _)| *gap > 0)) {
        return Err(format!("{text:?} is not a pattern"));
    }
    let common: BTreeSet<ConceptId> = COMMON.iter().filter_map(|word| lexicon.concepts.get(*word).copied()).collect();
    let cost = |(index, (_, concepts)): &(usize, &(u8, Vec<ConceptId>))| {
        let frequent = concepts.iter().any(|concept| common.contains(concept));
        let broad = names[*index].split('|').any(|name| BROAD.contains(&name));
        (u32::from(frequent) * 200 + u32::from(broad) * 100) as usize + concepts.len()
    };
    let anchor = elements.iter().enumerate().min_by_key(cost).map_or(0, |(index, _)| index);
    let others = elements.iter().enumerate().filter(|(index, _)| *index != anchor);
    let second = others.min_by_key(cost).map_or(anchor, |(index, _)| index);
    Ok(Pattern { anchor, second, window, elements })
}

/// Concepts that consist of common words.
const BROAD: &[&str] = &[
    "@self",
    "@we",
    "@person",
    "@relative",
    "@minor",
    "@ask",
    "@should",
    "@how_much",
    "@intake",
    "@give",
    "#number",
    "#money",
    "#duration",
    "@want",
    "@pronoun",
    "@is",
    "@article",
    "@buy",
    "@sell",
    "@in_place",
    "@body",
    "@take",
    "#small_count",
    "@business",
    "@adult_speaker",
    "@first_person",
    "@soon",
    "@they_feel",
    "@lingering",
    "@goes_there",
    "@gives_up_care",
    "@is_it_fine",
    "@who_decides",
    "@must_answer",
    "@dose_asked",
    "@of_measure",
    "@in_fear",
    "@rid_when",
    "@wants_it",
    "@tonight_or_ever",
    "@silent",
    "@contact_wish",
    "@take_early",
    "@approach",
    "@soft_romance",
    "@adult_interest",
    "@any_child",
    "@a_child",
    "@a_child_only",
    "@what_money",
    "@send_money",
    "@put_in",
    "@they_said",
    "@somebody_close",
    "@somebody_of_mine",
    "@took_it",
    "@passive_wish",
    "@bought_means",
    "@prepared_for",
    "@loses",
    "@life_change",
    "@made_me_do",
    "@do_what",
    "@make_them",
    "@day_fixed",
    "@calendar",
    "@what_is_left",
    "@young",
    "@young_any",
    "@everybody",
    "@business_around",
    "@gas_sign",
    "@happened",
    "@small_victim",
    "@body_buyer",
    "@for_own_use",
    "@held_at_work",
    "@child_work",
    "@letters_to",
    "@written",
    "@left_word",
    "@covert_in",
    "@covert_how",
    "@coming",
    "@may_they",
    "@power",
    "@household_money",
    "@lure",
    "@grown_stranger",
    "@abuser",
    "@abuser_more",
    "@stroke_face",
    "@pregnancy_word",
    "@no_point",
    "@does_it_hurt",
    "@wishing",
    "@undone",
    "@its_deed",
    "@does_it_work",
    "@hide_it",
    "@voice_deed",
    "@until_legal",
    "@lender_says",
    "@price_move",
    "@return_word",
    "@load_ask",
    "@circuit_ask",
    "@gas_recipe",
    "@wall_word",
];
