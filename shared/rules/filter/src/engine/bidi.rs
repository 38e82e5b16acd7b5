//! Handles text that a control character reverses: "SUON" after U+202E is shown as "NOUS".

use std::ops::Range;

/// Shows the following text from right to left, up to [`POP`] or the end of the paragraph. A line break ends no
/// paragraph of HTML.
pub(crate) const OVERRIDE: char = '\u{202e}';
const POP: char = '\u{202c}';

/// The text as it is shown, and the byte ranges that are reversed; `None` when no range is. Every character keeps its
/// length, so that the text outside those ranges keeps its place.
pub(crate) fn as_shown(text: &str) -> Option<(String, Vec<Range<usize>>)> {
    let mut turned = Vec::new();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find(OVERRIDE) {
        let start = at + found + OVERRIDE.len_utf8();
        let rest = &text[start..];
        let length = rest.find([POP, OVERRIDE]).unwrap_or(rest.len());
        let end = start + rest[..length].find("\n\n").unwrap_or(length);
        shown.push_str(&text[at..start]);
        shown.extend(text[start..end].chars().rev());
        if start < end {
            turned.push(start..end);
        }
        at = end;
    }
    shown.push_str(&text[at..]);
    (!turned.is_empty()).then_some((shown, turned))
}

/// Whether the text has escapes or markup and either contains [`OVERRIDE`] or may decode to it. May return true without
/// cause.
/// Returns false wrongly only when the number of the escape is itself written with escapes.
pub(crate) fn may_turn_after_decoding(text: &str) -> bool {
    const SIGNS: [&str; 5] = ["202e", "8238", "80ae", "80%ae", "80=ae"];
    let has_escapes = text.bytes().any(|byte| matches!(byte, b'&' | b'%' | b'=' | b'\\' | b'<'));
    let is_written = || {
        let lower = text.to_ascii_lowercase();
        SIGNS.iter().any(|sign| lower.contains(sign))
    };
    has_escapes && (text.contains(OVERRIDE) || is_written())
}

/// Maps a place in the shown text to the source. A place that overlaps reversed bytes covers all of them. `None` when
/// it overlaps none.
pub(crate) fn in_source(place: Range<usize>, turned: &[Range<usize>]) -> Option<Range<usize>> {
    // The ranges are sorted, and there may be as many as the text has bytes, so this searches by bisection.
    let touched = turned.partition_point(|range| range.end <= place.start)
        ..turned.partition_point(|range| range.start < place.end);
    let touched = turned.get(touched)?;
    let (first, last) = (touched.first()?, touched.last()?);
    Some(place.start.min(first.start)..place.end.max(last.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_bytes_keep_their_place() {
        let (shown, turned) = as_shown("Ask \u{202e}SUÖN\u{202c} now, \u{202e}ba\n\nc").unwrap();
        assert_eq!(shown, "Ask \u{202e}NÖUS\u{202c} now, \u{202e}ab\n\nc");
        assert_eq!(turned, [7..12, 24..26]);
        assert_eq!((in_source(8..10, &turned), in_source(0..3, &turned)), (Some(7..12), None));
        assert_eq!(in_source(2..25, &turned), Some(2..26));
        assert_eq!((as_shown("plain"), as_shown("\u{202e}")), (None, None));
    }
}
