//! Encodes texts as parts of an address.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything except letters, digits, `-`, `_`, `~` and `.`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~').remove(b'.');

/// Encodes every reserved byte as `%XX`.
pub(crate) fn percent(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A text as one segment of a path. `None` for dots, which are path steps in any encoding, and for an empty text.
pub(crate) fn segment(text: &str) -> Option<String> {
    (!matches!(text, "" | "." | "..")).then(|| percent(text))
}

/// A string literal of OData, percent-encoded: a quote within it is doubled.
pub(crate) fn literal(text: &str) -> String {
    percent(&format!("'{}'", text.replace('\'', "''")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_can_break_out() {
        assert_eq!(percent("AAMkAG=/+"), "AAMkAG%3D%2F%2B");
        assert_eq!(segment("a/../b?c#d").unwrap(), "a%2F..%2Fb%3Fc%23d");
        for none in ["", ".", ".."] {
            assert_eq!(segment(none), None);
        }
        assert_eq!(literal("<o'brien@x>"), "%27%3Co%27%27brien%40x%3E%27");
        assert_eq!(literal("' or 1 eq 1 or '"), "%27%27%27%20or%201%20eq%201%20or%20%27%27%27");
    }

    proptest! {
        #[test]
        fn any_text_survives_as_segment_and_as_value(text in "(?s).{1,60}") {
            prop_assume!(segment(&text).is_some());
            let address = format!("http://x/a/{}/b?v={}", percent(&text), percent(&text));
            let url = reqwest::Url::parse(&address).unwrap();
            prop_assert_eq!(url.path_segments().unwrap().count(), 3);
            prop_assert_eq!(url.query_pairs().next().unwrap().1, text.as_str());
            prop_assert!(url.fragment().is_none());
        }
    }
}
