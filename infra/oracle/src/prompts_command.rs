//! `oracle prompts regress`: asks a model with the prompts as they are built now, and compares how often internal
//! vocabulary comes back with what was accepted (content filter, GAP-H).

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use clap::{Args, Subcommand};
use domain::{
    Query, RenewableSecret, Secret, Tier,
    backoff::Backoff,
    ports::{Clock, Model, ModelError, Pause, Randomness, SecretSource, StorageError},
};
use filter::Filter;
use runtime::{Environment, System};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    command::{CommandError, Ended, Target, wait},
    output,
    regression::{Baseline, Judgement, Measured, Sample, ServedBy, judge, sample},
};

/// What is asked, one question a line.
const QUESTIONS: &str = include_str!("../data/regression_questions.txt");

/// A model that is busy is asked again, this often in all.
const BACKOFF: Backoff = Backoff { attempts: 4, base: Duration::from_millis(1000), cap: Duration::from_millis(8000) };

#[derive(Subcommand)]
pub(crate) enum PromptsCommand {
    /// Ask a model with the prompts as built, and refuse them when more internal vocabulary comes back than before.
    ///
    /// Every reply goes through the crosscheck and the content filter. The share of replies with a blocked term is
    /// compared with the one in the baseline file for this model; without one, no reply may hold any. The key is
    /// GEMINI_API_KEY (or GOOGLE_API_KEY) of the environment, and where
    /// neither is set the stack's own.
    #[command(
        after_help = "Example:\n  GEMINI_API_KEY=… oracle prompts regress --model gemini-3.5-flash\n\nExit code 1: the rate has risen. Exit code 2: the model did not answer."
    )]
    Regress(RegressArguments),
}

#[derive(Args)]
pub(crate) struct RegressArguments {
    /// The model.
    #[arg(long, value_name = "NAME")]
    model: String,
    /// How many verdicts are made, over all tiers and questions.
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Where the API is, without /v1beta; the sandbox's is http://127.0.0.1:8090/gemini.
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    /// How many are asked at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    parallel: u32,
    /// The file with what was accepted.
    #[arg(long, value_name = "FILE", default_value = "infra/oracle/data/prompt_baseline.json")]
    baseline: PathBuf,
    /// After a pass, write the new rate into the baseline file.
    #[arg(long)]
    accept: bool,
    /// Ask nothing where the baseline was measured with these very prompts.
    #[arg(long)]
    if_changed: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(command: &PromptsCommand) -> Result<Ended, CommandError> {
    match command {
        PromptsCommand::Regress(arguments) => regress(arguments),
    }
}

fn regress(arguments: &RegressArguments) -> Result<Ended, CommandError> {
    let environment = Environment::of_process();
    let base = match &arguments.base {
        Some(base) => base.clone(),
        None => environment
            .base_url("GEMINI_BASE_URL", gemini::BASE_URL)
            .map_err(|error| CommandError::Usage(error.to_string()))?,
    };
    let served_by = if base == gemini::BASE_URL { ServedBy::Gemini } else { ServedBy::LookAlike };
    let mut baseline = read(&arguments.baseline)?;
    let accepted = baseline.of(&arguments.model, served_by).cloned();
    let prompt = prompt::all_versions();
    if arguments.if_changed && accepted.as_ref().is_some_and(|accepted| accepted.prompt == prompt) {
        return unchanged(arguments, &prompt);
    }
    let model = gemini::LazyClient::new(base, gemini::client::DEFAULT_TIMEOUT, key(arguments, &environment)?);
    let samples = wait(ask_all(Arc::new(model), arguments))?;
    let mut measured = Measured {
        model: arguments.model.clone(),
        served_by,
        prompt,
        list_version: Filter::embedded().list_version().to_owned(),
        date: System.now().to_date(),
        runs: 0,
        contaminated: 0,
        approved: 0,
    };
    samples.iter().for_each(|sample| measured.add(sample));
    let judgement = judge(accepted.as_ref(), &measured);
    tell(arguments, accepted.as_ref(), &measured, &samples, judgement)?;
    if judgement == Judgement::Refused {
        return Ok(Ended::Nothing);
    }
    if arguments.accept {
        baseline.accept(measured);
        let text = format!("{}\n", serde_json::to_string_pretty(&baseline)?);
        let what = format!("{} cannot be written", arguments.baseline.display());
        std::fs::write(&arguments.baseline, text).map_err(|error| CommandError::failed(&what, error))?;
    }
    Ok(Ended::Done)
}

fn unchanged(arguments: &RegressArguments, prompt: &str) -> Result<Ended, CommandError> {
    if arguments.target.json {
        output::print_json(&json!({ "judgement": "unchanged", "prompt": prompt }))?;
    } else {
        output::print("the prompts are those that the baseline was measured with\n")?;
    }
    Ok(Ended::Done)
}

/// What was accepted; nothing where there is no file yet.
fn read(path: &Path) -> Result<Baseline, CommandError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| CommandError::Failed {
        what: format!("{} cannot be read", path.display()),
        source: error,
    };
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Baseline::default()),
        Err(error) => Err(failed(error.into())),
    }
}

/// A key that was given, in the form in which a stack stores it.
struct Given(Secret);

#[async_trait]
impl SecretSource for Given {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(self.0.clone())
    }
}

impl RenewableSecret for Given {}

fn key(arguments: &RegressArguments, environment: &Environment) -> Result<Arc<dyn RenewableSecret>, CommandError> {
    let key = ["GEMINI_API_KEY", "GOOGLE_API_KEY"].into_iter().find_map(|name| environment.optional(name));
    let Some(key) = key else { return Ok(Arc::new(arguments.target.open()?.model_key())) };
    Ok(Arc::new(Given(Secret::new(json!({ "api_key": key }).to_string()))))
}

/// What each run asks: every question in turn, and every tier.
fn asked(run: u32) -> Result<(Tier, Query), CommandError> {
    let questions: Vec<&str> = QUESTIONS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let question = questions.get(run as usize % questions.len().max(1)).copied().unwrap_or_default();
    let query = Query::parse(question).map_err(|error| CommandError::Usage(error.to_string()))?;
    Ok((Tier::ALL[run as usize % Tier::ALL.len()], query))
}

async fn ask_all(model: Arc<dyn Model>, arguments: &RegressArguments) -> Result<Vec<Sample>, CommandError> {
    let mut samples = Vec::new();
    let mut running = JoinSet::new();
    let mut next = 0;
    while samples.len() < arguments.runs as usize {
        while next < arguments.runs && running.len() < arguments.parallel as usize {
            let (tier, query) = asked(next)?;
            running.spawn(ask(model.clone(), arguments.model.clone(), tier, query));
            next += 1;
        }
        let answer = running.join_next().await.ok_or_else(|| CommandError::Usage("nothing was asked".to_owned()))?;
        let answer = answer.map_err(|error| CommandError::failed("a run ended early", error))?;
        samples.push(answer.map_err(|error| CommandError::failed("the model did not answer", error))?);
        progress(samples.len(), arguments.runs);
    }
    Ok(samples)
}

async fn ask(model: Arc<dyn Model>, name: String, tier: Tier, query: Query) -> Result<Sample, ModelError> {
    let prompt = prompt::build_verdict_prompt(tier, &query, false);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let error = match model.ask(&name, &prompt).await {
            Ok(reply) => return Ok(sample(tier, &reply.text)),
            Err(error) => error,
        };
        let pause = BACKOFF.wait_after(attempt, System.fraction()).filter(|_| error.is_retriable());
        let Some(pause) = pause else { return Err(error) };
        System.pause(pause).await;
    }
}

/// A line on the terminal that says how far it is.
fn progress(done: usize, of: u32) {
    let mut error = io::stderr().lock();
    if error.is_terminal() {
        let end = if done == of as usize { "\n" } else { "" };
        // A progress line that cannot be written is no reason to stop.
        let _ = write!(error, "\r{done} of {of} verdicts{end}").and_then(|()| error.flush());
    }
}

fn tell(
    arguments: &RegressArguments,
    accepted: Option<&Measured>,
    measured: &Measured,
    samples: &[Sample],
    judgement: Judgement,
) -> Result<(), CommandError> {
    let mut terms: Vec<&str> = samples.iter().flat_map(|sample| &sample.terms).map(String::as_str).collect();
    terms.sort_unstable();
    terms.dedup();
    if arguments.target.json {
        return output::print_json(&json!({
            "judgement": judgement,
            "rate": measured.rate(),
            "accepted_rate": accepted.map(Measured::rate),
            "measured": measured,
            "terms": terms,
        }));
    }
    let Measured { runs, contaminated, approved, .. } = measured;
    let percent = |rate: f64| format!("{:.1} %", rate * 100.0);
    let mut text = format!("{runs} verdicts by {}: {contaminated} with a blocked term", measured.model);
    text.push_str(&format!(" ({}), {approved} approved by the crosscheck\n", percent(measured.rate())));
    if !terms.is_empty() {
        text.push_str(&output::wrapped(&format!("terms: {}", terms.join(", ")), 0, output::width()));
    }
    text.push_str(&match accepted {
        Some(accepted) => format!("accepted on {}: {}\n", accepted.date, percent(accepted.rate())),
        None => "nothing was accepted for this model yet: no reply may hold a blocked term\n".to_owned(),
    });
    text.push_str(match judgement {
        Judgement::Refused => "REFUSED: the contamination rate has risen\n",
        Judgement::Passed => "passed\n",
    });
    output::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_runs_ask_fifty_questions_over_all_tiers() {
        let asked: Vec<(Tier, Query)> = (0..50).map(|run| asked(run).unwrap()).collect();
        let mut questions: Vec<&str> = asked.iter().map(|(_, query)| query.as_str()).collect();
        questions.sort_unstable();
        questions.dedup();
        assert_eq!(questions.len(), 50);
        assert!(Tier::ALL.iter().all(|tier| asked.iter().filter(|(asked, _)| asked == tier).count() >= 16));
    }
}
