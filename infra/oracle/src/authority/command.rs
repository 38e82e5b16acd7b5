//! `oracle authority`: evaluate, explain, vectors and attest need no network; queue, approve and reject are the human
//! lock of a stack, escalations lists what its operators have to look at.

use std::io::{self, BufRead, Write};

use authority::{Contact, DecidingRule, Evaluation, evaluate};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use super::{
    escalations::{self, EscalationsArguments},
    human_lock::{self, DecisionArguments},
};
use crate::{
    command::{Ended, Target},
    terminal::json_lines::{Id, LinesError, answer_lines},
};

/// The named vectors of the specification's appendices: id, state, reason code, text.
const VECTORS: &str = include_str!("../../../../shared/rules/authority/tests/data/vectors.tsv");

#[derive(Subcommand)]
pub(crate) enum AuthorityCommand {
    /// Evaluate texts, one JSON object a line.
    ///
    /// Reads {"id","text","locale"?} lines from standard input and writes {"id","status","domain","missing_axes",
    /// "reason_code","resources","deciding_rules"} lines. No network.
    #[command(
        after_help = "Example:\n  echo '{\"id\":\"1\",\"text\":\"Should we open a second shop?\"}' | oracle authority evaluate\n\nExit code 2: a line was not such an object; the lines before it are answered."
    )]
    Evaluate(EvaluateArguments),
    /// Show which rules decided about a text, by file and line, and the words that they read.
    ///
    /// Takes the text as an argument or, without one, from standard input.
    #[command(after_help = "Example:\n  oracle authority explain 'Is this legal?'")]
    Explain {
        /// The text.
        text: Option<String>,
        /// Language tag of the customer, such as en-CA.
        #[arg(long)]
        locale: Option<String>,
        /// Write one JSON object instead of lines for people.
        #[arg(long)]
        json: bool,
    },
    /// Evaluate the named test vectors of the specification and compare their states and reasons.
    #[command(
        after_help = "Example:\n  oracle authority vectors --json\n\nExit code 1: a vector has another state or reason."
    )]
    Vectors {
        /// Write one JSON object a line instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Print the hash of the gate's test suite and whether this build was made after it had passed.
    #[command(
        after_help = "Example:\n  oracle authority attest --json\n\nExit code 1: this build is not attested; `cargo xtask test --only attest` runs the suite."
    )]
    Attest {
        /// Write one JSON object instead of a line for people.
        #[arg(long)]
        json: bool,
    },
    /// List the paid questions that the gate declined: who may approve them, and who has.
    #[command(after_help = "Example:\n  oracle authority queue --stack-name oracle")]
    Queue(Target),
    /// List the texts that a trigger of child safety blocked: reason, whom the specification wants informed, record.
    ///
    /// The service sends no reports itself. The list shows no texts. Stripe keeps the text of a paid sale, the mailbox
    /// that of a mail, and the Bridge that of a posted message; other texts are not stored.
    #[command(after_help = "Example:\n  oracle authority escalations --since 7d --stack-name oracle")]
    Escalations(EscalationsArguments),
    /// Approve a declined question. It gets a narrative answer after all approvals that its domain demands.
    ///
    /// Where the domain asks for two persons, the second approves with another name and another credential, before the
    /// time that the first approval prints. What child safety or self-harm has locked cannot be approved; the attempt is
    /// recorded and alerted.
    /// An approval of an earlier decision than the gate's latest is refused: the sale may have another question by now.
    #[command(
        after_help = "Example:\n  oracle authority approve cs_live_abc123 --role physician --credential npi_registry:1234567893 --by dana --reason 'known patient'\n\nExit code 1: refused; nothing changed."
    )]
    Approve(DecisionArguments),
    /// Reject a declined question: its money goes back at once, unless its customer has a verdict by mail. A follow-up
    /// has no money of its own.
    #[command(
        after_help = "Example:\n  oracle authority reject cs_live_abc123 --role physician --credential npi_registry:1234567893 --by dana\n\nExit code 1: refused; nothing changed."
    )]
    Reject(DecisionArguments),
}

#[derive(Args)]
pub(crate) struct EvaluateArguments {
    /// JSON lines are the output with and without this; every command takes it.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Request {
    id: Id,
    text: String,
    #[serde(default)]
    locale: Option<String>,
}

#[derive(Serialize)]
struct Reply {
    id: Id,
    status: authority::State,
    domain: &'static str,
    missing_axes: Vec<&'static str>,
    reason_code: &'static str,
    resources: Vec<Contact>,
    deciding_rules: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

pub(crate) fn run(
    command: &AuthorityCommand,
    input: impl BufRead,
    output: impl Write,
) -> Result<Ended, Box<dyn std::error::Error>> {
    match command {
        AuthorityCommand::Evaluate(_) => evaluate_lines(input, output)?,
        AuthorityCommand::Explain { text, locale, json } => {
            let text = match text {
                Some(text) => text.clone(),
                None => io::read_to_string(input)?,
            };
            explain(&evaluate(&text, locale.as_deref()), *json, output)?;
        }
        AuthorityCommand::Vectors { json } => return Ok(vectors(VECTORS, *json, output)?),
        AuthorityCommand::Attest { json } => return Ok(attest(attestation::AUTHORITY, *json, output)?),
        AuthorityCommand::Queue(target) => return Ok(human_lock::queue(target)?),
        AuthorityCommand::Escalations(arguments) => return Ok(escalations::run(arguments)?),
        AuthorityCommand::Approve(arguments) => return Ok(human_lock::approve(arguments)?),
        AuthorityCommand::Reject(arguments) => return Ok(human_lock::reject(arguments)?),
    }
    Ok(Ended::Done)
}

fn evaluate_lines(input: impl BufRead, output: impl Write) -> Result<(), LinesError> {
    answer_lines(input, output, r#"{"id":…,"text":"…","locale"?:"…"}"#, |request: Request| {
        let evaluation = evaluate(&request.text, request.locale.as_deref());
        Ok(Reply {
            id: request.id,
            status: evaluation.state(),
            domain: evaluation.domain(),
            missing_axes: evaluation.missing_axes(),
            reason_code: evaluation.reason_code(),
            resources: evaluation.resources(),
            deciding_rules: named(&evaluation.deciding_rules()),
            notice: evaluation.notice(),
        })
    })
}

/// The rules by name and place, without duplicates.
fn named(rules: &[DecidingRule]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in rules.iter().map(|rule| format!("{} ({})", rule.rule, rule.place)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn explain(evaluation: &Evaluation, json: bool, mut output: impl Write) -> io::Result<()> {
    if json {
        let line = serde_json::json!({
            "authorization": evaluation.authorization(),
            "response": evaluation.response(),
            "evaluation": evaluation.envelope(),
            "rules": evaluation.deciding_rules(),
            "values": evaluation.values(),
            "forbidden": evaluation.forbidden_phrases(),
            "required": evaluation.required_phrases(),
            "suggested_actions": evaluation.suggested_actions(),
        });
        return writeln!(output, "{line}");
    }
    let (state, reason, domain) = (evaluation.state(), evaluation.reason_code(), evaluation.domain());
    let lock = if evaluation.override_prohibited() { ", locked" } else { "" };
    writeln!(output, "{state}: {reason} ({domain}{lock})")?;
    for rule in evaluation.deciding_rules() {
        let asks = if rule.why == "found in the text" { "found".to_owned() } else { rule.state.to_string() };
        writeln!(output, "  {} {} → {asks}: {}", rule.place, rule.rule, rule.why)?;
    }
    for value in evaluation.values() {
        let (start, end) = value.quote.span();
        writeln!(
            output,
            "  {}.{} = {:?} from {:?} at {start}–{end}",
            value.domain,
            value.axis,
            value.value,
            value.quote.text()
        )?;
    }
    if !evaluation.missing_axes().is_empty() {
        writeln!(output, "  missing: {}", evaluation.missing_axes().join(", "))?;
    }
    for contact in evaluation.resources() {
        writeln!(output, "  {}: {}", contact.name, contact.contact)?;
    }
    Ok(())
}

fn attest(attestation: attestation::Attestation, json: bool, mut output: impl Write) -> io::Result<Ended> {
    let attestation::Attestation { suite, state } = attestation;
    if json {
        let line = serde_json::json!({ "suite": suite, "state": state.as_str(), "canonical": state.is_canonical() });
        writeln!(output, "{line}")?;
    } else {
        writeln!(output, "suite {suite}: {}", state.as_str())?;
    }
    Ok(if state.is_canonical() { Ended::Done } else { Ended::Nothing })
}

fn vectors(table: &str, json: bool, mut output: impl Write) -> io::Result<Ended> {
    let mut all_hold = true;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (Some(id), Some(expected), Some(expected_reason), Some(text)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let evaluation = evaluate(text, None);
        let (state, reason) = (evaluation.state(), evaluation.reason_code());
        let holds = (state.as_str(), reason) == (expected, expected_reason);
        all_hold &= holds;
        if json {
            let line = serde_json::json!({
                "id": id, "expected": expected, "expected_reason": expected_reason, "status": state,
                "reason_code": reason, "holds": holds, "text": text,
            });
            writeln!(output, "{line}")?;
        } else {
            let mark = if holds { "✓" } else { "✗" };
            writeln!(output, "{mark} {id:38} {state:28} {reason}")?;
        }
    }
    Ok(if all_hold { Ended::Done } else { Ended::Nothing })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::json_lines::answers;

    fn evaluated(input: &str) -> Vec<serde_json::Value> {
        answers(|output| evaluate_lines(input.as_bytes(), output).unwrap()).0
    }

    #[test]
    fn a_line_is_answered_with_state_axes_and_rules() {
        let lines = evaluated("{\"id\":7,\"text\":\"What's the interest rate for a 30-year mortgage?\"}\n");
        assert_eq!((&lines[0]["id"], &lines[0]["status"]), (&7.into(), &"REQUIRES_SPECIFICATION".into()));
        assert_eq!(lines[0]["domain"], "finance");
        assert_eq!(lines[0]["missing_axes"][0], "jurisdiction");
        assert!(lines[0]["deciding_rules"][0].as_str().unwrap().contains("finance.toml:"), "{}", lines[0]);
    }

    #[test]
    fn the_locale_selects_the_resources() {
        let lines = evaluated(
            "{\"id\":1,\"text\":\"I want to die\"}\n{\"id\":2,\"text\":\"I want to die\",\"locale\":\"en-US\"}\n",
        );
        assert_eq!(lines[0]["resources"][0]["contact"], "Call or text 9-8-8");
        assert_eq!(lines[1]["resources"][0]["name"], "988 Suicide & Crisis Lifeline");
    }

    #[test]
    fn every_vector_holds() {
        let mut output = Vec::new();
        let ended = vectors(VECTORS, false, &mut output).unwrap();
        assert!(matches!(ended, Ended::Done), "{}", String::from_utf8_lossy(&output));
    }

    #[test]
    fn a_vector_with_another_state_or_reason_does_not_hold() {
        let text = "Can I take ibuprofen with warfarin?";
        for (state, reason, holds) in [
            ("BLOCKED", "high_stakes_drug_interaction", true),
            ("BLOCKED", "drug_interaction", false),
            ("NARRATIVE_ONLY", "high_stakes_drug_interaction", false),
        ] {
            let mut output = Vec::new();
            let ended = vectors(&format!("war_001\t{state}\t{reason}\t{text}\n"), true, &mut output).unwrap();
            assert_eq!(matches!(ended, Ended::Done), holds, "{}", String::from_utf8_lossy(&output));
        }
    }

    #[test]
    fn an_explanation_names_the_line_that_decided() {
        let mut output = Vec::new();
        explain(&evaluate("Is this legal?", None), false, &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        assert!(text.starts_with("BLOCKED: legal_advice (law)") && text.contains("law.toml:"), "{text}");
    }
}
