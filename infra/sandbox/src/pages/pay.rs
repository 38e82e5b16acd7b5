//! The hosted pay page of an open session, and what its button does.

use std::sync::Arc;

use hyper::Method;
use serde_json::{Value, json};

use super::{escape, layout};
use crate::control::complete;
use crate::http::{Reply, Request, parse_form};
use crate::state::Shared;
use crate::stripe::sessions::{self, PayError};
use crate::webhook;

/// Shows the page, or pays and sends the browser on to the success address.
pub(crate) async fn pay(shared: &Arc<Shared>, request: &Request, id: &str) -> Reply {
    match request.method {
        Method::GET => show(shared, id, 200, None),
        Method::POST => {
            let fields = parse_form(&request.body);
            let email = fields.iter().find(|(name, _)| name == "email");
            let email = email.map_or("", |(_, value)| value.trim());
            match complete(shared, id, Some(email), false) {
                Ok((session, event)) => {
                    // As with Stripe, the webhook has its turn before the customer comes back.
                    webhook::deliver(shared, &event).await;
                    webhook::deliver_untold(shared);
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
    // An expired session is noticed when it is looked at.
    sessions::expire_old(&mut state, now);
    let Some(session) = state.stripe.sessions.get(id) else {
        let text = "<h1>Nothing to pay</h1>\n<p>There is no such checkout session.</p>";
        return Reply::html(404, layout("Nothing to pay", text));
    };
    let value = &session.value;
    match value["status"].as_str() {
        Some("open") => {
            let page = layout("Checkout (sandbox)", &form(value, &session.line_items, wrong));
            Reply::html(status, page)
        }
        Some("complete") => {
            let text = format!(
                "<div class=\"pay\"><h1>This session has been paid</h1>\n<p><a href=\"{}\">Back to the site</a></p></div>",
                escape(&return_address(value))
            );
            Reply::html(status, layout("Already paid", &text))
        }
        _ => {
            let text =
                "<div class=\"pay\"><h1>This session has expired</h1>\n<p>Please start again on the site.</p></div>";
            Reply::html(status, layout("Expired", text))
        }
    }
}

fn form(session: &Value, items: &[Value], wrong: Option<(&str, &str)>) -> String {
    let currency = session["currency"].as_str().unwrap_or("");
    let total = money(&session["amount_total"], currency);
    let mut rows = String::new();
    for item in items {
        let name = item["description"].as_str().unwrap_or("");
        let name = match item["quantity"].as_i64() {
            Some(quantity) if quantity > 1 => format!("{name} × {quantity}"),
            _ => name.to_owned(),
        };
        rows.push_str(&row("row", &name, &money(&item["amount_total"], currency)));
    }
    let discount = session["total_details"]["amount_discount"].as_i64();
    if let Some(discount) = discount.filter(|discount| *discount > 0) {
        rows.push_str(&row("row", "Discount", &money(&json!(-discount), currency)));
    }
    rows.push_str(&row("row total", "Total", &total));
    let product = items.first().map_or("Your order", |item| item["description"].as_str().unwrap_or("Your order"));
    let email = wrong.map_or_else(|| session["customer_email"].as_str().unwrap_or(""), |(email, _)| email);
    let message = wrong.map_or_else(String::new, |(_, message)| {
        format!("<p class=\"wrong\" id=\"email-error\" role=\"alert\">{}</p>\n", escape(message))
    });
    let described = if wrong.is_some() { " aria-describedby=\"email-error\" aria-invalid=\"true\"" } else { "" };
    let cancel = session["cancel_url"].as_str().map_or_else(String::new, |address| {
        format!("<p class=\"center\"><a id=\"cancel\" href=\"{}\">Cancel and go back</a></p>\n", escape(address))
    });
    format!(
        "<form class=\"pay card\" method=\"post\">\n<p class=\"tag\">SANDBOX</p>\n\
         <h1>{product}</h1>\n<p class=\"price\">{total}</p>\n{rows}\
         <label for=\"email\">E-mail</label>\n{message}\
         <input id=\"email\" name=\"email\" type=\"email\" required autocomplete=\"email\" inputmode=\"email\" \
         placeholder=\"name@example.com\" value=\"{email}\"{described}>\n\
         <p class=\"note\">Test mode: no card is needed and no money moves. The real page takes test card \
         4242&nbsp;4242&nbsp;4242&nbsp;4242.</p>\n\
         <button id=\"pay\" type=\"submit\">Pay {total}</button>\n</form>\n{cancel}",
        product = escape(product),
        total = escape(&total),
        email = escape(email),
    )
}

fn row(class: &str, name: &str, amount: &str) -> String {
    format!("<div class=\"{class}\"><span>{}</span><span>{}</span></div>\n", escape(name), escape(amount))
}

/// Cents as `CA$1.00`.
fn money(cents: &Value, currency: &str) -> String {
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
