//! The services of a stack: the emulator, the sandbox and the front door, and their ports.

use crate::{
    error::Error,
    front_door,
    http::Caller,
    local_dir::{LocalDir, REGION},
    processes::{MARK, Supervisor, wait_until},
    python,
    vendors::Vendors,
};
use serde_json::json;
use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant},
};

const EMULATOR_PORT: u16 = 4566;
/// The emulator's program, and its name among the started processes.
pub(crate) const EMULATOR: &str = "ministack";
/// How long a service may take from its start to its first answer.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Prints the name of a step, runs it, and prints its duration.
pub(super) fn step<T>(what: &str, action: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    eprintln!("• {what}");
    let begin = Instant::now();
    let done = action()?;
    eprintln!("  {:.1} s", begin.elapsed().as_secs_f64());
    Ok(done)
}

/// Starts the emulator and returns its address.
pub(crate) fn start_emulator(
    dir: &LocalDir,
    supervisor: &Supervisor,
    environment: &python::Environment,
) -> Result<String, Error> {
    dir.empty_tmp()?;
    let port = free_port(EMULATOR_PORT)?;
    step(&format!("starting the emulator at {}", address(port)), || {
        supervisor.start(EMULATOR, &mut emulator(dir, environment, port))?;
        await_port(dir, supervisor, EMULATOR, port)
    })?;
    Ok(address(port))
}

/// The emulator's process. Functions inherit its environment, so it starts with an empty one: a function gets no key of
/// the developer's shell, only what the template gives it.
fn emulator(dir: &LocalDir, environment: &python::Environment, port: u16) -> Command {
    let mut command = Command::new(environment.program(EMULATOR));
    command.current_dir(dir.path()).env_clear();
    for name in
        ["PATH", "HOME", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"]
    {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env(MARK, dir.path())
        .env("TMPDIR", dir.file("tmp"))
        .env("BIND_HOST", "127.0.0.1")
        .env("MINISTACK_HOST", "127.0.0.1")
        .env("GATEWAY_PORT", port.to_string())
        // Requests must be signed, and each function has exactly the permissions of its role in template.yaml.
        .env("AUTH", "true")
        // The functions' credentials and address for calls to the emulator.
        .env("AWS_ENDPOINT_URL", address(port))
        .env("AWS_DEFAULT_REGION", REGION)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test");
    command
}

/// Tells the sandbox the site's address and the secret of its webhooks.
pub(super) fn configure_sandbox(sandbox: &str, site: &str, vendors: &Vendors) -> Result<(), Error> {
    let url = format!("{sandbox}/control/configure");
    let body = json!({
        "site": site,
        "webhook_url": format!("{site}/api/webhook"),
        "webhook_secret": vendors.webhook_secret,
    });
    let (status, reply) = Caller::new()?.post(&url, &body)?;
    if status.is_success() {
        return Ok(());
    }
    Err(Error::Call { call: format!("POST {url}"), why: format!("{status} {reply}") })
}

/// Serves the site at the door, in front of the API's stage.
pub(super) fn open_door(listener: TcpListener, stage: String) -> Result<(), Error> {
    listener.set_nonblocking(true).map_err(Error::io("opening the front door"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Error::io("opening the front door"))?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(Error::io("opening the front door"))?
    };
    thread::spawn(move || runtime.block_on(async { axum::serve(listener, front_door::router(stage)).await }));
    Ok(())
}

pub(super) fn address(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// Listens on the preferred port, or on any free port if it is taken.
pub(super) fn listen(preferred: u16) -> Result<TcpListener, Error> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, preferred))
        .or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .map_err(Error::io("no free port"))
}

pub(crate) fn free_port(preferred: u16) -> Result<u16, Error> {
    Ok(listen(preferred)?.local_addr().map_err(Error::io("no free port"))?.port())
}

/// Waits until a service accepts connections.
pub(crate) fn await_port(
    dir: &LocalDir,
    supervisor: &Supervisor,
    service: &'static str,
    port: u16,
) -> Result<(), Error> {
    let mut ended = None;
    let up = wait_until(START_LIMIT, || {
        ended = supervisor.ended();
        ended.is_some() || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    });
    let why = match ended {
        Some((_, status)) => format!("it ended ({status})"),
        None if up => return Ok(()),
        None => format!("nothing listens on port {port} after {} s", START_LIMIT.as_secs()),
    };
    Err(Error::NotStarted { service, why, log: dir.log(service) })
}
