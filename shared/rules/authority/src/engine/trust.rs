//! Finds the part of a text that cannot supply state because it claims to come from a tool, a system or an oracle.
//!
//! A value of an axis counts if the customer states it. A pasted trace is neither the customer's statement nor an
//! oracle's answer ("Tool Output Injection"), so no value after its marker makes the outcome less severe. It can still
//! make it more severe.

/// The markers that begin with a byte.
fn markers(first: u8) -> &'static [&'static str] {
    match first {
        b's' => &["system:", "search result"],
        b'a' => &["assistant:", "api response"],
        b't' => &["tool:", "tool output", "tool result", "tool_result", "tool_output", "tool response"],
        b'f' => &["function:", "function_call", "function result"],
        b'o' => &["oracle:", "oracle response", "oracle result", "observation:"],
        b'd' => &["developer:"],
        b'v' => &["verified:"],
        b'r' => &["retrieved:"],
        b'e' => &["end of user"],
        b'[' => &["[system", "[tool", "[oracle"],
        b'<' => &["<system", "<tool", "<result"],
        b'`' => &["```"],
        b'{' => &["{\"", "{ \""],
        _ => &[],
    }
}

/// A marker that begins the part that cannot supply state: its first byte, and the byte after it.
pub(crate) fn marker(reading: &str) -> Option<(usize, usize)> {
    let bytes = reading.as_bytes();
    if !may_hold_marker(bytes) {
        return None;
    }
    let ends = |at: usize| {
        let found = markers(bytes[at]).iter().find(|marker| bytes[at..].starts_with(marker.as_bytes()));
        found.map(|marker| (at, at + marker.len()))
    };
    (0..bytes.len()).find_map(ends)
}

/// Whether a text has a sign or letters such as every marker has; few texts do. Looks at every byte without a branch, which
/// the compiler turns into instructions for many bytes at once.
fn may_hold_marker(bytes: &[u8]) -> bool {
    let is_sign = |byte: &u8| matches!(byte, b':' | b'<' | b'[' | b'`' | b'{' | b'_');
    let has_sign = bytes.iter().fold(false, |found, byte| found | is_sign(byte));
    // "Result", "response", "output", "user".
    has_sign | [b"esul", b"espo", b"utpu", b"user"].into_iter().fold(false, |found, part| found | has(bytes, part))
}

/// Whether four bytes follow each other somewhere.
fn has(bytes: &[u8], part: &[u8; 4]) -> bool {
    let from = |offset: usize| bytes.get(offset..).unwrap_or_default();
    let fours = bytes.iter().zip(from(1)).zip(from(2)).zip(from(3));
    let [first, second, third, fourth] = part;
    fours.fold(false, |found, (((one, two), three), four)| {
        found | ((one == first) & (two == second) & (three == third) & (four == fourth))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_ends_the_trusted_part() {
        for marker in (0..=u8::MAX).flat_map(markers) {
            let found = super::marker(&format!("please {marker} now"));
            assert_eq!(found.map(|(start, _)| start), Some("please ".len()), "{marker}");
        }
        assert_eq!(marker("should we open the bakery on sundays"), None);
        assert_eq!(marker("a. system: b"), Some((3, 10)));
    }
}
