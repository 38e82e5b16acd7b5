//! The steps of the suite.

use super::{
    Count, Skipped, Step, Suite,
    attest::attest,
    build::{build, run},
    contract::contract,
    events::events,
    false_hits::false_hits,
    goldens::goldens,
    machine, npm,
    peers::peers,
    prompts::prompts,
    running::{at_lowest_priority, run_tests},
    targets::{targets, test_programs},
    vendor_types::{require_recordings, vendor_types},
};
use crate::{
    error::Error,
    functions::{self, cargo},
    layering,
    local_dir::LocalDir,
    python, spec_rules, up,
};
use std::{iter, process::Command, thread};

/// The test program that needs running stacks.
const STACK: &str = "stack";

/// The test program that needs a running stack and a browser.
const BROWSER: &str = "browser";

/// The test programs that simulate whole worlds; they are a separate step.
const SIMULATED: [&str; 5] = ["simulated", "defects", "recovery", "worlds", "chat_worlds"];

/// All steps of `cargo xtask test`, in order.
pub(super) const STEPS: [Step; 15] = [
    step("tools", "what the tests need on this machine", tools),
    step("format", "cargo fmt --check", format),
    step("layering", "who depends on whom, and its drawing", layers),
    step("rules", "every cited rule of the specifications is listed", rules),
    step("template", "cfn-lint template.yaml infra/copy.yaml", template),
    step("deny", "licences and sources of dependencies", deny),
    step("attest", "the authority gate's suite, for the metadata of the builds that follow", attest),
    step("clippy", "cargo clippy, warnings are errors", clippy),
    step("tests", "every test that needs no stack", tests),
    step("goldens", "the memory's golden files on aarch64, emulated", goldens),
    step("false-hits", "the content filter on ordinary words, ours and millions fetched", false_hits),
    step("prompts", "changed prompts through crosscheck and filter, and a refusal", prompts),
    Step {
        beside_next: true,
        ..step("sim", "a short simulation: a thousand worlds, what it must find, and how soon an outage is over", sim)
    },
    step(
        "deployed",
        "the tests against stacks of their own, in a browser too, the API's description, and other people's agents",
        deployed,
    ),
    step("vendors", "what the sandbox answers and is asked, against the vendors' own types", vendor_types),
];

/// Runs only on request: the release builds of all functions take longer than all other steps.
pub(super) const SAM: Step = step("sam", "sam build, as for a deployment to AWS", sam);

const fn step(name: &'static str, about: &'static str, run: fn(&Suite) -> Result<Count, Error>) -> Step {
    Step { name, about, beside_next: false, run }
}

fn tools(suite: &Suite) -> Result<Count, Error> {
    test_tools(suite)?;
    let browser = machine::browser().map_or(&["chromium", "chromium-driver"][..], |_| &[]);
    // A test runs the commands of the restore guide.
    let jq = machine::program("jq").map_or(&["jq"][..], |_| &[]);
    let missing = [browser, jq].concat();
    if missing.is_empty() {
        return Ok(Count::default());
    }
    // The step that needs one of them reports what is missing.
    machine::install(suite, &missing).or_else(|error| {
        eprintln!("{} could not be installed: {error}", missing.join(", "));
        Ok(())
    })?;
    Ok(Count::default())
}

fn test_tools(suite: &Suite) -> Result<python::Environment, Error> {
    python::prepare(&suite.supervisor, "target/test-venv", "requirements-test.txt")
}

fn format(suite: &Suite) -> Result<Count, Error> {
    run(suite, "cargo fmt", cargo().args(["fmt", "--all", "--check"]))
}

fn rules(suite: &Suite) -> Result<Count, Error> {
    none_of(spec_rules::check(&suite.root)?)
}

fn layers(suite: &Suite) -> Result<Count, Error> {
    let packages = layering::read(&suite.root)?;
    let mut violations = layering::violations(&packages);
    if !layering::is_current(&suite.root, &packages)? {
        violations
            .push("CONTRIBUTING.md draws other crates than there are: run `cargo xtask layers --write`".to_owned());
    }
    none_of(violations)
}

/// Fails if there are violations, and prints one per line.
fn none_of(violations: Vec<String>) -> Result<Count, Error> {
    if violations.is_empty() {
        return Ok(Count::default());
    }
    Err(Error::Refused(violations.join("\n       ")))
}

fn template(suite: &Suite) -> Result<Count, Error> {
    let lint = test_tools(suite)?.program("cfn-lint");
    run(
        suite,
        "cfn-lint",
        Command::new(lint).args(["--regions", "us-east-1", "--", "template.yaml", "infra/copy.yaml"]),
    )
}

fn deny(suite: &Suite) -> Result<Count, Error> {
    // cargo-deny also looks at optional dependencies, which no earlier step needs.
    run(suite, "cargo fetch", cargo().args(["fetch", "--locked", "--quiet"]))?;
    let program = test_tools(suite)?.program("cargo-deny");
    let arguments = ["--log-level", "error", "--locked", "--offline", "check", "licenses", "bans", "sources"];
    run(suite, "cargo-deny", Command::new(program).args(arguments))
}

fn clippy(suite: &Suite) -> Result<Count, Error> {
    run(
        suite,
        "cargo clippy",
        cargo().args(["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"]),
    )
}

fn tests(suite: &Suite) -> Result<Count, Error> {
    build(suite)?;
    let elsewhere = |name: &str| [STACK, BROWSER].contains(&name) || SIMULATED.contains(&name);
    let targets = targets(suite)?;
    // By name: `--bins` also builds a test program of each function's `main.rs`, which is `test = false`.
    let tested = targets.iter().filter(|target| target.kind == "bin" && target.is_tested);
    let options = iter::once("--lib").chain(tested.flat_map(|target| ["--bin", &target.name])).collect::<Vec<_>>();
    let programs = test_programs(&targets, |program| !elsewhere(program));
    let ran = run_tests(suite, Some("tests"), &mut programs_of(&options, &programs))?;
    let examples = run_tests(suite, None, &mut programs_of(&["--doc"], &[]))?;
    Ok([ran, examples].into_iter().sum())
}

/// At the lowest priority: the deployed tests beside it have time limits, and leave the processors idle most of the
/// time.
fn sim(suite: &Suite) -> Result<Count, Error> {
    let programs = test_programs(&targets(suite)?, |program| SIMULATED.contains(&program));
    run_tests(suite, Some("sim"), &mut at_lowest_priority(programs_of(&[], &programs)))
}

/// `cargo test` with these options and integration-test programs.
fn programs_of(options: &[&str], programs: &[String]) -> Command {
    let mut command = cargo();
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(options);
    for program in programs {
        command.args(["--test", program]);
    }
    command
}

fn deployed(suite: &Suite) -> Result<Count, Error> {
    build(suite)?;
    let [visited, called, shared @ ..] = &suite.stacks;
    let counts = thread::scope(|scope| {
        // One stack after the other: a deployment keeps the processors busy, and waits for itself only so long.
        shared.iter().try_for_each(|stack| start(suite, stack))?;
        let tests = scope.spawn(|| stack_tests(suite, shared));
        start(suite, visited)?;
        let visits = scope.spawn(|| visits(suite, visited));
        start(suite, called)?;
        let calls = calls(suite, called);
        let panicked = |_| Err(Error::Refused("a thread with tests panicked".to_owned()));
        Ok([tests.join().unwrap_or_else(panicked)?, visits.join().unwrap_or_else(panicked)?, calls?])
    });
    Suite::stop(&suite.stacks)?;
    let counts = counts?;
    require_recordings(shared)?;
    Ok(counts.into_iter().sum())
}

/// Starts a stack with this same program, as a person would.
fn start(suite: &Suite, stack: &LocalDir) -> Result<(), Error> {
    let mut start = Command::new(&suite.program);
    // Tests count calls and alerts, and plan faults for the next call: no function runs by itself.
    start.args(["up", "--detach", "--built", "--sandbox-only", "--unscheduled", "--dir"]).arg(stack.path());
    // The call timeout of a model that hangs is really tested, but with less than 45 s.
    start.args(["--parameter", "GeminiCallTimeoutMs=5000", "--parameter", "GeminiBackoffBaseMs=20"]);
    // A test holds a call of the chat's model until a slow machine has read what it began.
    start.args(["--parameter", "ChatCallTimeoutMs=20000"]);
    // The retries of mails do not wait for hours either.
    start.args(["--parameter", "EmailRetryDelays=0,1,1,1"]);
    start.args(["--parameter", "VerdictRetryDelays=1,2"]);
    // Four stacks share this machine, and a call that is given up alerts or fails.
    start.args(["--parameter", "ApiConnectTimeoutMs=5000", "--parameter", "CacheConnectTimeoutMs=10000"]);
    start.args(["--parameter", "AlertTableTimeoutMs=5000", "--parameter", "AlertTopicTimeoutMs=5000"]);
    run(suite, "cargo xtask up", &mut start).map(drop)
}

/// The tests of the deployed system, on several stacks at once: they wait most of the time.
fn stack_tests(suite: &Suite, stacks: &[LocalDir]) -> Result<Count, Error> {
    let described = std::env::join_paths(stacks.iter().map(|stack| stack.file("stack.json")));
    let described = described.map_err(|error| Error::Refused(format!("ORACLE_STACK: {error}")))?;
    let mut command = programs_of(&[], &[STACK.to_owned()]);
    // One test runs alone on each stack; the others run beside one another, or wait for their turn.
    let threads = 3 * stacks.len();
    command.env("ORACLE_STACK", described).env("RUST_TEST_THREADS", threads.to_string());
    run_tests(suite, Some("stack"), &mut command)
}

/// A browser, and other people's agents.
fn visits(suite: &Suite, stack: &LocalDir) -> Result<Count, Error> {
    Ok([browser_tests(suite, stack)?, peers(suite, stack)?].into_iter().sum())
}

/// Events by hand, and generated calls.
fn calls(suite: &Suite, stack: &LocalDir) -> Result<Count, Error> {
    Ok([events(suite, stack)?, contract(suite, stack)?].into_iter().sum())
}

fn browser_tests(suite: &Suite, stack: &LocalDir) -> Result<Count, Error> {
    let Some(machine::Browser { browser, driver }) = machine::browser() else {
        return machine::skip(
            suite,
            Skipped {
                what: "browser tests",
                reason: "neither Chromium, Chrome nor Edge with its driver was found".to_owned(),
                enable: "install one (Debian: apt install chromium chromium-driver)",
            },
        );
    };
    install_axe(suite)?;
    let mut command = programs_of(&[], &[BROWSER.to_owned()]);
    command.env("ORACLE_STACK", stack.file("stack.json"));
    command.env("ORACLE_BROWSER", browser).env("ORACLE_BROWSER_DRIVER", driver);
    run_tests(suite, Some(BROWSER), &mut command)
}

/// Installs the rules for accessibility, which the browser tests run in every page.
fn install_axe(suite: &Suite) -> Result<(), Error> {
    let tools = python::prepare(&suite.supervisor, "target/vendor-venv", "requirements-vendors.txt")?;
    let (sources, packages) = (suite.root.join("infra/page-tests"), suite.root.join("target/page-tests"));
    npm::install(suite, &tools.program("python"), &sources, &packages)
}

fn sam(suite: &Suite) -> Result<Count, Error> {
    let tools = python::prepare(&suite.supervisor, "target/sam-venv", "requirements-sam.txt")?;
    let mut search = vec![tools.programs()];
    search.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(search).map_err(|error| Error::Refused(format!("PATH: {error}")))?;
    functions::build_for_lambda(&suite.supervisor, up::architecture(), &path)?;
    let mut command = Command::new(tools.program("sam"));
    // For this machine's processor: a build for arm64 on another one would need a cross compiler.
    command
        .args(["build", "--parameter-overrides", &format!("Architecture={}", up::architecture())])
        .env("PATH", path)
        .env("SAM_CLI_TELEMETRY", "0");
    run(suite, "sam build", &mut command)
}
