//! Our own sentences pass the content filter: no gate sees them on their way out (content filter, invariant 1). Pages,
//! rendered mails, the authority gate's data and prompts have tests of their own beside them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where sentences for customers are: pages, the API, the chat, the toll, mails.
const PLACES: [&str; 11] = [
    "functions/chat/src",
    "functions/checkout/src",
    "functions/inbox-watch/src",
    "functions/result/src",
    "functions/toll/src",
    "functions/webhook/src",
    "shared/domain/src/texts.rs",
    "shared/domain/src/toll",
    "shared/pipeline/bridge/src",
    "shared/pipeline/delivery/src/render.rs",
    "shared/rules/authority/src/refusal.rs",
];

/// The Rust sources at a place, without files of tests.
fn sources(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let shipped = entries.filter(|path| !path.ends_with("tests") && !path.ends_with("tests.rs"));
    shipped.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The texts between double quotes in the part of a source before its tests, with escapes resolved.
fn literals(source: &str) -> Vec<String> {
    let shipped = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<_> = shipped.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n").replace("'\"'", "");
    let (mut found, mut open) = (Vec::new(), None::<String>);
    let mut characters = code.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '"' {
            match open.take() {
                Some(text) => found.push(text),
                None => open = Some(String::new()),
            }
            continue;
        }
        let Some(text) = &mut open else { continue };
        match character {
            '\\' => match characters.next() {
                Some('\n') => while characters.next_if(|next| next.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                other => text.extend(other),
            },
            other => text.push(other),
        }
    }
    assert!(open.is_none(), "a text is not closed");
    found
}

/// Content filter, primary input: any fallback text and email bodies, too.
#[test]
fn every_fixed_sentence_passes_the_content_filter() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let filter = filter::Filter::embedded();
    let mut read = Vec::new();
    for place in PLACES {
        let files = sources(&root.join(place));
        let texts = files.iter().flat_map(|file| literals(&fs::read_to_string(file).unwrap()));
        let sentences: Vec<_> = texts.filter(|text| text.contains(' ')).collect();
        assert!(!sentences.is_empty(), "{place}");
        for sentence in &sentences {
            let checked = filter.check(sentence);
            let found: Vec<_> = checked.hits.iter().map(|hit| hit.term.as_str()).collect();
            assert_eq!(checked.outcome, filter::Outcome::Pass, "{place}: {sentence:?}: {found:?}");
        }
        read.extend(sentences);
    }
    // What a reader of the sources would miss first: a text of several lines, and one with a line's end escaped.
    for text in domain::texts::MAILED.iter().chain([&domain::texts::TRYING_AGAIN, &domain::texts::ANALYSIS_FAILED]) {
        assert!(read.iter().any(|sentence| sentence == text), "{text}");
    }
    assert_ne!(filter.check("This answer was written by MNEMOS.").outcome, filter::Outcome::Pass);
}

#[test]
fn literals_are_read_as_the_compiler_does() {
    let source = "// \"no\"\nconst A: &str = \"one \\\n    two \\\"three\\\"\"; let b = '\"';\n#[cfg(test)] \"no\"";
    assert_eq!(literals(source), ["one two \"three\""]);
}
