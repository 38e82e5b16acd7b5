//! Evaluates a text. The result holds the decision, the deciding rules, and the data that pages and prompts need.
//! The file has more than 300 lines because each fact about an evaluation has a short documented method, and all of
//! them read one private decision.

use std::cell::LazyCell;
use std::sync::OnceLock;

use filter::Reading;
use serde::Serialize;

use crate::engine::data::{AXES, DOMAINS, MAPPINGS, NAMES, RESOURCES};
use crate::engine::decide::{Decision, decide};
use crate::guidance::{Guided, advice, escalation_targets};
use crate::quote::{AxisValue, MappingSource, Quote};
use crate::state::{Outcome, State};
use crate::tables::Resource;

/// The groups of resources that answer a call at once. A pharmacy or a clinic would cost time in an emergency.
const ANSWERING_AT_ONCE: [&str; 4] = ["emergency", "poison", "child", "crisis"];

/// A source of help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Contact {
    /// The name of the person or organisation.
    pub name: &'static str,
    /// A phone or text number, or an address.
    pub contact: &'static str,
}

/// A rule that contributed to the decision, with the place of its definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecidingRule {
    /// File and line under `shared/rules/authority/data/`.
    pub place: String,
    /// The rule's name.
    pub rule: String,
    /// The state that the rule requires.
    pub state: State,
    /// The rationale.
    pub why: &'static str,
}

/// The result of one evaluation. It has exactly one terminal state.
#[derive(Clone, Debug)]
pub struct Evaluation {
    pub(crate) decision: Decision,
    source: Source,
    /// Quoted at the first call: most callers read only the state.
    values: OnceLock<Vec<AxisValue>>,
    country: &'static str,
    /// Whether the customer is known to be in that country.
    is_located: bool,
}

/// The text of an evaluation, and the reading that decided.
#[derive(Clone, Debug)]
struct Source {
    text: String,
    reading: Read,
}

/// How a reading relates to its text.
#[derive(Clone, Debug)]
enum Read {
    /// The text in lower case, with plain quotation marks at these bytes of the reading.
    Plain(Vec<usize>),
    /// As the content filter reads it.
    Decoded(Reading),
}

impl Source {
    /// The bytes of the text for bytes of the reading.
    fn place(&self, start: usize, end: usize) -> (usize, usize) {
        match &self.reading {
            Read::Plain(marks) => {
                let before = |place: usize| marks.iter().take_while(|mark| **mark < place).count();
                (start + before(start) * (MARK - 1), end + before(end) * (MARK - 1))
            }
            Read::Decoded(reading) => {
                let range = reading.in_source(start..end);
                (range.start, range.end)
            }
        }
    }
}

/// Evaluates a text. `locale` is a language tag such as `en-CA`: its region selects the resources. The region of `und-CA`
/// is a known place; that of a language may be another country than the customer's. A place derived from it counts as
/// inferred and confirms nothing.
#[must_use]
pub fn evaluate(text: &str, locale: Option<&str>) -> Evaluation {
    let (decision, reading) = match plain_reading(text) {
        Some((reading, marks)) => (decide(&reading), Read::Plain(marks)),
        None => worst_reading(text),
    };
    let source = Source { text: text.to_owned(), reading };
    let is_located =
        locale.is_some_and(|tag| tag.split(['-', '_']).next().is_some_and(|of| of.eq_ignore_ascii_case("und")));
    Evaluation { decision, source, values: OnceLock::new(), country: country(locale), is_located }
}

/// The most severe decision about a reading of a text.
fn worst_reading(text: &str) -> (Decision, Read) {
    let mut readings = filter::readings(text).into_iter();
    let Some(first) = readings.next() else { return (decide(""), Read::Plain(Vec::new())) };
    let mut worst = (decide(&first.text), first);
    for reading in readings {
        let decision = decide(&reading.text);
        // Decoding may leave no content of a text that has content when read undecoded.
        if decision.outcome.state() == State::Unresolvable {
            continue;
        }
        if decision.rank() > worst.0.rank() {
            worst = (decision, reading);
        }
    }
    (worst.0, Read::Decoded(worst.1))
}

/// Evaluates a conversation as one text, so that state and requests in different turns are combined.
#[must_use]
pub fn evaluate_turns<'a>(turns: impl IntoIterator<Item = &'a str>, locale: Option<&str>) -> Evaluation {
    let turns: Vec<&str> = turns.into_iter().collect();
    evaluate(&turns.join("\n"), locale)
}

/// Evaluates a text alone, with the latest earlier text, and with all earlier texts, because the model gets them all.
/// Returns the most severe evaluation. So a text after a question of a governed domain has that domain's grammar,
/// regardless of its own words, and a question that is split over several texts is found. `earlier` is in order of time.
///
/// All earlier texts together count only if this text makes them more severe. Otherwise one governed question would
/// govern every ordinary text after it.
#[must_use]
pub fn evaluate_followup<T: AsRef<str>>(earlier: &[T], text: &str, locale: Option<&str>) -> Evaluation {
    let severity = |it: &Evaluation| (it.override_prohibited(), it.state());
    let turns: Vec<&str> = earlier.iter().map(T::as_ref).collect();
    let alone = evaluate(text, locale);
    let Some(latest) = turns.last() else { return alone };
    let pair = evaluate_turns([*latest, text], locale);
    let found = if severity(&alone) > severity(&pair) { alone } else { pair };
    if turns.len() == 1 || !found.state().is_sold() {
        return found;
    }
    let without = evaluate_turns(turns.iter().copied(), locale);
    let together = evaluate_turns(turns.into_iter().chain([text]), locale);
    if severity(&together) > severity(&found).max(severity(&without)) { together } else { found }
}

/// The bytes of a typographic quotation mark.
const MARK: usize = 3;

/// The reading of a text that needs no decoding, and where it has typographic quotation marks, which phones and word
/// processors type; `None` for a text with any other character outside ASCII or with one that displays differently.
/// It is the same as the content filter's, which is slower.
fn plain_reading(text: &str) -> Option<(String, Vec<usize>)> {
    let bytes = text.as_bytes();
    // Most texts have none of these. Looks at every byte without a branch, which the compiler turns into instructions for
    // many bytes at once.
    let is_special = |byte: u8| matches!(byte, b'\\' | b'<' | b'=' | b']' | b'%' | b'&' | 0..b' ' | 128..);
    if !bytes.iter().fold(false, |found, byte| found | is_special(*byte)) {
        return Some((text.to_ascii_lowercase(), Vec::new()));
    }
    // Searched once: a text may have thousands of ampersands.
    let last_of_entity = LazyCell::new(|| bytes.iter().rposition(|byte| matches!(byte, b';' | b'#')));
    let (mut reading, mut marks) = (Vec::with_capacity(bytes.len()), Vec::new());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\\' | b'<' | b'=' | b']' => return None,
            b'%' if bytes.get(at..at + 2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit)) => return None,
            b'&' if last_of_entity.is_some_and(|last| last >= at) => return None,
            0..b' ' if !byte.is_ascii_whitespace() => return None,
            0..128 => reading.push(byte.to_ascii_lowercase()),
            128.. => {
                let mark = match text.get(at - 1..at - 1 + MARK) {
                    Some("‘" | "’") => b'\'',
                    Some("“" | "”") => b'"',
                    _ => return None,
                };
                marks.push(reading.len());
                reading.push(mark);
                at += MARK - 1;
            }
        }
    }
    String::from_utf8(reading).ok().map(|reading| (reading, marks))
}

const CANADA: &str = "CA";

/// The country whose resources come first: the region of the locale, or Canada. A script may precede the region, as in
/// `zh-Hans-CA`.
fn country(locale: Option<&str>) -> &'static str {
    let region = locale.and_then(|locale| locale.split(['-', '_']).skip(1).find(|part| part.len() == 2));
    let region = region.unwrap_or(CANADA);
    RESOURCES.iter().map(|resource| resource.country).find(|known| known.eq_ignore_ascii_case(region)).unwrap_or(CANADA)
}

/// What a customer dials, in digits; an address as it is.
fn dialled(resource: &Resource) -> String {
    let digits: String = resource.contact.chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() { resource.contact.to_owned() } else { digits }
}

fn values(decision: &Decision, source: &Source) -> Vec<AxisValue> {
    let mut values = Vec::with_capacity(decision.values.len());
    for value in &decision.values {
        let mapping = &MAPPINGS[usize::from(value.mapping)];
        let axis = &AXES[usize::from(mapping.axis)];
        let (start, end) = source.place(value.start, value.end);
        let Ok(quote) = Quote::take(&source.text, start, end) else { continue };
        let name = mapping.value.of(NAMES);
        values.push(AxisValue {
            domain: DOMAINS[usize::from(axis.domain)].name,
            axis: axis.key,
            value: if name == "#" { quote.text().to_owned() } else { name.to_owned() },
            source: if mapping.inferred { MappingSource::Inferred } else { MappingSource::Explicit },
            quote,
        });
    }
    values
}

impl Evaluation {
    /// The texts for the reason, if the data has any for what the text states.
    pub(crate) fn guided(&self) -> Option<Guided> {
        Guided::find(&self.decision, self.values(), &self.source.text)
    }

    /// The evaluated text.
    pub(crate) fn text(&self) -> &str {
        &self.source.text
    }

    /// The country whose resources come first.
    pub(crate) fn country(&self) -> &'static str {
        self.country
    }

    /// The terminal state.
    #[must_use]
    pub fn state(&self) -> State {
        self.decision.outcome.state()
    }

    /// The state with its lock.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.decision.outcome
    }

    /// The deciding domain, or `general`.
    #[must_use]
    pub fn domain(&self) -> &'static str {
        self.decision.domain.map_or("general", |domain| DOMAINS[usize::from(domain)].name)
    }

    /// The reason code of the deciding rule, or `not_applicable` if no domain governs the text.
    #[must_use]
    pub fn reason_code(&self) -> &'static str {
        self.decision.reason
    }

    /// The keys of the missing axes.
    #[must_use]
    pub fn missing_axes(&self) -> Vec<&'static str> {
        self.decision.missing.iter().map(|axis| AXES[usize::from(*axis)].key).collect()
    }

    /// The questions that would supply the missing axes, in plain words and in the order of [`Self::missing_axes`]. None
    /// if no answer of the customer would change the state, as after a disclosure of self-harm, which is blocked.
    #[must_use]
    pub fn questions(&self) -> Vec<&'static str> {
        if !matches!(self.state(), State::RequiresSpecification | State::AmbiguousMapping) {
            return Vec::new();
        }
        self.decision
            .missing
            .iter()
            .map(|axis| AXES[usize::from(*axis)].prompt)
            .filter(|prompt| !prompt.is_empty())
            .collect()
    }

    /// The sources of help in the customer's country (Canada if it has none), followed by those of every country. If only
    /// the region of a language is known, Canada's follow that country's: many Canadians have a browser of another
    /// country. In an emergency only those that answer a call at once.
    #[must_use]
    pub fn resources(&self) -> Vec<Contact> {
        let mut all: Vec<Contact> = Vec::new();
        // Help in a crisis, or else in an emergency, comes before everything else.
        let urgent = match (self.is_crisis(), self.is_emergency()) {
            (true, _) => Some("crisis"),
            (false, true) => Some("emergency"),
            (false, false) => None,
        };
        let helps = |group: &&str| !self.is_emergency() || ANSWERING_AT_ONCE.contains(group);
        let groups = self.decision.resources.iter().copied().filter(helps);
        let (first, others): (Vec<&str>, Vec<&str>) = groups.partition(|group| Some(*group) == urgent);
        for group in first.into_iter().chain(others) {
            for contact in self.of_group(group) {
                if !all.contains(&contact) {
                    all.push(contact);
                }
            }
        }
        all
    }

    /// The contacts of one group. A contact that has another number in the other country is shown with its country's name;
    /// one with the same number in both is shown once.
    fn of_group(&self, group: &str) -> Vec<Contact> {
        let of = |country: &str| -> Vec<&'static Resource> {
            RESOURCES.iter().filter(|resource| resource.group == group && resource.country == country).collect()
        };
        let found = of(self.country);
        let second = if self.is_located || self.country == CANADA { Vec::new() } else { of(CANADA) };
        let has = |list: &[&Resource], one: &Resource| list.iter().any(|other| dialled(other) == dialled(one));
        let more: Vec<&Resource> = second.iter().copied().filter(|one| !has(&found, one)).collect();
        let first = found.iter().map(|one| (*one, !more.is_empty() && !has(&second, one)));
        let contacts =
            first.chain(more.iter().map(|one| (*one, true))).chain(of("*").into_iter().map(|one| (one, false)));
        contacts
            .map(|(one, is_named)| Contact { name: if is_named { one.named } else { one.name }, contact: one.contact })
            .collect()
    }

    /// The notice beside a narrative answer: the sentences of the deciding domain, then those of every other domain whose
    /// grammar the answer follows, and the advice of the rules.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        if self.state() != State::NarrativeOnly {
            return None;
        }
        let (first, others): (Vec<u8>, Vec<u8>) =
            self.decision.engaged.iter().partition(|domain| Some(**domain) == self.decision.domain);
        let notices = first.into_iter().chain(others).map(|domain| DOMAINS[usize::from(domain)].notice);
        let notices = notices.chain(advice(&self.decision));
        let notices: Vec<&str> = notices.filter(|notice| !notice.is_empty()).collect();
        (!notices.is_empty()).then(|| notices.join(" "))
    }

    /// The deciding rules, sorted by descending severity of state.
    #[must_use]
    pub fn deciding_rules(&self) -> Vec<DecidingRule> {
        let mut rules: Vec<_> = self.decision.rules.iter().collect();
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.state), rule.domain, rule.place()));
        let named = |rule: &&crate::engine::decide::Deciding| {
            let (file, line) = rule.place();
            DecidingRule {
                place: format!("{file}:{line}"),
                rule: format!("{}/{}", DOMAINS[usize::from(rule.domain)].name, rule.name()),
                state: rule.state,
                why: rule.why(),
            }
        };
        rules.iter().map(named).collect()
    }

    /// The values in the text, each with its quote.
    #[must_use]
    pub fn values(&self) -> &[AxisValue] {
        self.values.get_or_init(|| values(&self.decision, &self.source))
    }

    /// Who has to see the text, by the specification's names; empty if the data names nobody. Operators are alerted if in
    /// addition nobody may override the outcome.
    #[must_use]
    pub fn escalation_targets(&self) -> Vec<&'static str> {
        escalation_targets(&self.decision)
    }

    /// Whether the text may disclose self-harm, whatever else it is about.
    #[must_use]
    pub const fn is_crisis(&self) -> bool {
        self.decision.is_crisis
    }

    /// Whether the text describes an emergency, beside anything else.
    #[must_use]
    pub const fn is_emergency(&self) -> bool {
        self.decision.is_emergency
    }

    /// The advice of the rules and the alternatives for the customer; none in a crisis or an emergency, in which nothing
    /// but a call helps.
    #[must_use]
    pub fn suggested_actions(&self) -> Vec<&'static str> {
        if self.is_crisis() || self.is_emergency() {
            return Vec::new();
        }
        let actions: &[&'static str] = self.decision.domain.map_or(&[], |domain| DOMAINS[usize::from(domain)].actions);
        advice(&self.decision).into_iter().chain(actions.iter().copied()).collect()
    }

    /// The suggestion to ask for general information instead; may be empty.
    #[must_use]
    pub fn reformulation(&self) -> &'static str {
        self.decision.domain.map_or("", |domain| DOMAINS[usize::from(domain)].reformulation)
    }

    pub(crate) fn evaluator(&self) -> &'static str {
        self.decision.domain.map_or("caa_general_v1", |domain| DOMAINS[usize::from(domain)].evaluator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILLER: &str = "We want to paint the shop green.";
    const FEVER: [&str; 2] = ["My son has a fever.", "How much should he get?"];

    /// Whether a text is sold alone, after the latest earlier text, and after all of them.
    fn sold(earlier: &[&str], text: &str) -> [bool; 3] {
        let latest = &earlier[earlier.len().saturating_sub(1)..];
        [&earlier[..0], latest, earlier].map(|earlier| evaluate_followup(earlier, text, None).state().is_sold())
    }

    #[test]
    fn a_question_that_is_split_over_several_texts_is_found() {
        for (earlier, text, state) in [
            (FEVER, "Is ibuprofen fine?", State::RequiresSpecification),
            (["I am pregnant.", FILLER], "Is ibuprofen fine?", State::Blocked),
        ] {
            assert_eq!(sold(&earlier, text), [true, true, false], "{earlier:?}");
            assert_eq!(evaluate_followup(&earlier, text, None).state(), state, "{earlier:?}");
        }
    }

    /// What earlier texts are without this one decides nothing about it, except that the latest one governs it.
    #[test]
    fn an_ordinary_text_is_sold_after_whatever_came_before() {
        let bakery = "Should we open a second bakery in Halifax?";
        let declined = [FEVER[0], FEVER[1], "Is ibuprofen fine?", FILLER];
        assert_eq!(sold(&declined, bakery), [true; 3]);
        let state = |earlier: &[&str]| evaluate_followup(earlier, bakery, None).state();
        assert_eq!(state(&[FEVER[0]]), State::NarrativeOnly);
        assert_eq!(state(&[FEVER[0], FILLER]), State::Authorized);
    }

    #[test]
    fn no_earlier_text_lowers_an_evaluation() {
        let texts = [FEVER[0], "Is this legal?", "Should I buy Bitcoin with my savings?", "I want to kill myself", "?"];
        for text in texts {
            let alone = evaluate(text, None);
            for earlier in texts {
                let found = evaluate_followup(&[earlier, "Thanks."], text, None);
                assert!(found.state() >= alone.state(), "{earlier} {text}");
                assert!(found.is_crisis() || !alone.is_crisis(), "{earlier} {text}");
            }
        }
    }

    /// The gate reads most texts itself because that is faster; it must read them as the filter does.
    #[test]
    fn a_plain_reading_is_the_filters_only_reading() {
        let signs = "‘ ’ “ ” a A z 0 9 ' \" - . , ; : ! ? ( ) [ { } / # $ % & * + @ ^ _ ` | ~ > \n \t I'm it’s “so”";
        let signs: Vec<&str> = signs.split(' ').chain([" "]).collect();
        let mut plain = 0;
        for first in &signs {
            for second in &signs {
                for third in &signs {
                    let text = format!("Can’t {first}{second}{third} Do");
                    let Some((reading, marks)) = plain_reading(&text) else { continue };
                    plain += 1;
                    let filters = filter::readings(&text);
                    assert_eq!(filters.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), [reading.as_str()]);
                    let source = Source { text: text.clone(), reading: Read::Plain(marks) };
                    for end in 1..=reading.len() {
                        let range = filters[0].in_source(end - 1..end);
                        assert_eq!(source.place(end - 1, end), (range.start, range.end), "{text:?} {end}");
                    }
                }
            }
        }
        assert!(plain > 50_000, "{plain}");
    }

    #[test]
    fn a_text_that_displays_differently_is_no_plain_reading() {
        for text in ["a%41b", "a&#65;", "a&lt; b;", "<b>x", "caf\u{e9}", "x\u{2014}y", "a\0b", "a=b", "c:\\d", "[a]"] {
            assert_eq!(plain_reading(text), None, "{text:?}");
        }
        assert!(plain_reading("Tom & Jerry 50% off").is_some());
    }
}
