//! Starts each built function with its environment of the running stack, hands it its event of events/ through the Runtime
//! API, and expects a response: the binary, its configuration and its parsing, without Docker.

use super::{Count, Suite};
use crate::{
    deployment,
    error::Error,
    functions,
    local_dir::LocalDir,
    runtime_api::{self, Outcome, RuntimeApi},
};
use axum::Router;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

/// Its work is an answer to CodeDeploy, which the emulator does not have. So its invocation fails, after the event was
/// parsed and judged.
const ANSWERS_CODEDEPLOY: &str = "anvil";

/// The function that refuses a request with several payments.
const SELLS_TO_AGENTS: &str = "toll";

/// One test for each function, and one for a header that a client sends twice.
pub(super) fn events(suite: &Suite, stack: &LocalDir) -> Result<Count, Error> {
    let built = functions::develop(&suite.supervisor, true)?;
    let environments = deployment::environments(stack)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Error::io("starting the Runtime API"))?;
    let nothing = BTreeMap::new();
    let mut count = Count::default();
    for (name, program) in &built.functions {
        let path = suite.root.join("events").join(format!("{name}.json"));
        let event = fs::read_to_string(&path).map_err(Error::io(format!("reading {}", path.display())))?;
        let environment = environments.get(name).unwrap_or(&nothing);
        let ended = runtime.block_on(invoke(name, program, environment, &event));
        count.add(problem(name, ended).map(|problem| format!("events/{name}.json: {problem}")));
        if name == SELLS_TO_AGENTS {
            let event = paying_twice(&event)?;
            let ended = runtime.block_on(invoke(name, program, environment, &event));
            count.add(not_refused(ended).map(|problem| format!("{name}, one header twice: {problem}")));
        }
    }
    Ok(count)
}

async fn invoke(
    name: &str,
    program: &Path,
    environment: &BTreeMap<String, String>,
    event: &str,
) -> Result<Outcome, Error> {
    let mut api = RuntimeApi::start(Router::new()).await?;
    let mut command = runtime_api::function(program, name);
    command.envs(environment).env("AWS_LAMBDA_RUNTIME_API", api.address().to_string());
    let mut child = command.spawn().map_err(Error::io(format!("starting {}", program.display())))?;
    let ended = async {
        api.first_poll().await?;
        api.invoke(event).await
    }
    .await;
    let _ = child.kill();
    let _ = child.wait();
    ended
}

/// What is wrong with the end of an invocation.
fn problem(name: &str, ended: Result<Outcome, Error>) -> Option<String> {
    match ended {
        Ok(Outcome::Response(_)) => None,
        Ok(Outcome::Failed(text)) if name == ANSWERS_CODEDEPLOY && !text.contains("deserializ") => None,
        Ok(Outcome::Failed(text)) => Some(format!("the function reported an error: {text}")),
        Err(error) => Some(error.to_string()),
    }
}

/// The event with two payments in one header, of which API Gateway's `headers` has only the last.
fn paying_twice(event: &str) -> Result<String, Error> {
    let event = serde_json::from_str(event);
    let mut event: Value = event.map_err(|error| Error::Refused(format!("events/{SELLS_TO_AGENTS}.json: {error}")))?;
    event["headers"]["X-PAYMENT"] = json!("b");
    event["multiValueHeaders"]["X-PAYMENT"] = json!(["a", "b"]);
    Ok(event.to_string())
}

/// What is wrong with the reply to several payments.
fn not_refused(ended: Result<Outcome, Error>) -> Option<String> {
    match ended {
        Ok(Outcome::Response(reply)) if reply.contains("A request has one payment") => None,
        Ok(Outcome::Response(reply)) => Some(format!("the reply does not refuse it: {reply}")),
        Ok(Outcome::Failed(text)) => Some(format!("the function reported an error: {text}")),
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_passes_and_an_error_only_from_the_function_that_answers_codedeploy() {
        let failed = |text: &str| Ok(Outcome::Failed(text.to_owned()));
        assert_eq!(problem("verdict", Ok(Outcome::Response("{}".to_owned()))), None);
        assert!(problem("verdict", failed("it broke")).is_some());
        assert_eq!(problem("anvil", failed("nobody took the answer")), None);
        assert!(problem("anvil", failed("failed to deserialize the event")).is_some());
        assert!(problem("verdict", Err(Error::Refused("silent".to_owned()))).is_some());
    }

    #[test]
    fn a_header_sent_twice_is_in_the_list_and_only_its_refusal_passes() {
        let event: Value = serde_json::from_str(&paying_twice("{}").unwrap()).unwrap();
        assert_eq!(event["headers"]["X-PAYMENT"], event["multiValueHeaders"]["X-PAYMENT"][1]);
        let response = |body: &str| Ok(Outcome::Response(body.to_owned()));
        assert_eq!(not_refused(response("A request has one payment: …")), None);
        assert!(not_refused(response("not base64")).is_some());
        assert!(not_refused(Ok(Outcome::Failed(String::new()))).is_some());
    }
}
