//! Which part of a text cannot supply state: what claims to come from a tool, a system or an oracle.
//!
//! A value of an axis counts when the customer states it. A trace that somebody pastes is neither the customer's
//! statement nor an oracle's answer ("Tool Output Injection"), so nothing after its marker is bound. It still counts
//! as a reason to be careful.

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

/// First byte of what cannot supply state; the text's length without such a part.
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
