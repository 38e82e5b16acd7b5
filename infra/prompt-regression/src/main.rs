//! Asks a model with the current prompts, and compares the share of replies that contain internal vocabulary with the
//! accepted share (content filter, GAP-H: a prompt change is accepted only if that share does not rise).
//! The file has more than 300 lines because it is the whole command (arguments, requests to the model, report) except
//! the judgement, which is in `measurement`.
// A developer's command-line tool prints its results.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod measurement;

use std::{
    error::Error,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use clap::Parser;
use domain::{
    Query, RenewableSecret, Secret, Tier,
    backoff::Backoff,
    ports::{Clock, Model, ModelError, Pause, Randomness, SecretSource, StorageError},
};
use filter::Filter;
use measurement::{ACCEPTABLE_RUNS, Accepted, Baseline, Judgement, Measured, Sample, ServedBy, judge, sample};
use runtime::{Environment, System};
use serde_json::json;
use tokio::task::JoinSet;

/// The questions, one per line.
const QUESTIONS: &str = include_str!("../data/questions.txt");

/// Every fifth run uses the stricter instruction, which the verdict function sends after an unusable reply.
const STRICTER_EVERY: u32 = 5;

/// A busy model is asked up to four times.
const BACKOFF: Backoff = Backoff { attempts: 4, base: Duration::from_millis(1000), cap: Duration::from_millis(8000) };

/// The reason why the measurement failed.
#[derive(Debug, thiserror::Error)]
enum RegressionError {
    /// The arguments contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A file, the model or the runtime failed.
    #[error("{what}")]
    Failed {
        /// The action that was attempted.
        what: String,
        source: Box<dyn Error + Send + Sync>,
    },
}

impl RegressionError {
    fn failed(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { what: what.into(), source: source.into() }
    }
}

/// Ask a model with the prompts as built, and refuse them when more internal vocabulary comes back than before.
///
/// Every reply goes through the crosscheck and the content filter. The share of replies with a blocked term is
/// compared with the share in the baseline file for this model, if that was measured with the same block list. Without
/// a comparable baseline no reply may hold a blocked term. The key is GEMINI_API_KEY or GOOGLE_API_KEY.
#[derive(Parser)]
#[command(
    name = "cargo xtask prompts",
    after_help = "Example:\n  GEMINI_API_KEY=… cargo xtask prompts --model gemini-3.5-flash --accept\n\nExit code 1: the share has risen, or the result was not accepted. Exit code 2: the model did not answer."
)]
struct Arguments {
    /// The model.
    #[arg(long, value_name = "NAME")]
    model: String,
    /// Number of verdicts to request, spread over all tiers and questions.
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Base URL of the API, without /v1beta; the sandbox's is http://127.0.0.1:8090/gemini.
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    /// Number of requests in flight.
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    parallel: u32,
    /// The file with the accepted measurements.
    #[arg(long, value_name = "FILE", default_value = "infra/prompt-regression/data/baseline.json")]
    baseline: PathBuf,
    /// After a pass, write the new share into the baseline file. Needs 50 runs or more, and at least the accepted share
    /// of approved verdicts.
    #[arg(long)]
    accept: bool,
    /// Request nothing if the baseline was measured with these very prompts.
    #[arg(long)]
    if_changed: bool,
    /// Write one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime
        .map_err(|error| RegressionError::failed("the runtime cannot start", error))
        .and_then(|runtime| runtime.block_on(measure(&Arguments::parse())));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::from(2)
        }
    }
}

/// Returns whether the prompts pass and, if `--accept` is set, whether they are accepted.
async fn measure(arguments: &Arguments) -> Result<bool, RegressionError> {
    if arguments.accept && arguments.runs < ACCEPTABLE_RUNS {
        let (runs, least) = (arguments.runs, ACCEPTABLE_RUNS);
        return Err(RegressionError::Usage(format!("--accept needs at least {least} runs, and --runs says {runs}")));
    }
    let environment = Environment::of_process();
    let base = match &arguments.base {
        Some(base) => base.clone(),
        None => environment
            .base_url("GEMINI_BASE_URL", gemini::BASE_URL)
            .map_err(|error| RegressionError::Usage(error.to_string()))?,
    };
    let served_by = if base == gemini::BASE_URL { ServedBy::Gemini } else { ServedBy::LookAlike };
    let mut baseline = read(&arguments.baseline)?;
    let accepted = baseline.of(&arguments.model, served_by).cloned();
    let prompt = prompt::all_versions();
    if arguments.if_changed && accepted.as_ref().is_some_and(|accepted| accepted.prompt == prompt) {
        report_unchanged(arguments, &prompt, &baseline);
        return Ok(true);
    }
    let model = gemini::LazyClient::new(base, gemini::client::DEFAULT_TIMEOUT, key(&environment)?);
    let samples = ask_all(Arc::new(model), arguments).await?;
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
    let unacceptable = measured.unacceptable(accepted.as_ref()).filter(|_| arguments.accept);
    let is_accepted = arguments.accept && judgement == Judgement::Passed && unacceptable.is_none();
    if is_accepted {
        baseline.accept(measured.clone());
        let failed = |error: Box<dyn Error + Send + Sync>| {
            RegressionError::failed(format!("{} cannot be written", arguments.baseline.display()), error)
        };
        let text = serde_json::to_string_pretty(&baseline).map_err(|error| failed(error.into()))?;
        std::fs::write(&arguments.baseline, text + "\n").map_err(|error| failed(error.into()))?;
    }
    let accepted_for = baseline.accepted_for(&measured.prompt);
    let stale = baseline.stale(&measured.prompt, &measured.list_version);
    let report = Report {
        accepted: accepted.as_ref(),
        measured: &measured,
        terms: found_terms(&samples),
        judgement,
        unacceptable: unacceptable.as_deref(),
        accepted_for: &accepted_for,
        stale: &stale,
    };
    if arguments.json {
        println!("{}", report.json())
    } else {
        print!("{}", report.text())
    }
    let is_well = judgement == Judgement::Passed && unacceptable.is_none();
    Ok(is_well)
}

fn report_unchanged(arguments: &Arguments, prompt: &str, baseline: &Baseline) {
    let accepted_for = baseline.accepted_for(prompt);
    let stale = baseline.stale(prompt, Filter::embedded().list_version());
    if arguments.json {
        let report = json!({
            "judgement": "unchanged",
            "prompt": prompt,
            "accepted_for": accepted_for,
            "stale": names(&stale),
        });
        println!("{report}");
    } else {
        println!("the prompts are those that the baseline was measured with");
        print!("{}{}", accepted_words(&accepted_for), stale_words(&stale));
    }
}

/// The models of these measurements.
fn names(measured: &[&Measured]) -> Vec<String> {
    let name = |one: &&Measured| Accepted { model: &one.model, served_by: one.served_by }.name();
    measured.iter().map(name).collect()
}

/// Warns of each accepted measurement that says nothing about these prompts with this block list.
fn stale_words(stale: &[&Measured]) -> String {
    let lines = names(stale).into_iter().zip(stale).map(|(name, old)| {
        let Measured { date, list_version, .. } = old;
        format!(
            "WARNING: the accepted measurement of {name} ({date}, block list {list_version}) is of other prompts or \
             another block list: run this with --accept\n"
        )
    });
    lines.collect()
}

/// Names the models that the prompts are accepted for. Warns if no real model is among them, because the sandbox's
/// imitation does not read the prompts.
fn accepted_words(accepted_for: &[Accepted<'_>]) -> String {
    let names: Vec<String> = accepted_for.iter().map(Accepted::name).collect();
    let names = if names.is_empty() { "no model".to_owned() } else { names.join(", ") };
    let warning = match accepted_for.iter().any(|accepted| accepted.served_by == ServedBy::Gemini) {
        true => "",
        false => "WARNING: these prompts were never measured with a real model: run this with a key and --accept\n",
    };
    format!("these prompts are accepted for: {names}\n{warning}")
}

/// Reads the baseline; an absent file is an empty baseline.
fn read(path: &Path) -> Result<Baseline, RegressionError> {
    let what = || format!("{} cannot be read", path.display());
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| RegressionError::failed(what(), error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Baseline::default()),
        Err(error) => Err(RegressionError::failed(what(), error)),
    }
}

/// The key, in the form in which a stack stores it.
struct Key(Secret);

#[async_trait]
impl SecretSource for Key {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(self.0.clone())
    }
}

impl RenewableSecret for Key {}

fn key(environment: &Environment) -> Result<Arc<dyn RenewableSecret>, RegressionError> {
    let key = ["GEMINI_API_KEY", "GOOGLE_API_KEY"].into_iter().find_map(|name| environment.optional(name));
    let key = key.ok_or_else(|| RegressionError::Usage("set GEMINI_API_KEY or GOOGLE_API_KEY".to_owned()))?;
    Ok(Arc::new(Key(Secret::new(json!({ "api_key": key }).to_string()))))
}

struct Asked {
    tier: Tier,
    query: Query,
    stricter: bool,
}

/// The request of one run: questions and tiers take turns.
fn asked(run: u32) -> Result<Asked, RegressionError> {
    let questions: Vec<&str> = QUESTIONS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let question = questions.get(run as usize % questions.len().max(1)).copied().unwrap_or_default();
    let query = Query::parse(question).map_err(|error| RegressionError::Usage(error.to_string()))?;
    let stricter = run % STRICTER_EVERY == STRICTER_EVERY - 1;
    Ok(Asked { tier: Tier::ALL[run as usize % Tier::ALL.len()], query, stricter })
}

async fn ask_all(model: Arc<dyn Model>, arguments: &Arguments) -> Result<Vec<Sample>, RegressionError> {
    let mut samples = Vec::new();
    let mut running = JoinSet::new();
    let mut next = 0;
    while samples.len() < arguments.runs as usize {
        while next < arguments.runs && running.len() < arguments.parallel as usize {
            running.spawn(ask(model.clone(), arguments.model.clone(), asked(next)?));
            next += 1;
        }
        let answer = running.join_next().await.ok_or_else(|| RegressionError::Usage("nothing was asked".to_owned()))?;
        let answer = answer.map_err(|error| RegressionError::failed("a run ended early", error))?;
        samples.push(answer.map_err(|error| RegressionError::failed("the model did not answer", error))?);
        if io::stderr().is_terminal() {
            eprint!("\r{} of {} verdicts", samples.len(), arguments.runs);
        }
    }
    if io::stderr().is_terminal() {
        eprintln!();
    }
    Ok(samples)
}

async fn ask(model: Arc<dyn Model>, name: String, asked: Asked) -> Result<Sample, ModelError> {
    let evaluation = authority::evaluate(asked.query.as_str(), None);
    let prompt = prompt::build_verdict_prompt(asked.tier, &asked.query, &evaluation, asked.stricter);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let error = match model.ask(&name, &prompt).await {
            Ok(reply) => return Ok(sample(asked.tier, &reply.text)),
            Err(error) => error,
        };
        let pause = BACKOFF.wait_after(attempt, System.fraction()).filter(|_| error.is_retriable());
        let Some(pause) = pause else { return Err(error) };
        System.pause(pause).await;
    }
}

/// The ids of all blocked terms found, each once, sorted.
fn found_terms(samples: &[Sample]) -> Vec<&str> {
    let mut terms: Vec<&str> = samples.iter().flat_map(|sample| &sample.terms).map(String::as_str).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

struct Report<'a> {
    accepted: Option<&'a Measured>,
    measured: &'a Measured,
    terms: Vec<&'a str>,
    judgement: Judgement,
    /// The reason why the measurement cannot become the baseline.
    unacceptable: Option<&'a str>,
    accepted_for: &'a [Accepted<'a>],
    /// The accepted measurements of other prompts or with another block list.
    stale: &'a [&'a Measured],
}

impl Report<'_> {
    fn json(&self) -> serde_json::Value {
        json!({
            "judgement": self.judgement,
            "rate": self.measured.rate(),
            "accepted_rate": self.accepted.map(Measured::rate),
            "measured": self.measured,
            "terms": self.terms,
            "not_accepted": self.unacceptable,
            "accepted_for": self.accepted_for,
            "stale": names(self.stale),
        })
    }

    fn text(&self) -> String {
        let Measured { model, runs, contaminated, approved, list_version, .. } = self.measured;
        let percent = |rate: f64| format!("{:.1} %", rate * 100.0);
        let mut text = format!("{runs} verdicts by {model}: {contaminated} with a blocked term");
        text.push_str(&format!(" ({}), {approved} approved by the crosscheck\n", percent(self.measured.rate())));
        if !self.terms.is_empty() {
            text.push_str(&format!("terms: {}\n", self.terms.join(", ")));
        }
        text.push_str(&match self.accepted {
            Some(accepted) if !accepted.is_comparable(self.measured) => format!(
                "accepted on {} with block list {}, this is {list_version}: no reply may hold a blocked term\n",
                accepted.date, accepted.list_version
            ),
            Some(accepted) => format!("accepted on {}: {}\n", accepted.date, percent(accepted.rate())),
            None => "no baseline for this model yet: no reply may hold a blocked term\n".to_owned(),
        });
        text.push_str(match self.judgement {
            Judgement::Refused => "REFUSED: the contamination rate has risen\n",
            Judgement::Passed => "passed\n",
        });
        if let Some(why) = self.unacceptable {
            text.push_str(&format!("NOT ACCEPTED: {why}\n"));
        }
        text.push_str(&accepted_words(self.accepted_for));
        text.push_str(&stale_words(self.stale));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_runs_ask_fifty_questions_over_all_tiers_and_with_both_instructions() {
        let asked: Vec<Asked> = (0..50).map(|run| asked(run).unwrap()).collect();
        let mut questions: Vec<&str> = asked.iter().map(|asked| asked.query.as_str()).collect();
        questions.sort_unstable();
        questions.dedup();
        assert_eq!(questions.len(), 50);
        let of = |tier, stricter| asked.iter().filter(|asked| asked.tier == tier && asked.stricter == stricter).count();
        assert!(Tier::ALL.into_iter().all(|tier| of(tier, false) >= 12 && of(tier, true) >= 3));
        assert!(asked.iter().skip(40).any(|asked| asked.stricter), "those that invite internal vocabulary too");
    }

    #[test]
    fn a_look_alike_accepts_prompts_only_with_a_warning() {
        let by = |served_by| vec![Accepted { model: "m", served_by }];
        assert_eq!(accepted_words(&by(ServedBy::Gemini)), "these prompts are accepted for: m\n");
        for (accepted, names) in [(by(ServedBy::LookAlike), "m (look-alike)"), (Vec::new(), "no model")] {
            let text = accepted_words(&accepted);
            assert!(text.starts_with(&format!("these prompts are accepted for: {names}\nWARNING: ")), "{text}");
        }
    }

    #[test]
    fn a_measurement_of_other_prompts_is_named() {
        let old = Measured {
            model: "m".to_owned(),
            served_by: ServedBy::LookAlike,
            prompt: "older".to_owned(),
            list_version: "l".to_owned(),
            date: "2026-11-22".to_owned(),
            runs: 50,
            contaminated: 0,
            approved: 50,
        };
        assert_eq!(stale_words(&[]), "");
        let words = stale_words(&[&old]);
        assert!(words.starts_with("WARNING: the accepted measurement of m (look-alike) (2026-11-22, "), "{words}");
    }

    #[test]
    fn few_runs_are_not_accepted() {
        let arguments = Arguments::try_parse_from(["x", "--model", "m", "--runs", "49", "--accept"]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let Err(RegressionError::Usage(why)) = runtime.block_on(measure(&arguments)) else { panic!("accepted") };
        assert_eq!(why, "--accept needs at least 50 runs, and --runs says 49");
    }
}
