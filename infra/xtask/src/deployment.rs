//! Deploys template.yaml to the emulator, and reads the resulting environment of each function.

use crate::{
    error::{Error, require_success},
    functions::Built,
    local_dir::{LocalDir, REGION, STACK},
    processes::Supervisor,
    python::Environment,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::File,
    process::{Command, ExitCode},
};

/// deployment.json: the report of infra/local/deploy.py.
#[derive(Deserialize)]
pub(crate) struct Deployment {
    pub(crate) outputs: BTreeMap<String, String>,
    /// Every function's environment by the function's name.
    environments: BTreeMap<String, BTreeMap<String, String>>,
}

/// The addresses of the emulator, and of the sandbox, whose page of alerts subscribes to the topics.
#[derive(Clone, Copy)]
pub(crate) struct Addresses<'a> {
    pub(crate) emulator: &'a str,
    pub(crate) sandbox: &'a str,
}

/// What a deployment gives the stack.
pub(crate) struct Given<'a> {
    /// The parameters of the template.
    pub(crate) parameters: BTreeMap<String, String>,
    /// The values of the secrets, by name.
    pub(crate) secrets: &'a BTreeMap<String, Value>,
    /// Whether all schedules are disabled.
    pub(crate) is_unscheduled: bool,
}

/// Packages, uploads and deploys, and fills the stack's secrets; does little if nothing has changed.
pub(crate) fn deploy(
    dir: &LocalDir,
    supervisor: &Supervisor,
    environment: &Environment,
    addresses: Addresses<'_>,
    built: &Built,
    given: &Given<'_>,
) -> Result<Deployment, Error> {
    let request = json!({
        "endpoint": addresses.emulator,
        "alerts": format!("{}/alerts", addresses.sandbox),
        "region": REGION,
        "stack": STACK,
        "template": dir.root().join("template.yaml"),
        "work_dir": dir.file("zips"),
        "parameters": given.parameters,
        "secrets": given.secrets,
        "unscheduled": given.is_unscheduled,
        "binaries": built.functions,
    });
    dir.write("deployment-request.json", &request)?;
    let open = |name: &str| File::open(dir.file(name)).map_err(Error::io(format!("opening {name}")));
    let create =
        |path: std::path::PathBuf| File::create(&path).map_err(Error::io(format!("creating {}", path.display())));
    let log = dir.log("deploy");
    let status = supervisor.run(
        "deploy",
        Command::new(environment.program("python"))
            .arg(dir.root().join("infra/local/deploy.py"))
            .stdin(open("deployment-request.json")?)
            .stdout(create(dir.file("deployment.json"))?)
            .stderr(create(log.clone())?),
    );
    // The request contains keys.
    dir.remove("deployment-request.json");
    require_success("the deployment", status?, Some(log))?;
    read(dir)
}

fn read(dir: &LocalDir) -> Result<Deployment, Error> {
    dir.read("deployment.json")?.ok_or_else(|| Error::NotRunning(dir.path().to_path_buf()))
}

/// Prints a function's environment in the running stack, so that its binary can be started by hand.
pub(crate) fn print_environment(dir: &LocalDir, function: &str, as_json: bool) -> Result<ExitCode, Error> {
    let environments = environments(dir)?;
    let Some(environment) = environments.get(function) else {
        let names: Vec<&str> = environments.keys().map(String::as_str).collect();
        return Err(Error::Refused(format!("no function {function}; there are {}", names.join(", "))));
    };
    if as_json {
        println!("{}", json!(environment));
    } else {
        for (name, value) in environment {
            println!("{name}={value}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the file for `sam local --env-vars`: the variables of every function by its logical id, with this machine's
/// address as a container reaches it.
pub(crate) fn write_sam_environment(dir: &LocalDir, as_json: bool) -> Result<ExitCode, Error> {
    let all = sam_environment(&environments(dir)?);
    dir.write("sam-env.json", &all)?;
    let file = dir.file("sam-env.json").display().to_string();
    println!("{}", if as_json { json!({ "file": file }).to_string() } else { file });
    Ok(ExitCode::SUCCESS)
}

/// Every function's environment in the running stack, by the function's name.
pub(crate) fn environments(dir: &LocalDir) -> Result<BTreeMap<String, BTreeMap<String, String>>, Error> {
    dir.stack()?;
    Ok(read(dir)?.environments)
}

fn sam_environment(
    environments: &BTreeMap<String, BTreeMap<String, String>>,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let reached = |value: &String| value.replace("127.0.0.1", "host.docker.internal");
    let of = |variables: &BTreeMap<String, String>| {
        variables.iter().map(|(name, value)| (name.clone(), reached(value))).collect()
    };
    environments.iter().map(|(name, variables)| (logical_id(name), of(variables))).collect()
}

/// The logical id of a function's folder: `email-sender` is `EmailSenderFunction` in the template.
fn logical_id(folder: &str) -> String {
    let words = folder.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    });
    words.collect::<String>() + "Function"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sam_finds_every_function_and_reaches_this_machine() {
        let variables = BTreeMap::from([("AWS_ENDPOINT_URL".to_owned(), "http://127.0.0.1:4566".to_owned())]);
        let all = sam_environment(&BTreeMap::from([("email-sender".to_owned(), variables)]));
        assert_eq!(all["EmailSenderFunction"]["AWS_ENDPOINT_URL"], "http://host.docker.internal:4566");
        let template = include_str!("../../../template.yaml");
        for name in ["checkout", "email-retry", "audit-digest"] {
            assert!(template.contains(&format!("\n  {}:\n", logical_id(name))), "{name}");
        }
    }
}
