//! `oracle completions` and `oracle man`: generates shell completions and manual pages from the commands.

use std::{io, path::PathBuf};

use clap::Args;
use clap_complete::Shell;

use super::output;
use crate::command::{CommandError, Ended};

#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

#[derive(Args)]
pub(crate) struct ManArguments {
    /// Write a page for every command into this directory, which must exist, instead of one page to standard output.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn completions(arguments: &CompletionsArguments, oracle: clap::Command) -> Result<Ended, CommandError> {
    output::print(&script(arguments.shell, oracle))?;
    Ok(Ended::Done)
}

fn script(shell: Shell, mut oracle: clap::Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut oracle, "oracle", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

pub(crate) fn man(arguments: &ManArguments, oracle: clap::Command) -> Result<Ended, CommandError> {
    match &arguments.dir {
        None => page(oracle, &mut io::stdout().lock())?,
        Some(dir) => {
            let failed = |error| CommandError::failed(&format!("{} cannot be written to", dir.display()), error);
            clap_mangen::generate_to(oracle, dir).map_err(failed)?;
        }
    }
    Ok(Ended::Done)
}

fn page(oracle: clap::Command, output: &mut dyn io::Write) -> io::Result<()> {
    clap_mangen::Man::new(oracle).render(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn names(command: &clap::Command) -> Vec<String> {
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect()
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell, crate::Arguments::command());
            for name in names(&crate::Arguments::command()) {
                assert!(script.contains(&name), "{shell} does not know {name}");
            }
            assert!(script.contains("redrive") && script.contains("stack-name"), "{shell}");
        }
    }

    #[test]
    fn the_manual_mentions_every_command_and_has_an_example() {
        let mut text = Vec::new();
        page(crate::Arguments::command(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with(".ie") && text.contains(".TH oracle 1"), "no manual page: {text}");
        for name in names(&crate::Arguments::command()).iter().filter(|name| *name != "help") {
            assert!(text.contains(&format!("oracle\\-{}(1)", name.replace('-', "\\-"))), "{name} is missing");
        }
        assert!(text.contains("Exit codes") && text.contains("Example"));
    }
}
