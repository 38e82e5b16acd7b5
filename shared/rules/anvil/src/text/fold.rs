//! Normalises spelling: lower case, plain digits and signs, one code point for each Greek letter.

/// A folded text with the original position of each of its bytes.
pub(super) struct Folded {
    /// The folded text, which the readers use.
    pub(super) text: String,
    /// The original byte offset of each byte of `text`, and its end.
    origin: Vec<u32>,
}

impl Folded {
    /// Folds a text. Offsets are correct up to 4 GB, far beyond any request.
    pub(super) fn of(original: &str) -> Self {
        let mut folded =
            Self { text: String::with_capacity(original.len()), origin: Vec::with_capacity(original.len()) };
        let mut previous = ' ';
        for (offset, character) in original.char_indices() {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            if character.is_ascii() {
                folded.text.push(character.to_ascii_lowercase());
                folded.origin.push(offset);
            } else {
                let between_digits = previous.is_ascii_digit();
                folded.push_unusual(character, between_digits, offset);
            }
            previous = character;
        }
        folded.origin.push(u32::try_from(original.len()).unwrap_or(u32::MAX));
        folded
    }

    /// The original text of a folded range.
    pub(super) fn original<'a>(&self, original: &'a str, start: usize, end: usize) -> &'a str {
        let at = |index: usize| self.origin.get(index).map_or(original.len(), |offset| *offset as usize);
        original.get(at(start)..at(end)).unwrap_or_default()
    }

    fn push(&mut self, character: char, offset: u32) {
        self.text.push(character);
        self.origin.resize(self.text.len(), offset);
    }

    fn push_unusual(&mut self, character: char, after_digit: bool, offset: u32) {
        let plain = match character {
            // A combining mark on a digit strikes it out or changes it, so it is not dropped like an accent.
            '\u{300}'..='\u{36f}' if after_digit => '\u{fffd}',
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' => return,
            '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{ad}' | '\u{300}'..='\u{36f}' => return,
            '\u{fe00}'..='\u{fe0f}' => return,
            // Full-width forms.
            '\u{ff01}'..='\u{ff5e}' => {
                char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character).to_ascii_lowercase()
            }
            '\u{660}'..='\u{669}' => digit(character, 0x660),
            '\u{6f0}'..='\u{6f9}' => digit(character, 0x6f0),
            '\u{966}'..='\u{96f}' => digit(character, 0x966),
            '\u{1d7ce}'..='\u{1d7ff}' => char::from(b'0' + ((u32::from(character) - 0x1d7ce) % 10) as u8),
            '٫' => '.',
            '·' if after_digit => '.',
            '٪' => '%',
            '−' | '‐' | '‑' | '‒' | '–' | '—' | '﹣' => '-',
            '“' | '”' | '„' | '«' | '»' => '"',
            '‘' | '’' => '\'',
            '。' => '.',
            '、' | '،' => ',',
            '؟' => '?',
            '∆' => 'δ',
            'ϕ' | 'ɸ' => 'φ',
            'ɣ' => 'γ',
            'ß' => 's',
            'ø' | 'Ø' => 'o',
            _ if character.is_whitespace() && character != '\u{85}' && character != '\u{2028}' => ' ',
            _ => match unaccented(character) {
                // "0è9" is not an exponent.
                Some(_) if after_digit => character,
                Some(plain) => plain,
                None => {
                    for lower in character.to_lowercase() {
                        self.push(lower, offset);
                    }
                    return;
                }
            },
        };
        self.push(plain, offset);
    }
}

/// The letter without its accent, in lower case, for the accented letters of European languages.
fn unaccented(character: char) -> Option<char> {
    // All of them are in these blocks. Greek letters, the most frequent others here, need no search.
    if !('\u{c0}'..='\u{17f}').contains(&character) {
        return None;
    }
    let index = "àâäáãåçéèêëîïíìñôöóõòùûüúÿýÀÂÄÁÃÅÇÉÈÊËÎÏÍÌÑÔÖÓÕÒÙÛÜÚÝąćęłńśźżčďěňřšťůžőűĄĆĘŁŃŚŹŻČĎĚŇŘŠŤŮŽŐŰ"
        .chars()
        .position(|of| of == character)?;
    "aaaaaaceeeeiiiinooooouuuuyyaaaaaaceeeeiiiinooooouuuuyacelnszzcdenrstuzouacelnszzcdenrstuzou".chars().nth(index)
}

fn digit(character: char, zero: u32) -> char {
    u8::try_from(u32::from(character) - zero).map_or(character, |value| char::from(b'0' + value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_become_one() {
        for (written, read) in [
            ("Φζ＝０．９７４", "φζ=0.974"),
            ("Ω", "ω"),
            ("∆Γ", "δγ"),
            ("٠٫٩٧٤", "0.974"),
            ("0·974 %", "0.974 %"),
            ("Évaluer\u{200b}", "evaluer"),
            ("E\u{301}", "e"),
            ("Prüfung", "prufung"),
            ("0\u{335}", "0\u{fffd}"),
        ] {
            assert_eq!(Folded::of(written).text, read, "{written}");
        }
    }

    #[test]
    fn every_folded_range_leads_back() {
        let original = "Is RÔUTＸ alive?";
        let folded = Folded::of(original);
        let start = folded.text.find("routx").unwrap();
        assert_eq!(folded.original(original, start, start + 5), "RÔUTＸ");
        assert_eq!(folded.original(original, 0, folded.text.len()), original);
    }
}
