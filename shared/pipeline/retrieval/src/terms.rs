//! The terms of a text, by which the index finds it.

/// Longer words, such as keys and addresses, are cut to this length.
const LONGEST: usize = 32;

/// Words in nearly every English text. They do not show what a passage is about.
const COMMON: [&str; 66] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "is", "it", "its", "me", "more", "my", "no",
    "not", "of", "on", "one", "or", "our", "should", "so", "some", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "to", "was", "we", "what", "when", "which", "who", "will", "with", "would",
    "you", "your", "were",
];

/// The terms of a text in order: words in lower case, without common words, with plurals as singulars.
pub(crate) fn terms(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '\u{2019}');
    words.filter_map(term)
}

fn term(word: &str) -> Option<String> {
    let word = word.split(['\'', '\u{2019}']).next().unwrap_or_default();
    let lower: String = word.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
    if lower.is_empty() || COMMON.contains(&lower.as_str()) {
        return None;
    }
    Some(singular(lower))
}

/// Harman's rules for English plurals. They are applied to passages and questions alike, so a wrong stem still matches.
fn singular(word: String) -> String {
    let cut = |ending: &str, but: &[&str]| {
        let stem = word.strip_suffix(ending).filter(|stem| stem.len() > 1)?;
        (!but.iter().any(|but| word.ends_with(but))).then(|| stem.to_owned())
    };
    if let Some(stem) = cut("ies", &["eies", "aies"]) {
        return stem + "y";
    }
    if let Some(stem) = cut("es", &["aes", "ees", "oes"]) {
        return stem + "e";
    }
    cut("s", &["us", "ss"]).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        terms(text).collect()
    }

    #[test]
    fn terms_are_words_without_case_plural_and_common_words() {
        assert_eq!(of("Should I open a SECOND shop?"), ["open", "second", "shop"]);
        assert_eq!(of("shops, cities; leases' glass bus"), ["shop", "city", "lease", "glass", "bus"]);
        assert_eq!(of("the owner's café\u{2019}s"), ["owner", "café"]);
        assert_eq!(of("¿? -- \u{2019}"), Vec::<String>::new());
        assert_eq!(of("s es"), ["s", "es"]);
        assert_eq!(of(&"x".repeat(100)), ["x".repeat(LONGEST)]);
    }
}
