//! The hosted pay page of an open session, and the action of its button.

use std::sync::Arc;

use hyper::Method;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::layout;
use crate::control::complete;
use crate::http::{Reply, Request, parse_form};
use crate::state::Shared;
use crate::stripe::sessions::{self, PayError};
use crate::webhook;

/// Shows the page, or pays and redirects the browser to the success address.
pub(crate) async fn pay(shared: &Arc<Shared>, request: &Request, id: &str) -> Reply {
    match request.method {
        Method::GET => show(shared, id, 200, None),
        Method::POST => {
            let fields = parse_form(&request.body);
            let email = fields.iter().find(|(name, _)| name == "email");
            let email = email.map_or("", |(_, value)| value.trim());
            match complete(shared, id, Some(email), false) {
                Ok((session, event)) => {
                    // As with Stripe, the webhook is delivered before the customer comes back.
                    webhook::deliver(shared, &event).await;
                    webhook::deliver_unreported(shared);
                    Reply::empty(303).with_header("Location", return_address(&session))
                }
                Err(PayError::Email(_)) => {
                    let message = "Please enter a complete e-mail address, such as name@example.com.";
                    show(shared, id, 400, Some((email, message)))
                }
                Err(PayError::Unknown(_) | PayError::NotOpen { .. }) => show(shared, id, 409, None),
            }
        }
        _ => Reply::empty(405).with_header("Allow", "GET, POST"),
    }
}

fn return_address(session: &Value) -> String {
    let address = session["success_url"].as_str().unwrap_or("/");
    let id = session["id"].as_str().unwrap_or("");
    address.replace("{CHECKOUT_SESSION_ID}", id)
}

fn show(shared: &Shared, id: &str, status: u16, wrong: Option<(&str, &str)>) -> Reply {
    let mut state = shared.lock();
    let now = state.now();
    // An expired session is closed when it is next read.
    sessions::expire_old(&mut state, now);
    let Some(session) = state.stripe.sessions.get(id) else {
        let main = html! { h1 { "Nothing to pay" } p { "There is no such checkout session." } };
        return Reply::html(404, layout("Nothing to pay", &main));
    };
    let value = &session.value;
    let (title, main) = match value["status"].as_str() {
        Some("open") => ("Checkout (sandbox)", form(value, &session.line_items, wrong)),
        Some("complete") => {
            let back = html! { a href=(return_address(value)) { "Back to the site" } };
            ("Already paid", html! { div.pay { h1 { "This session has been paid" } p { (back) } } })
        }
        _ => {
            let again = "Please start again on the site.";
            ("Expired", html! { div.pay { h1 { "This session has expired" } p { (again) } } })
        }
    };
    Reply::html(status, layout(title, &main))
}

fn form(session: &Value, items: &[Value], wrong: Option<(&str, &str)>) -> Markup {
    let currency = session["currency"].as_str().unwrap_or("");
    let total = money(&session["amount_total"], currency);
    let discount = session["total_details"]["amount_discount"].as_i64().filter(|discount| *discount > 0);
    let name = |item: &Value| item["description"].as_str().unwrap_or("").to_owned();
    let product = items.first().map_or_else(|| "Your order".to_owned(), name);
    let email = wrong.map_or_else(|| session["customer_email"].as_str().unwrap_or(""), |(email, _)| email);
    html! {
        form.pay.card method="post" {
            p.tag { "SANDBOX" }
            h1 { (product) }
            p.price { (total) }
            @for item in items {
                @let times = item["quantity"].as_i64().filter(|quantity| *quantity > 1);
                div.row {
                    span { (name(item)) @if let Some(quantity) = times { " × " (quantity) } }
                    span { (money(&item["amount_total"], currency)) }
                }
            }
            @if let Some(discount) = discount {
                div.row { span { "Discount" } span { (money(&json!(-discount), currency)) } }
            }
            div.row.total { span { "Total" } span { (total) } }
            label for="email" { "E-mail" }
            @if let Some((_, message)) = wrong { p.wrong #email-error role="alert" { (message) } }
            input #email name="email" type="email" required autocomplete="email" inputmode="email"
                placeholder="name@example.com" value=(email) aria-describedby=[wrong.map(|_| "email-error")]
                aria-invalid=[wrong.map(|_| "true")];
            p.note {
                "Test mode: no card is needed and no money moves. The real page takes test card \
                 4242\u{a0}4242\u{a0}4242\u{a0}4242."
            }
            button #pay type="submit" { "Pay " (total) }
        }
        @if let Some(address) = session["cancel_url"].as_str() {
            p.center { a #cancel href=(address) { "Cancel and go back" } }
        }
    }
}

/// Cents as `CA$1.00`.
pub(super) fn money(cents: &Value, currency: &str) -> String {
    let cents = cents.as_i64().unwrap_or(0);
    let symbol = match currency {
        "cad" => "CA$",
        "usd" => "US$",
        "eur" => "€",
        _ => "",
    };
    let sign = if cents < 0 { "−" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{symbol}{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::money;

    #[test]
    fn amounts_have_two_decimals() {
        assert_eq!(money(&json!(100), "cad"), "CA$1.00");
        assert_eq!(money(&json!(-20), "cad"), "−CA$0.20");
        assert_eq!(money(&json!(2505), "eur"), "€25.05");
    }
}
