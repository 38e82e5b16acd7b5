//! `oracle`: the operator's command line. Every command has its help text, its example and its call here, and its code
//! in the folder of its subject. The file has more than 300 lines because it lists all commands.

mod anvil;
mod audit;
mod authority;
mod chat;
mod command;
mod command_error;
#[cfg(test)]
mod documented_commands;
mod evidence;
mod mail;
mod memory;
mod operation;
mod sales;
mod stack;
mod terminal;
mod texts;
mod toll;

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use command::{CommandError, Ended, Target};

/// What every command's exit code means.
const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  refused, not found or declined, or a check found something wrong
  2  failed, or wrong arguments

Example:
  oracle status --stack-name oracle --profile ops

Without --stack-name the stack of `cargo xtask up` is meant. Credentials and region are found as the AWS CLI finds \
them: environment, profiles of ~/.aws, web identity, container, instance.";

/// The operator's command line of Oracle.
#[derive(Parser)]
#[command(name = "oracle", version, about, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Arguments {
    /// Colour on a terminal, always or never; NO_COLOR is respected.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: terminal::style::ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check texts against the block list, one JSON object a line.
    ///
    /// Reads {"id","text"} lines from standard input and writes {"id","outcome","text","hits","list_version"}
    /// lines; "start" and "end" of a hit are byte offsets into the input text. No network.
    #[command(
        after_help = "Example:\n  echo '{\"id\":\"1\",\"text\":\"Your coherence score is high.\"}' | oracle filter\n\nExit code 2: a line was not such an object; the lines before it are answered.",
        args_conflicts_with_subcommands = true
    )]
    Filter(FilterArguments),
    /// Score verdicts for structural consistency, one JSON object a line.
    ///
    /// Reads {"id","tier","verdict"} lines from standard input, where the verdict is an object or the model's
    /// raw reply as a string, and writes {"id","approved","coherence_score","threshold","verdict_label",
    /// "flags","crosscheck_reason"} lines. No network.
    #[command(
        after_help = "Example:\n  echo '{\"id\":\"1\",\"tier\":\"quick\",\"verdict\":{\"verdict\":\"GREEN\",\"summary\":\"Go.\"}}' | oracle crosscheck\n\nExit code 2: a line was not such an object; the lines before it are answered."
    )]
    Crosscheck(LinesArguments),
    /// The authority gate: evaluate, explain, vectors, attest; queue, escalations, approve, reject.
    #[command(subcommand, after_help = "Example:\n  oracle authority explain 'Is this legal?'")]
    Authority(authority::command::AuthorityCommand),
    /// The quality gate, for a system, a configuration or a deployment: assess, smoke, corpus, report, override.
    #[command(subcommand, after_help = "Example:\n  oracle anvil assess < requests.jsonl")]
    Anvil(anvil::command::AnvilCommand),
    /// List everything that waits for a human, most urgent first.
    ///
    /// Sales with open work of every kind, inquiries, tasks of the Bridge, purchases in USDC, and automatic work that is
    /// late. An exclamation mark marks what is past its due time. `oracle status` counts each kind and names its
    /// command. The runbook has the rest.
    #[command(visible_alias = "open", after_help = "Example:\n  oracle list --json | jq '.[] | select(.overdue)'")]
    List(Target),
    /// Is anything wrong now? One screen: open work, dead letters, circuits, deploy gate, audit log, dependencies,
    /// alarms, last runs.
    #[command(
        after_help = "Example:\n  oracle status --stack-name oracle\n\nExit code 1: a check failed, or could not be made."
    )]
    Status(Target),
    /// Find a customer's sales by address, card, amount or day: asks Stripe, and keeps nothing.
    ///
    /// Prints the state of each and its reference, which every other command accepts.
    #[command(
        after_help = "Examples:\n  oracle find --email buyer@example.com --since 2020-01-01\n  oracle find --last4 4242 --amount 5.00 --since 3d\n\nExit code 1: Stripe knows no such completed session."
    )]
    Find(sales::find::FindArguments),
    /// Are the vendors' accounts and the AWS account set up as the stack needs? Says what to do where they are not.
    ///
    /// Stripe's keys, webhook endpoint, payment links and customer portal, the models, the mailbox's permissions, the
    /// toll's facilitator and node, Amazon SES, the topics' subscriptions, log retention and Lambda's quota. Changes
    /// nothing.
    #[command(
        after_help = "Example:\n  oracle doctor --stack-name oracle\n\nExit code 1: a check failed, or could not be made."
    )]
    Doctor(Target),
    /// Show one sale: its state, its money, its mails, and its story from the audit log.
    #[command(after_help = "Example:\n  oracle show cs_live_abc123\n\nExit code 1: there is no such sale.")]
    Show(sales::show::ShowArguments),
    /// Dead-lettered mails: list, show, redrive, settle.
    #[command(subcommand, after_help = "Example:\n  oracle deadletters list")]
    Deadletters(mail::deadletters::DeadLettersCommand),
    /// Queues and their dead letters: list, show, remove, redrive.
    #[command(subcommand, after_help = "Example:\n  oracle queues list")]
    Queues(operation::queues::QueuesCommand),
    /// What the content filter holds: list, show, approve, replace, refund.
    #[command(subcommand, after_help = "Example:\n  oracle quarantine list")]
    Quarantine(sales::quarantine::QuarantineCommand),
    /// Delivered verdicts that today's block list would hold: list, show, dismiss, replace.
    #[command(subcommand, after_help = "Example:\n  oracle findings list")]
    Findings(sales::findings::FindingsCommand),
    /// Mails that were delivered: send-again.
    #[command(subcommand, after_help = "Example:\n  oracle mail send-again cs_live_abc123")]
    Mail(mail::command::MailCommand),
    /// Sales whose money needs a decision: list, issue, record.
    #[command(subcommand, after_help = "Example:\n  oracle refunds list")]
    Refunds(sales::refunds::RefundsCommand),
    /// Customers' replies to the mails of a sale: list, show, settle.
    #[command(subcommand, after_help = "Example:\n  oracle replies list")]
    Replies(mail::replies::RepliesCommand),
    /// Messages that answer no mail of ours, or whose sale could not be determined: list, show, settle.
    #[command(subcommand, after_help = "Example:\n  oracle inquiries list")]
    Inquiries(mail::inquiries::InquiriesCommand),
    /// Purchases in USDC that wait for a human: list, show, settle.
    #[command(subcommand, after_help = "Example:\n  oracle toll list")]
    Toll(toll::command::TollCommand),
    /// The texts that answers sold to agents draw on: build, show, activate.
    #[command(subcommand, after_help = "Example:\n  oracle corpus build texts/")]
    Corpus(toll::corpus::CorpusCommand),
    /// Sessions of the chat: sign-out.
    #[command(
        subcommand,
        after_help = "Example:\n  oracle chat sign-out ADDRESS --by dana --reason 'their laptop was stolen'"
    )]
    Chat(chat::sessions::ChatCommand),
    /// Subscribers of the chat: list, show.
    #[command(subcommand, after_help = "Example:\n  oracle subscriptions list")]
    Subscriptions(chat::subscriptions::SubscriptionsCommand),
    /// The Bridge: who accepted the agreement and who has access; list, show, grant, revoke, reply, settle.
    #[command(subcommand, after_help = "Example:\n  oracle bridge list")]
    Bridge(chat::bridge::BridgeCommand),
    /// The audit log: verify, report, digests.
    #[command(subcommand, after_help = "Example:\n  oracle audit verify --since 2026-11-01")]
    Audit(audit::command::AuditCommand),
    /// The cached verdicts: status, remove.
    #[command(subcommand, after_help = "Example:\n  oracle cache status")]
    Cache(sales::cache::CacheCommand),
    /// Try the whole deployed pipeline with an order of its own, in ten stages.
    ///
    /// Creates a session in Stripe's test mode, plays its payment, and follows it to its verdict, its page, its mail
    /// and out of the cache again, within a minute. Needs a test-mode key (sk_test_...) in the stack's secrets.
    #[command(
        after_help = "Example:\n  oracle smoke\n\nExit code 0: all stages passed. 1: one or more stages failed. 2: the environment check failed."
    )]
    Smoke(operation::smoke::SmokeArguments),
    /// The memory behind chat and follow-ups: replay, schema, export, import, show, verify, erase.
    #[command(subcommand, after_help = "Example:\n  oracle memory replay --budget 8000 < events.jsonl")]
    Memory(memory::command::MemoryCommand),
    /// The secrets of a stack: list, set.
    #[command(subcommand, after_help = "Example:\n  oracle secrets list")]
    Secrets(operation::secrets::SecretsCommand),
    /// Order the verdicts of failed or unusable sales again.
    ///
    /// The pipeline makes each, with all checks and gates. An unusable sale needs the customer's tier and question; a failed
    /// one uses those that Stripe has, unless both are given. With filters instead of sales: all that failed since then, or
    /// for that reason.
    #[command(
        after_help = "Examples:\n  oracle reattempt cs_live_abc123 --tier full --query-file reply.txt --by dana --reason 'answered by mail'\n  oracle reattempt --failed-since 2h --reason-like 503 --dry-run\n  oracle reattempt --failed-since 2h --by dana --reason 'the model is back' --wait\n\nExit code 1: refused."
    )]
    Reattempt(sales::reattempt::ReattemptArguments),
    /// Erase a sale's data at its customer's request.
    ///
    /// Ends pending work and removes verdict, archived verdict, submission, held payloads, dead letters, and the
    /// mailbox's drafts, sent mails and replies. The page answers 410 from then on. The audit log stays: it holds digests
    /// and no text. Stripe's own data stays: erase it there.
    #[command(
        after_help = "Example:\n  oracle erase cs_live_abc123 --dry-run\n  oracle erase cs_live_abc123 --by dana --reason 'request of 2026-11-20'\n  oracle erase cs_live_abc123 --by dana --reason 'request of 2026-11-20' --yes  # from a script\n\nExit code 1: refused, or there is no such sale."
    )]
    Erase(sales::erase::EraseArguments),
    /// Print the completions for a shell.
    #[command(after_help = "Example:\n  oracle completions bash > ~/.local/share/bash-completion/completions/oracle")]
    Completions(terminal::pages::CompletionsArguments),
    /// Print the manual page, or write one for every command.
    #[command(after_help = "Examples:\n  oracle man | man -l -\n  oracle man --dir ~/.local/share/man/man1")]
    Man(terminal::pages::ManArguments),
}

#[derive(Args)]
struct FilterArguments {
    #[command(subcommand)]
    command: Option<FilterCommand>,
    #[command(flatten)]
    lines: LinesArguments,
}

#[derive(Args)]
struct LinesArguments {
    /// JSON lines are the output with and without this; every command takes it.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum FilterCommand {
    /// Show what the filter finds in each view of a text, and why it passes or not.
    ///
    /// Takes the text as an argument or, without one, from standard input.
    #[command(after_help = "Example:\n  oracle filter explain 'The options are manifold, says N&#79;US.'")]
    Explain {
        /// The text.
        text: Option<String>,
        /// Write one JSON object instead of lines for people.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    terminal::style::choose(arguments.color);
    match run(arguments.command) {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Nothing) => ExitCode::from(1),
        Ok(Ended::Misconfigured) => ExitCode::from(2),
        // The reader closed the pipe, as in `oracle man | head`.
        Err(error) if terminal::output::is_broken_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            report(error.as_ref());
            let refused = matches!(error.downcast_ref(), Some(CommandError::Refused(_)));
            ExitCode::from(if refused { 1 } else { 2 })
        }
    }
}

fn run(command: Command) -> Result<Ended, Box<dyn Error>> {
    let output = || BufWriter::new(io::stdout().lock());
    Ok(match command {
        Command::List(target) => operation::list::run(&target)?,
        Command::Find(arguments) => sales::find::run(&arguments)?,
        Command::Status(target) => operation::status::run(&target)?,
        Command::Doctor(target) => operation::doctor::run(&target)?,
        Command::Queues(command) => operation::queues::run(&command)?,
        Command::Completions(arguments) => terminal::pages::completions(&arguments, Arguments::command())?,
        Command::Man(arguments) => terminal::pages::man(&arguments, Arguments::command())?,
        Command::Show(arguments) => sales::show::run(&arguments)?,
        Command::Deadletters(command) => mail::deadletters::run(&command)?,
        Command::Mail(command) => mail::command::run(&command)?,
        Command::Findings(command) => sales::findings::run(&command)?,
        Command::Quarantine(command) => sales::quarantine::run(&command)?,
        Command::Refunds(command) => sales::refunds::run(&command)?,
        Command::Replies(command) => mail::replies::run(&command)?,
        Command::Inquiries(command) => mail::inquiries::run(&command)?,
        Command::Toll(command) => toll::command::run(&command)?,
        Command::Corpus(command) => toll::corpus::run(&command)?,
        Command::Chat(command) => chat::sessions::run(&command)?,
        Command::Subscriptions(command) => chat::subscriptions::run(&command)?,
        Command::Bridge(command) => chat::bridge::run(&command)?,
        Command::Audit(command) => audit::command::run(&command)?,
        Command::Cache(command) => sales::cache::run(&command)?,
        Command::Memory(command) => memory::command::run(&command, io::stdin().lock(), output())?,
        Command::Erase(arguments) => sales::erase::run(&arguments)?,
        Command::Reattempt(arguments) => sales::reattempt::run(&arguments)?,
        Command::Secrets(command) => operation::secrets::run(&command)?,
        Command::Smoke(arguments) => operation::smoke::run(&arguments)?,
        Command::Anvil(command) => anvil::command::run(&command, io::stdin().lock(), output())?,
        Command::Authority(command) => authority::command::run(&command, io::stdin().lock(), output())?,
        Command::Filter(FilterArguments { command: None, .. }) => {
            texts::filter::run(io::stdin().lock(), output())?;
            Ended::Done
        }
        Command::Filter(FilterArguments { command: Some(FilterCommand::Explain { text, json }), .. }) => {
            let text = text.map_or_else(|| io::read_to_string(io::stdin()), Ok)?;
            texts::filter::explain(&text, json, output())?;
            Ended::Done
        }
        Command::Crosscheck(_) => {
            texts::crosscheck::run(io::stdin().lock(), output())?;
            Ended::Done
        }
    })
}

fn report(error: &dyn Error) {
    terminal::progress::clear();
    let mut text = format!("oracle: {error}\n");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!("  because: {cause}\n"));
        source = cause.source();
    }
    // Standard error may be closed, and the exit code says it too.
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help of a group names every command of the group.
    #[test]
    fn a_groups_help_names_all_its_commands() {
        let mut groups: Vec<clap::Command> = Arguments::command().get_subcommands().cloned().collect();
        let mut count = 0;
        while let Some(group) = groups.pop() {
            let about = group.get_about().map(ToString::to_string).unwrap_or_default();
            let words: Vec<&str> = about.split(|c: char| !c.is_ascii_lowercase() && c != '-').collect();
            for command in group.get_subcommands().filter(|_| group.is_subcommand_required_set()) {
                assert!(words.contains(&command.get_name()), "{}: {}: {about}", group.get_name(), command.get_name());
                count += 1;
            }
            groups.extend(group.get_subcommands().cloned());
        }
        assert!(count > 60, "{count}");
    }

    /// Every command has a description with an example, and a JSON output if it has any output.
    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command) {
            for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Example"), "{} has no example", command.get_name());
                assert!(command.get_about().is_some(), "{}", command.get_name());
                let names: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
                let is_for_the_shell = ["completions", "man"].contains(&command.get_name());
                let answers = !command.has_subcommands() && !is_for_the_shell;
                assert!(!answers || names.contains(&"json"), "{} has no --json", command.get_name());
                check(command);
            }
        }
        Arguments::command().debug_assert();
        check(&Arguments::command());
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure_and_a_broken_connection_is() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let is_ours = |error: Box<dyn Error>| terminal::output::is_broken_pipe(error.as_ref());
        assert!(is_ours(broken().into()) && is_ours(CommandError::Terminal(broken()).into()));
        assert!(is_ours(terminal::json_lines::LinesError::Write(broken()).into()));
        assert!(!is_ours(CommandError::Terminal(io::Error::from(io::ErrorKind::PermissionDenied)).into()));
        assert!(!is_ours(CommandError::failed("Stripe cannot be asked", broken()).into()));
    }

    /// A script whose variable is not set.
    #[test]
    fn an_empty_filter_selects_nothing() {
        let parse = |filter: &str| Arguments::try_parse_from(["oracle", "refunds", "issue", "--reason-like", filter]);
        assert!(parse("503").is_ok() && parse("").is_err());
    }

    #[test]
    fn a_submission_is_handed_in_whole() {
        let parse = |words: &str| Arguments::try_parse_from(words.split(' '));
        assert!(parse("oracle reattempt cs_live_1 --tier full --query-file q.txt").is_ok());
        assert!(parse("oracle reattempt cs_live_1").is_ok());
        assert!(parse("oracle reattempt cs_live_1 --tier full").is_err());
        assert!(parse("oracle reattempt cs_live_1 --query-file q.txt").is_err());
        assert!(parse("oracle reattempt cs_live_1 --tier gold --query-file q.txt").is_err());
        assert!(parse("oracle deadletters redrive ../x").is_err());
    }
}
