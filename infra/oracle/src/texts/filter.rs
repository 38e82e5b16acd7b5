//! `oracle filter` and `oracle filter explain`. No network.

use std::io::{BufRead, Write};

use filter::{Action, Explanation, Filter, Outcome, View};
use serde::{Deserialize, Serialize};

use crate::terminal::json_lines::{Id, LinesError, answer_lines};

#[derive(Deserialize)]
struct Request {
    id: Id,
    text: String,
}

#[derive(Serialize)]
struct HitLine {
    term: String,
    term_id: String,
    start: usize,
    end: usize,
    rule: String,
    view: View,
    action: Action,
}

#[derive(Serialize)]
struct Reply {
    id: Id,
    outcome: Outcome,
    text: String,
    hits: Vec<HitLine>,
    list_version: &'static str,
    list_hash: &'static str,
}

/// Checks every `{"id","text"}` line.
pub(crate) fn run(input: impl BufRead, output: impl Write) -> Result<(), LinesError> {
    let filter = Filter::embedded();
    answer_lines(input, output, r#"{"id":…,"text":"…"}"#, |request: Request| {
        let checked = filter.check(&request.text);
        let hits = checked.hits.into_iter().map(|hit| HitLine {
            term: hit.term,
            term_id: hit.id,
            start: hit.start,
            end: hit.end,
            rule: hit.rule,
            view: hit.view,
            action: hit.action,
        });
        Ok(Reply {
            id: request.id,
            outcome: checked.outcome,
            hits: hits.collect(),
            text: checked.text,
            list_version: filter.list_version(),
            list_hash: filter.list_hash(),
        })
    })
}

pub(crate) fn explain(text: &str, json: bool, mut output: impl Write) -> std::io::Result<()> {
    let filter = Filter::embedded();
    let explanation = filter.explain(text);
    if json {
        let line = serde_json::to_string(&explanation).map_err(std::io::Error::other)?;
        return writeln!(output, "{line}");
    }
    write!(output, "{}", for_people(filter, &explanation))
}

fn for_people(filter: &Filter, explanation: &Explanation) -> String {
    let mut lines = vec![format!("list {} ({})", filter.list_version(), &filter.list_hash()[..12])];
    for view in &explanation.views {
        lines.push(match view.round {
            0 if view.turned => format!("\nas control characters show it: {:?}", view.reading),
            0 => "\nas it stands".to_owned(),
            round => format!("\nafter round {round} of decoding: {:?}", view.reading),
        });
        if view.sightings.is_empty() {
            lines.push("  nothing".to_owned());
        }
        for seen in &view.sightings {
            let mark = if seen.blocked { "✗" } else { "·" };
            lines.push(format!(
                "  {mark} {:?} at {}–{} as {}: {}",
                seen.spelling, seen.start, seen.end, seen.term, seen.why
            ));
        }
    }
    let checked = &explanation.checked;
    lines.push(format!("\n{}: {}", checked.outcome, explanation.why));
    for hit in &checked.hits {
        lines.push(format!(
            "  {} at {}–{}, {} ({:?} view): {:?}",
            hit.term, hit.start, hit.end, hit.rule, hit.view, hit.action
        ));
    }
    if checked.outcome == Outcome::Replace {
        lines.push(format!("  → {}", checked.text));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::json_lines;

    fn answers(input: &[u8]) -> (Vec<serde_json::Value>, Result<(), LinesError>) {
        json_lines::answers(|output| run(input, output))
    }

    #[test]
    fn answers_each_line_with_its_own_id() {
        let (lines, result) = answers(b"{\"id\":\"a\",\"text\":\"All good.\"}\n\n{\"id\":7,\"text\":\"Says CSDM.\"}\n");
        result.unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[0]["id"], &lines[0]["outcome"]), (&"a".into(), &"PASS".into()));
        assert_eq!((&lines[1]["id"], &lines[1]["outcome"]), (&7.into(), &"QUARANTINE".into()));
        assert_eq!(lines[1]["text"], "Says CSDM.");
        assert_eq!(lines[1]["hits"][0]["term"], "CSDM");
        assert_eq!((&lines[1]["hits"][0]["start"], &lines[1]["hits"][0]["end"]), (&5.into(), &9.into()));
        assert_eq!(lines[1]["hits"][0]["rule"], "category-3");
        assert!(lines[1]["list_version"].is_string());
    }

    #[test]
    fn a_byte_order_mark_before_the_first_line_is_skipped() {
        for input in ["\u{feff}{\"id\":1,\"text\":\"x\"}\r\n", "\u{feff}\r\n{\"id\":1,\"text\":\"x\"}"] {
            let (lines, result) = answers(input.as_bytes());
            result.unwrap();
            assert_eq!(lines[0]["id"], 1, "{input:?}");
        }
        let (_, result) = answers("{\"id\":1,\"text\":\"x\"}\n\u{feff}{\"id\":2,\"text\":\"x\"}\n".as_bytes());
        assert!(result.unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn an_id_comes_back_byte_for_byte() {
        let ids = ["123456789012345678901234", "-0", "1e2", "1.50", "null", r#""\u00e9""#, r#"{"page": 1}"#, "[ ]"];
        let input: String = ids.iter().map(|id| format!("{{\"id\": {id} ,\"text\":\"All good.\"}}\n")).collect();
        let mut output = Vec::new();
        run(input.as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert_eq!(output.lines().count(), ids.len());
        for (line, id) in output.lines().zip(ids) {
            assert!(line.starts_with(&format!("{{\"id\":{id},\"outcome\":")), "{line}");
        }
    }

    #[test]
    fn a_faulty_line_is_named_and_the_lines_before_it_are_answered() {
        let (lines, result) =
            answers(b"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\"}\n{\"id\":\"c\",\"text\":\"y\"}\n");
        assert_eq!(lines.len(), 1);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("missing field `text`"), "{error}");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_a_faulty_line() {
        let (lines, result) = answers(b"{\"id\":1,\"text\":\"\xff\"}\n");
        assert!(lines.is_empty());
        assert!(result.unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn explains_what_was_seen_and_why_it_passed() {
        let mut output = Vec::new();
        explain("The options are manifold, says N&#79;US.", false, &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        assert!(text.contains("\"manifold\" at 16–24") && text.contains("an ordinary sense"), "{text}");
        assert!(
            text.contains("after round 1 of decoding")
                && text.contains("\nREPLACE: every blocked term has a substitute"),
            "{text}"
        );
    }
}
