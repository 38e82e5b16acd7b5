//! `oracle reattempt`.

use std::{io::Read, path::Path, path::PathBuf};

use clap::Args;
use domain::{Query, SessionId, Submission, Tier};
use operations::reattempt::{self, Reattempt, ReattemptError};
use serde_json::json;

use crate::{
    command::{CommandError, Ended, Signature, Target, session, wait},
    output,
};

#[derive(Args)]
pub(crate) struct ReattemptArguments {
    /// The sale's Stripe session.
    #[arg(value_parser = session)]
    session: SessionId,
    /// The tier that was paid for: quick, full or strategy.
    #[arg(long, value_name = "TIER", value_parser = tier, requires = "query_file")]
    tier: Option<Tier>,
    /// The customer's question, in a file or (-) on standard input. A line break at its end is left out.
    #[arg(long, value_name = "FILE", requires = "tier")]
    query_file: Option<PathBuf>,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    target: Target,
}

fn tier(key: &str) -> Result<Tier, String> {
    Tier::parse(key).map_err(|error| error.to_string())
}

pub(crate) fn run(arguments: &ReattemptArguments) -> Result<Ended, CommandError> {
    let operator = arguments.signature.operator()?;
    let submission = match (arguments.tier, &arguments.query_file) {
        (Some(tier), Some(file)) => Some(Submission { tier, query: query(&text(file)?)? }),
        _ => None,
    };
    let deployed = arguments.target.open()?;
    let orders = deployed.queue("OrdersQueueUrl")?;
    let submissions = aws::DynamoSubmissions(&deployed.sales);
    let ports = reattempt::Ports { journal: deployed.journal(), submissions: &submissions, orders: &orders };
    let session = &arguments.session;
    let with = submission.as_ref().map_or_else(
        || "with the question that Stripe has".to_owned(),
        |submission| {
            let characters = submission.query.as_str().chars().count();
            format!("as {} with a question of {characters} characters", submission.tier.name())
        },
    );
    if !arguments.signature.confirm(&format!("Order the verdict of {} again, {with}?", session.as_str()))? {
        return Ok(Ended::Nothing);
    }
    let ordered =
        wait(async { reattempt::reattempt(ports, &operator, session, submission.as_ref()).await.map_err(failed) })?;
    let (word, told) = match ordered {
        Reattempt::Ordered => ("ordered", "is ordered again"),
        Reattempt::AskedAgain => ("asked_again", "was ordered already; it is asked for again"),
    };
    if arguments.target.json {
        output::print_json(&json!({ "session_id": session, "reattempt": word }))?;
    } else {
        output::print(&format!("{} {told}\n", session.as_str()))?;
    }
    Ok(Ended::Done)
}

fn failed(error: ReattemptError) -> CommandError {
    if error.is_refusal() {
        CommandError::Refused(error.to_string())
    } else {
        CommandError::failed("the verdict is not on order for certain", error)
    }
}

fn text(file: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| text = read)
    };
    read.map_err(|error| CommandError::failed(&format!("{} cannot be read", file.display()), error))?;
    Ok(text)
}

/// The question in a file. Editors end a file with a line break; the customer did not write it.
fn query(text: &str) -> Result<Query, CommandError> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Query::parse(text).map_err(|error| CommandError::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_what_the_customer_wrote() {
        assert_eq!(query("Move?\r\n").unwrap().as_str(), "Move?");
        assert_eq!(query("Two\nlines\n\n").unwrap().as_str(), "Two\nlines\n");
        assert!(query("\n").is_err());
    }
}
