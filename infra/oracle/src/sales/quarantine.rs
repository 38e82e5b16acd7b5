//! `oracle quarantine`.

use std::{
    path::{Path, PathBuf},
    slice,
};

use aws::{S3Quarantine, SqsQueue};
use backend::QueueName;
use clap::{Args, Subcommand};
use domain::{
    Gate, Sale, SessionId, customer_text,
    open_work::Work,
    ports::{Quarantine, SaleStore, Submissions},
    sale::Fulfilment,
};
use operations::quarantine::{self, Decided};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    bulk::{Answer, Bulk, Selection},
    named_sale::NamedSale,
    refunds::{self, IssueArguments},
    signed_sale::SignedSale,
    waiting,
};
use crate::{
    command::{CommandError, Ended, OrFailed, OrRefused, Signed, Target, read_file, wait},
    evidence,
    stack::Deployed,
    terminal::output::{self, minute},
};

#[derive(Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List the sales that the content filter holds.
    #[command(after_help = "Example:\n  oracle quarantine list")]
    List(Target),
    /// Print what is held of a sale: customer content, do not share it.
    #[command(
        after_help = "Example:\n  oracle quarantine show cs_live_abc123 --json | jq '.payloads[].payload'\n\nExit code 1: nothing is held."
    )]
    Show(NamedSale),
    /// Approve held verdicts and mails unchanged, if today's content filter passes them.
    #[command(
        after_help = "Examples:\n  oracle quarantine approve cs_live_abc123 --by dana --reason 'the list was too strict'\n  oracle quarantine approve --since 2h --reason-like 'gate 1' --dry-run\n\nExit code 1: refused; the sale stays held."
    )]
    Approve {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        signed: Signed,
    },
    /// Put a cleaned verdict in place of the held one, if it passes the crosscheck and the content filter.
    #[command(
        after_help = "Example:\n  oracle quarantine replace cs_live_abc123 --file cleaned.json --by dana\n\nExit code 1: refused; the sale stays held."
    )]
    Replace(ReplaceArguments),
    /// Give the money of held sales back: as `oracle refunds issue`; with filters, of those that are held.
    #[command(
        after_help = "Example:\n  oracle quarantine refund cs_live_abc123 --by dana --reason 'cannot be cleaned'\n\nExit code 1: refused, by us or by Stripe."
    )]
    Refund(IssueArguments),
}

#[derive(Args)]
pub(crate) struct ReplaceArguments {
    /// The cleaned verdict: JSON in the form of the held one.
    #[arg(long, value_name = "VERDICT.json")]
    file: PathBuf,
    #[command(flatten)]
    one: SignedSale,
}

pub(crate) fn run(command: &QuarantineCommand) -> Result<Ended, CommandError> {
    match command {
        QuarantineCommand::List(target) => waiting::list(target, &[Work::Review]),
        QuarantineCommand::Show(one) => show(one),
        QuarantineCommand::Approve { selection, signed } => approve(selection, signed),
        QuarantineCommand::Refund(arguments) => refunds::issue(arguments, &[Work::Review]),
        QuarantineCommand::Replace(arguments) => replace(arguments),
    }
}

fn show(one: &NamedSale) -> Result<Ended, CommandError> {
    let (deployed, session) = one.open()?;
    let bucket = deployed.backend().quarantine()?;
    let (held, sale) = wait(async {
        let unreadable = |error| CommandError::failed("the quarantine cannot be read", error);
        let held = bucket.held(&session).await.map_err(unreadable)?;
        let sale = SaleStore::load(&deployed.stores.sales, &session).await.map_err(unreadable)?;
        Ok((held, sale.map(|sale| sale.value)))
    })?;
    // A stack whose deployment is older than this output may have the switch off. The parameter's default is on.
    let is_refund_on = deployed.output("QuarantineAutoRefund").is_none_or(|switch| switch == "on");
    let payloads = parsed(&held);
    let text = || for_people(&payloads, sale.as_ref(), is_refund_on, output::width());
    output::print_answer(one.target.json, &as_json(&session, &payloads), text)?;
    Ok(if held.is_empty() { Ended::Nothing } else { Ended::Done })
}

/// The stored payloads. One that is not JSON is shown unchanged.
fn parsed(held: &[String]) -> Vec<Value> {
    held.iter().map(|payload| serde_json::from_str(payload).unwrap_or_else(|_| payload.as_str().into())).collect()
}

/// One document, whatever the number of payloads, so that a program can read the whole output at once.
fn as_json(session: &SessionId, payloads: &[Value]) -> Value {
    json!({ "session_id": session, "payloads": payloads })
}

fn for_people(payloads: &[Value], sale: Option<&Sale>, is_refund_on: bool, width: usize) -> String {
    if payloads.is_empty() {
        return "no held payload of this sale is stored (payloads expire after 90 days)\n".to_owned();
    }
    let text = |payload: &Value| {
        let meaning = output::wrapped(&meaning(payload, sale, is_refund_on), 0, width);
        format!("{meaning}{}\n\n", customer_text::visible(&format!("{payload:#}")))
    };
    payloads.iter().map(text).collect()
}

/// A line on a stored payload and the possible decisions. The quarantine also stores payloads of holds that have ended.
/// `is_refund_on` is the stack's `QuarantineAutoRefund`.
fn meaning(payload: &Value, sale: Option<&Sale>, is_refund_on: bool) -> String {
    let (gate, held_at) = (Gate::deserialize(&payload["gate"]).ok(), payload["held_at"].as_str().unwrap_or("-"));
    let where_held = match gate {
        Some(Gate::BeforeCache) => "Held before it was cached: neither page nor mail has shown it.",
        Some(Gate::BeforeDelivery) => "Held before page or mail: the block list has changed since it was cached.",
        None => "Held.",
    };
    let is_this = |sale: &&Sale| {
        matches!(sale.fulfilment(), Fulfilment::InReview { gate: now, at }
            if Some(*now) == gate && at.to_iso() == held_at)
    };
    let now = match sale.filter(is_this) {
        Some(sale) if is_refund_on && sale.gives_money_back() => {
            "It waits for a decision: approve (the filter looks again), replace (with a cleaned text), or refund; \
             without a decision within 24 hours the money is refunded automatically."
        }
        Some(_) => {
            "It waits for a decision: approve (the filter looks again), replace (with a cleaned text), or refund. No \
             policy refunds it: it waits until an operator decides."
        }
        None => "This hold has ended, or never began: nothing waits for a decision about it.",
    };
    format!("{where_held} {now} Since {}.", minute(held_at))
}

pub(crate) fn read(file: &Path) -> Result<Value, CommandError> {
    serde_json::from_str(&read_file(file)?).or_failed(&format!("{} is not JSON", file.display()))
}

/// The stores and queues that a decision about a held sale needs.
struct Parts {
    orders: SqsQueue,
    retries: SqsQueue,
    notices: SqsQueue,
    bucket: S3Quarantine,
    payments: stripe::LazyClient,
}

impl Parts {
    fn of(deployed: &Deployed) -> Result<Self, CommandError> {
        Ok(Self {
            orders: deployed.backend().queue(QueueName::Orders)?,
            retries: deployed.backend().queue(QueueName::MailRetries)?,
            notices: deployed.backend().queue(QueueName::Notices)?,
            bucket: deployed.backend().quarantine()?,
            payments: deployed.backend().stripe()?,
        })
    }

    fn ports<'a>(&'a self, deployed: &'a Deployed, submissions: &'a dyn Submissions) -> quarantine::Ports<'a> {
        quarantine::Ports {
            journal: deployed.stores.journal(),
            quarantine: &self.bucket,
            payments: &self.payments,
            submissions,
            orders: &self.orders,
            retries: &self.retries,
            notices: &self.notices,
        }
    }
}

const MAY_BE_UNDONE: &str = "the decision may not have been carried out: repeat the command";

fn approve(selection: &Selection, signed: &Signed) -> Result<Ended, CommandError> {
    let (deployed, operator) = signed.open()?;
    let sessions = selection.sessions(&deployed, &[Work::Review])?;
    let parts = Parts::of(&deployed)?;
    let submissions = deployed.stores.submissions();
    let ports = parts.ports(&deployed, &submissions);
    let act = async |session: &SessionId| {
        if selection.dry_run {
            let planned = quarantine::plan_approval(ports, session).await;
            return Ok(would(planned.or_refused("the decision cannot be planned")?));
        }
        Ok(answer_for(quarantine::approve(ports, &operator, session).await.or_refused(MAY_BE_UNDONE)?))
    };
    let question = match sessions.as_slice() {
        [one] => format!("Approve {} and deliver it?", one.as_str()),
        all => format!("Approve {} held sales and deliver them?", all.len()),
    };
    let bulk = Bulk { deployed: &deployed, selection, signed, field: "decided", action: "quarantine approve" };
    bulk.run(&sessions, &question, act)
}

fn replace(arguments: &ReplaceArguments) -> Result<Ended, CommandError> {
    let ReplaceArguments { file, one } = arguments;
    let verdict = read(file)?;
    let (deployed, operator, session) = one.open()?;
    let parts = Parts::of(&deployed)?;
    let submissions = deployed.stores.submissions();
    let question = format!("Replace what is held of {} and deliver it?", session.as_str());
    let observed = evidence::of_sales(&deployed, slice::from_ref(&session))?;
    if !observed.confirm(&deployed, (&one.signed, &operator), "quarantine replace", &question)? {
        return Ok(Ended::Nothing);
    }
    let ports = parts.ports(&deployed, &submissions);
    let decided =
        wait(async { quarantine::replace(ports, &operator, &session, &verdict).await.or_refused(MAY_BE_UNDONE) })?;
    let Answer { word, text, .. } = answer_for(decided);
    let answer = json!({ "session_id": session, "decided": word });
    output::print_answer(one.signed.target.json, &answer, || format!("{} {text}\n", session.as_str()))
}

/// The outcome of a dry run.
fn would(planned: Decided) -> Answer {
    let (word, text) = match planned {
        Decided::Freed => ("would_approve", "passes today's filter and would be delivered"),
        Decided::AskedAgain => ("would_ask_again", "was decided already; its delivery would be asked for again"),
    };
    Answer { word, text: text.to_owned(), done: true }
}

fn answer_for(decided: Decided) -> Answer {
    let (word, text) = match decided {
        Decided::Freed => ("freed", "is on its way to the customer"),
        Decided::AskedAgain => ("asked_again", "was decided already; its delivery is asked for again"),
    };
    Answer { word, text: text.to_owned(), done: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;
    use testkit::sale::WithField;

    #[test]
    fn a_kept_payload_says_whether_it_waits_for_anybody() {
        let (payload, sale) = held();
        assert!(meaning(&payload, Some(&sale), true).contains("waits for a decision"));
        let at = Timestamp::from_seconds(0);
        for ended in [Fulfilment::Ready { at, archived: true }, Fulfilment::InReview { gate: Gate::BeforeDelivery, at }]
        {
            let sale = sale.clone().with("fulfilment", ended);
            assert!(meaning(&payload, Some(&sale), true).contains("This hold has ended"), "{:?}", sale.fulfilment());
        }
        assert!(meaning(&payload, None, true).contains("This hold has ended"));
    }

    /// An operator who reads that the money goes back by itself does nothing more.
    #[test]
    fn a_refund_is_promised_only_where_a_policy_makes_it() {
        let (payload, sale) = held();
        let promises = |sale: &Sale, is_refund_on| {
            let text = meaning(&payload, Some(sale), is_refund_on);
            let (promise, none) = (text.contains("refunded automatically"), text.contains("until an operator decides"));
            assert!(promise != none, "{text}");
            promise
        };
        assert!(promises(&sale, true));
        assert!(!promises(&sale, false), "QuarantineAutoRefund=off");
        assert!(!promises(&sale.with("given", true), true), "nothing was paid");
    }

    #[test]
    fn all_payloads_are_in_one_document() {
        let (payload, sale) = held();
        let payloads = parsed(&[payload.to_string(), "not JSON".to_owned()]);
        let shown = as_json(sale.session_id(), &payloads);
        assert_eq!(shown, json!({ "session_id": "cs_test_1", "payloads": [payload, "not JSON"] }));
        assert_eq!(as_json(sale.session_id(), &[]), json!({ "session_id": "cs_test_1", "payloads": [] }));
        let text = for_people(&payloads, Some(&sale), true, 120);
        assert!(text.contains("It waits for a decision") && text.contains("\"not JSON\""), "{text}");
        assert!(for_people(&[], Some(&sale), true, 120).starts_with("no held payload"));
    }

    fn held() -> (Value, Sale) {
        let at = Timestamp::from_seconds(0);
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at);
        let sale = sale.with("fulfilment", Fulfilment::InReview { gate: Gate::BeforeCache, at });
        (json!({ "gate": 1, "held_at": at.to_iso(), "payload": {} }), sale)
    }
}
