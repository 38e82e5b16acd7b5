//! Purchases in USDC, as `oracle` lists them.

use crate::terminal::output::{self, minute};
use domain::toll::{Paid, PaidBy, Purchase, Stage};
use serde_json::{Value, json};

/// Who paid, and on which network.
pub(super) fn payer(purchase: &Purchase) -> (&str, &str) {
    match purchase.paid() {
        Paid::Signed(signed) => (&signed.payer, &signed.network),
        Paid::Transferred { payer, network, .. } => (payer, network),
    }
}

/// A purchase in JSON, and why it is on a list.
pub(super) fn row(purchase: &Purchase) -> Value {
    let (payer, network) = payer(purchase);
    let payers = purchase.payers();
    let payer = if payers.is_empty() { payer } else { "several" };
    let why = match purchase.stage() {
        Stage::Unanswered if purchase.is_exhausted() => {
            "no answer after several attempts: nothing is settled, and no attempt follows"
        }
        Stage::Unanswered => "no answer yet: nothing is settled, the same payment may ask again",
        Stage::Working { .. } => "the answer is being made: nothing is settled",
        Stage::Settling { .. } => "the answer is ready and its settlement is open: the schedule asks the chain",
        Stage::Settled { confirmed: true, .. } => "sold, and on the chain",
        Stage::Settled { resolved: true, .. } => "sold, not confirmed by the chain, and dealt with",
        Stage::Settled { doubtful: true, .. } => {
            "called settled, and not confirmed by the chain: look for its transaction"
        }
        Stage::Settled { .. } => "sold, and not confirmed on the chain yet",
        Stage::Lapsed { untraced: false, .. } => "lapsed: never settled, nothing was charged",
        Stage::Lapsed { resolved: false, .. } => {
            "lapsed: the chain did not show for a day where the payment went; look for the money"
        }
        Stage::Lapsed { .. } => "lapsed: the chain did not show for a day where the payment went; dealt with",
        Stage::Owed { resolved: true, .. } => "settled without an answer, and dealt with",
        Stage::Owed { .. } if payers.is_empty() => "settled without an answer: give the money back",
        Stage::Owed { .. } => "settled without an answer: give each payer's part back",
    };
    let mut row = json!({
        "purchase": purchase.id().reference(), "endpoint": purchase.offer().path(),
        "amount_usdc": purchase.dollars(), "payer": payer, "network": network,
        "transaction": purchase.transaction(), "received_at": purchase.received_at().to_iso(), "why": why,
    });
    if !payers.is_empty() {
        let part = |paid: &PaidBy| json!({ "payer": paid.payer, "amount_usdc": paid.dollars() });
        row["payers"] = payers.iter().map(part).collect();
    }
    row
}

pub(super) fn table(rows: &[Value], width: usize) -> String {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or("-").to_owned();
    let parts = |row: &Value| -> String {
        let payers = row["payers"].as_array().into_iter().flatten();
        payers.map(|paid| format!("; {} of {}", paid["amount_usdc"], text(paid, "payer"))).collect()
    };
    let line = |row: &Value| output::Row {
        cells: vec![
            text(row, "purchase"),
            minute(row["received_at"].as_str().unwrap_or_default()),
            row["amount_usdc"].to_string(),
            text(row, "payer"),
        ],
        below: format!("{}; transaction {}{}", text(row, "why"), text(row, "transaction"), parts(row)),
    };
    output::table(&["PURCHASE", "SINCE (UTC)", "USDC", "PAYER"], rows.iter().map(line), width)
}
