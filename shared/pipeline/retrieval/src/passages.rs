//! Cuts the texts of a corpus into passages.

/// The longest passage, in characters. Four passages are small beside a question.
pub(crate) const LONGEST: usize = 1_000;

/// One text of a corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its name, for operators.
    pub name: String,
    /// Its words.
    pub content: String,
}

/// The passages of a text. Short paragraphs are joined, and long ones are cut between words: nothing is left out.
pub(crate) fn passages(content: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = String::new();
    for paragraph in paragraphs(content) {
        for piece in pieces(&paragraph) {
            if !open.is_empty() && characters(&open) + 1 + characters(&piece) > LONGEST {
                found.push(std::mem::take(&mut open));
            }
            if !open.is_empty() {
                open.push('\n');
            }
            open.push_str(&piece);
        }
    }
    if !open.is_empty() {
        found.push(open);
    }
    found
}

/// The blocks of lines between empty lines, with single spaces.
fn paragraphs(content: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in content.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            found.push(String::new());
        } else if let Some(last) = found.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(&words.join(" "));
        }
    }
    found.retain(|paragraph| !paragraph.is_empty());
    found
}

/// Splits a paragraph into pieces of at most [`LONGEST`] characters.
fn pieces(paragraph: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in paragraph.split(' ').flat_map(parts) {
        let is_full = |last: &String| !last.is_empty() && characters(last) + 1 + characters(&word) > LONGEST;
        if found.last().is_some_and(is_full) {
            found.push(String::new());
        }
        if let Some(last) = found.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(&word);
        }
    }
    found
}

/// A word, in parts of at most [`LONGEST`] characters: Chinese, Japanese and Thai write whole paragraphs without a space. A
/// part that is not the last fills a piece, so no space gets between two parts.
fn parts(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(LONGEST).map(|part| part.iter().collect()).collect()
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_paragraphs_are_joined_and_long_ones_cut_between_words() {
        assert_eq!(passages("One  line\nof two.\n\n\nAnother.\n"), ["One line of two.\nAnother."]);
        assert_eq!(passages(" \n\n"), Vec::<String>::new());
        let long = "word ".repeat(500);
        let cut = passages(&format!("First.\n\n{long}"));
        assert!(cut.iter().all(|passage| characters(passage) <= LONGEST), "{cut:?}");
        assert_eq!(cut.join(" ").matches("word").count(), 500, "no word is lost");
    }

    #[test]
    fn a_text_without_spaces_is_cut_and_kept_whole() {
        let text: String = ('一'..'龠').take(2_345).collect();
        let cut = passages(&format!("第一\n\n{text}\n\nend"));
        assert!(cut.iter().all(|passage| characters(passage) <= LONGEST), "{cut:?}");
        assert_eq!(cut.concat().replace('\n', ""), format!("第一{text}end"));
    }
}
