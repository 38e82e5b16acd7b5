//! A model behind an OpenAI- or Ollama-compatible endpoint: its smoke tests and its narratives.

use std::time::Duration;

use anvil_rules::brain::suite::{Case, describe_facts, dual_mode, specified};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    command::{CommandError, Ended, OrFailed, wait},
    terminal::output,
};

/// The time limit of one answer. A model on a busy machine is slow.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Between exact and warm (Brain ANVIL, INV-06).
const TEMPERATURE: f64 = 0.15;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// POST /v1/chat/completions.
    Openai,
    /// POST /api/chat.
    Ollama,
}

#[derive(Args)]
pub(crate) struct EndpointArguments {
    /// Where the model answers, such as http://127.0.0.1:11434; with or without the path.
    #[arg(long, value_name = "URL")]
    endpoint: String,
    /// The protocol; without this the one of the URL's path, or Ollama's on its port, or OpenAI's.
    #[arg(long, value_enum)]
    api: Option<Protocol>,
    /// The model's name.
    #[arg(long, value_name = "NAME", default_value = "anvil:latest")]
    model: String,
}

#[derive(Args)]
pub(crate) struct SmokeArguments {
    #[command(flatten)]
    endpoint: EndpointArguments,
    /// Ask T1 to T5 only.
    #[arg(long)]
    specified_only: bool,
    /// Write one JSON object a line: each case, then the score.
    #[arg(long)]
    json: bool,
}

/// Who tells the story beside a verdict.
#[derive(Args)]
pub(crate) struct NarratorArguments {
    /// A model that tells the verdict's story; without one, or where its text does not pass the filter, a fixed text.
    #[arg(long, value_name = "URL")]
    narrator: Option<String>,
    /// The narrator's model.
    #[arg(long, value_name = "NAME", default_value = "orpheus:latest", requires = "narrator")]
    narrator_model: String,
}

/// The narrator's answer; `None` without a narrator or if it fails. No verdict depends on it.
pub(crate) fn narrate(arguments: &NarratorArguments, prompt: &str) -> Option<String> {
    let endpoint = arguments.narrator.clone()?;
    let model = Model::of(&EndpointArguments { endpoint, api: None, model: arguments.narrator_model.clone() }).ok()?;
    wait(model.ask("", prompt)).ok()
}

pub(crate) struct Model {
    http: reqwest::Client,
    url: String,
    protocol: Protocol,
    name: String,
}

impl Model {
    fn of(arguments: &EndpointArguments) -> Result<Self, CommandError> {
        let given = arguments.endpoint.trim_end_matches('/');
        let protocol = arguments.api.unwrap_or(match given {
            url if url.ends_with("/api/chat") || url.ends_with(":11434") => Protocol::Ollama,
            _ => Protocol::Openai,
        });
        let url = match (protocol, given) {
            (Protocol::Openai, url) if url.ends_with("/chat/completions") => url.to_owned(),
            (Protocol::Openai, url) if url.ends_with("/v1") => format!("{url}/chat/completions"),
            (Protocol::Openai, url) => format!("{url}/v1/chat/completions"),
            (Protocol::Ollama, url) if url.ends_with("/api/chat") => url.to_owned(),
            (Protocol::Ollama, url) => format!("{url}/api/chat"),
        };
        let http = reqwest::Client::builder().timeout(TIMEOUT).build().or_failed("the HTTP client cannot be built")?;
        Ok(Self { http, url, protocol, name: arguments.model.clone() })
    }

    /// Asks one question together with the observations.
    async fn ask(&self, observed: &str, question: &str) -> Result<String, CommandError> {
        let mut messages = Vec::with_capacity(2);
        if !observed.is_empty() {
            messages.push(json!({ "role": "system", "content": observed }));
        }
        messages.push(json!({ "role": "user", "content": question }));
        let mut body = json!({ "model": self.name, "messages": messages, "stream": false });
        match self.protocol {
            Protocol::Openai => body["temperature"] = json!(TEMPERATURE),
            Protocol::Ollama => body["options"] = json!({ "temperature": TEMPERATURE }),
        }
        let failed = |error| CommandError::failed("the endpoint did not answer", error);
        let request = self.http.post(&self.url).header("content-type", "application/json").body(body.to_string());
        let reply = request.send().await.and_then(reqwest::Response::error_for_status).map_err(failed)?;
        let reply: Value = serde_json::from_str(&reply.text().await.map_err(failed)?)?;
        let content = match self.protocol {
            Protocol::Openai => &reply["choices"][0]["message"]["content"],
            Protocol::Ollama => &reply["message"]["content"],
        };
        let answer = content.as_str().map(str::to_owned);
        answer.ok_or_else(|| CommandError::Usage(format!("{} answered without a message", self.url)))
    }
}

#[derive(Debug, Serialize)]
struct Answered {
    id: String,
    passed: bool,
    prompt: String,
    answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shortfall: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Score {
    specified: usize,
    of_specified: usize,
    dual_mode: usize,
    of_dual_mode: usize,
    passed: bool,
}

/// Runs the smoke tests. Exit code 1 unless every one passed.
pub(crate) fn smoke(arguments: &SmokeArguments) -> Result<Ended, CommandError> {
    let model = Model::of(&arguments.endpoint)?;
    let mut cases = specified();
    if !arguments.specified_only {
        cases.extend(dual_mode());
    }
    let answered = wait(run(&model, &cases))?;
    let score = score(&answered);
    if arguments.json {
        for one in &answered {
            output::print_json(one)?;
        }
        output::print_json(&score)?;
    } else {
        output::print(&for_people(&answered, &score))?;
    }
    Ok(if score.passed { Ended::Done } else { Ended::Nothing })
}

async fn run(model: &Model, cases: &[Case]) -> Result<Vec<Answered>, CommandError> {
    let mut answered = Vec::with_capacity(cases.len());
    for case in cases {
        let answer = model.ask(&describe_facts(&case.facts), &case.prompt).await?;
        let shortfall = case.expected.judge(&answer).err();
        let (id, prompt) = (case.id.clone(), case.prompt.clone());
        answered.push(Answered { id, passed: shortfall.is_none(), prompt, answer, shortfall });
    }
    Ok(answered)
}

fn score(answered: &[Answered]) -> Score {
    let is_specified = |one: &&Answered| one.id.starts_with('T');
    let of_specified = answered.iter().filter(is_specified).count();
    let specified = answered.iter().filter(is_specified).filter(|one| one.passed).count();
    let passed = answered.iter().filter(|one| one.passed).count();
    Score {
        specified,
        of_specified,
        dual_mode: passed - specified,
        of_dual_mode: answered.len() - of_specified,
        passed: passed == answered.len(),
    }
}

fn for_people(answered: &[Answered], score: &Score) -> String {
    let mut text = String::new();
    for one in answered.iter().filter(|one| one.id.starts_with('T') || !one.passed) {
        let mark = if one.passed { "✓" } else { "✗" };
        text.push_str(&format!("{mark} {} {}\n", one.id, output::printable(&one.prompt)));
        if let Some(shortfall) = &one.shortfall {
            text.push_str(&format!("    {}\n    {shortfall}\n", output::cut(&output::printable(&one.answer), 120)));
        }
    }
    let Score { specified, of_specified, dual_mode, of_dual_mode, .. } = score;
    text + &format!("{specified}/{of_specified} of the specification, {dual_mode}/{of_dual_mode} in both modes\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anvil_rules::{assess, brain::suite::parse_facts};
    use test_server::{Reply, Request, Server};

    /// Answers by the rules, in place of a model.
    fn by_the_rules(observed: &str, question: &str) -> String {
        assess(question, &parse_facts(observed)).text()
    }

    /// The reply of an endpoint whose model answers so.
    fn reply(request: &Request, answer: fn(&str, &str) -> String) -> Reply {
        let asked: Value = serde_json::from_str(request.text()).unwrap();
        let message = |role: &str| {
            let messages = asked["messages"].as_array().unwrap();
            let found = messages.iter().find(|message| message["role"] == role);
            found.map(|message| message["content"].as_str().unwrap().to_owned()).unwrap_or_default()
        };
        let content = answer(&message("system"), &message("user"));
        let (temperature, reply) = match request.line.split(' ').nth(1).unwrap() {
            "/api/chat" => {
                let message = json!({ "role": "assistant", "content": content });
                (&asked["options"]["temperature"], json!({ "message": message, "done": true }))
            }
            "/v1/chat/completions" => {
                (&asked["temperature"], json!({ "choices": [{ "message": { "content": content } }] }))
            }
            other => panic!("{other}"),
        };
        assert_eq!(temperature, 0.15);
        test_server::json(200, reply)
    }

    fn scored(path: &str, answer: fn(&str, &str) -> String) -> Score {
        wait(async {
            let server = Server::answering(move |request| reply(request, answer)).await;
            let endpoint = format!("{}{path}", server.url);
            let arguments = EndpointArguments { endpoint, api: None, model: "anvil:latest".to_owned() };
            let cases: Vec<Case> = specified().into_iter().chain(dual_mode()).collect();
            Ok(score(&run(&Model::of(&arguments)?, &cases).await?))
        })
        .unwrap()
    }

    #[test]
    fn the_rules_pass_behind_both_protocols() {
        let all = Score { specified: 5, of_specified: 5, dual_mode: 200, of_dual_mode: 200, passed: true };
        assert_eq!(scored("/api/chat", by_the_rules), all);
        assert_eq!(scored("/v1", by_the_rules), all);
    }

    #[test]
    fn a_model_of_one_word_fails() {
        let score = scored("", |_, _| "RED".to_owned());
        assert!(!score.passed && score.specified == 0 && score.dual_mode < 20, "{score:?}");
    }
}
