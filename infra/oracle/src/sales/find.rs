//! `oracle find`: finds the sales of a customer who has no reference.

use clap::Args;
use domain::{
    CheckoutSession, EmailAddress, Sale, SessionId, Timestamp,
    mail::Mail,
    money::Money,
    open_work::Work,
    ports::{Clock, SaleStore},
    sale::Fulfilment,
};
use operations::list::mail_state;
use runtime::System;
use serde::Serialize;
use stripe::{LastDigits, Wanted};

use crate::{
    command::{CommandError, Ended, OrFailed, Target, wait},
    terminal::{
        output::{self, minute},
        when,
    },
};

#[derive(Args)]
#[group(id = "known", required = true, multiple = true, args = ["email", "last4", "amount", "since"])]
pub(crate) struct FindArguments {
    /// The address that the customer typed when paying; (-) reads it from standard input.
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// The last four digits of the card.
    #[arg(long, value_name = "DIGITS", value_parser = digits)]
    last4: Option<LastDigits>,
    /// What was charged: 5 or 5.00.
    #[arg(long, value_name = "AMOUNT", value_parser = cents)]
    amount: Option<i64>,
    /// Bought since: 2026-11-20, 2026-11-20T10:00:00Z, 90m, 24h or 3d. Without it, within 30 days.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    #[command(flatten)]
    target: Target,
}

fn digits(text: &str) -> Result<LastDigits, String> {
    LastDigits::parse(text).ok_or_else(|| "four digits".to_owned())
}

/// Parses an amount into hundredths, which every currency here has.
fn cents(text: &str) -> Result<i64, String> {
    let (whole, hundredths) = text.split_once('.').unwrap_or((text, "00"));
    let parts = (whole.parse::<i64>(), hundredths.parse::<i64>());
    match parts {
        (Ok(whole @ 0..1_000_000), Ok(part @ 0..100)) if hundredths.len() == 2 => Ok(whole * 100 + part),
        _ => Err("an amount such as 5 or 5.00".to_owned()),
    }
}

/// A completed session at Stripe and the state of its sale here.
#[derive(Debug, Serialize)]
struct Row {
    session_id: SessionId,
    reference: String,
    /// When Stripe's session was created, UTC.
    created: Option<String>,
    amount_total: Option<i64>,
    currency: Option<String>,
    /// In words.
    state: String,
    open: Option<Work>,
}

#[derive(Debug, Serialize)]
struct Found {
    /// The earliest time of a session that was looked for, UTC.
    since: String,
    /// Whether there are more sessions than one search reads.
    more: bool,
    sales: Vec<Row>,
}

pub(crate) fn run(arguments: &FindArguments) -> Result<Ended, CommandError> {
    let wanted = wanted(arguments, System.now())?;
    let deployed = arguments.target.open()?;
    let payments = deployed.backend().stripe()?;
    let found = wait(async {
        let found = payments.find(&wanted).await.or_failed("Stripe cannot be asked")?;
        let mut sales = Vec::new();
        for session in found.sessions {
            let sale =
                SaleStore::load(&deployed.stores.sales, &session.id).await.or_failed("the sale cannot be read")?;
            sales.push(row(&session, sale.as_ref().map(|sale| &sale.value)));
        }
        Ok(Found { since: wanted.since.to_iso(), more: found.more, sales })
    })?;
    output::print_answer(arguments.target.json, &found, || text(&found, output::width()))?;
    Ok(if found.sales.is_empty() { Ended::Nothing } else { Ended::Done })
}

/// What was found, and what was not looked at.
fn text(found: &Found, width: usize) -> String {
    let sales = match found.sales.as_slice() {
        [] => "Stripe knows no such completed session\n".to_owned(),
        sales => table(sales, width),
    };
    let since = format!("bought since {} UTC; look further back with --since\n", minute(&found.since));
    let more = if found.more { "there are more than one search reads: say more about it\n" } else { "" };
    format!("{sales}{since}{more}")
}

fn wanted(arguments: &FindArguments, now: Timestamp) -> Result<Wanted, CommandError> {
    let email = match arguments.email.as_deref() {
        Some("-") => Some(std::io::read_to_string(std::io::stdin().lock())?.trim().to_owned()),
        email => email.map(str::to_owned),
    };
    let no_address = |_| CommandError::Usage("--email is not an address".to_owned());
    Ok(Wanted {
        email: email.map(|email| EmailAddress::parse(&email)).transpose().map_err(no_address)?,
        last4: arguments.last4.clone(),
        amount: arguments.amount,
        since: when::parse(arguments.since.as_deref().unwrap_or("30d"), now)?,
    })
}

fn row(session: &CheckoutSession, sale: Option<&Sale>) -> Row {
    Row {
        session_id: session.id.clone(),
        reference: session.id.reference().to_owned(),
        created: session.created.map(Timestamp::to_iso),
        amount_total: session.amount_total,
        currency: session.currency.clone(),
        state: match sale {
            Some(sale) => state(sale),
            None if session.is_paid() => "paid, and unknown here: the daily comparison orders it".to_owned(),
            None => "completed without a payment, and unknown here".to_owned(),
        },
        open: sale.and_then(Sale::open_work).map(|open| open.work),
    }
}

/// One line on the state of a sale, for an answer to the customer.
fn state(sale: &Sale) -> String {
    match sale.money() {
        Money::Refunded { at } => return format!("refunded {}", minute(&at.to_iso())),
        Money::RefundAuthorised { .. } => return "refund under way".to_owned(),
        Money::RefundFailed { .. } => return "the refund came back".to_owned(),
        Money::Disputed { .. } => return "disputed".to_owned(),
        Money::Kept => {}
    }
    match (sale.fulfilment(), sale.mail()) {
        (Fulfilment::Ready { .. }, Mail::Sent { at }) => format!("delivered {}", minute(&at.to_iso())),
        (Fulfilment::Ready { .. }, mail) => format!("on the page, mail {}", mail_state(mail)),
        (Fulfilment::Failed { reason, .. }, _) => format!("failed: {reason}"),
        (Fulfilment::Unusable { .. }, _) => "no usable tier or question".to_owned(),
        (Fulfilment::InReview { gate, .. }, _) => format!("held at gate {gate}"),
        (Fulfilment::Erased { at, .. }, _) => format!("erased {}", minute(&at.to_iso())),
        (Fulfilment::Ordered { .. } | Fulfilment::Generating { .. }, _) => "being made".to_owned(),
    }
}

fn table(rows: &[Row], width: usize) -> String {
    let line = |row: &Row| output::Row {
        cells: vec![
            row.reference.clone(),
            row.created.as_deref().map_or_else(|| "-".to_owned(), minute),
            output::amount(row.amount_total.zip(row.currency.clone()).as_ref()),
            row.open.map_or("-", Work::as_str).to_owned(),
            row.state.clone(),
        ],
        below: row.session_id.as_str().to_owned(),
    };
    output::table(&["REFERENCE", "BOUGHT (UTC)", "CHARGED", "OPEN", "STATE"], rows.iter().map(line), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::sale::WithField;

    #[test]
    fn amounts_are_read_to_the_cent() {
        assert_eq!((cents("5"), cents("25.00"), cents("0.50")), (Ok(500), Ok(2500), Ok(50)));
        for text in ["", "5.0", "5.000", "-5", "5,00", "x"] {
            assert!(cents(text).is_err(), "{text}");
        }
    }

    /// An erasure that misses a sale because it is older, or beyond what is read, would look complete.
    #[test]
    fn the_answer_says_how_far_back_it_looked_and_whether_there_is_more() {
        let session = testkit::session::paid("cs_test_1");
        for (sales, more) in [(vec![], false), (vec![row(&session, None)], false), (vec![row(&session, None)], true)] {
            let is_found = !sales.is_empty();
            let found = Found { since: "2020-01-01T00:00:00.000Z".to_owned(), more, sales };
            let text = text(&found, 80);
            assert_eq!(text.contains("no such completed session"), !is_found, "{text}");
            assert!(text.contains("bought since 2020-01-01 00:00 UTC"), "{text}");
            assert_eq!(text.contains("there are more"), more, "{text}");
            let answer = serde_json::to_value(&found).unwrap();
            assert_eq!((&answer["since"], &answer["more"]), (&found.since.as_str().into(), &more.into()));
            assert_eq!(answer["sales"][0]["session_id"] == "cs_test_1", is_found, "{answer}");
        }
    }

    #[test]
    fn a_session_without_a_sale_is_ordered_only_if_it_is_paid() {
        let paid = testkit::session::paid("cs_test_1");
        assert!(row(&paid, None).state.contains("the daily comparison orders it"));
        let free = CheckoutSession { payment_status: domain::PaymentStatus::NoPaymentRequired, ..paid };
        assert_eq!(row(&free, None).state, "completed without a payment, and unknown here");
    }

    #[test]
    fn a_sale_is_described_in_the_words_of_its_customer() {
        let at = Timestamp::from_seconds(0);
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at);
        assert_eq!(state(&sale), "being made");
        let ready = sale.with("fulfilment", Fulfilment::Ready { at, archived: true });
        assert_eq!(state(&ready), "on the page, mail not ordered");
        assert_eq!(state(&ready.with("mail", Mail::Sent { at })), "delivered 1970-01-01 00:00");
        assert_eq!(state(&ready.with("money", Money::Refunded { at })), "refunded 1970-01-01 00:00");
        assert_eq!(state(&sale.with("fulfilment", Fulfilment::Failed { reason: "503".into(), at })), "failed: 503");
    }
}
