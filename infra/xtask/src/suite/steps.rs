//! The steps of the suite.

use super::{
    Count, Step, Suite, attested_suite,
    build::{build, run},
    contract::contract,
    count,
    events::events,
    false_hits::false_hits,
    goldens::goldens,
    machine::{self, Skipped},
    npm,
    peers::peers,
    prompts::prompts,
    results,
    vendor_types::vendor_types,
};
use crate::{
    error::Error,
    functions::{self, cargo, metadata},
    layering, python, spec_rules, up,
};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The test programs that need a running stack; all others run without one.
const DEPLOYED: [&str; 2] = ["stack", "browser"];

/// The test program that needs a browser as well.
const BROWSER: &str = "browser";

/// The test programs that simulate whole worlds; they are a separate step.
const SIMULATED: [&str; 5] = ["simulated", "defects", "recovery", "worlds", "chat_worlds"];

/// All steps of `cargo xtask test`, in order.
pub(super) const STEPS: [Step; 15] = [
    Step { name: "tools", about: "what the tests need on this machine", run: tools },
    Step { name: "format", about: "cargo fmt --check", run: format },
    Step { name: "layering", about: "who depends on whom, and its drawing", run: layers },
    Step { name: "rules", about: "every cited rule of the specifications is listed", run: rules },
    Step { name: "template", about: "cfn-lint template.yaml infra/copy.yaml", run: template },
    Step { name: "deny", about: "licences and sources of dependencies", run: deny },
    Step {
        name: "attest",
        about: "the authority gate's suite, for the metadata of the builds that follow",
        run: attest,
    },
    Step { name: "clippy", about: "cargo clippy, warnings are errors", run: clippy },
    Step { name: "tests", about: "every test that needs no stack", run: tests },
    Step { name: "goldens", about: "the memory's golden files on aarch64, emulated", run: goldens },
    Step {
        name: "false-hits",
        about: "the content filter on ordinary words, ours and millions fetched",
        run: false_hits,
    },
    Step { name: "prompts", about: "changed prompts through crosscheck and filter, and a refusal", run: prompts },
    Step {
        name: "sim",
        about: "a short simulation: a thousand worlds, what it must find, and how soon an outage is over",
        run: sim,
    },
    Step {
        name: "deployed",
        about: "the tests against a stack of their own, in a browser too, the API's description, and other people's agents",
        run: deployed,
    },
    Step {
        name: "vendors",
        about: "what the sandbox answers and is asked, against the vendors' own types",
        run: vendor_types,
    },
];

/// Runs only on request: the release builds of all functions take longer than all other steps.
pub(super) const SAM: Step = Step { name: "sam", about: "sam build, as for a deployment to AWS", run: sam };

fn tools(suite: &Suite) -> Result<Count, Error> {
    test_tools(suite)?;
    if machine::browser().is_some() {
        return Ok(Count::default());
    }
    // The step that needs the browser reports what is missing.
    machine::install(suite, &["chromium", "chromium-driver"]).or_else(|error| {
        eprintln!("no browser could be installed: {error}");
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
    let program = test_tools(suite)?.program("cargo-deny");
    let arguments = ["--log-level", "error", "--locked", "--offline", "check", "licenses", "bans", "sources"];
    run(suite, "cargo-deny", Command::new(program).args(arguments))
}

/// Runs the authority gate's test suite, and stores its hash and its result for the builds that follow.
fn attest(suite: &Suite) -> Result<Count, Error> {
    let rules = suite.root.join("shared/rules");
    let ran = run_tests(suite, None, cargo().args(["test", "--locked", "--no-fail-fast", "--package", "authority"]));
    let passed = matches!(ran, Ok(Count { passed: 1.., failed: 0 }));
    let hash = attested_suite::hash(&rules).map_err(Error::io("the suite cannot be read"))?;
    let attested = serde_json::json!({ "suite": hash, "passed": passed });
    let file = rules.join("attestation/attested.json");
    fs::write(&file, format!("{attested}\n")).map_err(Error::io("the attestation cannot be written"))?;
    ran
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
    let elsewhere = |name: &str| DEPLOYED.contains(&name) || SIMULATED.contains(&name);
    let programs = test_programs(suite)?.into_iter().filter(|program| !elsewhere(program)).collect();
    run_programs(suite, "tests", &["--lib", "--bins"], programs)
}

fn sim(suite: &Suite) -> Result<Count, Error> {
    let wanted = |program: &String| SIMULATED.contains(&program.as_str());
    let programs = test_programs(suite)?.into_iter().filter(wanted).collect();
    run_programs(suite, "sim", &[], programs)
}

fn run_programs(suite: &Suite, step: &str, besides: &[&str], programs: Vec<String>) -> Result<Count, Error> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(besides);
    for program in &programs {
        command.args(["--test", program]);
    }
    run_tests(suite, Some(step), &mut command)
}

fn deployed(suite: &Suite) -> Result<Count, Error> {
    let programs = test_programs(suite)?;
    let mut present: Vec<&str> =
        DEPLOYED.into_iter().filter(|name| programs.iter().any(|program| program == name)).collect();
    let browser = machine::browser();
    if browser.is_none() {
        present.retain(|name| *name != BROWSER);
        machine::skip(
            suite,
            Skipped {
                what: "browser tests",
                reason: "neither Chromium, Chrome nor Edge with its driver was found".to_owned(),
                enable: "install one (Debian: apt install chromium chromium-driver)",
            },
        )?;
    }
    build(suite)?;
    // This same program starts the stack, as a person would.
    let mut start = Command::new(&suite.program);
    start.args(["up", "--detach", "--built", "--sandbox-only", "--dir"]).arg(suite.stack.path());
    // The call timeout of a model that hangs is really tested, but with less than 45 s.
    start.args(["--parameter", "GeminiCallTimeoutMs=5000", "--parameter", "GeminiBackoffBaseMs=20"]);
    // The retries of mails do not wait for hours either.
    start.args(["--parameter", "EmailRetryDelays=0,1,1,1"]);
    start.args(["--parameter", "VerdictRetryDelays=1,2"]);
    // Tests count the vendors' calls, so the scheduled functions must make none.
    for schedule in ["BootProbe", "CacheHealth", "InboxWatch", "SmokeTest"] {
        start.args(["--parameter", &format!("{schedule}=DISABLED")]);
    }
    run(suite, "cargo xtask up", &mut start)?;
    let outcome = if present.is_empty() {
        Ok(Count::default())
    } else {
        let mut command = cargo();
        command.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
        for name in present {
            command.args(["--test", name]);
        }
        if let Some(machine::Browser { browser, driver }) = browser {
            command.env("ORACLE_BROWSER", browser).env("ORACLE_BROWSER_DRIVER", driver);
            install_axe(suite)?;
        }
        run_tests(suite, Some("deployed"), command.env("ORACLE_STACK", suite.stack.file("stack.json")))
    };
    let kept = outcome.and_then(|tests| {
        let further = [events(suite)?, contract(suite)?, peers(suite)?];
        let sum = |all: Count, one: Count| Count { passed: all.passed + one.passed, failed: all.failed + one.failed };
        Ok(further.into_iter().fold(tests, sum))
    });
    up::stop(&suite.stack)?;
    kept
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

/// The names of the workspace's integration-test programs.
fn test_programs(suite: &Suite) -> Result<Vec<String>, Error> {
    let metadata = metadata(&suite.root)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut programs = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]) {
            if list(&target["kind"]).iter().any(|kind| kind == "test") {
                programs.push(text(&target["name"]));
            }
        }
    }
    Ok(programs)
}

/// Runs `cargo test`, shows its output as it arrives, and counts the results. Stores them under the step's name, if one is
/// given.
pub(super) fn run_tests(suite: &Suite, step: Option<&str>, command: &mut Command) -> Result<Count, Error> {
    let log = suite.stack.log("cargo-test");
    let (mut reader, writer) = std::io::pipe().map_err(Error::io("opening a pipe"))?;
    command.current_dir(&suite.root).stdout(writer).stdin(Stdio::null());
    let copy = std::thread::spawn(move || -> std::io::Result<String> {
        let mut text = Vec::new();
        let mut buffer = [0; 8192];
        loop {
            let read = reader.read(&mut buffer)?;
            if read == 0 {
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
            std::io::stdout().write_all(&buffer[..read])?;
            text.extend_from_slice(&buffer[..read]);
        }
    });
    let status = suite.supervisor.run("cargo test", command);
    // The copy ends only after the writing end is closed.
    command.stdout(Stdio::null());
    let output = copy.join().unwrap_or_else(|_| Ok(String::new())).map_err(Error::io("reading test output"))?;
    write_log(&log, &output)?;
    if let Some(step) = step {
        results::keep(&suite.root, step, &output)?;
    }
    let (status, count) = (status?, count(&output));
    if status.success() || count.failed > 0 {
        return Ok(count);
    }
    Err(Error::Program { program: "cargo test".to_owned(), status: status.to_string(), log: None })
}

fn write_log(log: &Path, output: &str) -> Result<(), Error> {
    fs::write(log, output).map_err(Error::io(format!("writing {}", PathBuf::from(log).display())))
}
