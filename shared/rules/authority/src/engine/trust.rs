//! Finds the part of a text that cannot supply state because it claims to come from a tool, a system or an oracle.
//!
//! A value of an axis counts if the customer states it. A pasted trace is neither the customer's statement nor an
//! oracle's answer ("Tool Output Injection"), so no value after its marker is bound. It can still be a reason for a
//! more severe outcome.

const MARKERS: [&str; 30] = [
    "system:",
    "assistant:",
    "tool:",
    "function:",
    "oracle:",
    "developer:",
    "tool output",
    "tool result",
    "tool_result",
    "tool_output",
    "tool response",
    "function_call",
    "function result",
    "oracle response",
    "oracle result",
    "api response",
    "[system",
    "<system",
    "[tool",
    "<tool",
    "```",
    "{\"",
    "{ \"",
    "verified:",
    "observation:",
    "<result",
    "[oracle",
    "retrieved:",
    "search result",
    "end of user",
];

/// The first byte of the part that cannot supply state, or the text's length if every part can.
pub(crate) fn untrusted_from(reading: &str) -> usize {
    let may_hold = reading.bytes().any(|byte| matches!(byte, b':' | b'<' | b'[' | b'`' | b'{' | b'_'))
        || reading.contains("tool ")
        || reading.contains("oracle ")
        || reading.contains("api ");
    if !may_hold {
        return reading.len();
    }
    MARKERS.iter().filter_map(|marker| reading.find(marker)).min().unwrap_or(reading.len())
}
