//! `oracle prompts regress`: asks a model with the prompts as they are built now, and compares how often internal
//! vocabulary comes back with what was accepted (content filter, GAP-H).

use std::{
    io,
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
    progress::counted,
    regression::{ACCEPTABLE_RUNS, Accepted, Baseline, Judgement, Measured, Sample, ServedBy, judge, sample},
};

/// What is asked, one question a line.
const QUESTIONS: &str = include_str!("../data/regression_questions.txt");

/// One run in so many asks with the stricter instruction, which the verdict function uses after a reply that is no
/// verdict: with 50 runs, ten, over all tiers.
const STRICTER_EVERY: u32 = 5;

/// A model that is busy is asked again, this often in all.
const BACKOFF: Backoff = Backoff { attempts: 4, base: Duration::from_millis(1000), cap: Duration::from_millis(8000) };

#[derive(Subcommand)]
pub(crate) enum PromptsCommand {
    /// Ask a model with the prompts as built, and refuse them when more internal vocabulary comes back than before.
    ///
    /// Every reply goes through the crosscheck and the content filter. The share of replies with a blocked term is
    /// compared with the one in the baseline file for this model, where that was measured with the same block list;
    /// without one, no reply may hold any. The key is GEMINI_API_KEY (or GOOGLE_API_KEY) of the environment, and where
    /// neither is set the stack's own.
    #[command(
        after_help = "Example:\n  GEMINI_API_KEY=… oracle prompts regress --model gemini-3.5-flash --accept\n\nExit code 1: the rate has risen, or the result was not accepted. Exit code 2: the model did not answer."
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
    /// After a pass, write the new rate into the baseline file. Needs 50 runs or more, and at least the share of
    /// approved verdicts that was accepted before.
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
    if arguments.accept && arguments.runs < ACCEPTABLE_RUNS {
        let (runs, least) = (arguments.runs, ACCEPTABLE_RUNS);
        return Err(CommandError::Usage(format!("--accept needs at least {least} runs, and --runs says {runs}")));
    }
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
        return unchanged(arguments, &prompt, &baseline);
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
    let unacceptable = measured.unacceptable(accepted.as_ref()).filter(|_| arguments.accept);
    let is_accepted = arguments.accept && judgement == Judgement::Passed && unacceptable.is_none();
    if is_accepted {
        baseline.accept(measured.clone());
        let text = format!("{}\n", serde_json::to_string_pretty(&baseline)?);
        let what = format!("{} cannot be written", arguments.baseline.display());
        std::fs::write(&arguments.baseline, text).map_err(|error| CommandError::failed(&what, error))?;
    }
    let accepted_for = baseline.accepted_for(&measured.prompt);
    let told = Told { accepted: accepted.as_ref(), measured: &measured, samples: &samples, judgement };
    tell(arguments, &told, unacceptable.as_deref(), &accepted_for)?;
    let is_well = judgement == Judgement::Passed && unacceptable.is_none();
    Ok(if is_well { Ended::Done } else { Ended::Nothing })
}

fn unchanged(arguments: &RegressArguments, prompt: &str, baseline: &Baseline) -> Result<Ended, CommandError> {
    let accepted_for = baseline.accepted_for(prompt);
    if arguments.target.json {
        output::print_json(&json!({ "judgement": "unchanged", "prompt": prompt, "accepted_for": accepted_for }))?;
    } else {
        output::print("the prompts are those that the baseline was measured with\n")?;
        output::print(&accepted_words(&accepted_for))?;
    }
    Ok(Ended::Done)
}

/// By whom the prompts were accepted, for people; a look-alike does not read them.
fn accepted_words(accepted_for: &[Accepted<'_>]) -> String {
    let names: Vec<String> = accepted_for.iter().map(Accepted::name).collect();
    let names = if names.is_empty() { "no model".to_owned() } else { names.join(", ") };
    let warning = match accepted_for.iter().any(|accepted| accepted.served_by == ServedBy::Gemini) {
        true => "",
        false => "WARNING: nobody has tried these prompts on the model itself: run this with a key, and --accept\n",
    };
    format!("these prompts are accepted for: {names}\n{warning}")
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

/// What a run asks.
struct Asked {
    tier: Tier,
    query: Query,
    stricter: bool,
}

/// What each run asks: every question in turn, and every tier.
fn asked(run: u32) -> Result<Asked, CommandError> {
    let questions: Vec<&str> = QUESTIONS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let question = questions.get(run as usize % questions.len().max(1)).copied().unwrap_or_default();
    let query = Query::parse(question).map_err(|error| CommandError::Usage(error.to_string()))?;
    let stricter = run % STRICTER_EVERY == STRICTER_EVERY - 1;
    Ok(Asked { tier: Tier::ALL[run as usize % Tier::ALL.len()], query, stricter })
}

async fn ask_all(model: Arc<dyn Model>, arguments: &RegressArguments) -> Result<Vec<Sample>, CommandError> {
    let mut samples = Vec::new();
    let mut running = JoinSet::new();
    let mut next = 0;
    while samples.len() < arguments.runs as usize {
        while next < arguments.runs && running.len() < arguments.parallel as usize {
            running.spawn(ask(model.clone(), arguments.model.clone(), asked(next)?));
            next += 1;
        }
        let answer = running.join_next().await.ok_or_else(|| CommandError::Usage("nothing was asked".to_owned()))?;
        let answer = answer.map_err(|error| CommandError::failed("a run ended early", error))?;
        samples.push(answer.map_err(|error| CommandError::failed("the model did not answer", error))?);
        counted(samples.len() as u64, arguments.runs.into(), "verdicts");
    }
    Ok(samples)
}

async fn ask(model: Arc<dyn Model>, name: String, asked: Asked) -> Result<Sample, ModelError> {
    let prompt = prompt::build_verdict_prompt(asked.tier, &asked.query, asked.stricter);
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

/// What came of the runs.
struct Told<'a> {
    accepted: Option<&'a Measured>,
    measured: &'a Measured,
    samples: &'a [Sample],
    judgement: Judgement,
}

fn tell(
    arguments: &RegressArguments,
    told: &Told<'_>,
    unacceptable: Option<&str>,
    accepted_for: &[Accepted<'_>],
) -> Result<(), CommandError> {
    let Told { accepted, measured, samples, judgement } = *told;
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
            "not_accepted": unacceptable,
            "accepted_for": accepted_for,
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
        Some(accepted) if !accepted.is_comparable(measured) => format!(
            "accepted on {} with block list {}, this is {}: no reply may hold a blocked term\n",
            accepted.date, accepted.list_version, measured.list_version
        ),
        Some(accepted) => format!("accepted on {}: {}\n", accepted.date, percent(accepted.rate())),
        None => "nothing was accepted for this model yet: no reply may hold a blocked term\n".to_owned(),
    });
    text.push_str(match judgement {
        Judgement::Refused => "REFUSED: the contamination rate has risen\n",
        Judgement::Passed => "passed\n",
    });
    if let Some(why) = unacceptable {
        text.push_str(&format!("NOT ACCEPTED: {why}\n"));
    }
    text.push_str(&accepted_words(accepted_for));
    output::print(&text)
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
    fn who_accepted_the_prompts_is_told_and_a_look_alike_is_nobody() {
        let by = |served_by| vec![Accepted { model: "m", served_by }];
        assert_eq!(accepted_words(&by(ServedBy::Gemini)), "these prompts are accepted for: m\n");
        for (accepted, names) in [(by(ServedBy::LookAlike), "m (look-alike)"), (Vec::new(), "no model")] {
            let text = accepted_words(&accepted);
            assert!(text.starts_with(&format!("these prompts are accepted for: {names}\nWARNING: ")), "{text}");
        }
    }

    #[test]
    fn few_runs_are_not_accepted() {
        use clap::Parser;
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            arguments: RegressArguments,
        }
        let line = Line::try_parse_from(["x", "--model", "m", "--runs", "49", "--accept"]).unwrap();
        let Err(CommandError::Usage(why)) = regress(&line.arguments) else { panic!("accepted") };
        assert_eq!(why, "--accept needs at least 50 runs, and --runs says 49");
    }
}
