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

/// The passages of a text. Short paragraphs are joined, and long ones are cut between words.
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
    for word in paragraph.split(' ') {
        // Cuts a word at half a passage. A longer one is not a word of a language.
        let word: String = word.chars().take(LONGEST / 2).collect();
        let is_full = found.last().is_some_and(|last| characters(last) + 1 + characters(&word) > LONGEST);
        if is_full {
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
        assert!(passages(&"é".repeat(5_000)).iter().all(|passage| characters(passage) <= LONGEST));
    }
}
