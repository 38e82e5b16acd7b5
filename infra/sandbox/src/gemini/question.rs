//! Finds the customer's own words in a prompt.

const LABELS: [&str; 6] = ["submission:", "question:", "query:", "idea:", "input:", "customer:"];
const FENCES: [&str; 3] = ["\"\"\"", "```", "<<<"];

/// The customer's text inside the last turn of the user: between tags, between fences,
/// after a label at the beginning of a line, or the whole turn.
pub(crate) fn extract(turn: &str) -> &str {
    between_tags(turn).or_else(|| between_fences(turn)).or_else(|| after_label(turn)).unwrap_or(turn).trim()
}

/// The text between `<name …>` and the last `</name>`.
fn between_tags(turn: &str) -> Option<&str> {
    for (at, _) in turn.match_indices('<') {
        let rest = &turn[at + 1..];
        let Some(end) = rest.find('>') else { break };
        let name = rest[..end].split_whitespace().next().unwrap_or("");
        let named =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if !named {
            continue;
        }
        let inner = &rest[end + 1..];
        if let Some(close) = inner.rfind(&format!("</{name}>")) {
            return Some(&inner[..close]);
        }
    }
    None
}

fn between_fences(turn: &str) -> Option<&str> {
    FENCES.into_iter().find_map(|fence| {
        let closing = if fence == "<<<" { ">>>" } else { fence };
        let (_, rest) = turn.split_once(fence)?;
        rest.rsplit_once(closing).map(|(inner, _)| inner)
    })
}

fn after_label(turn: &str) -> Option<&str> {
    let mut offset = 0;
    for line in turn.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let start = offset + line.len() - trimmed.len();
        offset += line.len();
        for label in LABELS {
            let head = trimmed.get(..label.len());
            if head.is_some_and(|head| head.eq_ignore_ascii_case(label)) {
                return Some(&turn[start + label.len()..]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::extract;

    #[test]
    fn the_customers_words_are_found_in_every_usual_wrapping() {
        for turn in [
            "Should I open a café?",
            "<submission>Should I open a café?</submission>",
            "Assess this.\n<query id=\"1\">\nShould I open a café?\n</query>\nAnswer in JSON.",
            "Assess:\n\"\"\"\nShould I open a café?\n\"\"\"",
            "Tier: quick\n  Question: Should I open a café?",
        ] {
            assert_eq!(extract(turn), "Should I open a café?", "{turn}");
        }
    }

    #[test]
    fn odd_characters_do_not_confuse_it() {
        assert_eq!(extract("is 3 < 5 and 7 > 6?"), "is 3 < 5 and 7 > 6?");
        assert_eq!(extract("ééé\nsub"), "ééé\nsub");
        assert_eq!(extract("<a>"), "<a>");
        assert_eq!(extract(""), "");
    }
}
