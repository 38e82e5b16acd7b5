//! `oracle show`.

use std::fmt::Write;

use clap::Args;
use domain::{mail::Letter, money::Money, sale::Fulfilment};
use operations::{
    list::mail_state,
    show::{self, Overview},
};
use serde_json::Value;

use super::sale_name::{self, SaleName};
use crate::{
    audit::report::seconds,
    command::{CommandError, Ended, OrFailed, Target, wait},
    terminal::output::{self, minute, printable, wrapped},
};

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The sale's Stripe session, or its reference: the last 8 characters, by which alerts and customers name it.
    #[arg(value_name = "SALE", value_parser = sale_name::parse)]
    sale: SaleName,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(arguments: &ShowArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.target.open()?;
    let ports = show::Ports { store: &deployed.stores.sales, objects: &deployed.stores.log };
    let session = arguments.sale.find(&deployed)?;
    let overview = wait(async { show::show(ports, &session).await.or_failed("the sale cannot be read") })?;
    let Some(overview) = overview else {
        return Err(CommandError::Refused("there is no such sale".to_owned()));
    };
    output::print_answer(arguments.target.json, &overview, || for_people(&overview, output::width()))
}

fn for_people(overview: &Overview, width: usize) -> String {
    let mut text = String::new();
    for (title, value) in state(overview) {
        let _ = writeln!(text, "{title:<16}{}", printable(&value));
    }
    let missing = overview.records.saturating_sub(overview.timeline.len() as u64);
    let _ = writeln!(text, "\n{} records, {} in the log", overview.records, overview.records_in_log);
    if missing > 0 {
        let _ = writeln!(text, "{missing} RECORDS ARE MISSING");
    }
    match &overview.finding {
        None => text.push_str("their chain is sound; `oracle audit verify` asks the signed digests as well\n"),
        Some(finding) => {
            let _ = writeln!(text, "DAMAGED: {}\n    {}", printable(&finding.key), finding.damage.words());
        }
    }
    for record in &overview.timeline {
        let (head, fields) = describe(record);
        let _ = writeln!(text, "{}", printable(&head));
        text.push_str(&wrapped(&printable(&fields), 4, width));
    }
    text
}

/// The sale's state in the table, line by line.
fn state(overview: &Overview) -> Vec<(&'static str, String)> {
    let mut lines = vec![("session", overview.session.as_str().to_owned())];
    let Some(sale) = &overview.sale else {
        lines.push(("state", "the table does not know this sale; what follows is the log's word alone".to_owned()));
        return lines;
    };
    lines.extend([
        ("received", sale.received_at().to_iso()),
        ("tier", sale.tier().map_or("not known", domain::Tier::key).to_owned()),
        ("verdict", fulfilment(sale.fulfilment())),
        ("money", money(sale.money())),
    ]);
    let payment = sale.payment();
    lines.extend(payment.refunds().iter().map(|refund| {
        let amount = refund.amount.map_or_else(|| "all".to_owned(), |amount| amount.to_string());
        ("refund", format!("{} of {amount}: {:?} {}", refund.id, refund.status, refund.at).to_lowercase())
    }));
    lines.extend(payment.disputes().iter().map(|dispute| {
        let by = dispute.respond_by.filter(|_| dispute.status.awaits_answer());
        let by = by.map_or_else(String::new, |by| format!(", answer by {by}"));
        ("dispute", format!("{}: {} {}{by}", dispute.id, dispute.status.words(), dispute.at))
    }));
    lines.extend(Letter::ALL.map(|letter| (mail_title(letter), mail_state(sale.letter(letter)).to_owned())));
    if sale.is_followup() {
        lines.push(("follows", sale.session_id().paid_session().as_str().to_owned()));
    }
    if let Some(followup) = &overview.followup {
        lines.push((
            "follow-up",
            format!("{}; see {}", fulfilment(followup.fulfilment()), followup.session_id().as_str()),
        ));
    }
    if !sale.replies().is_empty() {
        let waiting = sale.waiting_replies().count();
        let returned = if sale.replies().iter().any(|reply| reply.is_report) { ", with a returned mail" } else { "" };
        lines.push(("replies", format!("{waiting} waiting, {} settled{returned}", sale.replies().len() - waiting)));
    }
    lines.push(match &overview.open {
        Some(open) => ("open", format!("{}, due {}", open.work.as_str(), minute(&open.due.to_iso()))),
        None => ("open", "nothing".to_owned()),
    });
    lines
}

const fn mail_title(letter: Letter) -> &'static str {
    match letter {
        Letter::Verdict => "verdict mail",
        Letter::SilentDrop => "question mail",
        Letter::Divergence => "divergence mail",
        Letter::Refund => "refund mail",
    }
}

fn fulfilment(fulfilment: &Fulfilment) -> String {
    match fulfilment {
        Fulfilment::Ordered { at } => format!("ordered {at}"),
        Fulfilment::Generating { lease_until, .. } => format!("being made, until {lease_until} at the latest"),
        Fulfilment::Ready { at, archived } => {
            format!("ready {at}{}", if *archived { ", archived" } else { ", not archived yet" })
        }
        Fulfilment::InReview { gate, at } => format!("held at gate {gate} {at}"),
        Fulfilment::Failed { reason, at } => format!("failed {at}: {reason}"),
        Fulfilment::Unusable { at } => format!("no usable tier or question {at}"),
        Fulfilment::Erased { at, removed_at: None, .. } => format!("erased {at}, and looked for once more soon"),
        Fulfilment::Erased { at, removed_at: Some(removed_at), .. } => format!("erased {at}, all of it {removed_at}"),
    }
}

fn money(money: &Money) -> String {
    match money {
        Money::Kept => "kept".to_owned(),
        Money::RefundAuthorised { at, .. } => format!("refund authorised {at}"),
        Money::Refunded { at } => format!("refunded {at}"),
        Money::RefundFailed { at, .. } => format!("the refund came back {at}"),
        Money::Disputed { at, bounced: true, .. } => format!("disputed {at}, after a refund that came back"),
        Money::Disputed { at, .. } => format!("disputed {at}"),
    }
}

/// Fields that do not help readers, or that every record has.
const LEFT_OUT: [&str; 15] = [
    "timestamp",
    "event",
    "session_id",
    "tier",
    "query_hash",
    "verdict_hash",
    "email",
    "latency_ms",
    "v",
    "stream",
    "seq",
    "prev",
    "list_hash",
    "threshold",
    "phi",
];

/// A record for readers: its time and type, and the fields of its type.
fn describe(record: &Value) -> (String, String) {
    let Some(object) = record.as_object() else { return ("not a record".to_owned(), record.to_string()) };
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("-");
    let is_shown = |(name, value): &(&String, &Value)| !LEFT_OUT.contains(&name.as_str()) && !value.is_null();
    // The facts inside an object are listed with the other fields.
    let (details, fields): (Vec<_>, Vec<_>) = object.iter().filter(is_shown).partition(|(_, value)| value.is_object());
    let details = details.into_iter().flat_map(|(_, value)| value.as_object().into_iter().flatten());
    let fields: Vec<String> = fields
        .into_iter()
        .chain(details)
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    let latency = object.get("latency_ms").and_then(Value::as_u64).filter(|_| text("event") == "pipeline");
    let latency = latency.map_or_else(String::new, |millis| format!(", after {}", seconds(millis)));
    (format!("{}  {}{latency}", text("timestamp"), text("event")), fields.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    use audit_verify::stream::{Damage, Finding};
    use domain::{Sale, SessionId, Timestamp};
    use serde_json::json;

    #[test]
    fn a_sale_is_shown_with_its_records_and_what_is_missing() {
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), Timestamp::from_seconds(0));
        let record = json!({
            "timestamp": "2026-04-16T14:23:07.412Z", "event": "pipeline", "source": "webhook", "status": "ERROR",
            "error_detail": "bad\nline", "details": {"model": "gemini-x", "attempts": 2}, "seq": 1, "prev": "h", "session_id": "cs_test_1",
        });
        let session = sale.session_id().clone();
        let open = sale.open_work();
        let mut overview = Overview {
            session,
            open,
            sale: Some(sale),
            followup: None,
            timeline: vec![record],
            records: 2,
            records_in_log: 1,
            finding: None,
        };
        let text = for_people(&overview, 120);
        assert!(text.contains("verdict         ordered 1970-01-01T00:00:00.000Z\n"), "{text}");
        assert!(text.contains("open            in_flight, due 1970-01-01 00:20\n"), "{text}");
        assert!(text.contains("\n1 RECORDS ARE MISSING\n"), "{text}");
        assert!(text.contains("\ntheir chain is sound;"), "{text}");
        let fields = "error_detail=bad line source=webhook status=ERROR attempts=2 model=gemini-x";
        let lines = &format!("2026-04-16T14:23:07.412Z  pipeline\n    {fields}\n");
        let finding = Finding { key: "2026-04-16/session/cs_test_1/000002.json".to_owned(), damage: Damage::Truncated };
        overview.finding = Some(finding);
        let damaged = for_people(&overview, 120);
        assert!(
            damaged.contains("DAMAGED: 2026-04-16/session/cs_test_1/000002.json\n    is gone with all"),
            "{damaged}"
        );
        assert!(text.ends_with(lines), "{text}");
        let followup = SessionId::parse("cs_test_1").unwrap().followup();
        overview.followup = Some(Sale::ordered(followup, Timestamp::from_seconds(0)));
        let text = for_people(&overview, 120);
        assert!(text.contains("follow-up       ordered 1970-01-01T00:00:00.000Z; see cs_test_1-followup\n"), "{text}");
        (overview.sale, overview.open) = (None, None);
        let text = for_people(&overview, 120);
        assert!(text.contains("the table does not know this sale") && text.ends_with(lines), "{text}");
    }
}
