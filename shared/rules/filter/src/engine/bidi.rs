//! Text that a control character turns around: "SUON" after U+202E is shown as "NOUS".

use std::ops::Range;

/// Shows what follows from right to left, up to [`POP`] or the end of the paragraph.
pub(crate) const OVERRIDE: char = '\u{202e}';
const POP: char = '\u{202c}';

/// The text as it is shown, and the bytes of it that are turned around; `None` when none are. Every character
/// keeps its length, so that what stands outside those bytes stands where it stood.
pub(crate) fn as_shown(text: &str) -> Option<(String, Vec<Range<usize>>)> {
    let mut turned = Vec::new();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find(OVERRIDE) {
        let start = at + found + OVERRIDE.len_utf8();
        let end = text[start..].find([POP, OVERRIDE, '\n']).map_or(text.len(), |length| start + length);
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

/// Whether [`OVERRIDE`] stands in the text beside escapes, or may come out of them. Wrong only by "yes", but for one
/// whose own number is written with escapes.
pub(crate) fn may_turn_after_decoding(text: &str) -> bool {
    const SIGNS: [&str; 5] = ["202e", "8238", "80ae", "80%ae", "80=ae"];
    let has_escapes = text.bytes().any(|byte| matches!(byte, b'&' | b'%' | b'=' | b'\\'));
    let is_written = || {
        let lower = text.to_ascii_lowercase();
        SIGNS.iter().any(|sign| lower.contains(sign))
    };
    has_escapes && (text.contains(OVERRIDE) || is_written())
}

/// Where something that was found in the text as it is shown stands in the source: a place that reaches into
/// turned bytes covers all of them. `None` where it does not.
pub(crate) fn in_source(place: Range<usize>, turned: &[Range<usize>]) -> Option<Range<usize>> {
    // They stand in order, and there may be as many as the text has bytes.
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
        let (shown, turned) = as_shown("Ask \u{202e}SUÖN\u{202c} now, \u{202e}ba\nc").unwrap();
        assert_eq!(shown, "Ask \u{202e}NÖUS\u{202c} now, \u{202e}ab\nc");
        assert_eq!(turned, [7..12, 24..26]);
        assert_eq!((in_source(8..10, &turned), in_source(0..3, &turned)), (Some(7..12), None));
        assert_eq!(in_source(2..25, &turned), Some(2..26));
        assert_eq!((as_shown("plain"), as_shown("\u{202e}")), (None, None));
    }
}
