//! `oracle anvil …`: the quality gate. An operator's tool; customers never see it or its names.

use std::io::{BufRead, Write};

use anvil_rules::{Facts, Mode, Reason, Verdict, assess};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use super::{corpus, endpoint, evidence, override_command, report};
use crate::{
    command::Ended,
    terminal::json_lines::{Id, LinesError, answer_lines},
};

#[derive(Subcommand)]
pub(crate) enum AnvilCommand {
    /// Assess requests in words, one JSON object a line; or what was observed of a stack, a deployment, ...
    ///
    /// Reads {"id","text","facts"?: {"services"?: {NAME: "alive"|"dead"}}} lines from standard input and writes
    /// {"id","mode","verdict","text","reasons"} lines: mode is quick or analysis, the verdict GREEN, AMBER, RED, NULL or
    /// HOLD. No network, no model.
    #[command(
        after_help = "Example:\n  echo '{\"id\":\"1\",\"text\":\"Quick check: is ROUTX alive?\",\"facts\":{\"services\":{\"ROUTX\":\"alive\"}}}' | oracle anvil assess\n\nExit code 2: a line was not such an object; the lines before it are answered.",
        args_conflicts_with_subcommands = true
    )]
    Assess(AssessArguments),
    /// Test a model that phrases the gate's answers: T1 to T5 and 200 more questions.
    #[command(
        after_help = "Example:\n  oracle anvil smoke --endpoint http://127.0.0.1:11434 --model anvil:latest\n\nExit code 1: not every answer passed."
    )]
    Smoke(endpoint::SmokeArguments),
    /// What models are trained with: lint, add, freeze, diff.
    #[command(subcommand, after_help = "Example:\n  oracle anvil corpus lint draft.jsonl")]
    Corpus(corpus::CorpusCommand),
    /// The last verdicts with their evidence, and each kernel against its threshold over time.
    #[command(
        after_help = "Examples:\n  oracle anvil report --stack-name oracle --html gate.html\n  oracle anvil report --ledger verdicts.jsonl"
    )]
    Report(report::ReportArguments),
    /// Let a release go live once, whatever its verdict: two people, a reason, four hours.
    #[command(
        after_help = "Example:\n  oracle anvil override --release v7 --by dana --second kim --reason 'the alarm is known'\n\nExit code 1: refused: a name or the reason cannot be recorded, or the two names may be one person's."
    )]
    Override(override_command::OverrideArguments),
}

#[derive(Args)]
pub(crate) struct AssessArguments {
    #[command(subcommand)]
    subject: Option<evidence::Subject>,
    /// JSON lines are the output with and without this; every command takes it.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Request {
    id: Id,
    text: String,
    #[serde(default)]
    facts: Option<Facts>,
}

#[derive(Serialize)]
struct Reply {
    id: Id,
    mode: Mode,
    verdict: Verdict,
    text: String,
    reasons: Vec<String>,
}

pub(crate) fn run(
    command: &AnvilCommand,
    input: impl BufRead,
    output: impl Write,
) -> Result<Ended, Box<dyn std::error::Error>> {
    match command {
        AnvilCommand::Assess(AssessArguments { subject: Some(subject), .. }) => Ok(evidence::run(subject)?),
        AnvilCommand::Assess(_) => {
            assess_lines(input, output)?;
            Ok(Ended::Done)
        }
        AnvilCommand::Smoke(arguments) => Ok(endpoint::smoke(arguments)?),
        AnvilCommand::Corpus(command) => Ok(corpus::run(command)?),
        AnvilCommand::Report(arguments) => Ok(report::run(arguments)?),
        AnvilCommand::Override(arguments) => Ok(override_command::run(arguments)?),
    }
}

fn assess_lines(input: impl BufRead, output: impl Write) -> Result<(), LinesError> {
    let expected = r#"{"id":…,"text":"…","facts"?:{"services"?:{"NAME":"alive"|"dead"}}}"#;
    answer_lines(input, output, expected, |request: Request| {
        let assessment = assess(&request.text, &request.facts.unwrap_or_default());
        Ok(Reply {
            id: request.id,
            mode: assessment.mode(),
            verdict: assessment.verdict(),
            text: assessment.text(),
            reasons: assessment.reasons().iter().map(Reason::text).map(str::to_owned).collect(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::json_lines::answers;

    fn assessed(input: &str) -> Vec<serde_json::Value> {
        answers(|output| assess_lines(input.as_bytes(), output).unwrap()).0
    }

    #[test]
    fn a_line_is_answered_with_its_mode_verdict_and_reasons() {
        let lines = assessed(
            "{\"id\":1,\"text\":\"Quick check: is ROUTX alive?\",\"facts\":{\"services\":{\"ROUTX\":\"alive\"}}}\n\
             {\"id\":\"b\",\"text\":\"Assess: Φζ=0.974, Ψχ=0.08, ΔΓ=0.05, ΩQ=0.91\",\"facts\":null}\n",
        );
        assert_eq!(
            (&lines[0]["mode"], &lines[0]["verdict"], &lines[0]["text"]),
            (&"quick".into(), &"GREEN".into(), &"GREEN".into())
        );
        assert_eq!(
            (&lines[1]["id"], &lines[1]["mode"], &lines[1]["verdict"]),
            (&"b".into(), &"analysis".into(), &"NULL".into())
        );
        assert!(lines[1]["text"].as_str().unwrap().ends_with("Verdict: NULL — insufficient data. Provide λ_c."));
        assert!(lines[1]["reasons"].as_array().unwrap().contains(&"λ_c is not given.".into()));
    }

    /// The content filter blocks the gate's names and kernels in texts for customers, because the gate is an operator's
    /// tool.
    #[test]
    fn nothing_of_the_gate_passes_to_customers() {
        let filter = filter::Filter::embedded();
        let answers = anvil_rules::brain::suite::specified();
        let answers = answers
            .iter()
            .map(|case| assess(&case.prompt, &case.facts))
            .filter(|answer| answer.mode() == Mode::Analysis);
        let texts = answers.map(|answer| answer.text()).chain(["ANVIL".to_owned(), "ORPHEUS".to_owned()]);
        for text in texts.chain(anvil_rules::Kernel::ALL.map(|kernel| format!("{} is 0.5.", kernel.symbol()))) {
            assert_eq!(filter.check(&text).outcome, filter::Outcome::Quarantine, "{text}");
        }
    }
}
