//! Compares the deployed API with its description: schemathesis sends valid and invalid requests, and checks that the
//! description has every reply.

use super::{Count, Suite};
use crate::{error::Error, local_dir::LocalDir, python};
use std::process::Command;

/// Tests the running stack. This is one test; it passes if there is no finding.
pub(super) fn contract(suite: &Suite, stack: &LocalDir) -> Result<Count, Error> {
    let tools = python::prepare(&suite.supervisor, "target/contract-venv", "requirements-contract.txt")?;
    let site = stack.stack()?.site;
    let mut command = Command::new(tools.program("schemathesis"));
    command.arg("--config-file").arg(suite.root.join("infra/local/schemathesis.toml"));
    command.args(["run", &format!("{site}/openapi.json")]).current_dir(stack.path());
    if suite.supervisor.run("schemathesis", &mut command)?.success() {
        return Ok(Count { passed: 1, failed: 0 });
    }
    eprintln!("error: the API does not do what /openapi.json says");
    Ok(Count { passed: 0, failed: 1 })
}
