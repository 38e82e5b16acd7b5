//! Recognises numbers with units: ages, doses, weights, temperatures, sums, durations.
//!
//! A unit belongs to one dimension, and an axis accepts only its own dimension: 20 kg is a weight, 20 mg is a dose, and
//! neither replaces the other.
//!
//! The file has more than 300 lines because more than half of them list words and units.

use crate::tables::{ConceptId, builtin, hash};
use crate::text::token::Token;

const fn concept(name: &str) -> ConceptId {
    let mut index = 0;
    while index < builtin::NAMES.len() {
        if is_equal(builtin::NAMES[index].as_bytes(), name.as_bytes()) {
            return index as ConceptId;
        }
        index += 1;
    }
    panic!("no such quantity")
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

const NUMBER: ConceptId = concept("number");
pub(super) const AGE: ConceptId = concept("age");
const AGE_MINOR: ConceptId = concept("age_minor");
const AGE_UNDER_13: ConceptId = concept("age_under_13");
const AGE_ADULT: ConceptId = concept("age_adult");
pub(super) const DOSE: ConceptId = concept("dose");
pub(super) const WEIGHT: ConceptId = concept("weight");
pub(super) const TEMPERATURE: ConceptId = concept("temperature");
pub(super) const MONEY: ConceptId = concept("money");
const MONEY_OVER_10000: ConceptId = concept("money_over_10000");
pub(super) const DURATION: ConceptId = concept("duration");
pub(super) const LENGTH: ConceptId = concept("length");
pub(super) const PERCENT: ConceptId = concept("percent");
const AGE_MINOR_OTHER: ConceptId = concept("age_minor_other");
const I_AM_MINOR: ConceptId = concept("i_am_minor");
const I_AM_UNDER_13: ConceptId = concept("i_am_under_13");
const I_AM_ADULT: ConceptId = concept("i_am_adult");
const SMALL_COUNT: ConceptId = concept("small_count");
const MANY_COUNT: ConceptId = concept("many_count");
const LARGE_AMOUNT: ConceptId = concept("large_amount");
pub(super) const POWER: ConceptId = concept("power");
pub(super) const PRESSURE: ConceptId = concept("pressure");
pub(super) const TIMESTAMP: ConceptId = concept("timestamp");
const IDENTIFIER: ConceptId = concept("identifier");

/// The threshold of the rule on large transactions (BSA/AML), in the currency of the text. `data/finance.toml` has it for
/// the rule, and a test compares both.
const LARGE_SUM: f64 = 10_000.0;

/// From this number, a count of tablets exceeds any usual dose.
const MANY: f64 = 9.0;

/// The number from which an amount of a medicine in this unit is taken for an overdose; [`MANY`] without a unit of mass or
/// volume. Chosen to be above 2,000 mg of metformin, two doses of a syrup, 1,000 mcg of vitamin B12 and 10,000 IU of
/// vitamin D, which people ask about.
fn large(unit: &str) -> f64 {
    match unit {
        "mg" | "milligram" | "milligrams" => 2_001.0,
        "ml" | "milliliters" | "millilitres" | "cc" => 60.0,
        "units" => 100.0,
        "mcg" | "ug" | "μg" | "microgram" | "micrograms" => 1_001.0,
        "iu" => 10_001.0,
        _ => MANY,
    }
}

/// The number words and their values.
const NUMBER_WORDS: [(&str, f64); 27] = [
    ("zero", 0.0),
    ("half", 0.5),
    ("one", 1.0),
    ("two", 2.0),
    ("deux", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
];

/// Their hashes: nearly every word of a text is none of them.
static NUMBER_HASHES: [u32; NUMBER_WORDS.len()] = {
    let (mut hashes, mut index) = ([0; NUMBER_WORDS.len()], 0);
    while index < hashes.len() {
        hashes[index] = hash(NUMBER_WORDS[index].0);
        index += 1;
    }
    hashes
};

/// The value of a number or of a number word.
pub(super) fn value(reading: &str, token: &Token) -> Option<f64> {
    // Compares with all hashes without a branch.
    let may_be_word = NUMBER_HASHES.iter().fold(false, |found, hash| found | (*hash == token.hashes.word));
    if token.number.is_some() || !may_be_word {
        return token.number;
    }
    let word = token.word(reading);
    NUMBER_WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// The seconds of a unit of time.
fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "second" | "seconds" | "sec" | "secs" => 1.0,
        "minute" | "minutes" | "min" | "mins" => 60.0,
        "hour" | "hours" | "hrs" | "heures" => 3_600.0,
        "day" | "days" | "jours" => 86_400.0,
        "week" | "weeks" | "semaines" => 604_800.0,
        "month" | "months" => 2_629_746.0,
        "year" | "years" | "yrs" => 31_556_952.0,
        _ => return None,
    })
}

/// The number at a token, in the unit of an axis. `None` if the token is no number or, for a unit of time, if no unit of
/// time follows: "10:42" is no duration. Other units are not converted.
pub(crate) fn in_unit(reading: &str, tokens: &[Token], index: usize, unit: &str) -> Option<f64> {
    let value = value(reading, &tokens[index])?;
    let next = tokens.get(index + 1).map_or("", |next| next.word(reading));
    match seconds(unit) {
        Some(of_axis) => seconds(next).map(|stated| value * stated / of_axis),
        None if unit == "currency" => Some(value * thousands(next)),
        None => Some(value),
    }
}

/// The factor of a word after a number: "thousand", "million".
fn thousands(word: &str) -> f64 {
    match word {
        "thousand" | "grand" => 1e3,
        "million" | "mil" => 1e6,
        _ => 1.0,
    }
}

/// The dimension of a unit.
fn dimension(unit: &str) -> Option<ConceptId> {
    Some(match unit {
        "mg" | "mcg" | "ug" | "μg" | "milligram" | "milligrams" | "microgram" | "micrograms" | "ml" | "milliliters"
        | "millilitres" | "cc" | "iu" | "units" | "tablet" | "tablets" | "pill" | "pills" | "capsule" | "capsules"
        | "puff" | "puffs" | "drops" | "tsp" | "teaspoon" | "teaspoons" | "tablespoon" | "tablespoons" | "dose"
        | "doses" | "gummies" | "tabs" | "tab" | "caps" | "comprimes" | "comprime" | "cachets" | "pilules" | "g"
        | "grams" | "gram" => DOSE,
        "kg" | "kgs" | "kilo" | "kilos" | "kilograms" | "kilogram" | "lb" | "lbs" | "pounds" | "pound" | "stone"
        | "livres" => WEIGHT,
        "c" | "f" | "celsius" | "fahrenheit" | "degrees" | "degree" | "degres" => TEMPERATURE,
        "dollars" | "dollar" | "usd" | "cad" | "bucks" | "euros" | "euro" | "eur" | "gbp" | "grand" => MONEY,
        "second" | "seconds" | "minute" | "minutes" | "min" | "mins" | "hour" | "hours" | "hrs" | "day" | "days"
        | "week" | "weeks" | "month" | "months" | "year" | "years" | "yrs" | "jours" | "semaines" | "heures" => {
            DURATION
        }
        "ft" | "feet" | "foot" | "inch" | "inches" | "m" | "meter" | "meters" | "metre" | "metres" | "cm" | "mm" => {
            LENGTH
        }
        "amp" | "amps" | "kw" | "watt" | "watts" | "volts" | "volt" | "hp" | "kwh" | "btu" | "tons" | "ton" => POWER,
        "psi" | "bar" | "kpa" => PRESSURE,
        _ => return None,
    })
}

/// Words that may follow "she is 14" if 14 is an age.
const AFTER_AGE: [&str; 30] = [
    "and", "but", "so", "now", "who", "girl", "boy", "yo", "f", "male", "female", "or", "with", "i", "my", "he", "she",
    "can", "should", "is", "in", "going", "next", "today", "because", "too", "very", "ans", "weighs", "weighing",
];

/// Words after "I'm 14" that show that 14 is not an age.
const NOT_AFTER_AGE: [&str; 38] = [
    "percent",
    "of",
    "employees",
    "people",
    "into",
    "away",
    "clients",
    "customers",
    "out",
    "times",
    "points",
    "steps",
    "step",
    "pages",
    "miles",
    "km",
    "k",
    "kilometers",
    "blocks",
    "credits",
    "units",
    "th",
    "st",
    "nd",
    "rd",
    "per",
    "short",
    "late",
    "behind",
    "ahead",
    "over",
    "under",
    "chapters",
    "episodes",
    "courses",
    "payments",
    "to",
    "more",
];

/// Things other than people whose age is given in years.
const THINGS: [&str; 47] = [
    "business",
    "company",
    "car",
    "truck",
    "van",
    "house",
    "building",
    "startup",
    "firm",
    "roof",
    "furnace",
    "laptop",
    "computer",
    "website",
    "app",
    "brand",
    "restaurant",
    "bakery",
    "shop",
    "store",
    "machine",
    "equipment",
    "contract",
    "lease",
    "debt",
    "loan",
    "mortgage",
    "product",
    "system",
    "boiler",
    "boat",
    "bike",
    "whisky",
    "whiskey",
    "dog",
    "cat",
    "horse",
    "tree",
    "idea",
    "franchise",
    "practice",
    "kitchen",
    "condo",
    "cottage",
    "oven",
    "tractor",
    "phone",
];

/// Words for people after which "is 14" is an age.
const AGED: [&str; 40] = [
    "he",
    "she",
    "son",
    "daughter",
    "kid",
    "child",
    "girl",
    "boy",
    "brother",
    "sister",
    "girlfriend",
    "boyfriend",
    "student",
    "friend",
    "niece",
    "nephew",
    "cousin",
    "who",
    "neighbor",
    "neighbour",
    "patient",
    "mother",
    "father",
    "mom",
    "dad",
    "baby",
    "toddler",
    "grandson",
    "granddaughter",
    "stepson",
    "stepdaughter",
    "babysitter",
    "teen",
    "crush",
    "partner",
    "they",
    "actually",
    "only",
    "just",
    "one",
];

/// Words for one child: a number after them is an age if one of [`AFTER_CHILD`] follows.
const CHILD: [&str; 34] = [
    "son",
    "daughter",
    "kid",
    "child",
    "girl",
    "boy",
    "niece",
    "nephew",
    "brother",
    "sister",
    "student",
    "classmate",
    "toddler",
    "grandson",
    "granddaughter",
    "stepson",
    "stepdaughter",
    "teen",
    "teenager",
    "pupil",
    "cousin",
    "friend",
    "girlfriend",
    "boyfriend",
    "fille",
    "fils",
    "hija",
    "hijo",
    "tochter",
    "sohn",
    "nina",
    "nino",
    "neveu",
    "soeur",
];

/// Words that follow the age of a child.
const AFTER_CHILD: [&str; 42] = [
    "says", "said", "has", "for", "wants", "wanted", "came", "comes", "told", "tells", "keeps", "asked", "asks", "was",
    "is", "knows", "thinks", "about", "had", "got", "who", "and", "but", "in", "with", "at", "to", "from", "i", "he",
    "she", "alone", "my", "being", "by", "cries", "cried", "does", "doesnt", "wont", "should", "hat",
];

/// Calls `found` with every quantity that begins at the token at `index`, and the token after its end.
pub(crate) fn quantities(reading: &str, tokens: &[Token], index: usize, found: &mut impl FnMut(ConceptId, usize)) {
    if let Some(value) = value(reading, &tokens[index]) {
        quantities_of(value, reading, tokens, index, found);
    }
}

/// The quantities that begin with a number at the token.
pub(super) fn quantities_of(
    value: f64,
    reading: &str,
    tokens: &[Token],
    index: usize,
    found: &mut impl FnMut(ConceptId, usize),
) {
    let token = &tokens[index];
    // The word at this offset, unless a sentence ends in between.
    let near = |offset: isize| -> &str {
        let Some(other) = index.checked_add_signed(offset).and_then(|at| tokens.get(at)) else { return "" };
        if other.position.abs_diff(token.position) as usize <= offset.unsigned_abs() { other.word(reading) } else { "" }
    };
    let bytes = reading.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    found(NUMBER, index + 1);
    if value >= MANY {
        found(MANY_COUNT, index + 1);
    }
    if value >= large(near(1)) {
        found(LARGE_AMOUNT, index + 1);
    }
    if byte(token.end) == b'%' || near(1) == "percent" {
        found(PERCENT, index + 1);
        return;
    }
    let clock = byte(token.end) == b':' && byte(token.end + 1).is_ascii_digit();
    let date = (1900.0..2200.0).contains(&value) && byte(token.end) == b'-' && byte(token.end + 1).is_ascii_digit();
    if clock || date {
        found(TIMESTAMP, index + 1);
        return;
    }
    if token.start >= 2 && byte(token.start - 1) == b'-' && byte(token.start - 2).is_ascii_alphabetic() {
        found(IDENTIFIER, index + 1);
    }
    let scaled = value * thousands(near(1));
    if near(-1) == "$" || dimension(near(1)) == Some(MONEY) || (scaled > value && dimension(near(2)) == Some(MONEY)) {
        found(MONEY, index + 1);
        if scaled > LARGE_SUM {
            found(MONEY_OVER_10000, index + 1);
        }
        return;
    }
    if let Some((years, end)) = age(value, index, &near) {
        let is_speaker = matches!(near(-1), "im" | "am" | "ai" | "bin" | "tengo" | "tenho" | "ho")
            || (matches!(near(-1), "a" | "an" | "only" | "just" | "actually" | "almost" | "turned")
                && matches!(near(-2), "im" | "am" | "as" | "i"))
            || (matches!(near(-1), "a" | "an")
                && matches!(near(-2), "only" | "just" | "actually" | "still")
                && matches!(near(-3), "im" | "am"));
        found(AGE, end);
        let minor = years < 18.0;
        found(if minor { AGE_MINOR } else { AGE_ADULT }, end);
        if years < 13.0 {
            found(AGE_UNDER_13, end);
        }
        if minor && !is_speaker {
            found(AGE_MINOR_OTHER, end);
        }
        if is_speaker {
            found(if minor { I_AM_MINOR } else { I_AM_ADULT }, end);
            if years < 13.0 {
                found(I_AM_UNDER_13, end);
            }
        }
        return;
    }
    match dimension(near(1)) {
        Some(dimension) => found(dimension, index + 2),
        None if value <= 100.0 => found(SMALL_COUNT, index + 1),
        None => {}
    }
}

/// The age in years that a number states, and the token after it.
fn age<'t>(value: f64, index: usize, near: &impl Fn(isize) -> &'t str) -> Option<(f64, usize)> {
    if !(0.0..=120.0).contains(&value) {
        return None;
    }
    let old = |word| matches!(word, "old" | "olds" | "girl" | "boy");
    match near(1) {
        // "A ten year old company" is not a person.
        "year" | "years" | "yr" | "yrs" | "y" if old(near(2)) && !THINGS.contains(&near(3)) => {
            return Some((value, index + 3));
        }
        "year" | "years" if near(2) == "of" && near(3) == "age" => return Some((value, index + 4)),
        "month" | "months" | "mo" | "week" | "weeks" | "day" | "days" if old(near(2)) => {
            return Some((value / 12.0, index + 3));
        }
        "yo" => return Some((value, index + 2)),
        "y" if near(2) == "o" => return Some((value, index + 3)),
        "anos" if matches!(near(-1), "tengo" | "tiene" | "de" | "tenia" | "cumplio" | "tenho" | "tem") => {
            return Some((value, index + 2));
        }
        "jahre" | "jahren" if near(2) == "alt" => return Some((value, index + 3)),
        "jahrige" | "jahriger" | "jahriges" | "jahrigen" => return Some((value, index + 2)),
        "anni" if matches!(near(-1), "ho" | "ha" | "di") => return Some((value, index + 2)),
        "ans" if value < 100.0 && matches!(near(-1), "ai" | "a" | "de" | "as" | "aura") => {
            return Some((value, index + 2));
        }
        "girl" | "boy" if (4.0..18.0).contains(&value) => return Some((value, index + 1)),
        _ => {}
    }
    if matches!(near(-1), "aged" | "age") {
        return Some((value, index + 1));
    }
    // "My daughter, 9, says", "a girl of 11".
    let child = if near(-1) == "of" { near(-2) } else { near(-1) };
    if CHILD.contains(&child) && value < 18.0 && (near(1).is_empty() || AFTER_CHILD.contains(&near(1))) {
        return Some((value, index + 1));
    }
    let stated = matches!(near(-1), "im" | "am" | "shes" | "hes" | "she" | "he" | "bin")
        || (matches!(near(-1), "is" | "turned" | "turns" | "are" | "be" | "was") && AGED.contains(&near(-2)))
        || (near(-1) == "turned" && near(-2) == "i")
        || (matches!(near(-1), "only" | "just" | "actually" | "really" | "almost")
            && matches!(near(-2), "im" | "am" | "she" | "he" | "is"));
    let goes_on = near(1);
    let is_speaker = matches!(near(-1), "im" | "am" | "ai" | "bin");
    let stands_alone = goes_on.is_empty()
        || AFTER_AGE.contains(&goes_on)
        || (is_speaker && dimension(goes_on).is_none() && !NOT_AFTER_AGE.contains(&goes_on));
    let is_age = stated && stands_alone && value >= 2.0 && (goes_on != "years" || near(2).is_empty());
    is_age.then_some((value, index + 1))
}
