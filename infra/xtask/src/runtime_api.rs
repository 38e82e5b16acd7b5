//! Lambda's Runtime API for one process: hands it events, and takes its responses and errors.

use crate::error::Error;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use std::{
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
    task::JoinHandle,
};

/// The longest wait for the first poll, and for the end of an invocation.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The end of an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Response(String),
    /// The error that the runtime reported: an event that could not be parsed, or a handler that failed.
    Failed(String),
}

/// The API, for as long as this value lives.
pub(crate) struct RuntimeApi {
    address: SocketAddr,
    polls: mpsc::UnboundedReceiver<Instant>,
    events: mpsc::UnboundedSender<String>,
    outcomes: mpsc::UnboundedReceiver<Outcome>,
    server: JoinHandle<std::io::Result<()>>,
}

struct Api {
    polls: mpsc::UnboundedSender<Instant>,
    events: Mutex<mpsc::UnboundedReceiver<String>>,
    outcomes: mpsc::UnboundedSender<Outcome>,
}

impl RuntimeApi {
    /// Serves the API; `others` answers all other requests.
    pub(crate) async fn start(others: Router) -> Result<Self, Error> {
        let (polled, polls) = mpsc::unbounded_channel();
        let (events, waiting) = mpsc::unbounded_channel();
        let (ended, outcomes) = mpsc::unbounded_channel();
        let api = Arc::new(Api { polls: polled, events: Mutex::new(waiting), outcomes: ended });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(responded))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(failed))
            .with_state(api)
            .merge(others);
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::io("listening"))?;
        let address = listener.local_addr().map_err(Error::io("listening"))?;
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, polls, events, outcomes, server })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// When the process asked for its first event.
    pub(crate) async fn first_poll(&mut self) -> Result<Instant, Error> {
        let polled = tokio::time::timeout(LIMIT, self.polls.recv()).await.ok().flatten();
        polled.ok_or_else(|| silent("ask for an event"))
    }

    /// Hands over an event and waits for its end.
    pub(crate) async fn invoke(&mut self, event: &str) -> Result<Outcome, Error> {
        let _ = self.events.send(event.to_owned());
        let ended = tokio::time::timeout(LIMIT, self.outcomes.recv()).await.ok().flatten();
        ended.ok_or_else(|| silent("end the invocation"))
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn silent(what: &str) -> Error {
    Error::Refused(format!("the program did not {what} within {} s", LIMIT.as_secs()))
}

async fn next(State(api): State<Arc<Api>>) -> Response {
    let _ = api.polls.send(Instant::now());
    let Some(event) = api.events.lock().await.recv().await else { return StatusCode::GONE.into_response() };
    let deadline = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |now| now.as_millis() + LIMIT.as_millis());
    let headers = [
        ("lambda-runtime-aws-request-id", "11111111-2222-3333-4444-555555555555".to_owned()),
        ("lambda-runtime-deadline-ms", deadline.to_string()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:000000000000:function:bench".to_owned()),
        ("content-type", "application/json".to_owned()),
    ];
    (headers, event).into_response()
}

async fn responded(State(api): State<Arc<Api>>, body: Bytes) -> StatusCode {
    ended(&api, Outcome::Response(String::from_utf8_lossy(&body).into_owned()))
}

async fn failed(State(api): State<Arc<Api>>, body: Bytes) -> StatusCode {
    ended(&api, Outcome::Failed(String::from_utf8_lossy(&body).into_owned()))
}

fn ended(api: &Api, outcome: Outcome) -> StatusCode {
    let _ = api.outcomes.send(outcome);
    StatusCode::ACCEPTED
}

/// A program with only the environment of a function of this name.
pub(crate) fn function(program: &Path, name: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    for (name, value) in [
        ("AWS_LAMBDA_FUNCTION_NAME", name),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ] {
        command.env(name, value);
    }
    command
}
