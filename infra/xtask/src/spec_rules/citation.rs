//! Finds the citations of a text: the name of a specification and its rules, `(SPEC, RULE)`.

use super::list::{List, Rule, Specification};
use std::{borrow::Cow, collections::BTreeSet, ops::Range};

/// The words before the number of a rule, singular and plural.
const NUMBERED: [[&str; 2]; 8] = [
    ["invariant", "invariants"],
    ["failure mode", "failure modes"],
    ["verification criterion", "verification criteria"],
    ["input", "inputs"],
    ["output", "outputs"],
    ["section", "sections"],
    ["example", "examples"],
    ["stage", "stages"],
];

/// What the code of a rule begins with. Digits or letters follow.
const CODES: [&str; 14] = [
    "GAP-",
    "HEALTH-GAP-",
    "ALERT-GAP-",
    "CROSSCHECK-GAP-",
    "INV-",
    "FM-",
    "VC-",
    "VER-",
    "RFC-",
    "EB-",
    "HL-",
    "RR-",
    "PC-",
    "ORC-",
];

/// What the code of a rule begins with when nothing but a number follows: `G2`, `V10`.
const LETTERS: [&str; 2] = ["G", "V"];

/// What is between two rules of one citation.
const BETWEEN: [&str; 4] = [", and ", ", ", " and ", "; "];

/// A specification's name in a text, with the rules that follow it.
pub(super) struct Citation<'a> {
    pub specification: &'a Specification,
    /// Where the name begins and where the last rule ends.
    at: Range<usize>,
    pub rules: Vec<String>,
    /// The words in the place of a rule, if their kind is unknown.
    pub unknown: Option<String>,
}

/// All names of specifications in a text, whether rules follow them or not.
pub(super) fn citations<'a>(list: &'a List, text: &str) -> Vec<Citation<'a>> {
    let mut citations = Vec::new();
    for specification in &list.specification {
        // The name may be at the start of a sentence or within one.
        let (first, rest) = specification.name.split_at(1);
        let names = [first.to_uppercase(), first.to_lowercase()].map(|first| format!("{first}{rest}"));
        for start in names.iter().flat_map(|name| text.match_indices(name).map(|(start, _)| start)) {
            let after = start + specification.name.len();
            citations.push(citation(specification, text, start..after));
        }
    }
    citations
}

fn citation<'a>(specification: &'a Specification, text: &str, name: Range<usize>) -> Citation<'a> {
    let after = &text[name.end..];
    let separator = [", ", "'s ", " (", " "].into_iter().find(|separator| after.starts_with(separator)).unwrap_or("");
    let before = text[..name.start].trim_end_matches(['"', '`']);
    let is_citation = separator == ", " && (before.is_empty() || before.ends_with('(') || before.ends_with("; "));
    let mut rest = &after[separator.len()..];
    let mut citation = Citation { specification, at: name.clone(), rules: Vec::new(), unknown: None };
    if separator.is_empty() {
        return citation;
    }
    let mut is_rule_expected = is_citation;
    loop {
        let Some((rules, length)) = first_rules(&specification.rules, rest) else {
            let word = rest.split([',', ' ', ')', ':', ';', '.']).next().unwrap_or_default();
            // After the name alone, "S3" is a word like any other.
            let is_code = is_code_like(word) && (!citation.rules.is_empty() || word.contains('-'));
            if is_rule_expected || is_code {
                let words = rest.split_inclusive([',', ')', ':', ';']).next().unwrap_or(rest);
                citation.unknown = Some(words.trim_end_matches([',', ')', ':', ';']).to_owned());
            }
            return citation;
        };
        citation.rules.extend(rules);
        rest = &rest[length..];
        citation.at.end = text.len() - rest.len();
        let Some(separator) = BETWEEN.into_iter().find(|separator| rest.starts_with(separator)) else {
            return citation;
        };
        rest = &rest[separator.len()..];
        is_rule_expected = false;
    }
}

/// Whether a word looks like the code of a rule: capitals, hyphens and at least one digit.
fn is_code_like(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-')
}

/// The rules that a comment cites without the name of a specification, or with its number.
pub(super) fn nameless_citations(list: &List, comment: &str) -> BTreeSet<String> {
    let named = citations(list, comment);
    let mut nameless = BTreeSet::new();
    let mut is_quoted = false;
    let mut end = 0;
    for (at, c) in comment.char_indices() {
        is_quoted ^= c == '`';
        let before = &comment[..at];
        if is_quoted || at < end || named.iter().any(|citation| citation.at.contains(&at)) {
            continue;
        }
        if !(before.is_empty() || before.ends_with([' ', '('])) {
            continue;
        }
        let text = lowered(&comment[at..]);
        if is_other_number(before, &text) {
            continue;
        }
        if let Some((rules, length)) = first_rules(&[], &text) {
            // Stages are the subject of whole files, and the stage says which test it belongs to.
            if !rules.iter().any(|rule| rule.starts_with("stage ")) {
                nameless.extend(rules);
            }
            end = at + length;
        } else if let Some(number) = specification_number(before, &comment[at..]) {
            nameless.insert(number);
        }
    }
    nameless
}

/// Whether the text after `before` counts something else: `RFC 3834, section 2`, `for example 5`.
fn is_other_number(before: &str, text: &str) -> bool {
    let mut words = before.trim_end().rsplit(' ');
    let (last, last_but_one) = (words.next(), words.next());
    (last.is_some_and(|word| word.eq_ignore_ascii_case("for")) && text.starts_with("example"))
        || (last_but_one.is_some_and(|word| word.ends_with("RFC")) && text.starts_with("section"))
}

/// The number of a source document: `spec 002`, `(003`.
fn specification_number(before: &str, text: &str) -> Option<String> {
    let number: String = text.chars().take_while(char::is_ascii_digit).collect();
    let is_cited = before.ends_with('(') || before.to_lowercase().ends_with("spec ");
    (is_cited && number.len() == 3 && number.starts_with("00")).then(|| format!("specification {number}"))
}

/// The text with a small first letter, if it begins with the capitalised word of a numbered rule.
fn lowered(text: &str) -> Cow<'_, str> {
    let lowered =
        text.chars().next().map(|first| format!("{}{}", first.to_ascii_lowercase(), &text[first.len_utf8()..]));
    match lowered {
        Some(lowered) if NUMBERED.iter().flatten().any(|word| lowered.starts_with(word)) => Cow::Owned(lowered),
        _ => Cow::Borrowed(text),
    }
}

/// The rules at the start of a text, and the length of their citation: `invariants 4 and 5: …` gives `invariant 4` and
/// `invariant 5`. A rule without a number is recognised by its name in the list.
pub(super) fn first_rules(listed: &[Rule], text: &str) -> Option<(Vec<String>, usize)> {
    if let Some((rules, rest)) = numbered_rules(text).or_else(|| coded_rules(text)) {
        return Some((rules, text.len() - rest.len()));
    }
    let starts = |rule: &str| text.strip_prefix(rule).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    let named = listed.iter().map(|listed| &listed.rule).filter(|rule| starts(rule));
    named.max_by_key(|rule| rule.len()).map(|rule| (vec![rule.clone()], rule.len()))
}

fn numbered_rules(text: &str) -> Option<(Vec<String>, &str)> {
    NUMBERED.into_iter().find_map(|[singular, plural]| {
        let numbers = [plural, singular].into_iter().find_map(|word| text.strip_prefix(word)?.strip_prefix(' '));
        let (numbers, rest) = first_numbers(numbers?)?;
        Some((numbers.into_iter().map(|number| format!("{singular} {number}")).collect(), rest))
    })
}

fn coded_rules(text: &str) -> Option<(Vec<String>, &str)> {
    let (code, rest) = first_code(text)?;
    let Some((last, rest_of_range)) = rest.strip_prefix(" to ").and_then(first_code) else {
        return Some((vec![code.to_owned()], rest));
    };
    let letters = code.trim_end_matches(|c: char| c.is_ascii_digit());
    let range = code[letters.len()..].parse::<u32>().ok()?..=last.strip_prefix(letters)?.parse().ok()?;
    Some((range.map(|number| format!("{letters}{number}")).collect(), rest_of_range))
}

/// The code at the start of a text: `GAP-SD-09`, `G2`, `Appendix F`.
fn first_code(text: &str) -> Option<(&str, &str)> {
    let is_letter = |c: char| c.is_ascii_uppercase();
    let (code, rest) = if let Some(appendix) = text.strip_prefix("Appendix ") {
        text.split_at(if appendix.starts_with(is_letter) { "Appendix X".len() } else { 0 })
    } else {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len());
        text.split_at(text[..end].trim_end_matches('-').len())
    };
    let is_coded = CODES.iter().any(|start| code.strip_prefix(start).is_some_and(|rest| !rest.is_empty()));
    let is_lettered = LETTERS.iter().filter_map(|start| code.strip_prefix(start)).any(is_number);
    let is_appendix = code.starts_with("Appendix ") && !rest.starts_with(char::is_alphanumeric);
    // "V3.1" is the version of something.
    let is_version = rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    (is_coded || is_appendix || (is_lettered && !is_version)).then_some((code, rest))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The numbers at the start of a text, which may be `4`, `4.5`, `4 and 5`, `2, 4, 8` or `1 to 3`, and what follows
/// them.
fn first_numbers(text: &str) -> Option<(Vec<String>, &str)> {
    let (number, mut rest) = first_number(text)?;
    let mut numbers = vec![number.to_owned()];
    if let Some((last, after)) = rest.strip_prefix(" to ").and_then(first_number) {
        numbers = (number.parse::<u32>().ok()?..=last.parse().ok()?).map(|number| number.to_string()).collect();
        rest = after;
    }
    while let Some((number, after)) =
        BETWEEN.into_iter().find_map(|separator| rest.strip_prefix(separator)).and_then(first_number)
    {
        numbers.push(number.to_owned());
        rest = after;
    }
    Some((numbers, rest))
}

fn first_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    let rest = &text[number.len()..];
    let is_whole = number.split('.').all(is_number) && !rest.starts_with(char::is_alphanumeric);
    is_whole.then_some((number, rest))
}
