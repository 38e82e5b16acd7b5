//! Detects the language of a text by its script and its most frequent small words. Returns a language only when the
//! text is clear, so that a French name or a Latin phrase does not get a verdict refused.

domain::enum_with_words! {
    /// The languages that are distinguished.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Language {
        English = "en",
        French = "fr",
        German = "de",
        Spanish = "es",
        Italian = "it",
        Portuguese = "pt",
        Dutch = "nl",
        /// Letters of Arabic, Chinese, Cyrillic, Greek, Hebrew, Indic, Japanese, Korean or Thai script.
        OtherScript = "other-script",
    }
    /// The language's code in records.
    pub(crate) const fn code;
}

/// Small words that occur in only one of the languages, or in few.
const WORDS: [(Language, &[&str]); 7] = [
    (
        Language::English,
        &[
            "the", "and", "is", "are", "you", "your", "of", "to", "that", "this", "with", "for", "it", "not", "be",
            "before", "from", "have", "has", "will", "but", "what", "by", "should", "can", "on",
        ],
    ),
    (
        Language::French,
        &[
            "le", "la", "les", "des", "est", "et", "vous", "votre", "une", "que", "qui", "pas", "pour", "dans", "avec",
            "sur", "ne", "du", "sont", "avez", "mais", "cette", "ce", "je",
        ],
    ),
    (
        Language::German,
        &[
            "der", "die", "das", "und", "ist", "nicht", "sie", "ihr", "ihre", "ein", "eine", "mit", "für", "den",
            "dem", "auf", "zu", "von", "haben", "ich", "sind", "aber", "wenn", "keine",
        ],
    ),
    (
        Language::Spanish,
        &[
            "el", "los", "las", "una", "es", "y", "que", "su", "para", "con", "por", "del", "tiene", "pero", "más",
            "está", "usted", "antes", "lo", "se", "sin",
        ],
    ),
    (
        Language::Italian,
        &[
            "il", "gli", "della", "che", "non", "è", "per", "con", "una", "sono", "ma", "di", "del", "tua", "hai",
            "questo", "prima", "più", "nel",
        ],
    ),
    (
        Language::Portuguese,
        &[
            "o", "os", "uma", "não", "que", "com", "para", "você", "seu", "sua", "mas", "é", "do", "da", "dos", "tem",
            "antes", "mais", "em",
        ],
    ),
    (
        Language::Dutch,
        &[
            "de", "het", "een", "en", "niet", "je", "jouw", "van", "met", "voor", "zijn", "maar", "dat", "wordt",
            "heb", "hebt", "op", "geen",
        ],
    ),
];

/// A text with fewer words has no detected language.
const MIN_WORDS: usize = 6;

/// A language with fewer of its small words in the text is not detected.
const MIN_HITS: usize = 4;

/// A question with fewer English words is not taken for English: one may be a word of another language ("on", "has") or
/// of a name.
const MIN_ENGLISH_HITS_OF_QUESTION: usize = 2;

/// The language of a text; `None` when it is too short or mixed.
pub(crate) fn of(text: &str) -> Option<Language> {
    detect(text, MIN_WORDS, 1)
}

/// The same for a question, which may be short, and of which English must be as certain as any other language.
pub(crate) fn of_question(text: &str) -> Option<Language> {
    detect(text, 0, MIN_ENGLISH_HITS_OF_QUESTION)
}

/// The language of a text of at least `min_words` words. English needs at least `min_english` of its small words.
fn detect(text: &str, min_words: usize, min_english: usize) -> Option<Language> {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let foreign = text.chars().filter(|c| is_of_other_script(*c)).count();
    if letters >= 12 && foreign * 2 > letters {
        return Some(Language::OtherScript);
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    if words.len() < min_words {
        return None;
    }
    let hits = |list: &[&str]| words.iter().filter(|word| list.contains(word)).count();
    let mut counted: Vec<(usize, Language)> = WORDS.iter().map(|(language, list)| (hits(list), *language)).collect();
    counted.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    let ((most, language), (next, _)) = (counted[0], counted[1]);
    let english = counted.iter().find(|(_, language)| *language == Language::English).map_or(0, |(hits, _)| *hits);
    // English needs no clear lead over the others: an unclear text counts as unknown, not as another language.
    let is_clear = match language {
        Language::English => most >= min_english && most > next,
        _ => most >= MIN_HITS && most > next && most > english * 2 && most * 6 >= words.len(),
    };
    is_clear.then_some(language)
}

fn is_of_other_script(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{1fff}' | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && !matches!(c, '\u{1d00}'..='\u{1eff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_distinguished() {
        for (text, language) in [
            ("You have no buyers yet, and the lease binds you for five years before you know.", Language::English),
            (
                "Vous n'avez pas encore de clients, et le bail vous engage pour cinq ans avec une pénalité.",
                Language::French,
            ),
            (
                "Sie haben noch keine Kunden, und der Vertrag bindet Sie für fünf Jahre mit einer Strafe.",
                Language::German,
            ),
            (
                "Usted no tiene clientes y el contrato lo ata por cinco años, pero el riesgo es más alto para los socios.",
                Language::Spanish,
            ),
            (
                "Non hai ancora clienti e il contratto ti lega per cinque anni, ma il rischio è più alto nel primo anno.",
                Language::Italian,
            ),
            (
                "Você ainda não tem clientes e o contrato prende o seu dinheiro em uma loja, mas o risco é do sócio.",
                Language::Portuguese,
            ),
            (
                "Je hebt nog geen klanten en het contract bindt je voor vijf jaar, maar de markt is niet van jou.",
                Language::Dutch,
            ),
            ("У вас пока нет клиентов, а договор связывает вас на пять лет.", Language::OtherScript),
            ("你还没有客户，而租约会约束你五年的时间。", Language::OtherScript),
        ] {
            assert_eq!(of(text), Some(language), "{text}");
        }
    }

    #[test]
    fn a_doubt_is_no_finding() {
        for text in [
            "",
            "Go.",
            "Café de la Paix, Rue de Rivoli",
            "El Niño hits coffee.",
            "Das Kapital sells because readers of Marx want it.",
            "Caveat emptor, quid pro quo, pro bono publico.",
            "GREEN AMBER RED",
        ] {
            assert!(matches!(of(text), None | Some(Language::English)), "{text}: {:?}", of(text));
        }
    }
}
