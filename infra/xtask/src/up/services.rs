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

/// The usual ports of the services. Those that a service tries next are below the ports of outgoing connections.
const SITE_PORT: u16 = 8080;
pub(crate) const SANDBOX_PORT: u16 = 8090;
const EMULATOR_PORT: u16 = 4566;
/// How many stacks can start at once, and how many ports each can try for a service.
const PLACES: u16 = 10;
const TRIES: u16 = 10;
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
    place: u16,
) -> Result<String, Error> {
    dir.empty_tmp()?;
    let port = free_port(EMULATOR_PORT, place)?;
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

/// The listener of a stack's front door.
pub(super) struct Door {
    pub(super) listener: TcpListener,
    pub(super) site: String,
    /// The last digit of its port. The stack keeps the door, so none of ten stacks that start has the same place.
    pub(super) place: u16,
}

impl Door {
    pub(super) fn take() -> Result<Self, Error> {
        let listener = listen(SITE_PORT..SITE_PORT + PLACES)?;
        let port = port_of(&listener)?;
        Ok(Self { listener, site: address(port), place: port % PLACES })
    }
}

/// A free port for a service that listens to it later. No stack with another place chooses it meanwhile.
pub(crate) fn free_port(usual: u16, place: u16) -> Result<u16, Error> {
    port_of(&listen(ports(usual, place))?)
}

/// The ports that a stack tries for a service. Two places share none.
fn ports(usual: u16, place: u16) -> impl Iterator<Item = u16> {
    (0..TRIES).map(move |number| usual + place + number * PLACES)
}

/// Listens on the first of these ports that is free, or on any other one.
fn listen(mut ports: impl Iterator<Item = u16>) -> Result<TcpListener, Error> {
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    ports.find_map(|port| bind(port).ok()).map_or_else(|| bind(0), Ok).map_err(Error::io("no free port"))
}

fn port_of(listener: &TcpListener) -> Result<u16, Error> {
    Ok(listener.local_addr().map_err(Error::io("the port of a listener"))?.port())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, iter};

    #[test]
    fn stacks_that_start_at_once_choose_no_port_twice_and_none_of_outgoing_connections() {
        let services = [SANDBOX_PORT, EMULATOR_PORT];
        let tried = services.into_iter().flat_map(|usual| (0..PLACES).flat_map(move |place| ports(usual, place)));
        let all: Vec<u16> = (SITE_PORT..SITE_PORT + PLACES).chain(tried).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|port| (1_024..32_768).contains(port)));
        assert_eq!(services.map(|usual| ports(usual, 0).next()), services.map(Some));
    }

    #[test]
    fn a_port_that_is_taken_is_left() -> Result<(), Error> {
        let first = listen(iter::empty())?;
        let second = listen(iter::once(port_of(&first)?))?;
        assert_ne!(port_of(&first)?, port_of(&second)?);
        Ok(())
    }
}
