//! `up` and `down`: start a whole stack in order, supervise it, and stop it so that nothing is left.
//! The file has more than 300 lines because starting, updating and stopping a stack share its files and steps, and each
//! step is a short function.

use crate::{
    deployment::{self, Addresses},
    error::Error,
    front_door,
    functions::{self, Built},
    http::Caller,
    local_dir::{LocalDir, REGION, STACK, StackFile},
    processes::{self, MARK, Recorded, Running, Supervisor, wait_until},
    python,
    toll::Toll,
    vendors::Vendors,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::{Read, Seek, SeekFrom},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    process::{Command, ExitCode},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use tokio::signal::unix::{SignalKind, signal};

const SITE_PORT: u16 = 8080;
const SANDBOX_PORT: u16 = 8090;
const EMULATOR_PORT: u16 = 4566;
/// The emulator's program, and its name among the started processes.
pub(crate) const EMULATOR: &str = "ministack";
/// How long a service may take from its start to its first answer.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How `up` starts a stack.
pub(crate) struct Options {
    /// Leaves the stack running and returns.
    pub(crate) detach: bool,
    /// The programs are already built: build nothing.
    pub(crate) built: bool,
    /// Uses no real vendor, whatever .env contains.
    pub(crate) sandbox_only: bool,
    /// Template parameters other than the defaults, as NAME=VALUE.
    pub(crate) parameters: Vec<(String, String)>,
}

/// Starts the stack, or updates a running one.
pub(crate) fn up(dir: &LocalDir, options: &Options) -> Result<ExitCode, Error> {
    let begin = Instant::now();
    if let Some(running) = dir.read::<Running>("processes.json")? {
        if running.supervisor.is_alive() {
            return refresh(dir, options, begin);
        }
        clear(dir, &running);
    }
    forget(dir);
    if options.detach { detached(dir, options) } else { foreground(dir, options, begin) }
}

/// Stops the stack of this directory, and reports it.
pub(crate) fn down(dir: &LocalDir) -> Result<ExitCode, Error> {
    eprintln!("{}", if stop(dir)? { "stopped" } else { "nothing was running" });
    Ok(ExitCode::SUCCESS)
}

/// Stops the stack of this directory; returns false if nothing was running.
pub(crate) fn stop(dir: &LocalDir) -> Result<bool, Error> {
    let running = dir.read::<Running>("processes.json")?;
    match &running {
        Some(running) => {
            running.supervisor.terminate();
            wait_until(Duration::from_secs(30), || !running.supervisor.is_alive());
            clear(dir, running);
            dir.empty_tmp()?;
            Ok(true)
        }
        None => {
            let leftovers = processes::leftovers(dir);
            for process in &leftovers {
                process.terminate();
            }
            Ok(!leftovers.is_empty())
        }
    }
}

/// Removes the remains of a stack: first its processes, then the files that mark it as running.
fn clear(dir: &LocalDir, running: &Running) {
    for process in running.children.iter().chain([&running.supervisor]) {
        process.stop_group();
    }
    let leftovers = processes::leftovers(dir);
    leftovers.iter().for_each(Recorded::terminate);
    wait_until(Duration::from_secs(5), || leftovers.iter().all(|process| !process.is_alive()));
    forget(dir);
}

fn forget(dir: &LocalDir) {
    for name in ["stack.json", "deployment.json", "processes.json"] {
        dir.remove(name);
    }
}

/// Starts a second `up` that stays in the background, and shows its progress until the site answers.
fn detached(dir: &LocalDir, options: &Options) -> Result<ExitCode, Error> {
    let supervisor = Supervisor::new(dir);
    forget_on_signal(&supervisor, dir)?;
    let program = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let mut command = Command::new(program);
    command.arg("up").arg("--dir").arg(dir.path());
    for (flag, is_set) in [("--built", options.built), ("--sandbox-only", options.sandbox_only)] {
        if is_set {
            command.arg(flag);
        }
    }
    for (name, value) in &options.parameters {
        command.arg("--parameter").arg(format!("{name}={value}"));
    }
    supervisor.start("up", &mut command)?;
    let mut shown = 0;
    loop {
        let ended = supervisor.ended();
        let started = dir.read::<Running>("processes.json")?.is_some() && dir.file("stack.json").exists();
        shown = show(&dir.log("up"), shown)?;
        if started {
            return Ok(ExitCode::SUCCESS);
        }
        if ended.is_some() {
            return Ok(ExitCode::FAILURE);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Copies the new text of a log to standard error; returns the log's new length.
fn show(log: &Path, from: u64) -> Result<u64, Error> {
    let what = || format!("reading {}", log.display());
    let mut file = fs::File::open(log).map_err(Error::io(what()))?;
    file.seek(SeekFrom::Start(from)).map_err(Error::io(what()))?;
    let mut text = Vec::new();
    let read = file.read_to_end(&mut text).map_err(Error::io(what()))?;
    eprint!("{}", String::from_utf8_lossy(&text));
    Ok(from + read as u64)
}

fn foreground(dir: &LocalDir, options: &Options, begin: Instant) -> Result<ExitCode, Error> {
    let supervisor = Supervisor::new(dir);
    forget_on_signal(&supervisor, dir)?;
    let outcome = start(dir, &supervisor, options, begin).and_then(|()| watch(dir, &supervisor));
    supervisor.stop_all();
    forget(dir);
    outcome.map(|()| ExitCode::SUCCESS)
}

/// Returns when a service has ended by itself.
fn watch(dir: &LocalDir, supervisor: &Supervisor) -> Result<(), Error> {
    loop {
        if let Some((program, status)) = supervisor.ended() {
            let log = Some(dir.log(&program));
            return Err(Error::Program { program, status, log });
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Ctrl-C is the usual way to end a foreground stack, so the exit code is success.
fn forget_on_signal(supervisor: &Supervisor, dir: &LocalDir) -> Result<(), Error> {
    let dir = dir.clone();
    stop_on_signal(supervisor, move || {
        forget(&dir);
        0
    })
}

/// Installs a handler: SIGINT and SIGTERM stop everything that was started, call `last`, and end this process with the
/// exit code that `last` returns.
pub(crate) fn stop_on_signal(
    supervisor: &Supervisor,
    last: impl FnOnce() -> i32 + Send + 'static,
) -> Result<(), Error> {
    let supervisor = supervisor.clone();
    let (ready, is_ready) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let outcome = runtime.and_then(|runtime| {
            runtime.block_on(async {
                let mut interrupt = signal(SignalKind::interrupt())?;
                let mut terminate = signal(SignalKind::terminate())?;
                let _ = ready.send(Ok(()));
                tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
                Ok(())
            })
        });
        match outcome {
            Ok(()) => {
                eprintln!("\nstopping");
                supervisor.stop_all();
                std::process::exit(last());
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        }
    });
    is_ready
        .recv()
        .unwrap_or_else(|_| Err(std::io::Error::other("the signal thread ended")))
        .map_err(Error::io("watching for Ctrl-C"))
}

/// Prints the name of a step, runs it, and prints its duration.
fn step<T>(what: &str, action: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    eprintln!("• {what}");
    let begin = Instant::now();
    let done = action()?;
    eprintln!("  {:.1} s", begin.elapsed().as_secs_f64());
    Ok(done)
}

/// Prepares the Python environment and the binaries in parallel: the first waits for the network, the second for the
/// processor.
fn prepare(supervisor: &Supervisor, options: &Options) -> Result<(python::Environment, Built), Error> {
    thread::scope(|scope| {
        let environment = scope.spawn(|| python::stack_environment(supervisor));
        let what = if options.built { "preparing Python" } else { "building the functions and preparing Python" };
        let built = step(what, || functions::develop(supervisor, options.built));
        let environment =
            environment.join().unwrap_or_else(|_| Err(Error::Refused("preparing Python panicked".to_owned())));
        Ok((environment?, built?))
    })
}

fn start(dir: &LocalDir, supervisor: &Supervisor, options: &Options, begin: Instant) -> Result<(), Error> {
    // Recorded before the slow steps, so that `down` finds the processes.
    supervisor.record()?;
    let vendors = Vendors::new(dir, options.sandbox_only)?;
    let (environment, built) = prepare(supervisor, options)?;

    let door = listen(SITE_PORT)?;
    let site = address(door.local_addr().map_err(Error::io("the front door's address"))?.port());
    let sandbox_port = free_port(SANDBOX_PORT)?;
    let sandbox = address(sandbox_port);
    let endpoint = start_emulator(dir, supervisor, &environment)?;
    // The sandbox's calls and replies, for `cargo xtask test --only vendors`; only those of this stack.
    let recording = dir.file("vendor-calls.jsonl");
    fs::write(&recording, "").map_err(Error::io(format!("writing {}", recording.display())))?;
    step(&format!("starting the sandbox at {sandbox}"), || {
        let mut command = Command::new(&built.sandbox);
        command
            .args(["--port", &sandbox_port.to_string(), "--webhook-secret", &vendors.webhook_secret])
            .args([OsStr::new("--record"), recording.as_os_str()])
            .env(MARK, dir.path());
        supervisor.start("sandbox", &mut command)?;
        await_port(dir, supervisor, "sandbox", sandbox_port)
    })?;
    supervisor.record()?;
    let deployment = step("deploying template.yaml", || {
        let parameters = parameters(&vendors, options, &site, &sandbox);
        let addresses = Addresses { emulator: &endpoint, sandbox: &sandbox };
        deployment::deploy(dir, supervisor, &environment, addresses, &built, &parameters, &vendors.secrets)
    })?;
    let api = deployment
        .outputs
        .get("ApiId")
        .ok_or_else(|| Error::Refused("template.yaml has no output ApiId".to_owned()))?;
    open_door(door, format!("{endpoint}/restapis/{api}/live/_user_request_"))?;
    configure_sandbox(&sandbox, &site, &vendors)?;

    let stack = StackFile {
        toll: Toll::of(&sandbox),
        site,
        sandbox,
        aws_endpoint: endpoint,
        stack: STACK.to_owned(),
        region: REGION.to_owned(),
        stripe_webhook_secret: vendors.webhook_secret.clone(),
        real_vendors: vendors.real.clone(),
        outputs: deployment.outputs,
    };
    announce(&stack, begin);
    dir.write("stack.json", &stack)
}

/// Builds, and deploys to the running stack.
fn refresh(dir: &LocalDir, options: &Options, begin: Instant) -> Result<ExitCode, Error> {
    if !dir.file("stack.json").exists() {
        return Err(Error::Refused("another `cargo xtask up` is starting this stack just now".to_owned()));
    }
    let mut stack = dir.stack()?;
    eprintln!("a stack is running already: bringing it up to date");
    let supervisor = Supervisor::new(dir);
    let vendors = Vendors::new(dir, options.sandbox_only)?;
    let (environment, built) = prepare(&supervisor, options)?;
    stack.outputs = step("deploying template.yaml", || {
        let parameters = parameters(&vendors, options, &stack.site, &stack.sandbox);
        let addresses = Addresses { emulator: &stack.aws_endpoint, sandbox: &stack.sandbox };
        deployment::deploy(dir, &supervisor, &environment, addresses, &built, &parameters, &vendors.secrets)
    })?
    .outputs;
    configure_sandbox(&stack.sandbox, &stack.site, &vendors)?;
    stack.real_vendors.clone_from(&vendors.real);
    stack.stripe_webhook_secret.clone_from(&vendors.webhook_secret);
    announce(&stack, begin);
    if is_newer(&built.sandbox, &dir.file("processes.json")) {
        eprintln!(
            "\nThe sandbox itself has changed since it was started: `cargo xtask down` and `up` again to use the new one."
        );
    }
    dir.write("stack.json", &stack)?;
    Ok(ExitCode::SUCCESS)
}

fn is_newer(file: &Path, than: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified(file) > modified(than)
}

fn parameters(vendors: &Vendors, options: &Options, site: &str, sandbox: &str) -> BTreeMap<String, String> {
    let mut parameters = vendors.parameters(site, sandbox);
    // Functions are built for this machine, and a local stack needs no firewall.
    parameters.insert("Architecture".to_owned(), architecture().to_owned());
    parameters.insert("Firewall".to_owned(), "off".to_owned());
    if vendors.real.is_empty() {
        // The probe and the smoke test would use up a fault that a developer plans for the next call of a simulated
        // vendor.
        parameters.insert("BootProbe".to_owned(), "DISABLED".to_owned());
        parameters.insert("SmokeTest".to_owned(), "DISABLED".to_owned());
    }
    parameters.extend(options.parameters.iter().cloned());
    parameters
}

/// This machine's processor architecture, in Lambda's terms.
pub(crate) fn architecture() -> &'static str {
    if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x86_64" }
}

fn announce(stack: &StackFile, begin: Instant) {
    let vendors = match stack.real_vendors.as_slice() {
        [] => "all vendors are the sandbox's".to_owned(),
        real => format!("real: {}; the others are the sandbox's", real.join(", ")),
    };
    eprintln!(
        "\nready after {:.1} s; {vendors}\n\n  site     {}\n  mailbox  {}/mailbox\n  alerts   {}/alerts\n  AWS      {}\n\n  cargo xtask demo \"Should I open a second bakery?\"\n  cargo xtask down",
        begin.elapsed().as_secs_f64(),
        stack.site,
        stack.sandbox,
        stack.sandbox,
        stack.aws_endpoint
    );
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

fn configure_sandbox(sandbox: &str, site: &str, vendors: &Vendors) -> Result<(), Error> {
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

fn open_door(listener: TcpListener, stage: String) -> Result<(), Error> {
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

fn address(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// Listens on the preferred port, or on any free port if it is taken.
fn listen(preferred: u16) -> Result<TcpListener, Error> {
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
