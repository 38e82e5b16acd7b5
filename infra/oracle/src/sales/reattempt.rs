//! `oracle reattempt`.

use std::{
    io,
    path::{Path, PathBuf},
};

use backend::QueueName;
use clap::Args;
use domain::{Query, SessionId, Submission, Tier, inbox::Reply, open_work::Work};
use operations::{
    reattempt::{self, Reattempt},
    replies,
};

use super::{
    bulk::{Answer, Bulk, Selection},
    waiting,
};
use crate::command::{CommandError, Ended, OrFailed, OrRefused, Signed, read_file};

#[derive(Args)]
pub(crate) struct ReattemptArguments {
    #[command(flatten)]
    selection: Selection,
    /// The tier that was paid for: quick, full or strategy.
    #[arg(long, value_name = "TIER", value_parser = tier, requires = "query_file")]
    tier: Option<Tier>,
    /// The customer's question, in a file or (-) on standard input. A line break at its end is left out.
    #[arg(long, value_name = "FILE", requires = "tier", conflicts_with_all = ["failed_since", "reason_like"])]
    query_file: Option<PathBuf>,
    /// The customers' replies that you have read, as `oracle replies show` names them; without this those that the
    /// question counts. With --yes there is no question, so name them. The command settles them.
    #[arg(long = "reply", value_name = "NAME", value_delimiter = ',')]
    replies: Vec<String>,
    #[command(flatten)]
    signed: Signed,
}

const MAY_BE_UNORDERED: &str = "the verdict may not have been ordered: repeat the command";

fn tier(key: &str) -> Result<Tier, String> {
    Tier::parse(key).map_err(|error| error.to_string())
}

pub(crate) fn run(arguments: &ReattemptArguments) -> Result<Ended, CommandError> {
    let ReattemptArguments { selection, signed, .. } = arguments;
    let submission = match (arguments.tier, &arguments.query_file) {
        (Some(_), Some(_)) if !selection.is_one() => {
            return Err(CommandError::Usage("--tier and --query-file need exactly one sale".to_owned()));
        }
        (Some(tier), Some(file)) => Some(Submission { tier, query: query(&text(file)?)? }),
        _ => None,
    };
    let (deployed, operator) = signed.open()?;
    // An unusable sale needs its customer's question, so the filters select failed sales only.
    let sessions = selection.sessions(&deployed, &[Work::Failed])?;
    let waiting = waiting::replies(&deployed, &sessions)?;
    // Without a question nothing is shown: a sale with a reply that is not named is refused.
    let read: Vec<String> = if arguments.replies.is_empty() && !signed.yes {
        waiting.iter().map(replies::name).collect()
    } else {
        arguments.replies.clone()
    };
    let orders = deployed.backend().queue(QueueName::Orders)?;
    let submissions = deployed.stores.submissions();
    let ports = reattempt::Ports { journal: deployed.stores.journal(), submissions: &submissions, orders: &orders };
    let with = if submission.is_some() { ", with this question" } else { "" };
    let act = async |session: &SessionId| {
        if selection.dry_run {
            let planned = reattempt::plan(ports, session, submission.as_ref(), &read).await;
            return Ok(match planned.or_refused("the order cannot be planned")? {
                Reattempt::Ordered => answer("would_order", "would be ordered again"),
                Reattempt::AskedAgain => {
                    answer("would_ask_again", &format!("is ordered already; it would be asked for again{with}"))
                }
            });
        }
        let ordered = reattempt::reattempt(ports, &operator, session, submission.as_ref(), &read).await;
        Ok(match ordered.or_refused(MAY_BE_UNORDERED)? {
            Reattempt::Ordered => answer("ordered", "is ordered again"),
            Reattempt::AskedAgain => {
                answer("asked_again", &format!("was ordered already; it is asked for again{with}"))
            }
        })
    };
    let question = question(&sessions, submission.as_ref(), &waiting);
    let bulk = Bulk { deployed: &deployed, selection, signed, field: "reattempt", action: "reattempt" };
    bulk.run(&sessions, &question, act)
}

fn answer(word: &'static str, text: &str) -> Answer {
    Answer { word, text: text.to_owned(), done: true }
}

fn question(sessions: &[SessionId], submission: Option<&Submission>, waiting: &[Reply]) -> String {
    let with = submission.map_or_else(
        || "with the question as the customer asked it".to_owned(),
        |submission| {
            let characters = submission.query.as_str().chars().count();
            format!("as {} with a question of {characters} characters", submission.tier.name())
        },
    );
    let settled = if waiting.is_empty() { String::new() } else { format!(", and settle {}", waiting::count(waiting)) };
    match sessions {
        [one] => format!("Order the verdict of {} again, {with}{settled}?", one.as_str()),
        all => format!("Order the verdicts of {} sales again, each {with}{settled}?", all.len()),
    }
}

fn text(file: &Path) -> Result<String, CommandError> {
    if file != Path::new("-") {
        return read_file(file);
    }
    io::read_to_string(io::stdin()).or_failed("standard input cannot be read")
}

/// Parses the question in a file without the line break at the end, which editors add.
fn query(text: &str) -> Result<Query, CommandError> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Query::parse(text).map_err(|error| CommandError::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confirmation_names_the_count_and_what_it_settles() {
        let sessions = ["cs_1", "cs_2"].map(|id| SessionId::parse(id).unwrap());
        assert!(question(&sessions, None, &[]).starts_with("Order the verdicts of 2 sales again"));
        assert!(question(&sessions[..1], None, &[]).starts_with("Order the verdict of cs_1 again"));
        let at = domain::Timestamp::from_seconds(0);
        let reply =
            Reply { message: "m".into(), at, from_buyer: None, settled_at: None, followup: None, is_report: false };
        let settles = question(&sessions[..1], None, &[reply]);
        assert!(settles.ends_with(", and settle 1 reply (1970-01-01 00:00 UTC)?"), "{settles}");
    }

    #[test]
    fn a_question_is_what_the_customer_wrote() {
        assert_eq!(query("Move?\r\n").unwrap().as_str(), "Move?");
        assert_eq!(query("Two\nlines\n\n").unwrap().as_str(), "Two\nlines\n");
        assert!(query("\n").is_err());
    }
}
