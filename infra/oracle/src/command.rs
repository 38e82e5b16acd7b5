//! Shared by the commands: their arguments, their exit codes, and the confirmation before a change.

use std::{
    future::Future,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use domain::SessionId;
use operations::Operator;
use runtime::Environment;

pub(crate) use crate::command_error::{CommandError, OrFailed, OrRefused};
use crate::stack::{Deployed, account::Wanted};

/// The end of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Exit code 0.
    Done,
    /// Nothing was done, the change was refused, or something is wrong: exit code 1.
    Nothing,
    /// The smoke test's environment check failed: exit code 2.
    Misconfigured,
}

/// Where the stack is, and how to answer.
#[derive(Args, Default)]
pub(crate) struct Target {
    /// A deployed stack, by its name; without this the stack in the file --stack.
    #[arg(long, value_name = "NAME", conflicts_with = "stack", help_heading = "Stack")]
    stack_name: Option<String>,
    /// A stack's file: stack.json, or what `aws cloudformation describe-stacks --stack-name NAME` printed; without this
    /// the stack.json in ORACLE_LOCAL_DIR, or in target/local of this directory or of one above it.
    #[arg(long, value_name = "FILE", help_heading = "Stack")]
    stack: Option<PathBuf>,
    /// A profile of your AWS configuration; without this AWS_PROFILE or the usual chain.
    #[arg(long, value_name = "NAME", help_heading = "Stack")]
    profile: Option<String>,
    /// The region; without this AWS_REGION, or that of the profile or the file.
    #[arg(long, value_name = "REGION", help_heading = "Stack")]
    region: Option<String>,
    /// Write JSON instead of text for people.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Target {
    pub(crate) fn open(&self) -> Result<Deployed, CommandError> {
        let wanted = Wanted { profile: self.profile.clone(), region: self.region.clone(), emulator: None };
        wait(async {
            Ok(match (&self.stack_name, &self.stack) {
                (Some(name), _) => Deployed::find(name, &wanted).await?,
                (None, Some(file)) => Deployed::open(file, wanted).await?,
                (None, None) => Deployed::open(&local_file(), wanted).await?,
            })
        })
    }
}

/// The file of the stack that `cargo xtask up` started, found as xtask finds its directory.
fn local_file() -> PathBuf {
    let chosen = Environment::of_process().optional("ORACLE_LOCAL_DIR");
    local_file_from(chosen.as_deref(), &std::env::current_dir().unwrap_or_default())
}

/// The file in the `chosen` directory. Without one: in the first `target/local` that has it, of `current` and the
/// directories above it, or of `current` if none has it.
fn local_file_from(chosen: Option<&str>, current: &Path) -> PathBuf {
    if let Some(chosen) = chosen {
        return current.join(chosen).join("stack.json");
    }
    let in_target = |directory: &Path| directory.join("target/local/stack.json");
    current.ancestors().map(in_target).find(|file| file.is_file()).unwrap_or_else(|| in_target(current))
}

/// Who decides, whether to ask first, and where the stack is: the arguments of a command that changes something.
#[derive(Args)]
pub(crate) struct Signed {
    /// Your name, for the audit log; never an address. Without it, the variable USER.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why, for the audit log; never an address.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Change things without asking. Scripts need this option, because they cannot answer the question.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Signed {
    /// Opens the stack, and names the operator.
    pub(crate) fn open(&self) -> Result<(Deployed, Operator), CommandError> {
        let deployed = self.target.open()?;
        let operator = self.operator(&deployed)?;
        Ok((deployed, operator))
    }

    /// The same, for an `action` that needs a reason.
    pub(crate) fn open_with_reason(&self, action: &str) -> Result<(Deployed, Operator), CommandError> {
        let deployed = self.target.open()?;
        let operator = self.operator_with_reason(&deployed, action)?;
        Ok((deployed, operator))
    }

    /// The operator, with the caller's AWS identity in the stack's account.
    pub(crate) fn operator(&self, deployed: &Deployed) -> Result<Operator, CommandError> {
        let operator = self.named()?;
        wait(async { Ok(operator.known_as(deployed.caller_identity().await)) })
    }

    /// The same, for an `action` that needs a reason.
    pub(crate) fn operator_with_reason(&self, deployed: &Deployed, action: &str) -> Result<Operator, CommandError> {
        match self.named()?.reason() {
            Some(_) => self.operator(deployed),
            None => Err(CommandError::Usage(format!("{action} needs a reason: --reason"))),
        }
    }

    fn named(&self) -> Result<Operator, CommandError> {
        let user = || Environment::of_process().optional("USER");
        let by = self.by.clone().or_else(user).ok_or(CommandError::NoName)?;
        Operator::parse(&by, None).map_err(CommandError::Name)?;
        Operator::parse(&by, self.reason.as_deref()).map_err(CommandError::Reason)
    }

    /// What the operator has read: what they name, or else what the question shows. With `--yes` nothing is shown, so
    /// they have to name it; `how` says with which option.
    pub(crate) fn what_was_read<T>(&self, named: Option<T>, shown: T, how: &str) -> Result<T, CommandError> {
        match named {
            Some(named) => Ok(named),
            None if self.yes => Err(CommandError::Usage(format!("with --yes, name what you have read: {how}"))),
            None => Ok(shown),
        }
    }

    /// As [`confirm`]; `--yes` skips the question.
    pub(crate) fn confirm(&self, deployed: &Deployed, question: &str) -> Result<bool, CommandError> {
        confirm(self.yes, &deployed.place(), question)
    }
}

/// Asks for a confirmation about the stack at this `place`, unless it is given `already`. Returns an error if standard
/// input is not a terminal.
pub(crate) fn confirm(already: bool, place: &str, question: &str) -> Result<bool, CommandError> {
    if already {
        return Ok(true);
    }
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(CommandError::Unconfirmed);
    }
    ask(question, place, input.lock(), io::stderr())
}

fn ask(question: &str, place: &str, mut input: impl BufRead, mut output: impl Write) -> Result<bool, CommandError> {
    let asked = write!(output, "{question} ({place}) [y/N] ").and_then(|()| output.flush());
    // Not a failure of the output: a closed pipe would end the command with 0, and nothing is done.
    asked.or_failed("the question cannot be asked")?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

pub(crate) fn session(text: &str) -> Result<SessionId, String> {
    SessionId::parse(text).map_err(|error| error.to_string())
}

/// Reads a file that an argument names.
pub(crate) fn read_file(path: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(path).or_failed(&format!("{} cannot be read", path.display()))
}

/// Runs a command's calls on this thread.
pub(crate) fn wait<T>(calls: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::output::is_broken_pipe;

    fn signed(by: &str, reason: Option<&str>) -> Signed {
        let reason = reason.map(str::to_owned);
        Signed { by: Some(by.to_owned()), reason, yes: true, target: Target::default() }
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        for (answer, yes) in
            [("y\n", true), (" YES \n", true), ("n\n", false), ("\n", false), ("", false), ("yep", false)]
        {
            let mut asked = Vec::new();
            assert_eq!(
                ask("Sure?", "oracle in ca-central-1", answer.as_bytes(), &mut asked).unwrap(),
                yes,
                "{answer:?}"
            );
            assert_eq!(asked, b"Sure? (oracle in ca-central-1) [y/N] ");
        }
    }

    #[test]
    fn a_question_that_nobody_reads_ends_the_command_with_a_failure() {
        let (reader, closed) = io::pipe().unwrap();
        drop(reader);
        let error = ask("Sure?", "oracle in ca-central-1", "y\n".as_bytes(), &closed).unwrap_err();
        assert!(!is_broken_pipe(&error), "{error}");
    }

    #[test]
    fn with_yes_an_operator_must_name_what_they_have_read() {
        let read =
            |yes: bool, named: Option<u8>| Signed { yes, ..signed("dana", None) }.what_was_read(named, 2, "--at");
        for (yes, named, expected) in [(false, None, 2), (false, Some(1), 1), (true, Some(1), 1)] {
            assert_eq!(read(yes, named).unwrap(), expected);
        }
        assert!(matches!(read(true, None), Err(CommandError::Usage(text)) if text.contains("--at")));
    }

    #[test]
    fn the_local_stack_is_found_from_a_folder_inside_the_repository() {
        let root = std::env::temp_dir().join(format!("oracle-local-file-{}", std::process::id()));
        let (inside, local) = (root.join("infra/oracle"), root.join("target/local"));
        std::fs::remove_dir_all(&root).ok();
        std::fs::create_dir_all(&inside).unwrap();
        assert_eq!(local_file_from(None, &inside), inside.join("target/local/stack.json"));
        std::fs::create_dir_all(&local).unwrap();
        std::fs::write(local.join("stack.json"), "{}").unwrap();
        assert_eq!(local_file_from(None, &inside), local.join("stack.json"));
        assert_eq!(local_file_from(None, &root), local.join("stack.json"));
        assert_eq!(local_file_from(Some("/elsewhere"), &inside), Path::new("/elsewhere/stack.json"));
        assert_eq!(local_file_from(Some("own"), &inside), inside.join("own/stack.json"));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn operators_name_themselves_and_no_address() {
        assert_eq!(signed("dana", Some("ok")).named().unwrap().name(), "dana");
        assert!(matches!(
            signed("d@x.example", None).named(),
            Err(CommandError::Name(operations::InvalidWords::Address))
        ));
        assert!(matches!(
            signed("policy desk", None).named(),
            Err(CommandError::Name(operations::InvalidWords::Policy))
        ));
        assert!(matches!(signed("dana", Some("")).named(), Err(CommandError::Reason(operations::InvalidWords::Empty))));
    }
}
