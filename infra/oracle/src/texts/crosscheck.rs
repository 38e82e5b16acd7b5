//! `oracle crosscheck`. No network.

use std::io::{BufRead, Write};

use crosscheck::Crosscheck;
use domain::Tier;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::terminal::json_lines::{Id, LinesError, answer_lines};

#[derive(Deserialize)]
struct Request {
    id: Id,
    tier: String,
    verdict: Value,
}

#[derive(Serialize)]
struct Reply {
    id: Id,
    #[serde(flatten)]
    crosscheck: Crosscheck,
}

/// Crosschecks every `{"id","tier","verdict"}` line. The verdict is an object or the model's raw reply as a string.
pub(crate) fn run(input: impl BufRead, output: impl Write) -> Result<(), LinesError> {
    answer_lines(
        input,
        output,
        r#"{"id":…,"tier":"quick|full|strategy","verdict":{…} or "…"}"#,
        |request: Request| {
            let tier = Tier::parse(&request.tier).map_err(|error| error.to_string())?;
            let crosscheck = match &request.verdict {
                Value::String(raw) => crosscheck::crosscheck(raw, tier),
                verdict => crosscheck::crosscheck_value(verdict, tier),
            };
            Ok(Reply { id: request.id, crosscheck })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::json_lines;

    fn answers(input: &str) -> (Vec<Value>, Result<(), LinesError>) {
        json_lines::answers(|output| run(input.as_bytes(), output))
    }

    #[test]
    fn an_object_and_the_same_object_as_raw_text_score_alike() {
        let (lines, result) = answers(concat!(
            r#"{"id":"1","tier":"quick","verdict":{"verdict":"GREEN","summary":"Go ahead."}}"#,
            "\n",
            r#"{"id":"2","tier":"quick","verdict":"{\"verdict\":\"GREEN\",\"summary\":\"Go ahead.\"}"}"#,
            "\n",
            r#"{"id":"3","tier":"quick","verdict":"I would say yes."}"#,
        ));
        result.unwrap();
        assert_eq!((&lines[0]["approved"], &lines[0]["verdict_label"]), (&true.into(), &"GREEN".into()));
        assert_eq!(lines[0]["coherence_score"], lines[1]["coherence_score"]);
        assert_eq!(lines[2]["approved"], false);
        for field in ["threshold", "flags", "crosscheck_reason"] {
            assert!(!lines[2][field].is_null(), "{field}");
        }
    }

    #[test]
    fn an_id_comes_back_byte_for_byte_beside_the_result() {
        let mut output = Vec::new();
        let line = r#"{"id":123456789012345678901234,"tier":"quick","verdict":"I would say yes."}"#;
        run(line.as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert!(output.starts_with(r#"{"id":123456789012345678901234,"approved":false,"#), "{output}");
    }

    #[test]
    fn an_unknown_tier_is_a_faulty_line() {
        let (_, result) = answers(r#"{"id":"1","tier":"gold","verdict":{}}"#);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("quick, full, strategy"), "{error}");
    }
}
