//! `oracle queues`.
//! The file has more than 300 lines because the four subcommands and their help texts use one list of queues.

use std::{
    io::{self, Write},
    time::Duration,
};

use aws::{DeadMessage, Depth, Move, QueueAdmin};
use clap::{Args, Subcommand};
use domain::{
    Timestamp,
    message::Message,
    ports::{Clock, StorageError},
};
use runtime::{System, telemetry};
use serde::Serialize;
use serde_json::json;

use super::measurements::Measurements;
use crate::{
    command::{CommandError, Ended, OrFailed, Signed, Target, wait},
    evidence::Observed,
    stack::Deployed,
    terminal::{output, progress::counted},
};

/// Every queue: its name here, and the outputs with the URLs of the queue and of its dead letters. `alerts` has no
/// queue: its dead letters are alerts that the topics could not deliver to the webhook.
const QUEUES: [(&str, Option<&str>, &str); 7] = [
    ("orders", Some("OrdersQueueUrl"), "OrdersDeadLettersUrl"),
    ("email", Some("EmailQueueUrl"), "EmailDeadLettersUrl"),
    ("email-retry", Some("EmailRetryQueueUrl"), "EmailRetryDeadLettersUrl"),
    ("notices", Some("NoticesQueueUrl"), "NoticesDeadLettersUrl"),
    ("payments", Some("PaymentsQueueUrl"), "PaymentsDeadLettersUrl"),
    ("log-notices", Some("LogNoticesQueueUrl"), "LogNoticesDeadLettersUrl"),
    ("alerts", None, "AlertDeadLettersUrl"),
];

/// The number of a message's characters in text output; --json has the whole message.
const MOST_SHOWN: usize = 600;

/// The time between two checks of a redrive that SQS carries out.
const CHECKED_EVERY: Duration = Duration::from_secs(1);

/// The checks without progress after which a redrive is no longer followed.
const MAX_CHECKS_WITHOUT_PROGRESS: u32 = 60;

#[derive(Subcommand)]
pub(crate) enum QueuesCommand {
    /// List every queue: the waiting, in-flight and dead messages, and the age of the oldest.
    ///
    /// The numbers are SQS's approximations. CloudWatch gives the age of the waiting messages; that of dead letters is the
    /// time since the oldest of up to ten was sent.
    #[command(after_help = "Example:\n  oracle queues list --json | jq '.[] | select(.dead_letters > 0)'")]
    List(Target),
    /// Show a queue's dead letters, and why an unreadable one cannot be parsed.
    #[command(
        after_help = "Example:\n  oracle queues show orders\n\nExit code 1: the queue has no visible dead letter."
    )]
    Show(ShowArguments),
    /// Delete a dead letter that cannot be handled, or all undelivered alerts. The decision is recorded first.
    ///
    /// Its work is then never done. Redrive a readable message instead: `oracle queues redrive`. Alerts that the webhook
    /// refused are no work: read them, repair the webhook, then remove all of them with `--all`.
    #[command(
        after_help = "Examples:\n  oracle queues remove orders 5f1c2a3b-… --by dana --reason 'not ours: no such session'\n  oracle queues remove alerts --all --by dana --reason 'the webhook is repaired'\n\nExit code 1: the message is gone or hidden by another reader, there was none, not all were removed, or you declined."
    )]
    Remove(RemoveArguments),
    /// Redrive a queue's dead letters. The decision is recorded first.
    ///
    /// Safe to repeat: a worker claims the message's sale first, so that nothing happens twice; a message of
    /// log-notices may be digested twice. SQS moves the messages where it offers that; otherwise the command sends and
    /// then deletes them, ten at a time.
    #[command(
        after_help = "Examples:\n  oracle queues redrive orders\n  oracle queues redrive payments --by dana --yes --json\n\nExit code 1: there was no visible dead letter, or you declined."
    )]
    Redrive(RedriveArguments),
}

#[derive(Args)]
pub(crate) struct RedriveArguments {
    /// The queue: orders, email, email-retry, notices, payments or log-notices.
    #[arg(
        value_parser = ["orders", "email", "email-retry", "notices", "payments", "log-notices"],
        hide_possible_values = true
    )]
    queue: String,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The queue: orders, email, email-retry, notices, payments, log-notices or alerts.
    #[arg(value_parser = queue)]
    queue: Queue,
    /// The most messages to show.
    #[arg(long, value_name = "COUNT", default_value = "50")]
    most: usize,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct RemoveArguments {
    /// The queue: orders, email, email-retry, notices, payments, log-notices or alerts.
    #[arg(value_parser = queue)]
    queue: Queue,
    /// The message's id, as `oracle queues show` prints it.
    #[arg(required_unless_present = "all")]
    id: Option<String>,
    /// Every visible message of `alerts`, and of no other queue: their messages are work.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    #[command(flatten)]
    signed: Signed,
}

/// A queue by its name here.
#[derive(Clone, Copy, Debug)]
struct Queue {
    name: &'static str,
    dead_letters: &'static str,
}

fn queue(text: &str) -> Result<Queue, String> {
    let names = || QUEUES.map(|(name, ..)| name).join(", ");
    let found = QUEUES.into_iter().find(|(name, ..)| *name == text);
    found.map(|(name, _, dead_letters)| Queue { name, dead_letters }).ok_or_else(|| format!("one of {}", names()))
}

impl Queue {
    fn address(self, deployed: &Deployed) -> Result<&str, CommandError> {
        let found = deployed.output(self.dead_letters);
        found.ok_or_else(|| CommandError::Usage(format!("this stack has no queue {}", self.name)))
    }
}

/// One queue, with its dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Row {
    pub(crate) queue: &'static str,
    /// The numbers of waiting, in-flight and delayed messages; `None` for dead letters without a queue.
    pub(crate) waiting: Option<u64>,
    pub(crate) in_flight: Option<u64>,
    pub(crate) delayed: Option<u64>,
    /// The age of the oldest message in seconds, if it is known.
    pub(crate) oldest_s: Option<u64>,
    pub(crate) dead_letters: u64,
    /// Seconds since the oldest of up to ten dead letters was sent.
    pub(crate) oldest_dead_letter_s: Option<u64>,
}

pub(crate) fn run(command: &QueuesCommand) -> Result<Ended, CommandError> {
    match command {
        QueuesCommand::List(target) => list(target),
        QueuesCommand::Show(arguments) => show(arguments),
        QueuesCommand::Remove(arguments) => remove(arguments),
        QueuesCommand::Redrive(arguments) => redrive(arguments),
    }
}

fn list(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let rows = wait(async { rows(&deployed, System.now()).await.or_failed("the queues cannot be read") })?;
    output::print_answer(target.json, &rows, || table(&rows, output::width()))
}

/// Every queue that the stack has.
pub(crate) async fn rows(deployed: &Deployed, now: Timestamp) -> Result<Vec<Row>, StorageError> {
    let admin = deployed.queues();
    let measurements = Measurements::of(&deployed.account);
    let mut rows = Vec::new();
    for (queue, url, dead) in QUEUES {
        let Some(dead) = deployed.output(dead) else { continue };
        let url = url.and_then(|output| deployed.output(output));
        let depth = match url {
            Some(url) => Some(admin.depth(url).await?),
            None => None,
        };
        let dead_letters = admin.depth(dead).await?;
        let is_empty = dead_letters.waiting + dead_letters.in_flight == 0;
        let oldest = if is_empty { None } else { admin.oldest(dead).await? };
        let waits = depth.is_some_and(|depth| depth.waiting > 0);
        let oldest_s = match url.filter(|_| waits) {
            Some(url) => measurements.oldest_message(url, now).await,
            None => None,
        };
        rows.push(row(queue, depth, oldest_s, dead_letters, oldest.map(|sent| now.since(sent).as_secs())));
    }
    Ok(rows)
}

fn row(queue: &'static str, depth: Option<Depth>, oldest_s: Option<u64>, dead: Depth, oldest: Option<u64>) -> Row {
    Row {
        queue,
        waiting: depth.map(|depth| depth.waiting),
        in_flight: depth.map(|depth| depth.in_flight),
        delayed: depth.map(|depth| depth.delayed),
        oldest_s,
        dead_letters: dead.waiting + dead.in_flight + dead.delayed,
        oldest_dead_letter_s: oldest,
    }
}

fn table(rows: &[Row], width: usize) -> String {
    let number = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let age = |seconds: Option<u64>| seconds.map_or_else(|| "-".to_owned(), output::age);
    let line = |row: &Row| output::Row {
        cells: vec![
            row.queue.to_owned(),
            number(row.waiting),
            age(row.oldest_s),
            number(row.in_flight),
            number(row.delayed),
            if row.dead_letters == 0 { "0".to_owned() } else { format!("{} !", row.dead_letters) },
            age(row.oldest_dead_letter_s),
        ],
        below: String::new(),
    };
    let lines = rows.iter().map(line);
    output::table(&["QUEUE", "WAITING", "OLDEST", "IN FLIGHT", "DELAYED", "DEAD LETTERS", "OLDEST"], lines, width)
}

fn show(arguments: &ShowArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.target.open()?;
    let url = arguments.queue.address(&deployed)?;
    let admin = deployed.queues();
    let (depth, messages) = wait(async {
        let unreadable = |error| CommandError::failed("the queue cannot be read", error);
        let depth = admin.depth(url).await.map_err(unreadable)?;
        Ok((depth, admin.look(url, arguments.most).await.map_err(unreadable)?))
    })?;
    if arguments.target.json {
        let rows: Vec<_> = messages.iter().map(|message| document(arguments.queue.name, message)).collect();
        output::print_json(&rows)?;
    } else if messages.is_empty() {
        output::print(&format!("{} has no visible dead letters\n", arguments.queue.name))?;
    }
    for message in messages.iter().filter(|_| !arguments.target.json) {
        output::print(&for_people(arguments.queue.name, message, output::width()))?;
    }
    if let Some(cut) = cut(messages.len(), arguments.most, depth.waiting) {
        // Not standard output, which may be a JSON document. An advice that cannot be written is no failure.
        let _ = writeln!(io::stderr(), "{cut}");
    }
    Ok(if messages.is_empty() { Ended::Nothing } else { Ended::Done })
}

/// Says that there are more messages than `most`. The count of `waiting` ones alone does not show it: for a while it
/// includes messages that were just removed, and messages that another reader has hidden.
fn cut(shown: usize, most: usize, waiting: u64) -> Option<String> {
    let is_cut = shown >= most && (shown as u64) < waiting;
    is_cut.then(|| format!("{shown} of about {waiting} dead letters are shown: give a larger --most"))
}

fn document(queue: &str, message: &DeadMessage) -> serde_json::Value {
    json!({
        "id": message.id, "sent_at": message.sent_at.map(Timestamp::to_iso), "body": message.body,
        "unreadable": unreadable(queue, &message.body),
    })
}

fn for_people(queue: &str, message: &DeadMessage, width: usize) -> String {
    let sent = message.sent_at.map_or_else(|| "-".to_owned(), |sent| output::minute(&sent.to_iso()));
    let fault = unreadable(queue, &message.body);
    let fault = fault.map_or_else(
        || "can be read: find the cause, then oracle queues redrive".to_owned(),
        |error| {
            format!(
                "CANNOT BE READ: {error}; redrive it only after a version that can read it is deployed, or delete \
                 it: oracle queues remove"
            )
        },
    );
    let body = output::cut(&output::printable(&message.body), MOST_SHOWN);
    format!("{}  sent {sent}\n", message.id)
        + &output::wrapped(&output::printable(&fault), 2, width)
        + &output::wrapped(&body, 4, width)
}

/// The reason why no function can read a message; `None` if one can, or if the queue has no messages of ours.
fn unreadable(queue: &str, body: &str) -> Option<String> {
    let is_ours = !["log-notices", "alerts"].contains(&queue);
    is_ours.then(|| Message::parse(body).err())?.map(|error| telemetry::chain(&error))
}

fn remove(arguments: &RemoveArguments) -> Result<Ended, CommandError> {
    match &arguments.id {
        Some(id) => remove_one(arguments, id),
        None => remove_alerts(arguments),
    }
}

/// Deletes all undelivered alerts that are visible now: after an outage of the webhook there may be hundreds, and the alarm
/// on them stays raised until none is left.
fn remove_alerts(arguments: &RemoveArguments) -> Result<Ended, CommandError> {
    let queue = arguments.queue.name;
    require_alerts(queue)?;
    let (deployed, operator) = arguments.signed.open()?;
    let url = arguments.queue.address(&deployed)?;
    let admin = deployed.queues();
    let messages = wait(async { admin.look(url, usize::MAX).await.or_failed("the queue cannot be read") })?;
    let found = messages.len();
    let question = format!("Delete all {found} undelivered alert(s)? `oracle queues show {queue}` prints them.");
    if found == 0 || !arguments.signed.confirm(&deployed, &question)? {
        let answer = json!({ "queue": queue, "found": found, "removed": 0 });
        output::print_answer(arguments.signed.target.json, &answer, || "no alert was removed\n".to_owned())?;
        return Ok(Ended::Nothing);
    }
    let items = messages.iter().map(|message| document(queue, message)).collect();
    let observed = Observed { store: "dead letters", rules: &["a removed message is not put back"], items };
    let ids = messages.iter().map(|message| message.id.clone()).collect();
    let removed = wait(async {
        observed.record(&deployed, &operator, "queues remove", facts_about(queue, &messages)).await?;
        admin.delete_these(url, &ids).await.or_failed("some messages may still be there: repeat the command")
    })?;
    let answer = json!({ "queue": queue, "found": found, "removed": removed });
    output::print_answer(arguments.signed.target.json, &answer, || removed_alerts(removed, found))?;
    Ok(if removed == found { Ended::Done } else { Ended::Nothing })
}

fn require_alerts(queue: &str) -> Result<(), CommandError> {
    if queue == "alerts" {
        return Ok(());
    }
    Err(CommandError::Usage(format!("--all removes alerts only: a message of {queue} is work, so name it")))
}

/// The recorded facts about a removal of several messages: their number, and a digest of all bodies in the order of
/// `oracle queues show`, each with a line break.
fn facts_about(queue: &str, messages: &[DeadMessage]) -> serde_json::Value {
    let bodies: String = messages.iter().map(|message| format!("{}\n", message.body)).collect();
    json!({ "queue": queue, "messages": messages.len(), "sha256": audit::hash::sha256(bodies.as_bytes()) })
}

fn removed_alerts(removed: usize, found: usize) -> String {
    let left = if removed < found { "; others are hidden at the moment: try again in two minutes" } else { "" };
    format!("{removed} of {found} alert(s) are removed{left}\n")
}

fn remove_one(arguments: &RemoveArguments, id: &str) -> Result<Ended, CommandError> {
    let (deployed, operator) = arguments.signed.open()?;
    let queue = arguments.queue.name;
    let url = arguments.queue.address(&deployed)?;
    let admin = deployed.queues();
    let is_there = wait(async { admin.look(url, usize::MAX).await.or_failed("the queue cannot be read") })?;
    let Some(message) = is_there.into_iter().find(|message| message.id == id) else {
        return Err(CommandError::Refused(format!("{queue} has no visible dead letter {id}")));
    };
    let question = format!("Delete the message {id} of {queue}? Its work is then never done.");
    if !arguments.signed.confirm(&deployed, &question)? {
        return Ok(Ended::Nothing);
    }
    let facts = json!({ "queue": queue, "message": id, "sha256": audit::hash::sha256(message.body.as_bytes()) });
    let items = vec![document(queue, &message)];
    let observed = Observed { store: "dead letters", rules: &["a removed message is not put back"], items };
    let removed = wait(async {
        observed.record(&deployed, &operator, "queues remove", facts).await?;
        admin.delete(url, id).await.or_failed("the message may still be there: repeat the command")
    })?;
    let outcome = if removed { "is removed" } else { "is hidden at the moment: try again in two minutes" };
    let answer = json!({ "queue": queue, "id": id, "removed": removed });
    output::print_answer(arguments.signed.target.json, &answer, || format!("{id} {outcome}\n"))?;
    Ok(if removed { Ended::Done } else { Ended::Nothing })
}

fn redrive(arguments: &RedriveArguments) -> Result<Ended, CommandError> {
    let (deployed, operator) = arguments.signed.open()?;
    let known = QUEUES.into_iter().find(|(queue, ..)| *queue == arguments.queue);
    let addresses = known.and_then(|(_, url, dead)| Some((deployed.output(url?)?, deployed.output(dead)?)));
    let Some((url, dead)) = addresses else {
        return Err(CommandError::Usage(format!("this stack has no queue {}", arguments.queue)));
    };
    let admin = deployed.queues();
    let failed = |error| CommandError::failed("the queue cannot be read", error);
    let depth = wait(async { admin.depth(dead).await.map_err(failed) })?;
    let question = format!("Redrive {} dead letter(s) of {}?", depth.waiting, arguments.queue);
    let moved = if depth.waiting == 0 {
        0
    } else if arguments.signed.confirm(&deployed, &question)? {
        // Messages that are read are hidden from the move, so the evidence consists of the counts.
        let counts = json!({ "queue": arguments.queue, "waiting": depth.waiting, "in_flight": depth.in_flight });
        let rules = &["a worker claims the message's sale first"];
        let observed = Observed { store: "dead letters", rules, items: vec![counts] };
        wait(observed.record(&deployed, &operator, "queues redrive", json!({})))?;
        wait(async { move_back(&admin, url, dead, depth.waiting).await })?
    } else {
        return Ok(Ended::Nothing);
    };
    if arguments.signed.target.json {
        let (dead, hidden) = (depth.waiting, depth.in_flight);
        output::print_json(
            &json!({ "queue": arguments.queue, "dead_letters": dead, "moved": moved, "hidden": hidden }),
        )?;
    } else {
        output::print(&format!("{}\n", redriven(&arguments.queue, moved, depth.in_flight)))?;
    }
    Ok(if moved == 0 { Ended::Nothing } else { Ended::Done })
}

/// The result of a redrive. A move takes visible messages only, so it names hidden ones that are left.
fn redriven(queue: &str, moved: u64, in_flight: u64) -> String {
    let (done, left) = match moved {
        0 => (format!("{queue} has no visible dead letters"), "some"),
        _ => (format!("{moved} message(s) are back in {queue}"), "others"),
    };
    match in_flight {
        0 => done,
        _ => format!("{done}; {left} are hidden at the moment: try again in two minutes"),
    }
}

/// Moves the dead letters that are there now. SQS moves them if it can; otherwise this command does.
async fn move_back(admin: &QueueAdmin, url: &str, dead: &str, expected: u64) -> Result<u64, CommandError> {
    let failed = |error| CommandError::failed("not every dead letter was redriven: repeat the command", error);
    if let Some(arn) = admin.start_move(dead, url).await.map_err(failed)? {
        return followed(async || admin.latest_move(&arn).await, expected, CHECKED_EVERY).await;
    }
    let mut moved = 0;
    // Messages that become dead letters again meanwhile are left for the next redrive.
    while moved < expected {
        let some = admin.move_some(dead, url).await.map_err(failed)?;
        if some == 0 {
            break;
        }
        moved += some;
        counted(moved, expected, "messages");
    }
    Ok(moved)
}

/// Follows a move of SQS to its end, with a check every `interval`. Returns the number of moved messages, or an error if
/// the move makes no progress.
async fn followed(
    latest_move: impl AsyncFn() -> Result<Option<Move>, StorageError>,
    expected: u64,
    interval: Duration,
) -> Result<u64, CommandError> {
    let failed = |error| CommandError::failed("the move continues, but SQS does not report its progress", error);
    let (mut last, mut still) = (0, 0);
    loop {
        let latest = latest_move().await.map_err(failed)?;
        let (status, moved) = latest.as_ref().map_or(("RUNNING", 0), |latest| (latest.status.as_str(), latest.moved));
        counted(moved, expected, "messages");
        match status {
            "COMPLETED" => return Ok(moved),
            "RUNNING" | "CANCELLING" if still < MAX_CHECKS_WITHOUT_PROGRESS => {}
            "RUNNING" | "CANCELLING" => {
                let what = "SQS has not ended the move: oracle queues list shows the rest";
                let so_far = format!("it makes no progress, and {moved} of about {expected} are moved");
                return Err(CommandError::failed(what, io::Error::other(so_far)));
            }
            _ => {
                let what = format!("the move of SQS ended early ({status}): oracle queues list shows the rest");
                let why = latest.and_then(|latest| latest.failure).unwrap_or_else(|| "no reason given".to_owned());
                return Err(CommandError::failed(&what, io::Error::other(why)));
            }
        }
        still = if moved == last { still + 1 } else { 0 };
        last = moved;
        tokio::time::sleep(interval).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_move_of_sqs_is_followed_to_its_end_and_one_that_stalls_is_no_success() {
        let state = |status: &str, moved: u64| Move { status: status.to_owned(), moved, failure: None };
        let follow = |states: &[Option<Move>]| {
            let checks = Cell::new(0_usize);
            let latest = async || {
                let check = checks.replace(checks.get() + 1);
                Ok::<_, StorageError>(states[check.min(states.len() - 1)].clone())
            };
            let ended = wait(followed(latest, 3, Duration::ZERO));
            (ended, checks.get())
        };
        let (ended, checks) = follow(&[None, Some(state("RUNNING", 1)), Some(state("COMPLETED", 3))]);
        assert_eq!((ended.unwrap(), checks), (3, 3));
        for (stalled, last) in [(state("CANCELLING", 2), 2), (state("RUNNING", 0), 0)] {
            let (ended, checks) = follow(&[Some(stalled)]);
            let error = telemetry::chain(&ended.unwrap_err());
            assert!(error.contains(&format!("{last} of about 3 are moved")), "{error}");
            let first = usize::from(last > 0);
            assert_eq!(checks, MAX_CHECKS_WITHOUT_PROGRESS as usize + 1 + first);
        }
        let denied = Move { failure: Some("AccessDenied".to_owned()), ..state("FAILED", 1) };
        let (ended, _) = follow(&[Some(denied)]);
        let error = telemetry::chain(&ended.unwrap_err());
        assert!(error.contains("AccessDenied") && error.contains("ended early (FAILED)"), "{error}");
        let (ended, _) = follow(&[Some(state("CANCELLED", 1))]);
        assert!(telemetry::chain(&ended.unwrap_err()).contains("no reason given"));
    }

    #[test]
    fn an_unreadable_message_is_distinguished_from_a_readable_one() {
        let message = |body: &str| DeadMessage { id: "m-1".into(), body: body.into(), sent_at: None };
        let good = r#"{"kind":"order","v":1,"session_id":"cs_test_1","received_at":0,"ordered_by":"webhook"}"#;
        let good =
            message(&serde_json::from_str::<Message>(good).map_or_else(|error| error.to_string(), |_| good.into()));
        assert!(for_people("orders", &good, 80).contains("can be read: find"), "{}", good.body);
        let poisoned = for_people("orders", &message("{\u{1b}[2J"), 80);
        assert!(poisoned.contains("CANNOT BE READ") && !poisoned.contains('\u{1b}'), "{poisoned}");
        assert_eq!(unreadable("alerts", "anything"), None);
        let newer = good.body.replace(r#""v":1"#, r#""v":2"#);
        assert_eq!(unreadable("orders", &newer).as_deref(), Some("message version 2 is not known"));
        assert!(queue("orders").is_ok() && queue("other").is_err());
    }

    #[test]
    fn a_larger_number_is_advised_only_where_it_shows_more() {
        assert_eq!(cut(11, 50, 12), None, "the count follows a removal");
        assert_eq!(cut(50, 50, 50), None);
        let advised = "50 of about 300 dead letters are shown: give a larger --most";
        assert_eq!(cut(50, 50, 300).as_deref(), Some(advised));
        assert_eq!(cut(0, 0, 0), None);
    }

    #[test]
    fn all_alerts_are_removed_with_their_number_and_a_digest_and_no_work_is() {
        let message = |body: &str| DeadMessage { id: body.to_lowercase(), body: body.into(), sent_at: None };
        let facts = facts_about("alerts", &[message("A"), message("B")]);
        let digest = audit::hash::sha256(b"A\nB\n");
        assert_eq!(facts, json!({ "queue": "alerts", "messages": 2, "sha256": digest }));
        assert_eq!(removed_alerts(2, 2), "2 of 2 alert(s) are removed\n");
        assert!(removed_alerts(1, 2).contains("try again in two minutes"));
        assert!(require_alerts("alerts").is_ok());
        assert!(matches!(require_alerts("orders"), Err(CommandError::Usage(text)) if text.contains("alerts only")));
    }

    /// Otherwise an operator would believe that all dead letters are back.
    #[test]
    fn a_redrive_says_that_hidden_messages_are_left() {
        assert_eq!(redriven("orders", 0, 0), "orders has no visible dead letters");
        let hidden = "are hidden at the moment: try again in two minutes";
        assert_eq!(redriven("orders", 0, 1), format!("orders has no visible dead letters; some {hidden}"));
        assert_eq!(redriven("orders", 3, 0), "3 message(s) are back in orders");
        assert_eq!(redriven("orders", 3, 1), format!("3 message(s) are back in orders; others {hidden}"));
    }

    #[test]
    fn a_queue_is_one_line_and_dead_letters_stand_out() {
        let depth = Depth { waiting: 3, in_flight: 1, delayed: 0 };
        let rows = [
            row("orders", Some(depth), Some(90), Depth::default(), None),
            row("alerts", None, None, Depth { waiting: 2, ..Depth::default() }, Some(7_500)),
        ];
        let text = table(&rows, 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "QUEUE   WAITING  OLDEST  IN FLIGHT  DELAYED  DEAD LETTERS  OLDEST");
        assert_eq!(lines[1], "orders  3        1m      1          0        0             -");
        assert_eq!(lines[2], "alerts  -        -       -          -        2 !           2h");
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }
}
