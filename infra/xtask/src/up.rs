//! `up`: starts a whole stack in order and supervises it, or updates a running one.

mod services;
mod stopping;

pub(crate) use services::{EMULATOR, SANDBOX_PORT, await_port, free_port, start_emulator};
pub(crate) use stopping::{down, stop, stop_on_signal};

use crate::{
    deployment::{self, Addresses, Given},
    error::Error,
    functions::{self, Built},
    local_dir::{LocalDir, REGION, STACK, StackFile},
    processes::{MARK, Running, Supervisor},
    python,
    toll::Toll,
    vendors::Vendors,
};
use serde_json::json;
use services::{Door, address, configure_sandbox, open_door, step};
use std::{
    ffi::OsStr,
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    process::{Command, ExitCode},
    thread,
    time::{Duration, Instant},
};
use stopping::{clear, forget, forget_on_signal};

/// How `up` starts a stack.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Return once the site answers and leave it running; `cargo xtask down` stops it
    #[arg(long)]
    pub(crate) detach: bool,
    /// Started by --detach, which shows the result itself
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub(crate) background: bool,
    /// Build nothing: the programs in target/debug are the ones to deploy
    #[arg(long)]
    pub(crate) built: bool,
    /// Use the sandbox for every vendor, whatever .env says
    #[arg(long)]
    pub(crate) sandbox_only: bool,
    /// Disable the schedules: a function runs only when it is invoked
    #[arg(long)]
    pub(crate) unscheduled: bool,
    /// Give a template parameter another value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameter: Vec<(String, String)>,
    /// Prints the stack's description instead of the site's address.
    #[arg(skip)]
    pub(crate) as_json: bool,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "expected NAME=VALUE".to_owned())
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
    if options.detach { detached(dir, options, begin) } else { foreground(dir, options, begin) }
}

/// Starts a second `up` that stays in the background, and shows its progress until the site answers.
fn detached(dir: &LocalDir, options: &Options, begin: Instant) -> Result<ExitCode, Error> {
    let supervisor = Supervisor::new(dir);
    forget_on_signal(&supervisor, dir)?;
    let program = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let mut command = Command::new(program);
    command.args(["up", "--background", "--dir"]).arg(dir.path());
    let flags =
        [("--built", options.built), ("--sandbox-only", options.sandbox_only), ("--unscheduled", options.unscheduled)];
    for (flag, is_set) in flags {
        if is_set {
            command.arg(flag);
        }
    }
    for (name, value) in &options.parameter {
        command.arg("--parameter").arg(format!("{name}={value}"));
    }
    supervisor.start("up", &mut command)?;
    let mut shown = 0;
    loop {
        let ended = supervisor.ended();
        let started = match dir.stack() {
            Err(Error::NotRunning(_)) => None,
            stack => Some(stack?),
        };
        shown = show(&dir.log("up"), shown)?;
        if let Some(stack) = started {
            announce(&stack, options, begin)?;
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
    let outcome = start(dir, &supervisor, options).and_then(|stack| {
        if !options.background {
            announce(&stack, options, begin)?;
        }
        watch(dir, &supervisor)
    });
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

fn start(dir: &LocalDir, supervisor: &Supervisor, options: &Options) -> Result<StackFile, Error> {
    // Recorded before the slow steps, so that `down` finds the processes.
    supervisor.record()?;
    let vendors = Vendors::new(dir, options.sandbox_only)?;
    let (environment, built) = prepare(supervisor, options)?;

    let Door { listener, site, place } = Door::take()?;
    let sandbox_port = free_port(SANDBOX_PORT, place)?;
    let sandbox = address(sandbox_port);
    let endpoint = start_emulator(dir, supervisor, &environment, place)?;
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
        let given = given(&vendors, options, &site, &sandbox);
        let addresses = Addresses { emulator: &endpoint, sandbox: &sandbox };
        deployment::deploy(dir, supervisor, &environment, addresses, &built, &given)
    })?;
    let api = deployment
        .outputs
        .get("ApiId")
        .ok_or_else(|| Error::Refused("template.yaml has no output ApiId".to_owned()))?;
    open_door(listener, format!("{endpoint}/restapis/{api}/live/_user_request_"))?;
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
    dir.write("stack.json", &stack)?;
    Ok(stack)
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
        let given = given(&vendors, options, &stack.site, &stack.sandbox);
        let addresses = Addresses { emulator: &stack.aws_endpoint, sandbox: &stack.sandbox };
        deployment::deploy(dir, &supervisor, &environment, addresses, &built, &given)
    })?
    .outputs;
    configure_sandbox(&stack.sandbox, &stack.site, &vendors)?;
    stack.real_vendors.clone_from(&vendors.real);
    stack.stripe_webhook_secret.clone_from(&vendors.webhook_secret);
    dir.write("stack.json", &stack)?;
    announce(&stack, options, begin)?;
    if is_newer(&built.sandbox, &dir.file("processes.json")) {
        eprintln!(
            "\nThe sandbox itself has changed since it was started: `cargo xtask down` and `up` again to use the new one."
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn is_newer(file: &Path, than: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified(file) > modified(than)
}

fn given<'a>(vendors: &'a Vendors, options: &Options, site: &str, sandbox: &str) -> Given<'a> {
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
    parameters.extend(options.parameter.iter().cloned());
    Given { parameters, secrets: &vendors.secrets, is_unscheduled: options.unscheduled }
}

/// This machine's processor architecture, in Lambda's terms.
pub(crate) fn architecture() -> &'static str {
    if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x86_64" }
}

/// Shows that the stack is ready, and prints the result. Its file exists already: who reads this may open it.
fn announce(stack: &StackFile, options: &Options, begin: Instant) -> Result<(), Error> {
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
    let result = if options.as_json { json!(stack).to_string() } else { stack.site.clone() };
    writeln!(io::stdout(), "{result}").map_err(Error::io("writing to standard output"))
}
